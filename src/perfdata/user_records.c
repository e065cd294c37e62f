/* SPDX-License-Identifier: MIT */
/* Records that perf's tools write: in a pipe they replace the header of a file. */
#include "perfdata/internal.h"

enum { MISSING_MAX = 1 << 16 };

/* {attr, ids}; the length of the attributes is in the attributes. */
static int read_attr_record(struct recording *r, struct cursor c)
{
	struct cursor at_size = c;
	uint32_t size;
	const char *attr;

	cursor_u32(&at_size); /* type */
	size = cursor_u32(&at_size);
	if (size < PERF_ATTR_SIZE_VER0)
		size = PERF_ATTR_SIZE_VER0;
	attr = cursor_bytes(&c, size);
	if (!attr) {
		r->stats.malformed++;
		return 0;
	}
	if (r->events.n == RECORDING_EVENTS_MAX) {
		recording_damage(r, "it has more than %d events", RECORDING_EVENTS_MAX);
		return 0;
	}
	return recording_add_event(r, attr, size, c);
}

static int read_missing(struct recording *r, struct cursor c)
{
	struct recording_missing missing = {.count = cursor_u64(&c)};

	missing.cpu = (int)cursor_u64(&c);
	if (c.failed || r->missing.n == MISSING_MAX)
		return 0;
	return vec_push(&r->missing, missing) < 0 ? base_oom() : 0;
}

/*
 * Names of events of PMUs, which their attributes do not contain; late ids; the process that
 * recorded; what the kernel did not deliver; what threads waited for, and what the scheduler had
 * counted for them.
 */
static int read_online(struct recording *r, struct cursor c)
{
	const char *list = r->facts.online ? NULL : cursor_text(&c);

	if (list)
		r->facts.online = recording_keep(r, list);
	return list && !r->facts.online ? -ENOMEM : 0;
}

static int read_update(struct recording *r, struct cursor c)
{
	uint64_t type = cursor_u64(&c), id = cursor_u64(&c);
	int index = recording_find(r, id);
	const char *name;

	if (type == EVENT_UPDATE_RECORDER)
		r->facts.recorder = (pid_t)cursor_u64(&c);
	if (type == EVENT_UPDATE_ONLINE)
		return read_online(r, c);
	if (type == EVENT_UPDATE_MISSING)
		return read_missing(r, c);
	if (type == EVENT_UPDATE_WAITS)
		return recording_waits_read(r->waits, &c);
	if (type == EVENT_UPDATE_WAIT)
		return recording_waits_read_thread(r->waits, &c);
	if (type == EVENT_UPDATE_SCHEDS)
		return recording_scheds_read(r->scheds, &c);
	if (type == EVENT_UPDATE_GROUP)
		return recording_group_read(r, &c);
	if (index < 0)
		return 0;
	if (type == EVENT_UPDATE_IDS)
		return recording_add_ids(r, (size_t)index, c);
	name = type == EVENT_UPDATE_NAME ? cursor_text(&c) : NULL;
	if (!name || !*name || r->events.at[index]->named)
		return 0;
	return recording_name_event(r, r->events.at[index], name);
}

static int read_feature_record(struct recording *r, struct cursor c)
{
	uint64_t feature = cursor_u64(&c);
	size_t len = cursor_left(&c);
	char *copy;

	/* The last one, with a number beyond all features, only marks the end. */
	if (c.failed || feature >= FEATURES || !len)
		return 0;
	copy = malloc(len);
	if (!copy)
		return base_oom();
	memcpy(copy, c.at, len);
	return recording_feature(r, (unsigned)feature, copy, len);
}

/* The data follow the record. */
static void begin_tracing_data(struct recording *r, struct cursor c)
{
	uint32_t size = cursor_u32(&c);

	if (size > RECORDING_FEATURE_MAX || r->tracing.bytes) {
		r->skip = size;
		return;
	}
	buf_reset(&r->gathered);
	r->gather_left = size;
}

static void skip_aux(struct recording *r, struct cursor c)
{
	r->skip = cursor_u64(&c);
	r->facts.has_aux = true;
}

static void begin_compressed(struct recording *r, struct cursor c, bool sized)
{
	uint64_t len = sized ? cursor_u64(&c) : cursor_left(&c);
	const char *bytes = cursor_bytes(&c, len);

	r->facts.compressed = true;
	if (!bytes) {
		r->stats.malformed++;
		return;
	}
	r->stats.compressed_bytes += len;
	if (r->decompressor.failed)
		r->stats.unread += len;
	else
		decompress_input(&r->decompressor, bytes, len);
}

int recording_user_record(
	struct recording *r, const struct perf_event_header *header, const char *bytes)
{
	struct cursor c = cursor_of(
		bytes + sizeof(*header), header->size - sizeof(*header), r->facts.swapped);

	switch (header->type) {
	case RECORD_ATTR:
		return r->facts.pipe ? read_attr_record(r, c) : 0;
	case RECORD_EVENT_UPDATE:
		return read_update(r, c);
	case RECORD_FEATURE:
		return read_feature_record(r, c);
	case RECORD_TRACING_DATA:
		begin_tracing_data(r, c);
		return 0;
	case RECORD_BUILD_ID:
		return recording_add_build_id(r, bytes, header->size);
	case RECORD_AUXTRACE:
		skip_aux(r, c);
		return 0;
	case RECORD_COMPRESSED:
		begin_compressed(r, c, false);
		return 0;
	case RECORD_COMPRESSED2:
		begin_compressed(r, c, true);
		return 0;
	}
	r->stats.skipped++;
	return 0;
}
