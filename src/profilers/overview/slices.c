/* SPDX-License-Identifier: MIT */
/*
 * The time that is watched comes in slices, with pauses between them. Times of a slice are added up
 * here first: what its last and first parts have is also what the pauses next to them are estimated
 * from. Of long slices, only parts near the pauses count: programs do something else over time.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "attar/private/keytable.h"
#include "overview/overview.h"
#include "overview/pause_estimate.h"

enum {
	SLICE_KEYS = 16384,
	SLICE_NS = 100000000,    /* at least, of a part of a long slice */
	SLICE_MIN_NS = 50000000, /* shorter ones are joined to the part before */
	THREADS_MAX = 256,       /* whose counts are read; a reading takes 10 us */
	NS_PER_US = 1000,
};

/* A key of overview_slice.rows. Padded with zeros. */
struct slice_key {
	struct thread_group group;
	attar_location syscall, place;
	uint64_t stack; /* see attar_stacks_add_span(); 0: none */
	uint32_t state;
	int32_t wait; /* SUM_LONG, SUM_OPEN or -1 */
};

/*
 * Sums of overview_slice.rows: ns; ns of them in the slice; ns of the same waits that were added
 * before, and are known to be long now; turns on a CPU.
 */
enum { SLICE_TIME, SLICE_WATCHED, SLICE_BEFORE, SLICE_TURNS, SLICE_SUMS };

/* The block of a row, if there are stacks. */
struct slice_stack {
	uint64_t depth;
	attar_location at[THREAD_DEPTH_MAX];
};

/* A thread whose counts are read when a pause begins and ends. */
struct slice_thread {
	int fd; /* of its schedstat; -1: none */
	pid_t pid;
	struct thread_group group;
	struct thread_sched before, after; /* the pause, or a part of it */
	bool is_counted;                   /* after is known */
	uint64_t ended;                    /* ns; 0: not in the pause */
	uint32_t state; /* that lasted all of the pause; ATTAR_NO_STATE: unknown */
};

/* Sums of overview_slices.estimates: ns, the variance in us^2, and what is wrong each time, ns. */
enum { ESTIMATE_TIME, ESTIMATE_VARIANCE, ESTIMATE_BIAS, ESTIMATE_SUMS };

/* Which part of a pause a thread may have spent otherwise than next to it, if it is not counted. */
#define UNCOUNTED_DOUBT 0.5

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static enum pause_time time_of(uint32_t state)
{
	return state == THREAD_RUNNING ? TIME_RUNNING
	       : state == THREAD_READY ? TIME_READY
				       : TIME_WAITS;
}

/* ---- what was watched ---- */

/* What the section of the times shows as idle is idle here, too. */
static int add_call(struct overview *o, const struct slice_key *key, enum overview_part part,
	uint64_t time, uint64_t before)
{
	bool is_idle = part == PART_IDLE || overview_is_idle(o, part, &key->group);
	struct attar_keyrow *row;

	if (!key->syscall)
		return 0;
	row = overview_call_at(o, key->syscall, key->group.tid, key->state);
	if (!row)
		return -ENOMEM;
	row->interval.sums[is_idle ? CALL_IDLES : CALL_WAITS] += time;
	if (!is_idle && key->wait == SUM_LONG)
		row->interval.sums[CALL_LONG] += time + before;
	else if (!is_idle && key->wait == SUM_OPEN)
		row->interval.sums[CALL_OPEN] += time;
	return 0;
}

static int add_wait(struct overview *o, const struct slice_key *key, uint64_t time, uint64_t before)
{
	enum overview_part part = overview_part_of(key->state);
	int r = add_call(o, key, part, time, before);

	return r < 0 || part == PART_IDLE ? r
					  : overview_add_place(o->places, key->group.pid, part,
						    key->place, time, false);
}

