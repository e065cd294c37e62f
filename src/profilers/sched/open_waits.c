/* SPDX-License-Identifier: MIT */
#include "sched/open_waits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "attar/private/wait.h"
#include "sched/thread_times.h"

enum {
	ROWS_MAX = 20,
	FOUND_MAX = 256,
	CHAIN_MAX = 8,
	SHORT_MAX = 32, /* of a process, see open_waits_opts.short_ns */
	/* Threads of a name that wait for the same, of which it is read since when they do. */
	SINCE_MAX = 32,
	PATH_BYTES = 64,
	PEERS_MAX = 4096,
};

/* Reading a thread that sleeps takes about 30 us of CPU time. */
static const uint64_t scan_cpu_ns_max = 100000000, scan_ns_max = 500000000;

struct search {
	const struct open_waits_opts *opts;
	struct run_waits recorded; /* time 0: of a live run */
	size_t next;               /* the thread of `recorded` that is taken */
	struct open_waits *found;  /* with room for FOUND_MAX */
	struct attar_waits *waits, *without_files;
	/* Of the system: threads that wait for a peer, and whether any process is stopped. */
	pid_t *peers; /* room for PEERS_MAX */
	size_t n_peers;
	bool has_stopped;
	pid_t pid; /* of the threads with short waits; they follow each other */
	size_t n_short;
	uint64_t end, cpu_end; /* ns, of the clocks */
	bool is_system;
};

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static pid_t other_of(const struct attar_wait *wait)
{
	return wait->tid ? wait->tid : wait->pid;
}

/*
 * Whether the last one waits for the thread itself: none of the chain can go on. Any thread of a
 * process may use its files.
 */
static bool is_circle(const struct attar_wait *chain, int n, pid_t tid)
{
	return chain[n - 1].tid == tid && !chain[n - 1].others;
}

/* "holder (77) waits for data of pipe:[12], written by writer (78)": of the last in the chain. */
static void describe_end(
	const struct attar_wait *chain, int n, bool circle, char text[ATTAR_WAIT_TEXT_BYTES])
{
	const struct attar_wait *last = &chain[n - 1];
	char what[ATTAR_WAIT_TEXT_BYTES];

	snprintf(text, ATTAR_WAIT_TEXT_BYTES, "%s", circle ? "a deadlock with itself" : "");
	if (n < 2 || last->kind == ATTAR_WAIT_NONE ||
		(n == 2 && last->kind == ATTAR_WAIT_STOPPED)) /* as the first one says */
		return;
	attar_wait_text(last, what);
	snprintf(text, ATTAR_WAIT_TEXT_BYTES, "%s (%d) waits for %.*s%s", chain[n - 2].comm,
		(int)other_of(&chain[n - 2]), ATTAR_WAIT_TEXT_BYTES / 2, what,
		circle ? ": a deadlock" : "");
}

static struct open_wait *find(struct open_waits *w, const struct open_wait *new)
{
	for (size_t i = 0; i < w->n; i++)
		if (!strcmp(w->at[i].comm, new->comm) && !strcmp(w->at[i].what, new->what))
			return &w->at[i];
	if (w->n == FOUND_MAX)
		return NULL;
	w->at[w->n] = *new;
	return &w->at[w->n++];
}

static void add(struct open_wait *row, const struct open_wait *new)
{
	row->threads++;
	if (new->longest >= row->longest) {
		row->longest = new->longest;
		row->tid = new->tid;
		row->pid = new->pid;
		row->is_lower_bound = new->is_lower_bound;
	}
}

static bool is_idle(const struct attar_wait *wait)
{
	return wait_is_idle(wait) || wait->kind == ATTAR_WAIT_CONDITION;
}

