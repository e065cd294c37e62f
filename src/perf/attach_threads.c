/* SPDX-License-Identifier: MIT */
/*
 * Which threads have inherited an event cannot be read. It follows from the order in time: a dummy
 * event, the scout, records each creation of a thread (PERF_RECORD_FORK), and the time is read
 * before and after a counter is opened on a thread. What this thread created before has not
 * inherited the counter, what it creates later has. If it created one at this very moment, the
 * counter is opened on it again: closing the earlier one also removes what was inherited from it.
 *
 * The scout is only opened if there are new threads after the counters were opened.
 */
#include "perf/attach_threads.h"

#include <time.h>

#include "base/log.h"
#include "base/map.h"
#include "base/vec.h"
#include "perf/counter.h"
#include "perf/ring.h"
#include "perf/target.h"

enum {
	ROUNDS = 64,         /* a process may create threads as fast as they are opened */
	SCOUT_BYTES = 65536, /* of a ring: some thousand records */
	RECORD_NS = 5000000, /* from the creation of a thread to its record, at most */
	FORK_NS = 1000000,   /* from the inheritance to the thread in /proc, at most */
};

/*
 * The time in a record is later than the inheritance, since the creator may be preempted between
 * both. By this much at most: less if threads are created too often for the longer times.
 */
static uint64_t delay_in_round(int round)
{
	return round < ROUNDS / 8 ? 1000000 : round < ROUNDS / 2 ? 200000 : 50000;
}

/* PERF_RECORD_FORK: header, pid, ppid, tid, ptid, time. */
struct fork_record {
	struct perf_event_header header;
	uint32_t pid, ppid, tid, ptid;
	uint64_t time;
};

struct created {
	pid_t tid, creator;
	uint64_t time;
};

enum how {
	NONE, /* the counters are to be opened on it */
	OPENED,
	INHERITED,
};

struct state {
	enum how how;
	uint64_t since, until; /* OPENED: between these times */
	size_t root;           /* INHERITED: the index of the thread on which they were opened */
};

struct attach {
	struct attar_target *t;
	struct attar_counter *const *counters;
	size_t n_counters;
	unsigned flags;
	VEC(struct state) states; /* one for each of t->tids */
	VEC(struct created) created;
	struct map recorded;         /* the tid of each of them -> 1 */
	struct attar_target scouted; /* where the scout is opened: on each CPU */
	struct attar_counter *scout;
	struct attar_ring **rings;
	size_t n_rings;
};

/* ---- the scout ---- */

static int scout_open(struct attach *a)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.task = 1};
	struct attar_target *t = &a->scouted;
	int r;

	*t = (struct attar_target){.process = a->t->process,
		.kind = ATTAR_TARGET_TASKS,
		.inherit = true,
		.only_threads = a->t->only_threads,
		.skip_refused = true, /* the counters may be refused, too */
		.stop = a->t->stop};
	r = target_parse_cpus(NULL, &t->cpus);
	for (size_t i = 0; r == 0 && i < a->t->tids.n; i++)
		r = vec_push(&t->tids, a->t->tids.at[i]) < 0 ? base_oom() : 0;
	if (r == 0)
		r = counter_open_on(t, (struct counter_cpus){0}, &attr, "new threads",
			ATTAR_COUNTER_DEGRADE, &a->scout);
	if (r == 0 && !a->scout->attr.use_clockid)
		r = attar_fail(-EOPNOTSUPP, "the kernel does not support clock IDs");
	return r == 0 ? attar_rings_new(t, &a->scout, 1, SCOUT_BYTES, &a->rings, &a->n_rings) : r;
}

/* Also opens it on the threads of the target from `first` on that have not inherited it. */
static int scout_add(struct attach *a, size_t first)
{
	struct attar_target *t = &a->scouted;
	size_t known = t->tids.n, before = a->scout->fds.n;
	int r;

	for (size_t i = first; i < a->t->tids.n; i++)
		if (!map_get(&a->recorded, (uint64_t)a->t->tids.at[i]) &&
			vec_push(&t->tids, a->t->tids.at[i]) < 0)
			return base_oom();
	r = counters_open_range(&a->scout, 1, t, known * t->cpus.n, t->tids.n * t->cpus.n, 0);
	return r == 0 ? rings_redirect(a->rings, a->n_rings, a->scout, before) : r;
}

static int scout_read_ring(struct attach *a, struct attar_ring *ring)
{
	const struct perf_event_header *header;
	int r = 0;

	attar_ring_begin(ring);
	while (r == 0 && (header = ring_take(ring))) {
		const struct fork_record *rec = (const void *)header;
		struct created created;

		if (header->type != PERF_RECORD_FORK || header->size < sizeof(*rec))
			continue;
		if (a->t->only_threads && rec->pid != rec->ppid)
			continue;
		created = (struct created){(pid_t)rec->tid, (pid_t)rec->ptid, rec->time};
		if (vec_push(&a->created, created) < 0 ||
			map_put(&a->recorded, (uint64_t)created.tid, 1) < 0)
			r = base_oom();
		else
			r = target_add_tid(a->t, created.tid);
	}
	attar_ring_end(ring);
	return r;
}

static int scout_read(struct attach *a)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < a->n_rings; i++)
		r = scout_read_ring(a, a->rings[i]);
	return r;
}

static void wait_for(uint64_t ns)
{
	const struct timespec time = {.tv_nsec = (long)ns};

	nanosleep(&time, NULL);
}

static bool have_records(const struct attach *a, size_t first)
{
	for (size_t i = first; i < a->t->tids.n; i++)
		if (!map_get(&a->recorded, (uint64_t)a->t->tids.at[i]))
			return false;
	return true;
}