/* before: parts of long waits that were added when they were not known to be long. */
static int add_time(struct overview *o, const struct slice_key *key, uint64_t time, uint64_t before)
{
	struct attar_keyrow *row;

	if (!time)
		return 0;
	row = attar_keytable_at(o->threads, &key->group, sizeof(key->group));
	if (!row)
		return -ENOMEM;
	row->interval.sums[SUM_STATE + key->state] += time;
	row->interval.sums[SUM_ALL] += time;
	if (key->wait >= 0)
		row->interval.sums[key->wait + (int)key->state] += time + before;
	return time_of(key->state) == TIME_WAITS ? add_wait(o, key, time, before) : 0;
}

static int add_watched(struct overview *o, const struct overview_slice *slice)
{
	struct attar_keyrow *row = NULL;
	int r = 0;

	while (r == 0 && (row = attar_keytable_next(slice->rows, row)))
		r = add_time(o, row->key, row->interval.sums[SLICE_TIME],
			row->interval.sums[SLICE_BEFORE]);
	return r;
}

/* ---- what the kernel counts in a pause ---- */

static void forget_threads(struct slice_thread *threads, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (threads[i].fd >= 0)
			close(threads[i].fd);
	free(threads);
}

static int by_tid(const void *a, const void *b)
{
	const struct slice_thread *x = a, *y = b;

	return (x->group.tid > y->group.tid) - (x->group.tid < y->group.tid);
}

/* False: the thread is gone, or the kernel counts nothing. */
static bool open_thread(const struct attar_run *run, const struct attar_state *state,
	struct slice_thread *ret_thread)
{
	const struct thread_block *block = state->value;
	const struct attar_thread *thread = attar_run_thread(run, block->group.tid);

	if (!thread || !thread->process)
		return false;
	*ret_thread = (struct slice_thread){.pid = thread->process->pid,
		.group = block->group,
		.before.tid = block->group.tid,
		.state = ATTAR_NO_STATE};
	ret_thread->fd = thread_sched_open(ret_thread->pid, block->group.tid);
	if (ret_thread->fd >= 0 && thread_sched_read(ret_thread->fd, &ret_thread->before))
		return true;
	if (ret_thread->fd >= 0)
		close(ret_thread->fd);
	return false;
}

/* Those whose state changed last: the others matter less. */
static int read_threads(struct attar_run *run, struct overview *o)
{
	struct overview_slices *s = &o->slices;
	const struct attar_state *state = NULL;
	size_t n = 0;

	while ((state = attar_states_next(o->times.states, state)))
		n += state->state != ATTAR_NO_STATE;
	s->threads = calloc((n < THREADS_MAX ? n : THREADS_MAX) + 1, sizeof(*s->threads));
	if (!s->threads)
		return -ENOMEM;
	s->read_at = now_ns();
	while ((state = attar_states_next(o->times.states, state)))
		if (state->state != ATTAR_NO_STATE && n-- <= THREADS_MAX)
			s->n_threads += open_thread(run, state, &s->threads[s->n_threads]);
	if (s->n_threads)
		qsort(s->threads, s->n_threads, sizeof(*s->threads), by_tid);
	return 0;
}

int overview_slices_pause(struct attar_run *run, struct overview *o)
{
	struct overview_slices *s = &o->slices;

	s->paused_from = o->duty.paused_at;
	s->is_over = false;
	/* the counts of a thread include its time on other CPUs than the selected ones */
	return attar_run_is_live(run) && overview_has_all_cpus(run) ? read_threads(run, o) : 0;
}

static struct slice_thread *find_thread(struct slice_thread *threads, size_t n, pid_t tid)
{
	const struct slice_thread key = {.group.tid = tid};

	return n ? bsearch(&key, threads, n, sizeof(*threads), by_tid) : NULL;
}

int overview_slices_began(struct attar_run *run, struct overview *o, pid_t tid, uint64_t time)
{
	const struct duty *duty = &o->duty;
	bool is_paused = duty->paused_at && time > duty->paused_at;

	o->slices.began += is_paused;
	/* the record can be read after the end of the pause */
	if (!is_paused && time >= o->times.seen_from)
		return 0;
	return thread_times_began(run, &o->times, tid, time);
}