static enum open_wait_rank rank_of(const struct attar_wait *wait, bool circle)
{
	if (circle || (wait->other_state && strchr("TtZX", wait->other_state)))
		return OPEN_WAIT_STUCK;
	switch (wait->kind) {
	case ATTAR_WAIT_LOCK:
	case ATTAR_WAIT_FILE_LOCK:
	case ATTAR_WAIT_SERVER:
	case ATTAR_WAIT_DISK:
		return OPEN_WAIT_UNWANTED;
	case ATTAR_WAIT_NETWORK:
	case ATTAR_WAIT_UNIX:
	case ATTAR_WAIT_PIPE:
	case ATTAR_WAIT_THREAD:
		return OPEN_WAIT_PEER;
	case ATTAR_WAIT_CHILD:
		return OPEN_WAIT_CHILD;
	default:
		return is_idle(wait) ? OPEN_WAIT_IDLE : OPEN_WAIT_OTHER;
	}
}

/* A thread of the system that has had no event is not known yet. */
static void set_comm(struct open_wait *found, const struct attar_thread *thread)
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

static bool is_own(const struct attar_thread *thread, pid_t tid)
{
	char path[PATH_BYTES];

	if (thread && thread->process)
		return thread->process->pid == getpid();
	snprintf(path, sizeof(path), "/proc/self/task/%d", (int)tid);
	return access(path, F_OK) == 0;
}

static bool has_time(const struct search *s)
{
	return !s->is_system || s->recorded.time ||
	       (now(CLOCK_MONOTONIC) < s->end && now(CLOCK_THREAD_CPUTIME_ID) < s->cpu_end);
}

static const struct attar_thread_wait *find_recorded(const struct search *s, pid_t tid)
{
	if (s->next < s->recorded.n && s->recorded.at[s->next].tid == tid)
		return &s->recorded.at[s->next];
	for (size_t i = 0; i < s->recorded.n; i++)
		if (s->recorded.at[i].tid == tid)
			return &s->recorded.at[i];
	return NULL;
}

/* When the thread was on a CPU last; 0: unknown. */
static uint64_t ran_last(const struct search *s, pid_t tid)
{
	const struct attar_thread_wait *recorded = find_recorded(s, tid);

	if (s->recorded.time)
		return recorded ? recorded->since : 0;
	return waits_get_since(s->waits, tid);
}

/*
 * How long the thread has waited, ns; 0: unknown. It has not run since the wait began, whatever the
 * profiler has seen.
 */
static uint64_t length_of(struct attar_run *run, const struct search *s, pid_t tid, bool asks,
	bool *ret_is_lower_bound)
{
	const uint64_t seen_until = attar_run_until(run),
		       until = s->recorded.time ? s->recorded.time : seen_until,
		       seen = s->opts->since(run, s->opts->self, tid),
		       ran = asks ? ran_last(s, tid) : 0;
	uint64_t since = !seen               ? (ran ? ran : attar_run_began(run))
			 : seen < seen_until ? seen
					     : until;

	*ret_is_lower_bound = !seen && !ran;
	if (ran && ran < since)
		since = ran;
	return since < until ? until - since : 0;
}

static void take_wait(
	struct attar_run *run, struct search *s, pid_t tid, const struct attar_wait *chain, int n)
{
	const struct attar_thread *thread = attar_run_thread(run, tid);
	const struct attar_thread_wait *recorded = find_recorded(s, tid);
	const bool circle = is_circle(chain, n, tid);
	struct open_wait found = {.tid = tid, .kind = chain->kind, .rank = rank_of(chain, circle)},
			 *row;

	if (recorded)
		snprintf(found.comm, sizeof(found.comm), "%s", recorded->comm);
	else
		set_comm(&found, thread);
	found.pid = recorded ? recorded->pid : thread && thread->process ? thread->process->pid : 0;
	attar_wait_text(chain, found.what);
	describe_end(chain, n, circle, found.then);
	row = find(s->found, &found);
	if (!row)
		return;
	found.longest = length_of(run, s, tid, row->threads < SINCE_MAX, &found.is_lower_bound);
	if (found.longest >= s->opts->than)
		add(row, &found);
	else if (!row->threads) /* the row is new */
		s->found->n--;
}

/* As attar_waits_chain(). */
static int read_chain(const struct search *s, struct attar_waits *waits, pid_t tid,
	struct attar_wait *chain, size_t max)
{
	const struct attar_thread_wait *recorded;

