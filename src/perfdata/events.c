/* SPDX-License-Identifier: MIT */
/* The events of a recording: attributes, ids, names and formats. */
#include <stdio.h>

#include "attar/format.h"
#include "event/generic_events.h"
#include "perfdata/internal.h"
#include "record/uapi.h"

/* Reads the attributes, which can be shorter or longer than those that are known here. */
static int read_attr(
	struct recording *r, const void *bytes, size_t len, struct perf_event_attr *ret_attr)
{
	union uapi_attr attr = {0};

	if (len < PERF_ATTR_SIZE_VER0)
		return attar_fail(-EBADMSG, "perf_event_attr of %zu bytes is too short", len);
	memcpy(&attr, bytes, MIN(len, sizeof(attr)));
	if (r->facts.swapped)
		swap_attr(&attr, sizeof(attr));
	*ret_attr = attr.attr;
	return 0;
}

/* Adds ids to the ids of an event. */
static int read_ids(struct recording *r, struct event_entry *entry, size_t index, struct cursor *c)
{
	uint64_t n = cursor_left(c) / 8, before = entry->event.n_ids, *ids;

	if (n > RECORDING_IDS_MAX - r->n_ids) {
		recording_damage(r, "it has more than %d ids of events", RECORDING_IDS_MAX);
		n = 0;
	}
	if (!n)
		return 0;
	ids = reallocarray(entry->ids, before + n, sizeof(*ids));
	if (!ids)
		return base_oom();
	entry->event.ids = entry->ids = ids;
	for (uint64_t i = 0; i < n; i++) {
		ids[before + i] = cursor_u64(c);
		if (map_put(&r->event_of_id, ids[before + i], index) < 0)
			return -ENOMEM;
	}
	r->n_ids += n;
	entry->event.n_ids = before + n;
	return 0;
}

int recording_add_ids(struct recording *r, size_t index, struct cursor ids)
{
	return read_ids(r, r->events.at[index], index, &ids);
}

static bool has_same_times(const struct attar_layout *a, const struct attar_layout *b)
{
	return a->time == b->time && a->back_time == b->back_time;
}

int recording_add_event(struct recording *r, const void *attr, size_t attr_len, struct cursor ids)
{
	struct event_entry *entry;
	int ret;

	if (r->events.n == RECORDING_EVENTS_MAX)
		return attar_fail(-EBADMSG, "more than %d events", RECORDING_EVENTS_MAX);
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return base_oom();
	entry->event.name = "";
	ret = read_attr(r, attr, attr_len, &entry->event.attr);
	if (ret >= 0)
		ret = read_ids(r, entry, r->events.n, &ids);
	if (ret >= 0)
		ret = vec_push(&r->events, entry);
	if (ret < 0) {
		free(entry->ids);
		free(entry);
		return ret;
	}
	attar_layout_init(&entry->layout, &entry->event.attr);
	r->same_times = (r->events.n == 1 || r->same_times) &&
			has_same_times(&entry->layout, &r->events.at[0]->layout);
	r->incomplete = true;
	return 0;
}

int recording_name_event(struct recording *r, struct event_entry *entry, const char *name)
{
	char *copy = strdup(name);

	if (!copy)
		return base_oom();
	/* The caller may hold the former name. */
	if (entry->name && vec_push(&r->texts, entry->name) < 0) {
		free(copy);
		return -ENOMEM;
	}
	entry->event.name = entry->name = copy;
	entry->named = true;
	return 0;
}

/* With the modifier of an event that is sampled in one mode, as perf names it. */
static const char *with_modifier(
	const struct perf_event_attr *attr, const char *name, char *text, size_t size)
{
	if (attr->exclude_user == attr->exclude_kernel)
		return name;
	snprintf(text, size, "%s:%c", name, attr->exclude_kernel ? 'u' : 'k');
	return text;
}