void overview_slices_exited(struct overview *o, pid_t tid, uint64_t time)
{
	struct overview_slices *s = &o->slices;
	struct slice_thread *thread = find_thread(s->threads, s->n_threads, tid);

	if (thread && time > s->paused_from)
		thread->ended = time;
}

/*
 * The state that a thread without a turn on a CPU has had all the time. One that waits may have
 * been woken up: it sleeps now, too.
 */
static uint32_t lasting_state(const struct slice_thread *thread, const struct attar_state *state)
{
	if (!state || thread->after.turns != thread->before.turns ||
		state->state == THREAD_RUNNING || state->state == ATTAR_NO_STATE)
		return ATTAR_NO_STATE;
	if (state->state != THREAD_READY && !thread_is_asleep(thread->pid, thread->group.tid))
		return ATTAR_NO_STATE;
	return state->state;
}

/* A state that lasts is known up to `until`, as if it had been watched. */
static int count_thread(
	struct attar_run *run, struct overview *o, struct slice_thread *thread, uint64_t until)
{
	uint64_t key = (uint64_t)thread->group.tid;
	struct attar_state *state = attar_states_get(o->times.states, &key, sizeof(key));

	thread->state = ATTAR_NO_STATE;
	thread->after = thread->before;
	thread->is_counted = !thread->ended && thread_sched_read(thread->fd, &thread->after);
	if (thread->is_counted)
		thread->state = lasting_state(thread, state);
	return thread->state == ATTAR_NO_STATE ? 0
					       : thread_times_give(run, &o->times, state, until);
}

/* The part of the pause up to `until`. */
static int count_threads(struct attar_run *run, struct overview *o, uint64_t until)
{
	struct overview_slices *s = &o->slices;
	uint64_t now = now_ns();
	int r = 0;

	s->now.from = until; /* what lasts was not seen in a slice */
	for (size_t i = 0; r == 0 && i < s->n_threads; i++)
		r = count_thread(run, o, &s->threads[i], until);
	s->counted_for = now - s->read_at;
	s->read_at = now;
	return r;
}

/* ---- estimates of a pause ---- */

/* A row of a slice next to the pause. */
struct slice_part {
	const struct attar_keyrow *row;
	enum pause_side side;
};

struct slice_parts {
	struct slice_part *at;
	struct pause_row *rows; /* the same */
	size_t n;
};

static pid_t tid_of(const struct slice_part *part)
{
	return ((const struct slice_key *)part->row->key)->group.tid;
}

static int by_part_tid(const void *a, const void *b)
{
	pid_t x = tid_of(a), y = tid_of(b);

	return (x > y) - (x < y);
}

static void take_parts(
	struct slice_parts *parts, const struct overview_slice *slice, enum pause_side side)
{
	struct attar_keyrow *row = NULL;

	while ((row = attar_keytable_next(slice->rows, row)))
		if (row->interval.sums[SLICE_WATCHED])
			parts->at[parts->n++] = (struct slice_part){row, side};
}

/* Sorted by thread. 0: free them; or -ENOMEM. */
static int new_parts(const struct overview_slices *s, bool has_after, struct slice_parts *ret_parts)
{
	size_t n = attar_keytable_keys(s->last.rows) +
		   (has_after ? attar_keytable_keys(s->now.rows) : 0) + 1;
	struct slice_parts parts = {
		.at = calloc(n, sizeof(*parts.at)), .rows = calloc(n, sizeof(*parts.rows))};

	*ret_parts = parts;
	if (!parts.at || !parts.rows)
		return -ENOMEM;
	take_parts(&parts, &s->last, PAUSE_BEFORE);
	if (has_after)
		take_parts(&parts, &s->now, PAUSE_AFTER);
	if (parts.n)
		qsort(parts.at, parts.n, sizeof(*parts.at), by_part_tid);
	for (size_t i = 0; i < parts.n; i++) {
		const struct slice_key *key = parts.at[i].row->key;

		parts.rows[i] = (struct pause_row){.side = parts.at[i].side,
			.time = time_of(key->state),
			.is_timed = key->state == THREAD_SLEEP,
			.watched = (double)parts.at[i].row->interval.sums[SLICE_WATCHED]};
	}
	*ret_parts = parts;
	return 0;
}