	if (!s->recorded.time)
		return attar_waits_chain(waits, tid, chain, max);
	recorded = find_recorded(s, tid);
	if (!recorded)
		return -ESRCH;
	max = recorded->n < max ? recorded->n : max;
	memcpy(chain, recorded->chain, max * sizeof(*chain));
	return (int)max;
}

/* Whether others of its process are enough. Without a file of the thread, which takes 50 us. */
static bool is_one_of_many(
	struct attar_run *run, struct search *s, pid_t tid, const struct attar_thread *thread)
{
	const pid_t pid = thread && thread->process ? thread->process->pid : 0;
	const uint64_t until = attar_run_until(run);
	uint64_t since;

	if (!pid || !s->opts->short_ns)
		return false;
	since = s->opts->since(run, s->opts->self, tid);
	/* one that was never seen may wait since long before */
	if (!since || (since < until && until - since >= s->opts->short_ns))
		return false;
	if (s->pid != pid) {
		s->pid = pid;
		s->n_short = 0;
	}
	return ++s->n_short > SHORT_MAX;
}

/*
 * Whether the thread waits as most threads of a healthy system do: whom it waits for is not looked
 * up.
 */
static bool is_common(struct search *s, pid_t tid)
{
	struct attar_wait wait;

	if (!s->is_system || read_chain(s, s->without_files, tid, &wait, 1) <= 0 ||
		wait.kind == ATTAR_WAIT_NONE || rank_of(&wait, false) <= OPEN_WAIT_UNWANTED)
		return false;
	s->has_stopped |= wait.kind == ATTAR_WAIT_STOPPED;
	s->found->common += !is_idle(&wait);
	if (rank_of(&wait, false) == OPEN_WAIT_PEER && s->n_peers < PEERS_MAX)
		s->peers[s->n_peers++] = tid;
	return true;
}

/* Takes the wait of a thread unless its rank is beyond `least`. */
static int take_chain(struct attar_run *run, struct search *s, pid_t tid, enum open_wait_rank least)
{
	struct attar_wait chain[CHAIN_MAX];
	int n = read_chain(s, s->waits, tid, chain, CHAIN_MAX);
	enum open_wait_rank rank;

	if (n <= 0)
		return n == -ENOMEM ? n : 0;
	rank = rank_of(chain, is_circle(chain, n, tid));
	if (chain->kind != ATTAR_WAIT_NONE && rank <= least &&
		!(s->is_system && is_idle(chain) && rank > OPEN_WAIT_STUCK) &&
		s->opts->is_wanted(s->opts->self, chain))
		take_wait(run, s, tid, chain, n);
	return 0;
}

static int take_thread(struct attar_run *run, void *arg, pid_t tid)
{
	struct search *s = arg;
	const struct attar_thread *thread = attar_run_thread(run, tid);

	if (thread || s->recorded.time ? !attar_run_is_selected(run, thread) : !s->is_system)
		return 0;
	if (!has_time(s)) {
		s->found->unread++;
		return 0;
	}
	if (!s->recorded.time && thread && thread->process) {
		waits_set_thread(s->waits, thread->process->pid, tid);
		waits_set_thread(s->without_files, thread->process->pid, tid);
	}
	if (!s->recorded.time && (is_own(thread, tid) || is_one_of_many(run, s, tid, thread)))
		return 0;
	return is_common(s, tid) ? 0 : take_chain(run, s, tid, OPEN_WAIT_IDLE);
}

static int take_threads(struct attar_run *run, struct search *s)
{
	int r = 0;

	if (!s->recorded.time)
		return thread_for_each(run, take_thread, s);
	for (s->next = 0; r == 0 && s->next < s->recorded.n; s->next++)
		r = take_thread(run, s, s->recorded.at[s->next].tid);
	return r;
}

/* If a process is stopped, it may be the one that others of the system wait for. */
static int take_peers(struct attar_run *run, struct search *s)
{
	int r = 0;

	for (size_t i = 0; r == 0 && s->has_stopped && i < s->n_peers; i++) {
		if (!has_time(s)) {
			s->found->unread += s->n_peers - i;
			break;
		}
		r = take_chain(run, s, s->peers[i], OPEN_WAIT_STUCK);
	}
	return r;
}

