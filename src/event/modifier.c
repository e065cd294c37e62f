/* SPDX-License-Identifier: MIT */
#include "event/modifier.h"

#include <ctype.h>
#include <stdio.h>

size_t modifier_span(const char *text)
{
	size_t n = 0;

	while (isalnum((unsigned char)text[n]) || text[n] == '_')
		n++;
	return n;
}

const char *modifier_unknown(const char *at, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strchr(MODIFIER_LETTERS, at[i]))
			return at + i;
	return NULL;
}

void modifier_take_early(struct parser *parser)
{
	const char *at = parser->p + 1;
	size_t n = *parser->p == ':' ? modifier_span(at) : 0;

	if (!n || at[n] != '/' || modifier_unknown(at, n))
		return;
	parser->early = (struct letters){.at = at, .n = n};
	parser->p = at + n;
}

static size_t modifier_count(const char *letters, char c)
{
	size_t n = 0;

	for (; *letters; letters++)
		n += *letters == c;
	return n;
}

/* Naming a privilege level excludes the levels of its kind that are not named. */
static void levels(struct attar_event_spec *spec, const char *letters)
{
	bool u = modifier_count(letters, 'u'), k = modifier_count(letters, 'k'),
	     h = modifier_count(letters, 'h');
	bool guest = modifier_count(letters, 'G'), host = modifier_count(letters, 'H');

	if (u || k || h) {
		spec->exclude_user = !u;
		spec->exclude_kernel = !k;
		spec->exclude_hv = !h;
	}
	if (guest || host) {
		spec->exclude_guest = !guest;
		spec->exclude_host = !host;
	}
}

int modifier_apply(struct list *list, struct attar_event_spec *spec, struct letters own,
	struct letters of_group)
{
	char letters[64], *name;
	size_t n;

	if (own.n + of_group.n >= sizeof(letters))
		return attar_fail(-EINVAL, "more than %zu modifiers", sizeof(letters) - 1);
	if (!own.n && !of_group.n)
		return 0;
	snprintf(letters, sizeof(letters), "%.*s%.*s", (int)own.n, own.at, (int)of_group.n,
		of_group.at);
	levels(spec, letters);
	if (modifier_count(letters, 'p') > 3)
		return attar_fail(
			-EINVAL, "more than three p modifiers: ppp is the highest precision");
	spec->precise_ip = MAX(spec->precise_ip, (uint8_t)modifier_count(letters, 'p'));
	spec->precise_max |= modifier_count(letters, 'P') > 0;
	spec->exclude_idle |= modifier_count(letters, 'I') > 0;
	spec->sample_read |= modifier_count(letters, 'S') > 0;
	spec->pinned |= modifier_count(letters, 'D') > 0;
	spec->exclusive |= modifier_count(letters, 'e') > 0;
	spec->weak_group |= modifier_count(letters, 'W') > 0;
	if (own.named)
		return 0;
	n = strlen(spec->name);
	if (asprintf(&name, "%s%s%s", spec->name, n && spec->name[n - 1] == '/' ? "" : ":",
		    letters) < 0)
		return base_oom();
	spec->name = list_own(list, name);
	return spec->name ? 0 : base_oom();
}