static void set_counts(const struct overview_slices *s, const struct slice_thread *counts,
	struct pause_thread *thread)
{
	double scale = s->counted_for ? thread->length / (double)s->counted_for : 0,
	       *times = thread->times;

	thread->is_counted = true;
	thread->counted_turns = scale * (double)(counts->after.turns - counts->before.turns);
	times[TIME_RUNNING] = scale * (double)(counts->after.ran - counts->before.ran);
	times[TIME_RUNNING] = fmin(times[TIME_RUNNING], thread->length);
	times[TIME_READY] = scale * (double)(counts->after.delay - counts->before.delay);
	times[TIME_READY] = fmin(times[TIME_READY], thread->length - times[TIME_RUNNING]);
	times[TIME_WAITS] = thread->length - times[TIME_RUNNING] - times[TIME_READY];
}

/* Whether a thread began in the pause. */
static bool is_new(const struct overview_slices *s, const struct attar_thread *thread)
{
	return thread && thread->started > s->from && thread->started < s->to;
}

/* What is known of a thread that began in the pause, or ended: there is only one side of it. */
static void set_life(const struct attar_run *run, const struct overview_slices *s, pid_t tid,
	const struct slice_thread *counts, struct pause_thread *thread)
{
	const struct attar_thread *task = attar_run_thread(run, tid);

	if (counts && counts->ended && counts->ended < s->to) {
		thread->length = (double)(counts->ended - s->from);
		thread->watched[PAUSE_AFTER] = 0;
	} else if (is_new(s, task)) {
		thread->length = (double)(s->to - task->started);
		thread->watched[PAUSE_BEFORE] = 0;
	}
}

static int add_stack(struct attar_run *run, struct overview *o, const struct slice_key *key,
	const struct slice_stack *stack, uint64_t time)
{
	const struct attar_thread *thread = attar_run_thread(run, key->group.tid);

	if (!o->stacks || !key->stack || !thread)
		return 0;
	return attar_stacks_add(o->stacks, thread, stack->at, stack->depth, time);
}

/* The key of overview_slices.estimates for a thread; other keys are parts. */
static uint64_t thread_key(pid_t tid)
{
	return PARTS + (uint64_t)tid;
}

static int add_uncertain(
	struct overview_slices *s, uint64_t key, double time, double doubt, double bias)
{
	struct attar_keyrow *row = attar_keytable_at_u64(s->estimates, key);
	double us = doubt / NS_PER_US;

	if (!row)
		return -ENOMEM;
	row->interval.sums[ESTIMATE_TIME] += (uint64_t)time;
	row->interval.sums[ESTIMATE_VARIANCE] += (uint64_t)(us * us);
	row->interval.sums[ESTIMATE_BIAS] += (uint64_t)bias;
	return 0;
}

/* Time that the kernel counted, but of a kind that was not seen next to the pause. */
static int add_unseen(struct overview *o, const struct pause_thread *thread,
	const struct thread_group *group, const struct pause_row *rows, size_t n)
{
	static const enum thread_state states[] = {
		[TIME_RUNNING] = THREAD_RUNNING, [TIME_READY] = THREAD_READY};
	struct slice_key key = {.group = *group, .wait = -1};
	bool is_seen[TIMES] = {false};
	int r = 0;

	for (size_t i = 0; i < n; i++)
		is_seen[rows[i].time] = true;
	for (int i = TIME_RUNNING; r == 0 && i <= TIME_READY; i++) {
		key.state = states[i];
		if (!is_seen[i])
			r = add_time(o, &key, (uint64_t)thread->times[i], 0);
	}
	return r;
}

