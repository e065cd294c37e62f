/* SPDX-License-Identifier: MIT */
#include "lib/counted_event.h"

#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 128 };

static bool has_other_attributes(const struct attar_event_spec *spec, const char *attribute)
{
	static const char *const known[] = {"alias", "comm", "key", "optional", "printkey", "role"};

	for (size_t i = 0; i < spec->n_options; i++) {
		const char *name = spec->options[i].name;
		bool is_known = attribute && !strcmp(name, attribute);

		for (size_t k = 0; k < sizeof(known) / sizeof(*known); k++)
			is_known |= !strcmp(name, known[k]);
		if (!is_known)
			return true;
	}
	return false;
}

static bool is_each_occurrence(const struct attar_event_spec *spec, const char *attribute)
{
	return spec && spec->kind == ATTAR_EVENT_TRACEPOINT && spec->format &&
	       !has_other_attributes(spec, attribute) && !spec->filter && !spec->untraced &&
	       !spec->period && !spec->freq && !spec->exclude_user && !spec->exclude_kernel &&
	       !spec->exclude_hv && !spec->exclude_host && !spec->exclude_guest &&
	       !spec->exclude_idle;
}

bool counted_event_has(const struct attar_event_spec *spec, const char *attribute,
	const struct attar_field *field, struct counting_field *ret_field)
{
	bool is_number =
		field && !field->is_common &&
		(field->size == 1 || field->size == 2 || field->size == 4 || field->size == 8);

	if (!is_number || !is_each_occurrence(spec, attribute) || spec->user_event)
		return false;
	*ret_field = (struct counting_field){.system = spec->format->system,
		.name = spec->format->name,
		.offset = field->offset,
		.size = field->size,
		.is_signed = field->is_signed};
	return true;
}

bool counted_event_is(const struct attar_event_spec *spec, const char *tracepoint)
{
	char name[NAME_BYTES];

	if (!is_each_occurrence(spec, NULL))
		return false;
	snprintf(name, sizeof(name), "%s:%s", spec->format->system, spec->format->name);
	return !strcmp(name, tracepoint);
}
