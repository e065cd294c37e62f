/* SPDX-License-Identifier: MIT */
#include "perfdata/box.h"

#include "perfdata/decompress.h"
#include "perfdata/format.h"

enum {
	SEGMENT_NS = 1000000000,
	SEGMENT_SHARE = 64, /* a segment has this share of the memory at most, unless a round has */
	PIECE_BYTES = 64 << 10,
};

/* The record of a process. */
struct box_group {
	uint64_t segment; /* number of the segment that was filled when it was added */
	size_t len;
	char bytes[];
};

int box_init(struct box *box, uint64_t keep_ns, size_t max_bytes)
{
	*box = (struct box){.keep_ns = keep_ns, .max_bytes = max_bytes};
	return compress_init(&box->compressor);
}

static void free_segment(struct box_segment *segment)
{
	free(segment->events);
	free(segment->tasks);
}

void box_done(struct box *box)
{
	vec_each (&box->segments, segment)
		free_segment(segment);
	vec_done(&box->segments);
	map_each (&box->groups, it)
		free((void *)(uintptr_t)it->value);
	map_done(&box->groups);
	buf_done(&box->events);
	buf_done(&box->tasks);
	compress_done(&box->compressor);
}

/* ---- the segment that is filled ---- */

void box_note(struct box *box, const struct perf_event_header *header, uint64_t time)
{
	struct box_segment *now = &box->now;

	now->records++;
	if (header->type == PERF_RECORD_SAMPLE) {
		now->samples++;
		now->last = MAX(now->last, time);
		now->first = now->first ? MIN(now->first, time) : time;
	} else if (live_tasks_takes(header)) {
		buf_add(&box->tasks, header, header->size);
	}
}

void box_add(struct box *box, const void *bytes, size_t n)
{
	buf_add(&box->events, bytes, n);
}

bool box_round(struct box *box, uint64_t now)
{
	const struct perf_event_header mark = {.type = RECORD_FINISHED_ROUND, .size = sizeof(mark)};

	if (box->tasks.len)
		buf_add(&box->tasks, &mark, sizeof(mark));
	box->began = box->began ?: now;
	return now - box->began >= SEGMENT_NS || box->events.len >= box->max_bytes / SEGMENT_SHARE;
}

/* The contents of a buffer in memory of their size. NULL: out of memory. */
static char *take_bytes(struct buf *b)
{
	size_t len = b->len;
	char *bytes = buf_take(b);

	return bytes ? realloc(bytes, len + 1) ?: bytes : NULL;
}

static int compress_tasks(struct box *box, struct box_segment *segment)
{
	struct buf compressed _cleanup_(buf_done) = {0};
	int r;

	if (!box->tasks.len)
		return 0;
	compress_restart(&box->compressor);
	r = compress_add(&box->compressor, box->tasks.data, box->tasks.len, &compressed);
	if (r < 0)
		return r;
	segment->n_tasks = compressed.len;
	segment->tasks = take_bytes(&compressed);
	return segment->tasks ? 0 : base_oom();
}

/* The position of the last compressed record; the length of the buffer if there is none. */
static size_t last_compressed(const struct buf *b)
{
	struct perf_event_header header;
	size_t last = b->len;

	for (size_t at = 0; at < b->len; at += header.size) {
		memcpy(&header, b->data + at, sizeof(header)); /* not aligned */
		if (header.type == RECORD_COMPRESSED)
			last = at;
	}
	return last;
}

/* Adds the bytes to the last compressed record. */
static void end_frame(struct buf *b, const struct buf *end)
{
	size_t at = last_compressed(b), n = end->len, after;
	struct perf_event_header header;

	if (at == b->len || !buf_reserve(b, n))
		return;
	memcpy(&header, b->data + at, sizeof(header));
	after = at + header.size;
	memmove(b->data + after + n, b->data + after, b->len - after);
	memcpy(b->data + after, end->data, n);
	header.size = (uint16_t)(header.size + n);
	memcpy(b->data + at, &header, sizeof(header));
	b->len += n;
}

int box_seal(struct box *box, const struct buf *end, uint64_t now)
{
	struct box_segment segment = box->now;
	int r;

	if (!buf_failed(&box->events))
		end_frame(&box->events, end);
	r = buf_failed(&box->events) || buf_failed(&box->tasks) ? base_oom() : 0;

	if (r == 0 && !box->events.len)
		return 0;
	if (r == 0)
		r = compress_tasks(box, &segment);
	segment.ended = now;
	segment.n_events = box->events.len;
	segment.events = r == 0 ? take_bytes(&box->events) : NULL;
	buf_reset(&box->tasks);
	box->now = (struct box_segment){0};
	box->began = now;
	if (!segment.events || vec_push(&box->segments, segment) < 0) {
		free_segment(&segment);
		return r < 0 ? r : base_oom();
	}
	box->bytes += segment.n_events + segment.n_tasks;
	return 0;
}

/* ---- the records of tasks ---- */