/*
 * Whether all threads that began in the pause are known. Otherwise, some may have begun and ended
 * in it: their time is estimated by the whole length of the pause for threads that do one of both.
 */
static bool has_all_threads(const struct attar_run *run, const struct overview_slices *s,
	const struct slice_parts *parts)
{
	size_t n = 0;

	for (size_t i = 0; i < parts->n; i++)
		if (!i || tid_of(&parts->at[i]) != tid_of(&parts->at[i - 1]))
			n += is_new(s, attar_run_thread(run, tid_of(&parts->at[i])));
	return n >= s->began_between;
}

/* By part, ns. */
struct estimate {
	double time, doubt, bias; /* doubt, bias: signed, see struct pause_row */
	double unknown;           /* from a slice in which the state was unknown at times */
};

/*
 * The share of the time next to the pause in which the state of a thread was unknown, of one that
 * existed in all of it: 0..1.
 */
static double unknown_share(const struct attar_run *run, const struct overview_slices *s,
	const struct pause_thread *thread, pid_t tid, const struct pause_row *rows, size_t n)
{
	const struct attar_thread *task = attar_run_thread(run, tid);
	double all = thread->watched[PAUSE_BEFORE] + thread->watched[PAUSE_AFTER], known = 0;

	if (!task || task->exited || task->started > s->last.from || all <= 0)
		return 0;
	for (size_t i = 0; i < n; i++)
		known += rows[i].watched;
	return fmax(0, 1 - known / all);
}

/* Whether a thread that was there before the pause is not there after it. */
static bool has_ended(const struct attar_run *run, pid_t tid, const struct slice_thread *counts)
{
	const struct attar_thread *task = attar_run_thread(run, tid);

	return counts ? counts->ended != 0 : !task || task->exited;
}

/* All parts of one thread. Adds to the estimates by part, and of the thread. */
static int estimate_thread(struct attar_run *run, struct overview *o,
	const struct slice_part *parts, struct pause_row *rows, size_t n, bool is_complete,
	struct pause_thread *thread, struct estimate *estimates)
{
	struct overview_slices *s = &o->slices;
	const struct slice_thread *counts = find_thread(s->counted, s->n_counted, tid_of(parts));
	double unknown;
	int r = 0;

	if (counts && counts->state != ATTAR_NO_STATE) /* known */
		return 0;
	for (size_t i = 0; i < n; i++)
		thread->turns[parts[i].side] += (double)parts[i].row->interval.sums[SLICE_TURNS];
	if (counts && counts->is_counted)
		set_counts(s, counts, thread);
	else if (is_complete)
		set_life(run, s, tid_of(parts), counts, thread);
	thread->has_ended = !thread->is_counted && has_ended(run, tid_of(parts), counts);
	unknown = unknown_share(run, s, thread, tid_of(parts), rows, n);
	pause_estimate(thread, rows, n);
	if (!thread->is_counted)
		r = add_uncertain(s, thread_key(tid_of(parts)), thread->length,
			UNCOUNTED_DOUBT * thread->length, 0);
	for (size_t i = 0; r == 0 && i < n; i++) {
		const struct slice_key *key = parts[i].row->key;
		uint64_t time = (uint64_t)rows[i].estimate;
		enum overview_part part = overview_part_of(key->state);

		estimates[part].doubt += rows[i].doubt;
		estimates[part].bias += rows[i].bias;
		if (!thread->is_counted || rows[i].time == TIME_WAITS) {
			estimates[part].time += rows[i].estimate;
			estimates[part].unknown += unknown * rows[i].estimate;
		}
		r = add_time(o, key, time, 0);
		if (r == 0)
			r = add_stack(run, o, key, parts[i].row->value, time);
	}
	return r < 0 || !thread->is_counted ? r : add_unseen(o, thread, &counts->group, rows, n);
}

