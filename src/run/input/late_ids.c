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

/*
 * All attributes of a stream have PERF_SAMPLE_IDENTIFIER and sample_id_all: the id is the first
 * word of a sample, and the last one of other records.
 */
void late_ids_copy(
	const struct late_ids *ids, const struct perf_event_header *header, struct buf *to)
{
	size_t at = header->type == PERF_RECORD_SAMPLE ? sizeof(*header)
						       : header->size - sizeof(uint64_t);
	const uint64_t *instead;
	uint64_t id;

	buf_add(to, header, header->size);
	if (buf_failed(to) || header->size < sizeof(*header) + sizeof(id))
		return;
	memcpy(&id, (const char *)header + at, sizeof(id));
	instead = map_get(&ids->known, id);
	if (instead)
		memcpy(to->data + to->len - header->size + at, instead, sizeof(id));
}

void late_ids_done(struct late_ids *ids)
{
	map_done(&ids->first);
	map_done(&ids->known);
	*ids = (struct late_ids){0};
}
