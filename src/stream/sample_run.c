/* SPDX-License-Identifier: MIT */
#include "stream/sample_run.h"

#include "perf/ring.h"
#include "perfdata/format.h"
#include "stream/stream.h"

/* The bits of the first word of a record: its type and size, without misc. */
static const uint64_t RUN_SAME = UINT64_C(0xffff0000ffffffff);

/* A record that ends a round of a recording. */
static const uint64_t ROUND_END = UINT64_C(8) << 48 | RECORD_FINISHED_ROUND;

enum { CHAIN = PERF_SAMPLE_CALLCHAIN, DATA = PERF_SAMPLE_RAW };

/* What follows the fixed-size fields: nothing; raw data; a call chain and possibly raw data. */
enum tail { NO_TAIL, RAW_TAIL, CHAIN_TAIL };

/* ---- the next sample ---- */

/*
 * The position of a field in samples with these fields of SAMPLE_COMMON, in words; 0: the position
 * after all of them. The compiler evaluates it for constant arguments, unlike a loop.
 */
static inline __attribute__((always_inline)) unsigned word_of(uint64_t fixed, uint64_t field)
{
	enum {
		IP = PERF_SAMPLE_IDENTIFIER,
		TASK = IP | PERF_SAMPLE_IP,
		TIME = TASK | PERF_SAMPLE_TID,
		ID = TIME | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR,
		CPU = ID | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID,
		PERIOD = CPU | PERF_SAMPLE_CPU,
		ALL = PERIOD | PERF_SAMPLE_PERIOD,
	};
	uint64_t before = field == PERF_SAMPLE_IDENTIFIER ? 0
			  : field == PERF_SAMPLE_IP       ? IP
			  : field == PERF_SAMPLE_TID      ? TASK
			  : field == PERF_SAMPLE_TIME     ? TIME
			  : field == PERF_SAMPLE_ID       ? ID
			  : field == PERF_SAMPLE_CPU      ? CPU
			  : field == PERF_SAMPLE_PERIOD   ? PERIOD
							  : ALL;

	return 1 + (unsigned)__builtin_popcountll(fixed & before);
}

/* Looks up the thread of a sample. False if it is not known, or is not to be delivered. */
static inline bool take_task(struct attar_stream *s, uint64_t task)
{
	pid_t pid = (pid_t)task, tid = (pid_t)(task >> 32);
	struct thread *t = *procs_recent(&s->procs, tid);

	if (unlikely(!thread_is(t, pid, tid) || pid == s->skipped_pid))
		return false;
	s->procs.task = task;
	s->procs.of_task = t;
	return true;
}

/* The call chain, and raw data after it. */
static __attribute__((noinline)) bool take_chain(
	struct attar_stream *s, const struct sample_run *run, const record_word *at)
{
	const struct perf_event_header *header = (const void *)run->at;
	uint64_t spare = (header->size - run->min) / 8, nr = *at++;
	struct attar_sample *sample = &s->record.sample;

	if (unlikely(nr > spare))
		return false;
	sample->callchain = (const uint64_t *)at;
	sample->callchain_nr = (uint32_t)nr;
	if (!(run->type & DATA))
		return true;
	at += nr;
	if (unlikely(sample_raw_words((uint32_t)*at) > spare - nr))
		return false;
	sample->raw = (const char *)at + 4;
	sample->raw_size = (uint32_t)*at;
	return true;
}

static int next_otherwise(struct attar_stream *s, struct attar_event *ev);

/*
 * The event of the record at the front, which was checked. What is equal in all samples of the run
 * is in s->record already, see set_equal_fields().
 */
static inline __attribute__((always_inline)) int fill_event(struct attar_stream *s,
	struct sample_run *run, struct sample_pattern *like, struct attar_event *ev, uint64_t fixed)
{
	const record_word *words = (const record_word *)(const void *)run->at;
	struct attar_record *rec = &s->record;
	const uint64_t first = words[0], ip = words[word_of(fixed, PERF_SAMPLE_IP)],
		       task = words[word_of(fixed, PERF_SAMPLE_TID)],
		       time = words[word_of(fixed, PERF_SAMPLE_TIME)],
		       cpu = words[word_of(fixed, PERF_SAMPLE_CPU)],
		       period = fixed & PERF_SAMPLE_PERIOD
					? words[word_of(fixed, PERF_SAMPLE_PERIOD)]
					: 0;

