/* SPDX-License-Identifier: MIT */
#include "stream/replay.h"

#include "base/check_arg.h"
#include "record/record.h"
#include "record/uapi.h"
#include "perfdata/format.h"
#include "perfdata/running_kernel.h"
#include "stream/stream.h"
#include "record/sample.h"
#include "unwind/registers.h"

/* Records in no order at all would give one sequence each. */
enum { SEQUENCES_MAX = 1 << 16, CPUS_MAX = 1 << 16, NO_PID = INT32_MIN };
/* Rounds of a file are read together up to this number of bytes, since each has a fixed cost. */
enum { ROUND_BYTES = 64 << 10 };

/* ---- identifying records ---- */

static uint32_t replay_layout(const struct attar_stream *s, const struct perf_event_header *header)
{
	int index = recording_event_of(s->replay->recording, header);

	return index >= 0 && (size_t)index < s->n_counters ? (uint32_t)index : NO_COUNTER;
}

uint32_t replay_checked_layout(struct attar_stream *s, const struct perf_event_header *header)
{
	uint32_t index = replay_layout(s, header);
	uint64_t rest = 0;

	if (header->type == PERF_RECORD_SAMPLE && index != NO_COUNTER)
		rest = sample_rest(&s->layouts[index], header);
	if (unlikely(rest))
		recording_damage(s->replay->recording,
			"a sample has %llu bytes behind its fields, where other records may have "
			"been: these cannot be read",
			(unsigned long long)rest);
	return index;
}

uint64_t replay_time(struct attar_stream *s, const struct perf_event_header *header)
{
	uint32_t index = likely(s->replay->same_layout) ? 0 : replay_layout(s, header);

	return index == NO_COUNTER ? 0 : attar_record_time(&s->layouts[index], header);
}

bool replay_is_final_loss(struct attar_stream *s, const struct perf_event_header *header)
{
	return header->type == PERF_RECORD_LOST_SAMPLES && !replay_time(s, header);
}

bool replay_is_side_band(const struct attar_stream *s, uint32_t index)
{
	const struct perf_event_attr *attr =
		&recording_get_event(s->replay->recording, index)->attr;

	return attr->type == PERF_TYPE_SOFTWARE && attr->config == PERF_COUNT_SW_DUMMY;
}

/* ---- sequences ---- */

/* The CPU of a record; CPUS_MAX: unknown. */
static uint32_t cpu_of(const struct attar_stream *s, const struct perf_event_header *header)
{
	uint32_t index = replay_layout(s, header), cpu;
	const struct attar_layout *layout = index == NO_COUNTER ? NULL : &s->layouts[index];
	int at = !layout                              ? -1
		 : header->type == PERF_RECORD_SAMPLE ? layout->cpu
		 : layout->back_cpu > 0               ? header->size - layout->back_cpu
						      : -1;

	if (at < (int)sizeof(*header) || at + 8 > header->size)
		return CPUS_MAX;
	memcpy(&cpu, (const char *)header + at, sizeof(cpu));
	return MIN(cpu, (uint32_t)CPUS_MAX);
}

/* The newest record of a CPU in earlier sequences; NULL: unknown, or out of memory. */
static uint64_t *last_of(struct attar_stream *s, const struct perf_event_header *header)
{
	uint32_t cpu = cpu_of(s, header);

	while (cpu < CPUS_MAX && cpu >= s->replay->last_of_cpu.n)
		if (vec_push(&s->replay->last_of_cpu, 0) < 0)
			return NULL;
	return cpu < CPUS_MAX ? &s->replay->last_of_cpu.at[cpu] : NULL;
}

/*
 * A sequence that begins with a loss has lost what its ring could not store since the previous
 * round, when it was emptied. 0: the sequence does not, or that is unknown.
 */
static uint64_t time_before(struct attar_stream *s, const struct perf_event_header *first)
{
	const uint64_t *last = stream_is_loss(first) ? last_of(s, first) : NULL;
	uint64_t time, from;

	if (!last)
		return 0;
	from = MAX(*last, s->replay->ended[1]);
	if (replay_is_final_loss(s, first))
		return from;
	time = replay_time(s, first);
	return MIN(time, from);
}