/*
 * Adds the threads that were created since the last call. Those without a record were created
 * before the scout was opened on their creator.
 */
static int find_new(struct attach *a)
{
	size_t first = a->t->tids.n;
	uint64_t end = base_now() + RECORD_NS;
	int r = target_rescan(a->t);

	if (r >= 0)
		r = scout_read(a);
	while (r == 0 && !have_records(a, first) && base_now() < end) {
		wait_for(RECORD_NS / 50);
		r = scout_read(a);
	}
	return r == 0 ? scout_add(a, first) : r;
}

static void scout_close(struct attach *a)
{
	attar_rings_free(a->rings, a->n_rings);
	if (a->scout)
		attar_counter_close(a->scout);
	vec_done(&a->scouted.tids);
	vec_done(&a->scouted.cpus);
}

/* ---- the counters ---- */

static void close_before(struct attach *a, pid_t tid, size_t n)
{
	for (size_t i = 0; i < a->n_counters; i++)
		counter_close_fds(a->counters[i], tid, n);
}

/* An event of which the kernel allows few must be closed before it is opened again. */
static int open_thread(struct attach *a, size_t i)
{
	const size_t cpus = a->t->cpus.n, before = a->counters[0]->fds.n;
	const pid_t tid = a->t->tids.at[i];
	struct state *state = &a->states.at[i];
	int r;

	state->since = base_now();
	r = counters_open_range(
		a->counters, a->n_counters, a->t, i * cpus, (i + 1) * cpus, a->flags);
	if (r < 0 && r != -ECANCELED && r != -ENOMEM) {
		attar_error_clear();
		close_before(a, tid, SIZE_MAX);
		state->since = base_now();
		r = counters_open_range(
			a->counters, a->n_counters, a->t, i * cpus, (i + 1) * cpus, a->flags);
	} else {
		close_before(a, tid, before);
	}
	state->until = base_now();
	state->how = OPENED;
	if (r != -ESRCH)
		return r;
	attar_error_clear(); /* the last thread that was left has exited */
	return 0;
}

/* It is opened again, and so on those that inherited from it, which lose it then. */
static void open_again(struct attach *a, size_t root)
{
	a->states.at[root].how = NONE;
	vec_each (&a->states, it)
		if (it->how == INHERITED && it->root == root)
			it->how = NONE;
}

static struct state *state_of(const struct attach *a, pid_t tid)
{
	const uint64_t *at = map_get(&a->t->known, (uint64_t)tid);

	return at ? &a->states.at[*at] : NULL;
}

/* Determines whether the thread has inherited the counters. Returns whether it has. */
static bool has_inherited(struct attach *a, const struct created *created, int round)
{
	struct state *child = state_of(a, created->tid), *creator = state_of(a, created->creator);
	bool is_last = round == ROUNDS;
	uint64_t delay = is_last ? 0 : delay_in_round(round);

	if (!child || !creator || child->how != NONE || creator->how == NONE)
		return false;
	if (creator->how == INHERITED) {
		*child = (struct state){.how = INHERITED, .root = creator->root};
		return true;
	}
	if (created->time < creator->since)
		return false;
	if (created->time <= creator->until + delay) {
		if (!is_last)
			open_again(a, (size_t)(creator - a->states.at));
		return false;
	}
	*child = (struct state){.how = INHERITED, .root = (size_t)(creator - a->states.at)};
	return true;
}

static int add_states(struct attach *a)
{
	while (a->states.n < a->t->tids.n)
		if (vec_push(&a->states, (struct state){0}) < 0)
			return base_oom();
	return 0;
}

static int settle(struct attach *a, int round)
{
	int r = find_new(a);
	bool any;

	if (r == 0)
		r = add_states(a);
	do {
		any = false;
		vec_each (&a->created, it)
			any |= r == 0 && has_inherited(a, it, round);
	} while (any); /* their threads, too */
	return r;
}

/* Returns 1 if there were some, or a negative errno. */
static int open_missing(struct attach *a)
{
	int r = 0, any = 0;

	for (size_t i = 0; r == 0 && i < a->states.n; i++) {
		if (a->states.at[i].how != NONE)
			continue;
		r = open_thread(a, i);
		any = 1;
	}
	return r < 0 ? r : any;
}

static int attach(struct attach *a)
{
	int r = settle(a, 0);

	for (int round = 1; r == 0 && round <= ROUNDS; round++) {
		r = open_missing(a);
		if (r <= 0)
			return r;
		wait_for(delay_in_round(round));
		r = settle(a, round);
	}
	return r < 0 ? r : MIN(open_missing(a), 0);
}

static bool creates_threads(struct attar_target *t, int *ret_error)
{
	*ret_error = 0;
	if (t->kind != ATTAR_TARGET_TASKS || !t->inherit || !t->pids.n)
		return false;
	*ret_error = target_rescan(t);
	if (*ret_error == 0) { /* some may have inherited from a part of the counters */
		wait_for(FORK_NS);
		*ret_error = target_rescan(t);
	}
	return *ret_error > 0;
}

int attach_new_threads(struct attar_target *t, struct attar_counter *const *counters,
	size_t n_counters, unsigned flags)
{
	struct attach a = {.t = t, .counters = counters, .n_counters = n_counters, .flags = flags};
	int r;

	if (!creates_threads(t, &r))
		return r;
	r = scout_open(&a);
	if (r == 0) {
		r = attach(&a);
	} else if (r != -ENOMEM && r != -ECANCELED) {
		log_note("threads that are being created now may be missed, or counted twice: %s",
			attar_error());
		attar_error_clear();
		r = 0;
	}
	scout_close(&a);
	map_done(&a.recorded);
	vec_done(&a.states);
	vec_done(&a.created);
	return r;
}