	memcpy(rec, &first, sizeof(first)); /* type, misc and size */
	rec->header = (const void *)words;
	rec->sample.ip = ip;
	memcpy(&rec->pid, &task, sizeof(task));
	rec->time = time;
	rec->cpu = (uint32_t)cpu;
	if (fixed & PERF_SAMPLE_PERIOD)
		rec->sample.period = period;
	run->at += like->size; /* first >> 48, which would wait for the record */
	like->arrived++;
	s->delivered = time;
	s->stats.samples++;
	*ev = (struct attar_event){.record = rec,
		.time = time,
		.counter = like->number,
		.cpu = (uint32_t)cpu,
		.thread = &s->procs.of_task->pub};
	return 1;
}

static inline bool is_like(const struct sample_run *run, const struct sample_pattern *pattern,
	const record_word *words, unsigned id_at)
{
	return run->at <= pattern->last && (words[0] & RUN_SAME) == pattern->same &&
	       (!id_at || words[id_at] == pattern->id);
}

static inline void swap_patterns(struct sample_run *run)
{
	struct sample_pattern *like = run->before;

	run->before = run->like;
	run->like = like;
}

/* Whether the record at the front, whose pattern was found, is the next in time. */
static inline __attribute__((always_inline)) bool is_next(
	struct attar_stream *s, const record_word *words, unsigned time_at, unsigned task_at)
{
	uint64_t time = words[time_at], task = words[task_at];

	if (unlikely(time < s->delivered || time > s->run_limit))
		return false;
	return likely(task == s->procs.task && s->procs.of_task) || take_task(s, task);
}

/* What differs between the patterns of a run, see set_equal_fields(). */
static inline __attribute__((always_inline)) void set_pattern_fields(struct attar_stream *s,
	const struct sample_pattern *pattern, uint64_t fixed, enum tail kind)
{
	struct attar_record *rec = &s->record;

	if (fixed & (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_ID))
		rec->id = pattern->id;
	if (!(fixed & PERF_SAMPLE_PERIOD))
		rec->sample.period = s->layouts[pattern->counter].fixed_period;
	if (kind != CHAIN_TAIL)
		rec->sample.raw_size = pattern->raw;
}

/*
 * Takes the next record of the run if it is a sample like the one before, or like the newest one of
 * another event, as begin and end of something often take turns, and the next in time.
 */
static inline __attribute__((always_inline)) int next_same(
	struct attar_stream *s, struct attar_event *ev, uint64_t fixed, enum tail kind)
{
	uint64_t id = fixed & (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_ID);
	struct sample_run *run = &s->run->run;
	struct sample_pattern *like = run->like;
	const record_word *words = (const record_word *)(const void *)run->at, *tail;
	unsigned id_at = id ? word_of(fixed, id) : 0;

	if (!is_like(run, like, words, id_at)) {
		like = run->before;
		if (unlikely(!is_like(run, like, words, id_at)))
			return next_otherwise(s, ev);
		swap_patterns(run);
		set_pattern_fields(s, like, fixed, kind);
	}
	if (unlikely(!is_next(
		    s, words, word_of(fixed, PERF_SAMPLE_TIME), word_of(fixed, PERF_SAMPLE_TID))))
		return next_otherwise(s, ev);
	tail = words + word_of(fixed, 0);
	if (kind == CHAIN_TAIL) {
		if (unlikely(!take_chain(s, run, tail)))
			return next_otherwise(s, ev);
	} else if (kind == RAW_TAIL) {
		if (unlikely((uint32_t)*tail != like->raw))
			return next_otherwise(s, ev);
		s->record.sample.raw = (const char *)tail + 4;
	}
	return fill_event(s, run, like, ev, fixed);
}

/* One for each of the usual sets of fields, so that their positions are constants. */
#define NEXT(name, fixed)                                                                          \
	static int name(struct attar_stream *s, struct attar_event *ev)                            \
	{                                                                                          \
		return next_same(s, ev, fixed, NO_TAIL);                                           \
	}                                                                                          \
	static int name##_raw(struct attar_stream *s, struct attar_event *ev)                      \
	{                                                                                          \
		return next_same(s, ev, fixed, RAW_TAIL);                                          \
	}                                                                                          \
	static int name##_chain(struct attar_stream *s, struct attar_event *ev)                    \
	{                                                                                          \
		return next_same(s, ev, fixed, CHAIN_TAIL);                                        \
	}