static int estimate_threads(
	struct attar_run *run, struct overview *o, const struct slice_parts *parts, bool has_after)
{
	struct overview_slices *s = &o->slices;
	struct estimate estimates[PARTS] = {0};
	bool is_complete = has_all_threads(run, s, parts);
	int r = 0;

	for (size_t i = 0, end; r == 0 && i < parts->n; i = end) {
		struct pause_thread thread = {.length = (double)(s->to - s->from),
			.watched = {(double)(s->last.to - s->last.from),
				has_after ? (double)(s->now.to - s->now.from) : 0}};

		for (end = i + 1;
			end < parts->n && tid_of(&parts->at[end]) == tid_of(&parts->at[i]);)
			end++;
		r = estimate_thread(run, o, &parts->at[i], &parts->rows[i], end - i, is_complete,
			&thread, estimates);
	}
	for (int part = 0; r == 0 && part < PARTS; part++)
		if (estimates[part].time > 0 || estimates[part].doubt != 0)
			r = add_uncertain(s, part, estimates[part].time,
				fabs(estimates[part].doubt) + estimates[part].unknown,
				fabs(estimates[part].bias));
	return r;
}

/* Adds what was done in the pause between s->last and, if it is over, s->now. */
static int estimate_pause(struct attar_run *run, struct overview *o, bool has_after)
{
	struct overview_slices *s = &o->slices;
	struct slice_parts parts;
	int r = new_parts(s, has_after, &parts);

	if (r == 0)
		r = estimate_threads(run, o, &parts, has_after);
	free(parts.at);
	free(parts.rows);
	s->from = s->to = 0;
	return r;
}

/* ---- slices ---- */

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Adds what was watched in the slice, and the pause before it. */
static int end_slice(struct attar_run *run, struct overview *o, uint64_t until)
{
	struct overview_slices *s = &o->slices;
	struct overview_slice ended = s->now;
	int r = add_watched(o, &s->now);

	s->now.to = until;
	if (r == 0 && s->from)
		r = estimate_pause(run, o, until > s->now.from);
	if (r == 0 && s->last.to == s->now.from && until < s->now.from + SLICE_MIN_NS) {
		r = keytable_merge(s->last.rows, s->now.rows);
		s->last.to = until;
	} else {
		ended.to = until;
		s->now.rows = s->last.rows;
		s->last = ended;
	}
	keytable_reset(s->now.rows);
	s->now.from = until;
	return r;
}

static int set_stack(struct overview *o, const struct thread_segment *segment,
	attar_location *stack, uint64_t *ret_stack)
{
	const struct thread_block *block = segment->block;

	memcpy(stack, block->stack, block->depth * sizeof(*stack));
	stack[block->depth] = o->labels[overview_part_of(segment->state)];
	return attar_stacks_add_span(o->stacks, segment->thread, stack, block->depth + (size_t)1,
		segment->to - segment->from, ret_stack);
}

/* The row of a segment; NULL: out of memory. */
static struct attar_keyrow *row_of(struct overview *o, const struct thread_segment *segment,
	int wait, uint64_t stack, const attar_location *locations)
{
	const struct thread_block *block = segment->block;
	struct slice_key key = {
		.group = block->group, .stack = stack, .state = segment->state, .wait = wait};
	struct attar_keyrow *row;
	struct slice_stack *copy;

	if (time_of(segment->state) == TIME_WAITS) {
		key.syscall = block->syscall;
		key.place = block->is_stopped ? o->stopped : overview_waiter(block);
	}
	row = attar_keytable_at(o->slices.now.rows, &key, sizeof(key));
	copy = row && stack ? row->value : NULL;
	if (copy && !copy->depth) {
		copy->depth = block->depth + (uint64_t)1;
		memcpy(copy->at, locations, copy->depth * sizeof(*copy->at));
	}
	return row;
}

int overview_slices_add(
	struct attar_run *run, struct overview *o, const struct thread_segment *segment, int wait)
{
	struct overview_slices *s = &o->slices;
	attar_location locations[THREAD_DEPTH_MAX + 1];
	uint64_t stack = 0, from;
	struct attar_keyrow *row;
	int r = 0;