/* Keeps the time of the last record of a sequence, for a loss after it. NULL: it has no time. */
static void note_last(struct attar_stream *s, const struct perf_event_header *header)
{
	uint64_t *last = header ? last_of(s, header) : NULL;

	if (last)
		*last = MAX(*last, replay_time(s, header));
}

static int make_room(struct attar_stream *s)
{
	size_t room = MAX(2 * s->n_cursors, (size_t)16);
	struct cursor *cursors = reallocarray(s->cursors, room, sizeof(*cursors));

	if (!cursors)
		return base_oom();
	s->cursors = cursors;
	s->replay->cursors_room = room;
	return 0;
}

/*
 * Whether a sequence continues in the next round: its end is followed by the end of the round and
 * by a record that is not older. A loss begins another one, see time_before().
 */
static bool goes_on(const struct attar_stream *s, const struct cursor *c,
	const struct replay_part *part, const char *from, uint64_t time)
{
	const struct perf_event_header *between = (const void *)c->end;

	return c->part->from.chunk == part->from.chunk && c->end + sizeof(*between) == from &&
	       between->type == RECORD_FINISHED_ROUND && !stream_is_loss((const void *)from) &&
	       s->replay->last_time && time >= s->replay->last_time;
}

static int add_sequence(struct attar_stream *s, struct replay_part *part, const char *from,
	const char *to, const struct perf_event_header *last)
{
	uint64_t before;
	struct cursor *c;

	if (from == to)
		return 0;
	before = time_before(s, (const void *)from);
	note_last(s, last);
	if (s->n_cursors > s->replay->old_cursors) {
		c = &s->cursors[s->n_cursors - 1];
		if (goes_on(s, c, part, from, replay_time(s, (const void *)from))) {
			s->replay->last_time = last ? replay_time(s, last) : 0;
			c->end = to;
			return 0;
		}
	}
	s->replay->last_time = last ? replay_time(s, last) : 0;
	if (s->n_cursors == s->replay->cursors_room && make_room(s) < 0)
		return -ENOMEM;
	s->cursors[s->n_cursors++] =
		(struct cursor){.at = from, .end = to, .part = part, .passed_time = before};
	part->sequences++;
	return 0;
}

/* The offset of the time in samples of all events; -1: it differs, or there is none. */
static int common_offset(const struct attar_stream *s)
{
	return s->replay->same_layout && s->n_counters ? s->layouts[0].time : -1;
}

/* replay_time() with common_offset(). */
static inline uint64_t time_at(
	struct attar_stream *s, const struct perf_event_header *header, int offset)
{
	if (unlikely(header->type != PERF_RECORD_SAMPLE || offset < 0 || offset + 8 > header->size))
		return replay_time(s, header);
	return *(const record_word *)((const char *)header + offset);
}

/* Splits the part where time goes back, which is known. */
static int split_at_steps(struct attar_stream *s, struct replay_part *part)
{
	const struct recording_order *order = &part->from.order;
	const char *bytes = part->from.bytes, *first = bytes;
	int r = 0;

	s->newest = MAX(s->newest, order->newest);
	for (size_t i = 0; r == 0 && i < order->n_steps && s->n_cursors < SEQUENCES_MAX; i++) {
		const char *at = bytes + order->steps[i].at;

		r = add_sequence(
			s, part, first, at, (const void *)(bytes + order->steps[i].before));
		first = at;
	}
	if (r < 0)
		return r;
	return add_sequence(s, part, first, bytes + part->from.len,
		order->newest ? (const void *)(bytes + order->last) : NULL);
}

/* Splits the part where time goes back. Records without a time belong to the one before them. */
static int split(struct attar_stream *s, struct replay_part *part)
{
	const char *at = part->from.bytes, *end = at + part->from.len, *first = at;
	const int offset = common_offset(s);
	const struct perf_event_header *before = NULL;
	uint64_t last = 0, newest = s->newest;
	int r = 0;

	if (part->from.order.is_known)
		return split_at_steps(s, part);
	for (const struct perf_event_header *header; r == 0 && at < end; at += header->size) {
		uint64_t time;

		header = (const void *)at;
		time = time_at(s, header, offset);
		if (!time)
			continue;
		if (unlikely(time < last) && s->n_cursors < SEQUENCES_MAX) {
			r = add_sequence(s, part, first, at, before);
			first = at;
		}
		before = header;
		last = time;
		newest = MAX(newest, time);
	}
	s->newest = newest;
	return r == 0 ? add_sequence(s, part, first, at, before) : r;
}