NEXT(next_own, SAMPLE_USUAL)
NEXT(next_one, SAMPLE_ONE)
NEXT(next_more, SAMPLE_MORE)
NEXT(next_self, SAMPLE_SELF)

/* For any fields of SAMPLE_COMMON. */
static int next_any(struct attar_stream *s, struct attar_event *ev)
{
	struct sample_run *run = &s->run->run;
	const struct perf_event_header *header = (const void *)run->at;
	const record_word *words = (const record_word *)(const void *)run->at;
	struct attar_record *rec = &s->record;

	if (!is_like(run, run->like, words, run->id_at) ||
		!is_next(s, words, run->time_at, run->task_at) ||
		!sample_common(run->type, header, (header->size - run->min) / 8, rec))
		return next_otherwise(s, ev);
	if (!(run->type & PERF_SAMPLE_PERIOD))
		rec->sample.period = s->layouts[run->like->counter].fixed_period;
	memcpy(rec, header, sizeof(*header));
	rec->header = header;
	run->at += header->size;
	run->like->arrived++;
	s->delivered = rec->time;
	s->stats.samples++;
	*ev = (struct attar_event){.record = rec,
		.time = rec->time,
		.counter = run->like->number,
		.cpu = rec->cpu,
		.thread = &s->procs.of_task->pub};
	return 1;
}

/* ---- changes within a run ---- */

/* All samples of a recording of one event are of that event. */
static bool needs_id(const struct attar_stream *s)
{
	return !s->replay || s->n_counters > 1;
}

static inline record_word word_at(const struct sample_run *run, unsigned at)
{
	return ((const record_word *)(const void *)run->at)[at];
}

/* What next_same() expects to be equal in the samples of a run. */
static inline void set_equal_fields(struct attar_stream *s, const struct sample_run *run)
{
	struct attar_record *rec = &s->record;

	if (run->next == next_any)
		return;
	rec->id = run->id_at ? run->like->id : 0;
	if (!(run->type & PERF_SAMPLE_PERIOD))
		rec->sample.period = s->layouts[run->like->counter].fixed_period;
	if (!(run->type & CHAIN)) {
		rec->sample.callchain = NULL;
		rec->sample.callchain_nr = 0;
		rec->sample.raw_size = run->like->raw;
	}
	if (!(run->type & DATA)) {
		rec->sample.raw = NULL;
		rec->sample.raw_size = 0;
	}
}

/*
 * Whether the fast path can deliver samples of a counter. An shm_source may have events in between;
 * deferred samples have to wait.
 */
static bool is_eligible(const struct attar_stream *s, uint32_t counter)
{
	return !s->shm_source && !s->accounts[counter].defers &&
	       !(s->events && s->events_ops->concern(s->events, s->numbers[counter]));
}

/* Samples of several counters are of one run if they have the same fields. */
static bool is_alike(const struct attar_stream *s, uint32_t counter, const struct sample_run *run)
{
	return s->layouts[counter].sample_type == run->type && is_eligible(s, counter);
}

static void count_pattern(struct cursor *c, struct sample_pattern *pattern)
{
	if (c->counts && pattern->same)
		c->counts[pattern->counter].arrived += pattern->arrived;
	pattern->arrived = 0;
}

static void count_run(struct cursor *c)
{
	count_pattern(c, c->run.like);
	count_pattern(c, c->run.before);
}

/*
 * The pattern of the event of the record at the front, which may take the place of the older one;
 * NULL: its samples are of another run.
 */
static inline struct sample_pattern *pattern_of_front(
	struct attar_stream *s, struct sample_run *run)
{
	struct sample_pattern *before = run->before;
	uint64_t id = run->id_at ? word_at(run, run->id_at) : 0;
	uint32_t counter = run->like->counter;

