/* SPDX-License-Identifier: MIT */
#include "run/input/late_ids.h"

int late_ids_add(struct late_ids *ids, size_t event, uint64_t id, bool is_late)
{
	const uint64_t *first = map_get(&ids->first, event);
	uint64_t instead = is_late && first ? *first : id;
	int r = first ? 0 : map_put(&ids->first, event, id);

	if (r < 0 || map_get(&ids->known, id))
		return r;
	ids->any |= instead != id;
	return map_put(&ids->known, id, instead);
}

void late_ids_take_foreign(struct late_ids *ids, size_t event)
{
	const uint64_t *first = map_get(&ids->first, event);

	ids->foreign = first ? *first : 0;
}

/*
 * All attributes of a stream have PERF_SAMPLE_IDENTIFIER and sample_id_all: the id is the first
 * word of a sample, and the last one of other records. 0: the record has no room for it.
 */
static size_t place_of_id(const struct perf_event_header *header)
{
	if (header->size < sizeof(*header) + sizeof(uint64_t))
		return 0;
	return header->type == PERF_RECORD_SAMPLE ? sizeof(*header)
						  : header->size - sizeof(uint64_t);
}

/* The id that the record is to have; NULL: the one that it has. */
static const uint64_t *instead_of_id(
	const struct late_ids *ids, const struct perf_event_header *header)
{
	size_t at = place_of_id(header);
	const uint64_t *instead;
	uint64_t id;

	if (!at)
		return NULL;
	memcpy(&id, (const char *)header + at, sizeof(id));
	instead = map_get(&ids->known, id);
	if (!instead && ids->foreign && header->type == PERF_RECORD_SAMPLE)
		return &ids->foreign;
	return instead;
}

bool late_ids_is_foreign(const struct late_ids *ids, const struct perf_event_header *header)
{
	return ids->foreign && header->type == PERF_RECORD_SAMPLE &&
	       instead_of_id(ids, header) == &ids->foreign;
}

const struct perf_event_header *late_ids_copy(
	const struct late_ids *ids, const struct perf_event_header *header, struct buf *to)
{
	const uint64_t *instead = instead_of_id(ids, header);
	char *copy;

	buf_add(to, header, header->size);
	if (buf_failed(to))
		return header;
	copy = to->data + to->len - header->size;
	if (instead)
		memcpy(copy + place_of_id(header), instead, sizeof(*instead));
	return (const void *)copy;
}

void late_ids_done(struct late_ids *ids)
{
	map_done(&ids->first);
	map_done(&ids->known);
	*ids = (struct late_ids){0};
}