static struct replay_part *part_new(struct replay *replay)
{
	struct replay_part *part = replay->unused;

	if (part)
		replay->unused = part->next;
	else
		part = malloc(sizeof(*part));
	if (!part || vec_push(&replay->parts, part) < 0) {
		free(part);
		base_oom();
		return NULL;
	}
	*part = (struct replay_part){.index = replay->parts.n - 1};
	return part;
}

static void part_free(struct replay *replay, struct replay_part *part)
{
	struct replay_part *last = replay->parts.at[--replay->parts.n];

	replay->parts.at[part->index] = last;
	last->index = part->index;
	if (part->from.chunk)
		recording_release(replay->recording, &part->from);
	part->next = replay->unused;
	replay->unused = part;
}

/* Removes cursors that are at their end. */
static void drop_read(struct attar_stream *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_cursors; i++)
		if (s->cursors[i].header || s->cursors[i].at != s->cursors[i].end)
			s->cursors[n++] = s->cursors[i];
	s->n_cursors = n;
}

/* ---- events ---- */

static bool has_time_at_same_offset(const struct attar_layout *a, const struct attar_layout *b)
{
	return a->time == b->time && a->back_time == b->back_time;
}

static bool defers(const struct perf_event_attr *attr)
{
	union uapi_attr whole = {.attr = *attr};

	return whole.flags & UAPI_ATTR_DEFER_CALLCHAIN;
}

/* Synthesized mappings have no id of their event: they have build IDs if one of the events has. */
static void share_build_ids(struct attar_stream *s, size_t n)
{
	bool any = false;

	for (size_t i = 0; i < n; i++)
		any |= s->layouts[i].build_id;
	for (size_t i = 0; i < n; i++)
		s->layouts[i].build_id = any;
}

/* Takes over events that the stream does not know yet. */
static int take_events(struct attar_stream *s)
{
	size_t n = recording_n_events(s->replay->recording);
	int r = n > s->n_counters ? stream_grow(s, n) : 0;

	for (size_t i = s->n_counters; r == 0 && i < n; i++) {
		const struct recording_event *event = recording_get_event(s->replay->recording, i);

		attar_layout_init(&s->layouts[i], &event->attr);
		s->numbers[i] = (uint32_t)i;
		s->accounts[i] = (struct account){.defers = defers(&event->attr)};
		for (size_t k = 0; r == 0 && k < event->n_ids; k++)
			r = map_put(&s->ids, event->ids[k], i) < 0 ? base_oom() : 0;
		s->replay->same_layout &= has_time_at_same_offset(&s->layouts[i], &s->layouts[0]);
	}
	if (r == 0 && n > s->n_counters)
		share_build_ids(s, n);
	if (r == 0 && n > s->n_counters) {
		s->n_counters = n;
		leader_samples_learn(s);
	}
	return r;
}

/* ---- rounds ---- */

/* As recording_next(): 1, 0 at the end, -EAGAIN. Sets the bytes and whether they end a round. */
static int read_part(struct attar_stream *s, size_t *ret_bytes, bool *ret_ends_round)
{
	struct replay *replay = s->replay;
	struct replay_part *part = part_new(replay);
	int r = part ? recording_next(replay->recording, &part->from) : -ENOMEM;

	if (r <= 0) {
		if (part)
			part_free(replay, part);
		return r;
	}
	*ret_bytes = part->from.len;
	*ret_ends_round = part->from.ends_round;
	r = take_events(s); /* a pipe may have added some */
	if (r == 0)
		r = split(s, part);
	if (!part->sequences)
		part_free(replay, part);
	return r < 0 ? r : 1;
}