static const char *generic_name(const struct perf_event_attr *attr, char *text, size_t size)
{
	const struct name *list;
	size_t n = 0;

	list = attr->type == PERF_TYPE_HARDWARE   ? names_hardware(&n)
	       : attr->type == PERF_TYPE_SOFTWARE ? names_software(&n)
						  : NULL;
	for (size_t i = 0; i < n; i++)
		if (list[i].config == attr->config)
			return with_modifier(attr, list[i].name, text, size);
	if (attr->type == PERF_TYPE_TRACEPOINT)
		snprintf(text, size, "tracepoint %llu", (unsigned long long)attr->config);
	else
		snprintf(text, size, "type %u config 0x%llx", attr->type,
			(unsigned long long)attr->config);
	return text;
}

static const struct traced_event *find_traced(const struct recording *r, uint64_t id)
{
	uint64_t *index = map_get(&r->tracing.by_id, id);

	return index ? &r->tracing.events.at[*index] : NULL;
}

/*
 * Only needed to convert the fields of raw data. A format that cannot be parsed leaves them as is.
 */
static void parse_format(struct recording *r, struct event_entry *entry, const char *system)
{
	if (!r->facts.swapped || entry->format)
		return;
	(void)attar_format_parse(
		system, entry->event.format_text, entry->event.format_len, &entry->format);
}

static int complete_tracepoint(struct recording *r, struct event_entry *entry)
{
	const struct traced_event *traced;
	char name[256], *copy;

	if (entry->event.attr.type != PERF_TYPE_TRACEPOINT || entry->event.format_text)
		return 0;
	traced = find_traced(r, entry->event.attr.config);
	if (!traced)
		return 0;
	entry->event.system = traced->system;
	entry->event.format_text = traced->text.at;
	entry->event.format_len = traced->text.len;
	parse_format(r, entry, traced->system);
	snprintf(name, sizeof(name), "%s:%.*s", traced->system, (int)MIN(traced->name.len, 200),
		traced->name.at);
	copy = strdup(name);
	if (!copy || vec_push(&r->texts, copy) < 0) {
		free(copy);
		return base_oom();
	}
	entry->event.tracepoint = copy;
	return entry->named ? 0 : recording_name_event(r, entry, name);
}

int recording_complete_events(struct recording *r)
{
	r->incomplete = false;
	vec_each (&r->events, at) {
		struct event_entry *entry = *at;
		char text[64];
		int ret = complete_tracepoint(r, entry);

		if (ret >= 0 && !entry->name) {
			ret = recording_name_event(
				r, entry, generic_name(&entry->event.attr, text, sizeof(text)));
			entry->named = false;
		}
		if (ret < 0)
			return ret;
	}
	return 0;
}

int recording_find(const struct recording *r, uint64_t id)
{
	uint64_t *index = map_get(&r->event_of_id, id);

	return index ? (int)*index : -1;
}

/* The word of the record that holds the id according to the layout; 0: none. */
static uint64_t id_of(const struct attar_layout *layout, const struct perf_event_header *header)
{
	int offset = header->type == PERF_RECORD_SAMPLE ? layout->id
		     : layout->back_id > 0
			     ? (int)attar_record_trailer_end(layout, header) - layout->back_id
			     : -1;
	uint64_t id;

	if (offset < (int)sizeof(*header) || offset + 8 > header->size)
		return 0;
	memcpy(&id, (const char *)header + offset, sizeof(id));
	return id;
}

static int event_of(const struct recording *r, const struct perf_event_header *header, bool swapped)
{
	uint64_t id;
	int index;

	if (!r->events.n)
		return -1;
	if (r->events.n == 1)
		return 0;
	/* Events that share a file have their ids at the same position. */
	id = id_of(&r->events.at[0]->layout, header);
	if (!id)
		return header->type == PERF_RECORD_SAMPLE ? -1 : 0;
	index = recording_find(r, swapped ? __builtin_bswap64(id) : id);
	return index < 0 && header->type != PERF_RECORD_SAMPLE ? 0 : index;
}

int recording_event_of(const struct recording *r, const struct perf_event_header *header)
{
	return event_of(r, header, false);
}

int recording_event_of_swapped(const struct recording *r, const struct perf_event_header *header)
{
	return event_of(r, header, true);
}