typedef void box_record_fn(void *ctx, const struct perf_event_header *header);

/* Calls fn for each record of the bytes, which can end in the middle of one: it stays. */
static void each_whole(struct buf *bytes, box_record_fn *fn, void *ctx)
{
	const struct perf_event_header *header;
	size_t at = 0;

	for (; at + sizeof(*header) <= bytes->len; at += header->size) {
		header = (const void *)(bytes->data + at);
		if (at + header->size > bytes->len)
			break;
		fn(ctx, header);
	}
	memmove(bytes->data, bytes->data + at, bytes->len - at);
	bytes->len -= at;
}

static int each_task_record(const struct box_segment *segment, box_record_fn *fn, void *ctx)
{
	struct decompressor decompressor = {0};
	struct buf bytes _cleanup_(buf_done) = {0};
	struct perf_event_header header;
	ssize_t n = 0;

	for (size_t at = 0; n >= 0 && at < segment->n_tasks; at += header.size) {
		memcpy(&header, segment->tasks + at, sizeof(header)); /* not aligned */
		decompress_input(&decompressor, segment->tasks + at + sizeof(header),
			header.size - sizeof(header));
		while (n >= 0 && decompress_pending(&decompressor)) {
			if (!buf_reserve(&bytes, PIECE_BYTES))
				n = base_oom();
			else
				n = decompress_read(
					&decompressor, bytes.data + bytes.len, PIECE_BYTES);
			bytes.len += n > 0 ? (size_t)n : 0;
			each_whole(&bytes, fn, ctx);
		}
	}
	decompress_done(&decompressor);
	return n < 0 ? (int)n : 0;
}

static void add_task_record(void *ctx, const struct perf_event_header *header)
{
	if (header->type != RECORD_FINISHED_ROUND)
		buf_add(ctx, header, header->size);
}

int box_get_tasks(const struct box_segment *segment, struct buf *records)
{
	int r = each_task_record(segment, add_task_record, records);

	return r == 0 && buf_failed(records) ? base_oom() : r;
}

/* ---- what is dropped ---- */

static void apply_task_record(void *ctx, const struct perf_event_header *header)
{
	struct live_tasks *tasks = ctx;

	if (header->type == RECORD_FINISHED_ROUND)
		(void)live_tasks_round(tasks); /* which a later call reports, too */
	else
		live_tasks_note(tasks, header);
}

/* Of a process that has ended before the first segment that is left. */
static bool is_over(
	const struct box *box, const struct live_tasks *tasks, const struct map_slot *slot)
{
	const struct box_group *group = (const void *)(uintptr_t)slot->value;

	return group->segment < box->dropped && !map_get(&tasks->processes, slot->key);
}

static int forget_groups(struct box *box, const struct live_tasks *tasks)
{
	VEC(uint64_t) over = {0};
	int r = 0;

	map_each (&box->groups, it)
		if (r == 0 && is_over(box, tasks, it) && vec_push(&over, it->key) < 0)
			r = base_oom();
	vec_each (&over, pid) {
		free((void *)(uintptr_t)*map_get(&box->groups, *pid));
		map_remove(&box->groups, *pid);
	}
	vec_done(&over);
	return r;
}

int box_drop(struct box *box, struct live_tasks *tasks, uint64_t now)
{
	size_t n = 0;
	int r = 0;

	for (; r == 0 && n < box->segments.n; n++) {
		struct box_segment *oldest = &box->segments.at[n];
		bool fits = box->bytes + tasks->memory + box->events.len <= box->max_bytes;

		if (fits && now - oldest->ended < box->keep_ns)
			break;
		r = each_task_record(oldest, apply_task_record, tasks);
		box->bytes -= oldest->n_events + oldest->n_tasks;
		free_segment(oldest);
	}
	if (!n)
		return 0;
	box->segments.n -= n;
	box->dropped += n;
	memmove(box->segments.at, box->segments.at + n,
		box->segments.n * sizeof(*box->segments.at));
	r = r < 0 ? r : tasks->failed;
	return r == 0 ? forget_groups(box, tasks) : r;
}

/* ---- control groups ---- */

int box_keep_group(struct box *box, pid_t pid, const struct buf *record)
{
	struct box_group *group = malloc(sizeof(*group) + record->len);
	uint64_t *known = map_get(&box->groups, (uint64_t)pid);

	if (!group)
		return base_oom();
	group->segment = box->dropped + box->segments.n;
	group->len = record->len;
	memcpy(group->bytes, record->data, record->len);
	if (known) {
		free((void *)(uintptr_t)*known);
		*known = (uintptr_t)group;
		return 0;
	}
	if (map_put(&box->groups, (uint64_t)pid, (uintptr_t)group) == 0)
		return 0;
	free(group);
	return base_oom();
}

void box_put_groups(const struct box *box, struct buf *records)
{
	map_each (&box->groups, it) {
		const struct box_group *group = (const void *)(uintptr_t)it->value;

		buf_add(records, group->bytes, group->len);
	}
}