	if (!run->id_at || id == run->like->id)
		return run->like;
	if (before->same && id == before->id)
		return before;
	if (needs_id(s))
		counter = stream_counter_of(s, id);
	if (counter == NO_COUNTER || !is_alike(s, counter, run))
		return NULL;
	count_pattern(s->run, before);
	*before = (struct sample_pattern){
		.id = id, .counter = counter, .number = s->numbers[counter]};
	return before;
}

/* A sequence can continue in the next round. */
static inline bool skip_round_end(struct sample_run *run)
{
	if (likely(run->end - run->at <= 8 || word_at(run, 0) != ROUND_END))
		return false;
	run->at += 8;
	return true;
}

/* OTHER: the record at the front is not a sample of the run. */
enum { SAME, CHANGED, OTHER };

/* Adapts the patterns of the run to the record at the front. */
static inline int adapt(struct attar_stream *s, struct sample_run *run)
{
	bool is_skipped = skip_round_end(run);
	uint64_t left = (uint64_t)(run->end - run->at), first, size;
	struct sample_pattern *pattern;
	uint32_t raw = 0;

	if (unlikely(left < sizeof(first)))
		return OTHER;
	first = word_at(run, 0);
	size = first >> 48;
	if ((uint32_t)first != PERF_RECORD_SAMPLE || size > left || size < run->min || size % 8)
		return OTHER;
	if (run->raw_at) {
		raw = (uint32_t)word_at(run, run->raw_at);
		if (sample_raw_words(raw) > (size - run->min) / 8)
			return OTHER;
	}
	pattern = pattern_of_front(s, run);
	if (!pattern)
		return OTHER;
	if (!is_skipped && pattern == run->like && pattern->same == (first & RUN_SAME) &&
		pattern->raw == raw)
		return SAME;
	if (unlikely(
		    s->replay && sample_rest(&s->layouts[pattern->counter], (const void *)run->at)))
		return OTHER; /* see replay_checked_layout() */
	pattern->same = first & RUN_SAME;
	pattern->size = (uint32_t)size;
	pattern->last = run->end - size;
	pattern->raw = raw;
	if (pattern != run->like)
		swap_patterns(run);
	set_equal_fields(s, run);
	return CHANGED;
}

/* ---- several runs in turn ---- */

/*
 * Updates the position of ring or cursor to the position of its run. No space is released before
 * the next record is taken.
 */
static void take_position(struct cursor *c)
{
	struct sample_run *run = &c->run;

	if (c->ring)
		c->ring->tail += (uint64_t)(run->at - run->from);
	else
		c->at = run->at;
	run->from = run->at;
}

/* Clears the fields that sample_common() does not write: they may be fields of another run. */
static void clear_rare_fields(struct attar_stream *s, const struct sample_run *run)
{
	if (!(run->type & PERF_SAMPLE_ADDR))
		s->record.sample.addr = 0;
	if (!(run->type & PERF_SAMPLE_STREAM_ID))
		s->record.stream_id = 0;
}

/*
 * Parks the run, since the record of another cursor is the next in time; resumes the run of that
 * one, if it has one.
 */
static bool switch_run(struct attar_stream *s, uint64_t time)
{
	struct cursor *c = s->run, *next;
	struct sample_run *run = &c->run;

	if (run->at != run->from) {
		c->passed_time = s->delivered;
		take_position(c);
	} else if (c->header) {
		c->passed_time = c->time;
	}
	count_run(c);
	c->header = NULL;
	c->time = time;
	run->is_parked = true;
	s->front_done = false;
	merge_sink_first(&s->merge);
	next = merge_first(&s->merge);
	if (!next->run.is_parked) {
		s->run = NULL;
		s->next = stream_next_record;
		return false;
	}
	next->run.is_parked = false;
	clear_rare_fields(s, &next->run);
	set_equal_fields(s, &next->run);
	s->run = next;
	s->run_limit = MIN(s->horizon, merge_second_time(&s->merge));
	s->next = next->run.next;
	return true;
}

static __attribute__((noinline)) int next_otherwise(struct attar_stream *s, struct attar_event *ev)
{
	struct sample_run *run = &s->run->run;
	int changed = adapt(s, run);
	uint64_t time;

	if (changed == OTHER)
		return stream_next_record(s, ev);
	time = word_at(run, run->time_at);
	if (time > s->run_limit && time <= s->horizon)
		changed = switch_run(s, time) ? CHANGED : SAME;
	return changed == CHANGED ? s->next(s, ev) : stream_next_record(s, ev);
}