	if (attar_keytable_keys(s->now.rows) >= SLICE_KEYS)
		r = end_slice(run, o, later(segment->to, s->now.from));
	if (r == 0 && o->stacks && segment->state != THREAD_RUNNING)
		r = set_stack(o, segment, locations, &stack);
	row = r == 0 ? row_of(o, segment, wait, stack, locations) : NULL;
	if (!row)
		return r < 0 ? r : -ENOMEM;
	s->seen = later(s->seen, segment->to);
	from = later(segment->from, s->now.from);
	row->interval.sums[SLICE_TIME] += segment->to - segment->from;
	row->interval.sums[SLICE_WATCHED] += segment->to > from ? segment->to - from : 0;
	if (wait == SUM_LONG &&
		segment->from <= segment->since + overview_long_wait(o, segment->state))
		row->interval.sums[SLICE_BEFORE] += segment->from - segment->since;
	row->interval.sums[SLICE_TURNS] += segment->state == THREAD_RUNNING && segment->is_end;
	return 0;
}

/* States that last: their time is added when they end, but belongs to this slice, too. */
static int add_open(struct attar_run *run, struct overview *o, uint64_t until)
{
	const struct attar_state *state = NULL;

	while ((state = attar_states_next(o->times.states, state))) {
		const struct thread_block *block = state->value;
		const struct thread_segment segment = {
			.thread = attar_run_thread(run, block->group.tid),
			.block = block,
			.state = state->state,
			.since = block->since,
			.from = later(block->divided, o->slices.now.from),
			.to = until};
		struct attar_keyrow *row;

		if (state->state == ATTAR_NO_STATE || !segment.thread ||
			segment.to <= segment.from || overview_is_own(o, run, segment.thread))
			continue;
		row = row_of(o, &segment, overview_sum_of_wait(run, o, &segment), 0, NULL);
		if (!row)
			return -ENOMEM;
		row->interval.sums[SLICE_WATCHED] += segment.to - segment.from;
	}
	return 0;
}

/* All events before the former turn have been delivered. */
int overview_slices_turn(struct attar_run *run, struct overview *o)
{
	struct overview_slices *s = &o->slices;
	uint64_t now = now_ns(), until = later(s->seen, s->turned);
	int r;

	s->turned = now;
	if (until < s->now.from + SLICE_NS)
		return 0;
	r = add_open(run, o, until);
	return r < 0 ? r : end_slice(run, o, until);
}

int overview_slices_scan(struct attar_run *run, struct overview *o)
{
	bool is_after_pause = o->times.is_scanned && o->times.lost_to;
	int r = thread_times_scan(run, &o->times);

	/* short waits ended before they were read, but long ones did not */
	if (is_after_pause)
		o->slices.now.from = later(now_ns(), o->slices.now.from);
	return r;
}

/* Ends the slice before the present pause, of which all states are divided. */
static int begin_pause(struct attar_run *run, struct overview *o)
{
	struct overview_slices *s = &o->slices;

	if (s->is_over)
		return 0;
	s->is_over = true;
	return end_slice(run, o, later(s->paused_from, s->now.from));
}

/* The threads that were counted, in a pause that is not estimated yet. */
static void set_counted(struct overview_slices *s, struct slice_thread *threads, size_t n)
{
	forget_threads(s->counted, s->n_counted);
	s->counted = threads;
	s->n_counted = n;
}

/* What lasts over the pause goes on in the new slice. */
static int keep_states(struct overview *o, uint64_t from, uint64_t to)
{
	const struct overview_slices *s = &o->slices;
	int r = 0;

	thread_times_forget(&o->times, from, to);
	for (size_t i = 0; r == 0 && i < s->n_counted; i++)
		if (s->counted[i].state != ATTAR_NO_STATE)
			r = thread_times_keep(
				&o->times, s->counted[i].group.tid, s->counted[i].state, to + 1);
	return r;
}

