/* SPDX-License-Identifier: MIT */
#include "stream/replay.h"

#include "base/check.h"
#include "record/uapi.h"
#include "stream/stream.h"

/* Records in no order at all would give one sequence each. */
enum { SEQUENCES_MAX = 1 << 16, NO_PID = INT32_MIN };

/* ---- identifying records ---- */

uint32_t replay_layout(const struct attar_stream *s, const struct perf_event_header *header)
{
	int index = recording_event_of(s->replay->recording, header);

	return index >= 0 && (size_t)index < s->n_counters ? (uint32_t)index : NO_COUNTER;
}

uint64_t replay_time(struct attar_stream *s, const struct perf_event_header *header)
{
	uint32_t index = likely(s->replay->same_layout) ? 0 : replay_layout(s, header);

	return index == NO_COUNTER ? 0 : attar_record_time(&s->layouts[index], header);
}

/* ---- sequences ---- */

static int add_sequence(
	struct attar_stream *s, struct replay_part *part, const char *from, const char *to)
{
	struct cursor *cursors;

	if (from == to)
		return 0;
	cursors = reallocarray(s->cursors, s->n_cursors + 1, sizeof(*cursors));
	if (!cursors)
		return base_oom();
	s->cursors = cursors;
	s->cursors[s->n_cursors++] = (struct cursor){.at = from, .end = to, .part = part};
	part->sequences++;
	return 0;
}

/* Splits the part where time goes back. Records without a time belong to the one before them. */
static int split(struct attar_stream *s, struct replay_part *part)
{
	const char *at = part->from.bytes, *end = at + part->from.len, *first = at;
	uint64_t last = 0;
	int r = 0;

	for (const struct perf_event_header *header; r == 0 && at < end; at += header->size) {
		uint64_t time;

		header = (const void *)at;
		time = replay_time(s, header);
		if (time && time < last && s->n_cursors < SEQUENCES_MAX) {
			r = add_sequence(s, part, first, at);
			first = at;
		}
		last = time ? time : last;
		s->newest = MAX(s->newest, time);
	}
	return r == 0 ? add_sequence(s, part, first, at) : r;
}

static void part_free(struct replay *replay, struct replay_part *part)
{
	vec_each (&replay->parts, it) {
		if (*it != part)
			continue;
		*it = replay->parts.at[--replay->parts.n];
		break;
	}
	recording_release(replay->recording, &part->from);
	free(part);
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
	if (r == 0)
		s->n_counters = n;
	return r;
}

/* ---- rounds ---- */

/* As recording_next(): 1, 0 at the end, -EAGAIN. */
static int read_part(struct attar_stream *s, bool *ret_ends_round)
{
	struct replay *replay = s->replay;
	struct replay_part *part = calloc(1, sizeof(*part));
	int r;

	if (!part || vec_push(&replay->parts, part) < 0) {
		free(part);
		return base_oom();
	}
	r = recording_next(replay->recording, &part->from);
	if (r <= 0) {
		replay->parts.n--;
		free(part);
		return r;
	}
	*ret_ends_round = part->from.ends_round;
	r = take_events(s); /* a pipe may have added some */
	if (r == 0)
		r = split(s, part);
	if (!part->sequences)
		part_free(replay, part);
	return r < 0 ? r : 1;
}

int replay_read_round(struct attar_stream *s)
{
	bool ends_round = false;
	struct cursor **heap;
	int r = 1;

	drop_read(s);
	while (r > 0 && !ends_round)
		r = read_part(s, &ends_round);
	if (r < 0 && r != -EAGAIN)
		return r;
	s->replay->ended = r == 0;
	heap = reallocarray(s->merge.heap, s->n_cursors + 1, sizeof(*heap));
	if (!heap)
		return base_oom();
	s->merge.heap = heap;
	return r != -EAGAIN;
}

uint64_t replay_horizon(struct attar_stream *s)
{
	uint64_t *slot = &s->replay->newest[s->replay->rounds++ % REPLAY_ROUNDS], horizon = *slot;

	*slot = s->newest;
	return horizon; /* that of REPLAY_ROUNDS ago; 0 at first */
}

const struct perf_event_header *replay_take(struct attar_stream *s, struct cursor *c)
{
	const struct perf_event_header *header = (const void *)c->at;

	if (c->at < c->end) {
		c->at += header->size;
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
	struct attar_stream *s = calloc(1, sizeof(*s));
	int r;

	if (!s || !(s->replay = calloc(1, sizeof(*s->replay)))) {
		free(s);
		return base_oom();
	}
	s->process = check_process;
	s->epoll_fd = s->caller_fd = -1;
	s->side = SIZE_MAX;
	s->skipped_pid = NO_PID;
	*s->replay = (struct replay){.recording = recording, .same_layout = true};
	stream_forget_ids(s);
	procs_init(&s->procs, symbols, false);
	deferred_callchain_init(&s->defer);
	r = take_events(s);
	if (r < 0) {
		attar_stream_free(s);
		return r;
	}
	*ret_stream = s;
	return 0;
}

void replay_free(struct replay *replay)
{
	if (!replay)
		return;
	while (replay->parts.n)
		part_free(replay, replay->parts.at[0]);
	vec_done(&replay->parts);
	free(replay);
}