/* ---- repeats ---- */

/*
 * The number of samples at the front that are like the newest one, at most max. *time is its time,
 * and then the time of the last one of them, which is at most `limit`.
 */
static inline uint64_t count_repeats(const struct attar_stream *s, const struct sample_run *run,
	uint64_t limit, uint64_t max, uint64_t *time)
{
	const struct sample_pattern *like = run->like;
	const uint64_t same = like->same, id = like->id;
	const size_t size = like->size, id_at = run->id_at, task_at = run->task_at,
		     time_at = run->time_at, raw_at = run->raw_at;
	const char *at = run->at, *last = like->last;
	uint64_t n = 0, before = *time, task;

	memcpy(&task, &s->record.pid, sizeof(task));
	for (; n < max && at <= last; n++, at += size) {
		const record_word *words = (const record_word *)(const void *)at;
		uint64_t next = words[time_at];

		if (words[task_at] != task || (words[0] & RUN_SAME) != same ||
			(id_at && words[id_at] != id) || (uint32_t)words[raw_at] != like->raw ||
			next < before || next > limit)
			break;
		before = next;
	}
	*time = before;
	return n;
}

bool sample_run_repeats(
	struct attar_stream *s, uint64_t until, uint64_t max, struct attar_repeats *ret_repeats)
{
	struct sample_run *run = s->run ? &s->run->run : NULL;
	uint64_t n;

	if (!run || !run->raw_at)
		return false;
	n = count_repeats(s, run, MIN(s->run_limit, until - 1), max, &s->delivered);
	if (!n)
		return false;
	*ret_repeats = (struct attar_repeats){.n = n,
		.raw = run->at + run->raw_at * sizeof(record_word) + 4,
		.stride = run->like->size};
	run->at += n * run->like->size;
	s->record.header = (const void *)(run->at - run->like->size);
	run->like->arrived += n;
	s->stats.samples += n;
	return true;
}

/* ---- turns ---- */

/* Whether the record is of the task and the pattern, and its time is in this range. */
static inline bool is_turn(const struct sample_run *run, const struct sample_pattern *like,
	const char *at, uint64_t task, uint64_t since, uint64_t limit)
{
	const record_word *words = (const record_word *)(const void *)at;

	return at <= like->last && (words[0] & RUN_SAME) == like->same &&
	       words[run->task_at] == task && (!run->id_at || words[run->id_at] == like->id) &&
	       (uint32_t)words[run->raw_at] == like->raw && words[run->time_at] >= since &&
	       words[run->time_at] <= limit;
}

static inline uint64_t time_of(const struct sample_run *run, const char *at)
{
	return ((const record_word *)(const void *)at)[run->time_at];
}

/* As count_repeats(): the number of pairs of samples of the two patterns of the run. */
static uint64_t count_turns(const struct attar_stream *s, const struct sample_run *run,
	uint64_t limit, uint64_t max, uint64_t *time)
{
	const struct sample_pattern *like = run->like, *other = run->before;
	const char *first = run->at, *second;
	uint64_t n = 0, before = *time, task;

	memcpy(&task, &s->record.pid, sizeof(task));
	for (; n < max && is_turn(run, other, first, task, before, limit); n++) {
		second = first + other->size;
		if (!is_turn(run, like, second, task, time_of(run, first), limit))
			break;
		before = time_of(run, second);
		first = second + like->size;
	}
	*time = before;
	return n;
}

bool sample_run_turns(struct attar_stream *s, uint32_t other, uint64_t until, uint64_t max,
	struct attar_turns *ret_turns)
{
	struct sample_run *run = s->run ? &s->run->run : NULL;
	const size_t raw = run ? run->raw_at * sizeof(record_word) + 4 : 0;
	struct sample_pattern *first, *second;
	uint64_t n;

	if (!run || !run->raw_at || !run->before->same || run->before->number != other)
		return false;
	n = count_turns(s, run, MIN(s->run_limit, until - 1), max, &s->delivered);
	if (!n)
		return false;
	first = run->before;
	second = run->like;
	*ret_turns = (struct attar_turns){.n = n,
		.raw = {run->at + raw, run->at + first->size + raw},
		.raw_size = {first->raw, second->raw},
		.stride = first->size + second->size,
		.time_at = (ptrdiff_t)(run->time_at * sizeof(record_word)) - (ptrdiff_t)raw};
	run->at += n * ret_turns->stride;
	s->record.header = (const void *)(run->at - second->size);
	first->arrived += n;
	second->arrived += n;
	s->stats.samples += 2 * n;
	return true;
}

