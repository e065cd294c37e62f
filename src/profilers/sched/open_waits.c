/* SPDX-License-Identifier: MIT */
#include "sched/open_waits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sched/thread_times.h"

enum {
	ROWS_MAX = 20,
	FOUND_MAX = 256,
	CHAIN_MAX = 8,
	COMM_BYTES = 16,
	PATH_BYTES = 64,
};

/* Reading a thread that sleeps takes 20 to 60 us of CPU time. */
static const uint64_t scan_cpu_ns_max = 100000000, scan_ns_max = 500000000;

/* Waits of threads with one name for the same. */
struct found {
	char comm[COMM_BYTES], what[ATTAR_WAIT_TEXT_BYTES], then[ATTAR_WAIT_TEXT_BYTES];
	pid_t tid; /* of the longest */
	unsigned rank;
	uint64_t threads, longest;
	bool is_lower_bound; /* it began before the profiler */
};

struct open_waits {
	const void *self;
	open_waits_fn *is_wanted;
	open_waits_since_fn *since;
	uint64_t than;         /* ns */
	uint64_t end, cpu_end; /* ns, of the clocks */
	bool is_system;
	struct attar_waits *waits;
	struct found *found; /* room for FOUND_MAX */
	size_t n;
	uint64_t common; /* threads with waits that are not shown for the whole system */
	uint64_t unread; /* threads for which no time was left */
};

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* "holder (77) waits for data of pipe:[12], written by writer (78)": of the last in the chain. */
static void describe_end(const struct attar_wait *chain, int n, char text[ATTAR_WAIT_TEXT_BYTES])
{
	const struct attar_wait *last = &chain[n - 1];
	char what[ATTAR_WAIT_TEXT_BYTES];

	*text = '\0';
	if (n < 2 || last->kind == ATTAR_WAIT_NONE)
		return;
	attar_wait_text(last, what);
	snprintf(text, ATTAR_WAIT_TEXT_BYTES, "%s (%d) waits for %.*s", chain[n - 2].comm,
		(int)(chain[n - 2].tid ? chain[n - 2].tid : chain[n - 2].pid),
		ATTAR_WAIT_TEXT_BYTES / 2, what);
}

static struct found *find(struct open_waits *w, const struct found *new)
{
	for (size_t i = 0; i < w->n; i++)
		if (!strcmp(w->found[i].comm, new->comm) && !strcmp(w->found[i].what, new->what))
			return &w->found[i];
	if (w->n == FOUND_MAX)
		return NULL;
	w->found[w->n] = *new;
	return &w->found[w->n++];
}

static void add(struct open_waits *w, const struct found *new)
{
	struct found *row = find(w, new);

	if (!row)
		return;
	row->threads++;
	if (new->longest >= row->longest) {
		row->longest = new->longest;
		row->tid = new->tid;
		row->is_lower_bound = new->is_lower_bound;
	}
}

static bool is_idle(const struct attar_wait *wait)
{
	return attar_wait_is_idle(wait) || wait->kind == ATTAR_WAIT_CONDITION;
}

/*
 * The order of waits, most of which are as long as the measurement: first those for somebody who
 * cannot go on, then those that programs do not want. In healthy systems, pipelines wait for data
 * and shells for children.
 */
enum { RANK_STUCK, RANK_UNWANTED, RANK_PEER, RANK_CHILD, RANK_OTHER, RANK_IDLE };

static unsigned rank_of(const struct attar_wait *wait)
{
	if (wait->other_state && strchr("TtZ", wait->other_state))
		return RANK_STUCK;
	switch (wait->kind) {
	case ATTAR_WAIT_LOCK:
	case ATTAR_WAIT_FILE_LOCK:
	case ATTAR_WAIT_SERVER:
	case ATTAR_WAIT_DISK:
		return RANK_UNWANTED;
	case ATTAR_WAIT_NETWORK:
	case ATTAR_WAIT_UNIX:
	case ATTAR_WAIT_PIPE:
	case ATTAR_WAIT_THREAD:
		return RANK_PEER;
	case ATTAR_WAIT_CHILD:
		return RANK_CHILD;
	default:
		return is_idle(wait) ? RANK_IDLE : RANK_OTHER;
	}
}

/* A thread of the system that has had no event is not known yet. */
static void set_comm(struct found *found, const struct attar_thread *thread)
{
	char path[PATH_BYTES];
	FILE *file;

	if (thread) {
		snprintf(found->comm, sizeof(found->comm), "%s", thread->comm);
		return;
	}
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)found->tid);
	file = fopen(path, "re");
	if (file && fgets(found->comm, sizeof(found->comm), file))
		found->comm[strcspn(found->comm, "\n")] = '\0';
	if (file)
		fclose(file);
}

static bool is_own(pid_t tid)
{
	char path[PATH_BYTES];

	snprintf(path, sizeof(path), "/proc/self/task/%d", (int)tid);
	return access(path, F_OK) == 0;
}