void open_waits_remark(const struct open_waits *waits, struct attar_report *report)
{
	if (waits->unread)
		attar_report_remark(report,
			"%llu threads were not read for waits that have not ended, to limit the "
			"time that attar needs",
			(unsigned long long)waits->unread);
}

/* Ends a list that is complete but for these. */
static void remark_rest(const struct open_waits *w, struct attar_report *report)
{
	if (w->n && w->common)
		attar_report_remark(report,
			"%llu further threads wait for other programs or for their children, as in "
			"healthy systems: -p PID shows the waits of a process",
			(unsigned long long)w->common);
	open_waits_remark(w, report);
}

static int by_time(const void *a, const void *b)
{
	const struct open_wait *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->longest != y->longest)
		return x->longest < y->longest ? 1 : -1;
	return (x->threads < y->threads) - (x->threads > y->threads);
}

/* time: the name of the column with the longest wait. Returns whether some are lower bounds. */
static bool add_rows(struct attar_report *report, const char *name, const char *time,
	const struct open_wait *found, size_t n)
{
	struct attar_section *table = attar_report_table(report, name);
	bool has_bounds = false;

	attar_section_column(table, "comm", ATTAR_UNIT_TEXT);
	attar_section_column(table, "tid", ATTAR_UNIT_ID);
	attar_section_column(table, "threads", ATTAR_UNIT_COUNT);
	attar_section_column(table, time, ATTAR_UNIT_NS);
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
	return has_bounds;
}