/* ---- begin and end ---- */

static void set_bytes(struct sample_run *run, const struct cursor *c)
{
	const struct attar_ring *ring = c->ring;
	uint64_t end;

	if (!ring) {
		run->from = run->at = c->at;
		run->end = c->end;
		return;
	}
	end = MIN(ring->head, c->give_back);
	end = MIN(end, (ring->tail | (ring->size - 1)) + 1);
	run->from = run->at = ring_at(ring, ring->tail);
	run->end = run->from + (end - ring->tail);
}

#define FUNCTIONS(name)                                                                            \
	{                                                                                          \
		[NO_TAIL] = name, [RAW_TAIL] = name##_raw, [CHAIN_TAIL] = name##_chain             \
	}

static stream_next_fn *function_of(uint64_t fixed, enum tail kind)
{
	static stream_next_fn *const own[] = FUNCTIONS(next_own),
				     *const one[] = FUNCTIONS(next_one),
				     *const more[] = FUNCTIONS(next_more),
				     *const self[] = FUNCTIONS(next_self);

	switch (fixed) {
	case SAMPLE_USUAL:
		return own[kind];
	case SAMPLE_ONE:
		return one[kind];
	case SAMPLE_MORE:
		return more[kind];
	case SAMPLE_SELF:
		return self[kind];
	default:
		return next_any;
	}
}

/* Whether samples have their task and time at fixed positions, and all fields are usual ones. */
static bool set_fields(
	const struct attar_stream *s, const struct attar_layout *layout, struct sample_run *run)
{
	uint64_t type = layout->sample_type;
	uint64_t fixed = type & ~(uint64_t)(CHAIN | DATA);

	if (type & ~(uint64_t)SAMPLE_COMMON || layout->tid < 0 || layout->time < 0 ||
		(layout->id < 0 && needs_id(s)))
		return false;
	run->next = function_of(fixed, type & CHAIN  ? CHAIN_TAIL
				       : type & DATA ? RAW_TAIL
						     : NO_TAIL);
	run->type = type;
	run->min = layout->sample_min;
	run->id_at = layout->id < 0 ? 0 : (uint8_t)(layout->id / 8);
	run->task_at = (uint8_t)(layout->tid / 8);
	run->time_at = (uint8_t)(layout->time / 8);
	run->raw_at = (type & (CHAIN | DATA)) == DATA && run->next != next_any
			      ? (uint8_t)word_of(fixed, 0)
			      : 0;
	return true;
}

void sample_run_begin(struct attar_stream *s, struct cursor *c)
{
	const struct attar_record *rec = &s->record;
	const uint32_t counter = s->record_counter;
	struct sample_run *run = &c->run;

	if (rec->type != PERF_RECORD_SAMPLE || s->delivered < s->start_time ||
		!is_eligible(s, counter) || !set_fields(s, &s->layouts[counter], run))
		return;
	set_bytes(run, c);
	run->memory[0] = (struct sample_pattern){.same = (uint64_t)rec->size << 48 | rec->type,
		.id = rec->id,
		.size = rec->size,
		.last = run->end - rec->size,
		.raw = run->raw_at ? rec->sample.raw_size : 0,
		.counter = counter,
		.number = s->numbers[counter]};
	run->memory[1] = (struct sample_pattern){0};
	run->like = &run->memory[0];
	run->before = &run->memory[1];
	s->run = c;
	s->next = run->next;
	s->run_limit = MIN(s->horizon, merge_second_time(&s->merge));
}

void sample_run_end(struct attar_stream *s)
{
	struct cursor *c = s->run;

	if (!c)
		return;
	s->run = NULL;
	s->next = stream_next_record;
	count_run(c);
	if (c->run.at == c->run.from) {
		c->run.is_parked = !c->header;
		return;
	}
	c->header = s->record.header;
	c->time = s->delivered;
	s->front_done = true;
	take_position(c);
}