static int take_thread(struct attar_run *run, void *arg, pid_t tid)
{
	struct open_waits *w = arg;
	const struct attar_thread *thread = attar_run_thread(run, tid);
	struct attar_wait chain[CHAIN_MAX];
	uint64_t since, until = attar_run_until(run);
	struct found found = {.tid = tid};
	int n;

	if (thread ? !attar_run_is_selected(run, thread) : !w->is_system)
		return 0;
	if (w->is_system &&
		(now(CLOCK_MONOTONIC) > w->end || now(CLOCK_THREAD_CPUTIME_ID) > w->cpu_end)) {
		w->unread++;
		return 0;
	}
	n = is_own(tid) ? 0 : attar_waits_chain(w->waits, tid, chain, CHAIN_MAX);
	if (n <= 0)
		return n == -ENOMEM ? n : 0;
	if (chain->kind == ATTAR_WAIT_NONE || (w->is_system && is_idle(chain)) ||
		!w->is_wanted(w->self, chain))
		return 0;
	since = w->since(run, w->self, tid);
	found.is_lower_bound = !since;
	since = since ? since : attar_run_began(run);
	found.longest = since < until ? until - since : 0;
	if (found.longest < w->than)
		return 0;
	found.rank = rank_of(chain);
	if (w->is_system && found.rank > RANK_UNWANTED) {
		w->common++;
		return 0;
	}
	set_comm(&found, thread);
	attar_wait_text(chain, found.what);
	describe_end(chain, n, found.then);
	add(w, &found);
	return 0;
}

/* Ends a list that is complete but for these. */
static void remark_rest(const struct open_waits *w, struct attar_report *report)
{
	if (w->n && w->common)
		attar_report_remark(report,
			"%llu further threads wait for other programs or for their children, as in "
			"healthy systems: -p PID shows those of a process",
			(unsigned long long)w->common);
	if (w->unread)
		attar_report_remark(report,
			"%llu threads were not read for waits that have not ended: they are too "
			"many",
			(unsigned long long)w->unread);
}

static int by_time(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->longest != y->longest)
		return x->longest < y->longest ? 1 : -1;
	return (x->threads < y->threads) - (x->threads > y->threads);
}

static void add_rows(struct attar_report *report, struct found *found, size_t n)
{
	struct attar_section *table = attar_report_table(report, "waits that have not ended");
	bool has_bounds = false;

	attar_section_column(table, "comm", ATTAR_UNIT_TEXT);
	attar_section_column(table, "tid", ATTAR_UNIT_ID);
	attar_section_column(table, "threads", ATTAR_UNIT_COUNT);
	attar_section_column(table, "at least", ATTAR_UNIT_NS);
	attar_section_column(table, "waits for", ATTAR_UNIT_TEXT);
	attar_section_column(table, "in the end", ATTAR_UNIT_TEXT);
	for (size_t i = 0; i < n && i < ROWS_MAX; i++) {
		attar_section_row(table);
		attar_cell_text(table, found[i].comm);
		attar_cell_i64(table, found[i].tid);
		attar_cell_u64(table, found[i].threads);
		if (found[i].longest)
			attar_cell_u64(table, found[i].longest);
		else
			attar_cell_none(table);
		attar_cell_text(table, found[i].what);
		attar_cell_text(table, found[i].then);
		has_bounds |= found[i].is_lower_bound;
	}
	if (has_bounds)
		attar_report_remark(report,
			"some of the waits that have not ended began before the measurement");
	if (n > ROWS_MAX)
		attar_report_remark(report, "%zu further waits have not ended", n - ROWS_MAX);
}

uint64_t open_waits_since(
	const struct attar_run *run, struct attar_states *states, pid_t tid, uint32_t asleep)
{
	const uint64_t key = (uint64_t)tid;
	const struct attar_state *state = attar_states_get(states, &key, sizeof(key));

	if (!state)
		return 0;
	/* its last event was not delivered, or is newer than the report */
	return state->state == asleep && asleep != ATTAR_NO_STATE ? state->since
								  : attar_run_until(run);
}

int open_waits_report(struct attar_run *run, struct attar_report *report, enum attar_scope scope,
	const void *self, open_waits_fn *is_wanted, open_waits_since_fn *since, uint64_t than)
{
	struct open_waits w = {.self = self,
		.is_wanted = is_wanted,
		.since = since,
		.than = than,
		.is_system = attar_run_target_kind(run) == ATTAR_TARGET_SYSTEM &&
			     attar_run_is_selected(run, NULL),
		.end = now(CLOCK_MONOTONIC) + scan_ns_max,
		.cpu_end = now(CLOCK_THREAD_CPUTIME_ID) + scan_cpu_ns_max};
	int r;

	if (!attar_run_is_live(run) || (scope != ATTAR_SCOPE_WHOLE && w.is_system))
		return 0;
	w.found = calloc(FOUND_MAX, sizeof(*w.found));
	r = w.found ? attar_waits_new(&w.waits) : -ENOMEM;
	if (r == 0)
		r = thread_for_each(run, take_thread, &w);
	if (w.n)
		qsort(w.found, w.n, sizeof(*w.found), by_time);
	if (r == 0 && w.n)
		add_rows(report, w.found, w.n);
	remark_rest(&w, report);
	attar_waits_free(w.waits);
	free(w.found);
	return r;
}