/* As read_part(), for all parts up to the end of a round of some size. */
static int read_parts(struct attar_stream *s)
{
	struct replay *replay = s->replay;
	bool each = recording_fd(replay->recording) >= 0 ||
		    recording_get_facts(replay->recording)->script;
	bool ends_round = false;
	size_t bytes, sum = 0;
	int r;

	do {
		r = read_part(s, &bytes, &ends_round);
		if (r <= 0)
			return r;
		sum += bytes;
		if (ends_round) {
			replay->ended[1] = replay->ended[0];
			replay->ended[0] = s->newest;
		}
	} while (!ends_round || (!each && sum < ROUND_BYTES));
	return r;
}

static pid_t recorder_of(const struct recording *recording)
{
	return recording_get_facts(recording)->recorder ?: NO_PID;
}

int replay_read_round(struct attar_stream *s)
{
	struct cursor **heap;
	int r;

	drop_read(s);
	s->replay->old_cursors = s->n_cursors;
	r = read_parts(s);
	if (r < 0 && r != -EAGAIN)
		return r;
	if (s->replay->skips_recorder)
		s->skipped_pid = recorder_of(s->replay->recording);
	s->replay->is_at_end = r == 0;
	if (s->replay->heap_room < s->n_cursors || !s->merge.heap) {
		heap = reallocarray(s->merge.heap, s->replay->cursors_room + 1, sizeof(*heap));
		if (!heap)
			return base_oom();
		s->merge.heap = heap;
		s->replay->heap_room = s->replay->cursors_room;
	}
	return r != -EAGAIN;
}

uint64_t replay_horizon(struct attar_stream *s)
{
	uint64_t *slot = &s->replay->newest[s->replay->rounds++ % REPLAY_ROUNDS], horizon = *slot;

	*slot = s->newest;
	return horizon; /* the horizon of REPLAY_ROUNDS ago; 0 at first */
}

const struct perf_event_header *replay_take(struct attar_stream *s, struct cursor *c)
{
	while (c->at < c->end) {
		const struct perf_event_header *header = (const void *)c->at;

		c->at += header->size;
		if (likely(header->type < RECORD_ATTR))
			return header;
	}
	if (c->part && --c->part->sequences == 0)
		part_free(s->replay, c->part);
	c->part = NULL;
	return NULL;
}

/* ---- a stream of a recording ---- */

int stream_replay(struct recording *recording, struct attar_symbols *symbols,
	struct attar_stream **ret_stream)
{
	const char *arch = recording_get_facts(recording)->arch;
	struct attar_stream *s = calloc(1, sizeof(*s));
	int r;

	if (!s || !(s->replay = calloc(1, sizeof(*s->replay)))) {
		free(s);
		return base_oom();
	}
	s->process = check_process;
	s->next = stream_next_record;
	s->epoll_fd = s->caller_fd = -1;
	s->side = SIZE_MAX;
	s->skipped_pid = NO_PID;
	*s->replay = (struct replay){.recording = recording, .same_layout = true};
	stream_forget_ids(s);
	procs_init(&s->procs, symbols, false);
	build_ids_init(&s->replay->build_ids, recording);
	s->procs.build_ids = &s->replay->build_ids;
	s->procs.elsewhere = !this_host_recorded(recording);
	s->procs.is_foreign = arch && !unwind_supports(arch);
	deferred_callchain_init(&s->defer);
	r = take_events(s);
	if (r < 0) {
		attar_stream_free(s);
		return r;
	}
	*ret_stream = s;
	return 0;
}

void replay_settle(struct attar_stream *s)
{
	const struct recording_missing *missing;
	size_t n;

	if (s->settled || !s->drained)
		return;
	s->settled = true;
	missing = recording_missing(s->replay->recording, &n);
	for (size_t i = 0; i < n; i++)
		missing_add(s, missing[i].cpu, missing[i].count);
}

void replay_free(struct replay *replay)
{
	if (!replay)
		return;
	while (replay->parts.n)
		part_free(replay, replay->parts.at[0]);
	vec_done(&replay->parts);
	while (replay->unused) {
		struct replay_part *part = replay->unused;

		replay->unused = part->next;
		free(part);
	}
	vec_done(&replay->last_of_cpu);
	build_ids_done(&replay->build_ids);
	leader_samples_done(&replay->leader);
	free(replay);
}