static void add_table(struct attar_report *report, const struct open_wait *found, size_t n)
{
	if (add_rows(report, "waits that have not ended", "at least", found, n))
		attar_report_remark(report,
			"some of the waits that have not ended began before the measurement; it is "
			"not known when");
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

int open_waits_find(struct attar_run *run, enum attar_scope scope,
	const struct open_waits_opts *opts, struct open_waits *waits)
{
	struct search s = {.opts = opts,
		.found = waits,
		.is_system = attar_run_target_kind(run) == ATTAR_TARGET_SYSTEM &&
			     attar_run_is_selected(run, NULL),
		.end = now(CLOCK_MONOTONIC) + scan_ns_max,
		.cpu_end = now(CLOCK_THREAD_CPUTIME_ID) + scan_cpu_ns_max};
	int r;

	if (!attar_run_is_live(run) && !run_get_waits(run, true, &s.recorded))
		return 0;
	if (scope != ATTAR_SCOPE_WHOLE && (s.is_system || s.recorded.time))
		return 0;
	if (s.recorded.time) {
		s.is_system &= s.recorded.is_system;
		waits->unread = s.recorded.unread;
	}
	waits->at = calloc(FOUND_MAX, sizeof(*waits->at));
	s.peers = calloc(PEERS_MAX, sizeof(*s.peers));
	r = waits->at && s.peers ? attar_waits_new(0, &s.waits) : -ENOMEM;
	if (r == 0)
		r = attar_waits_new(ATTAR_WAITS_NO_FILES, &s.without_files);
	if (r == 0)
		r = take_threads(run, &s);
	if (r == 0)
		r = take_peers(run, &s);
	if (waits->n)
		qsort(waits->at, waits->n, sizeof(*waits->at), by_time);
	attar_waits_free(s.waits);
	attar_waits_free(s.without_files);
	free(s.peers);
	return r;
}

/* ---- waits that began before ---- */

struct former_wait {
	pid_t tid;
	uint64_t since, first; /* ns; first 0: there was no event yet */
	bool is_bound;         /* it began before `since` */
	struct open_wait wait;
	struct attar_wait head; /* the first of the chain */
};

static int by_former_tid(const void *a, const void *b)
{
	const struct former_wait *x = a, *y = b;

	return (x->tid > y->tid) - (x->tid < y->tid);
}

static struct former_wait *find_former(const struct former_waits *former, pid_t tid)
{
	const struct former_wait key = {.tid = tid};

	return former->n ? bsearch(&key, former->at, former->n, sizeof(key), by_former_tid) : NULL;
}

/* since 0: unknown, so that the wait may have begun later than the measurement. */
static int add_former(
	struct former_waits *former, const struct attar_thread_wait *thread, bool is_bound)
{
	const bool circle = is_circle(thread->chain, (int)thread->n, thread->tid);
	struct former_wait *added, *more;

	if (!thread->since || thread->chain->kind == ATTAR_WAIT_NONE)
		return 0;
	if (!(former->n & (former->n - 1))) { /* it is full */
		more = realloc(former->at, (former->n ? 2 * former->n : 1) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		former->at = more;
	}
	added = &former->at[former->n++];
	*added = (struct former_wait){.tid = thread->tid,
		.since = thread->since,
		.is_bound = is_bound,
		.head = *thread->chain,
		.wait = {.tid = thread->tid,
			.pid = thread->pid,
			.kind = thread->chain->kind,
			.rank = rank_of(thread->chain, circle)}};
	snprintf(added->wait.comm, sizeof(added->wait.comm), "%s", thread->comm);
	attar_wait_text(thread->chain, added->wait.what);
	describe_end(thread->chain, (int)thread->n, circle, added->wait.then);
	return 0;
}

static int read_recorded(struct attar_run *run, struct former_waits *former)
{
	struct run_waits waits;
	int r = 0;

	if (!run_get_waits(run, false, &waits))
		return 0;
	former->unread = waits.unread;
	former->is_system = waits.is_system;
	for (size_t i = 0; r == 0 && i < waits.n; i++) {
		struct attar_thread_wait wait = waits.at[i];

		/* before the first event: the wait lasts at least since then */
		wait.since = wait.since ? wait.since : waits.time;
		r = add_former(former, &wait, false);
	}
	return r;
}

enum { SAME_MAX = 512 /* different waits, about twice as many as can be shown */ };

struct former_reading {
	struct former_waits *former;
	struct attar_waits *waits;
	struct {
		uint64_t hash; /* of a name and what is waited for; 0: none */
		unsigned threads;
	} same[SAME_MAX];      /* by the hash */
	uint64_t end, cpu_end; /* ns, of the clocks */
};

/* Since when a thread waits takes as long as all else: not of all that wait for the same. */
static bool is_since_read(
	struct former_reading *reading, const char *comm, const struct attar_wait *wait)
{
	char text[OPEN_WAIT_COMM_BYTES + ATTAR_WAIT_TEXT_BYTES], what[ATTAR_WAIT_TEXT_BYTES];
	uint64_t hash = 14695981039346656037U; /* FNV-1a */

	attar_wait_text(wait, what);
	snprintf(text, sizeof(text), "%s %s", comm, what);
	for (const char *c = text; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 1099511628211U;
	for (size_t i = 0; i < SAME_MAX; i++) {
		size_t at = (hash + i) % SAME_MAX;

		if (reading->same[at].hash && reading->same[at].hash != hash)
			continue;
		reading->same[at].hash = hash;
		return ++reading->same[at].threads <= SINCE_MAX;
	}
	return false;
}

static int read_former_thread(struct attar_run *run, void *arg, pid_t tid)
{
	struct former_reading *reading = arg;
	const struct attar_thread *thread = attar_run_thread(run, tid);
	struct attar_wait chain[CHAIN_MAX];
	struct attar_thread_wait wait = {.tid = tid, .chain = chain};
	bool is_read;
	int n;

	if (!thread || !thread->process || !attar_run_is_selected(run, thread))
		return 0;
	if (now(CLOCK_MONOTONIC) >= reading->end ||
		now(CLOCK_THREAD_CPUTIME_ID) >= reading->cpu_end) {
		reading->former->unread++;
		return 0;
	}
	waits_set_thread(reading->waits, thread->process->pid, tid);
	n = attar_waits_chain(reading->waits, tid, chain, CHAIN_MAX);
	if (n <= 0)
		return n == -ENOMEM ? n : 0;
	wait.n = (size_t)n;
	wait.pid = thread->process->pid;
	is_read = is_since_read(reading, thread->comm, chain);
	wait.since = is_read ? waits_get_since(reading->waits, tid) : now(CLOCK_MONOTONIC);
	snprintf(wait.comm, sizeof(wait.comm), "%s", thread->comm);
	return add_former(reading->former, &wait, !is_read);
}

/* Not of the whole system, most of whose threads always wait. */
int former_waits_turn(struct attar_run *run, struct former_waits *former)
{
	struct former_reading reading = {.former = former,
		.end = now(CLOCK_MONOTONIC) + scan_ns_max,
		.cpu_end = now(CLOCK_THREAD_CPUTIME_ID) + scan_cpu_ns_max};
	int r;

	if (former->is_read)
		return 0;
	former->is_read = true;
	if (attar_run_is_selected(run, NULL))
		return 0;
	r = attar_waits_new(0, &reading.waits);
	if (r == 0)
		r = thread_for_each(run, read_former_thread, &reading);
	attar_waits_free(reading.waits);
	if (former->n)
		qsort(former->at, former->n, sizeof(*former->at), by_former_tid);
	return r;
}

int former_waits_note(struct attar_run *run, struct former_waits *former, pid_t tid, uint64_t time)
{
	struct former_wait *wait;
	int r = 0;

	if (!former->is_read && !attar_run_is_live(run)) {
		former->is_read = true;
		r = read_recorded(run, former);
		if (former->n)
			qsort(former->at, former->n, sizeof(*former->at), by_former_tid);
	}
	wait = find_former(former, tid);
	if (wait && !wait->first && time > wait->since)
		wait->first = time;
	return r;
}

void former_waits_done(struct former_waits *former)
{
	free(former->at);
	*former = (struct former_waits){0};
}

static bool is_former_wanted(
	struct attar_run *run, const struct open_waits_opts *opts, const struct former_wait *former)
{
	const bool is_system = opts->former->is_system && attar_run_is_selected(run, NULL);

	return former->first && (former->is_bound || former->since < attar_run_began(run)) &&
	       former->first - former->since >= opts->than &&
	       !(is_system && former->wait.rank > OPEN_WAIT_UNWANTED) &&
	       attar_run_is_selected(run, attar_run_thread(run, former->tid)) &&
	       opts->is_wanted(opts->self, &former->head);
}

static int report_former(
	struct attar_run *run, struct attar_report *report, const struct open_waits_opts *opts)
{
	const struct former_waits *former = opts->former;
	struct open_waits waits = {0};

	if (!former)
		return 0;
	waits.at = calloc(FOUND_MAX, sizeof(*waits.at));
	if (!waits.at)
		return -ENOMEM;
	for (size_t i = 0; i < former->n; i++) {
		struct open_wait wait = former->at[i].wait, *row;

		if (!is_former_wanted(run, opts, &former->at[i]))
			continue;
		wait.longest = former->at[i].first - former->at[i].since;
		row = find(&waits, &wait);
		if (row)
			add(row, &wait);
	}
	if (waits.n) {
		qsort(waits.at, waits.n, sizeof(*waits.at), by_time);
		add_rows(report, "waits that began before and have ended", "time", waits.at,
			waits.n);
	}
	if (former->unread)
		attar_report_remark(report,
			"%llu threads were not read for waits at the beginning, to limit the time "
			"that attar needs",
			(unsigned long long)former->unread);
	open_waits_done(&waits);
	return 0;
}

void open_waits_done(struct open_waits *waits)
{
	free(waits->at);
	*waits = (struct open_waits){0};
}

int open_waits_report(struct attar_run *run, struct attar_report *report, enum attar_scope scope,
	const struct open_waits_opts *opts)
{
	struct open_waits waits = {0};
	int r = open_waits_find(run, scope, opts, &waits);

	if (r == 0 && waits.n)
		add_table(report, waits.at, waits.n);
	remark_rest(&waits, report);
	open_waits_done(&waits);
	return r == 0 && scope == ATTAR_SCOPE_WHOLE ? report_former(run, report, opts) : r;
}