int overview_slices_resume(struct attar_run *run, struct overview *o, uint64_t from, uint64_t to)
{
	struct overview_slices *s = &o->slices;
	int r = thread_times_divide(run, &o->times, from);

	if (r == 0)
		r = begin_pause(run, o);
	if (r == 0)
		r = count_threads(run, o, to);
	s->from = s->paused_from;
	s->to = to;
	set_counted(s, s->threads, s->n_threads);
	s->threads = NULL;
	s->n_threads = 0;
	s->began_between = s->began;
	s->began = 0;
	s->paused_from = 0;
	return r < 0 ? r : keep_states(o, from, to);
}

/* The present pause so far. */
static int report_pause(struct attar_run *run, struct overview *o, uint64_t until)
{
	struct overview_slices *s = &o->slices;
	int r = begin_pause(run, o);

	if (r < 0 || until <= s->paused_from)
		return r;
	r = count_threads(run, o, until);
	s->from = s->paused_from;
	s->to = until;
	set_counted(s, s->threads, s->n_threads);
	s->began_between = s->began;
	s->began = 0;
	if (r == 0)
		r = estimate_pause(run, o, false);
	if (r == 0)
		r = add_watched(o, &s->now); /* what lasts */
	keytable_reset(s->now.rows);
	for (size_t i = 0; i < s->n_threads; i++)
		s->threads[i].before = s->threads[i].after;
	s->counted = NULL;
	s->n_counted = 0;
	s->paused_from = until;
	return r;
}

int overview_slices_report(struct attar_run *run, struct overview *o)
{
	struct overview_slices *s = &o->slices;
	uint64_t until = attar_run_until(run);

	if (s->paused_from)
		return report_pause(run, o, until);
	return end_slice(run, o, later(until, s->now.from));
}

static double estimated(
	const struct overview *o, enum attar_scope scope, uint64_t key, double *ret_doubt)
{
	const struct attar_keyrow *row =
		attar_keytable_find(o->slices.estimates, &key, sizeof(key));
	const uint64_t *sums = row ? attar_keyrow_sums(row, scope)->sums : NULL;

	*ret_doubt = sums ? NS_PER_US * sqrt((double)sums[ESTIMATE_VARIANCE]) +
				     (double)sums[ESTIMATE_BIAS]
			  : 0;
	return sums ? (double)sums[ESTIMATE_TIME] : 0;
}

double overview_slices_estimated(const struct overview *o, enum attar_scope scope,
	enum overview_part part, double *ret_doubt)
{
	return estimated(o, scope, part, ret_doubt);
}

double overview_slices_doubt_of(const struct overview *o, enum attar_scope scope, pid_t tid)
{
	double doubt;

	estimated(o, scope, thread_key(tid), &doubt);
	return doubt;
}

/* ---- life ---- */

static int new_slice(bool has_stacks, struct attar_keytable **ret_rows)
{
	const struct attar_keytable_opts opts = {.size = sizeof(opts),
		.sums = SLICE_SUMS,
		.value_size = has_stacks ? sizeof(struct slice_stack) : 0,
		.key_max = sizeof(struct slice_key),
		.keys_max = 2 * SLICE_KEYS + 2};

	return attar_keytable_new(&opts, ret_rows);
}

int overview_slices_open(struct overview *o)
{
	const struct attar_keytable_opts opts = {.size = sizeof(opts), .sums = ESTIMATE_SUMS};
	int r = new_slice(o->stacks, &o->slices.now.rows);

	if (r == 0)
		r = new_slice(o->stacks, &o->slices.last.rows);
	return r == 0 ? attar_keytable_new(&opts, &o->slices.estimates) : r;
}

void overview_slices_close(struct overview *o)
{
	struct overview_slices *s = &o->slices;

	forget_threads(s->threads, s->n_threads);
	forget_threads(s->counted, s->n_counted);
	attar_keytable_free(s->now.rows);
	attar_keytable_free(s->last.rows);
	attar_keytable_free(s->estimates);
}
