/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attar/builtin.h"
#include "overview/overview.h"
#include "overview/pause_estimate.h"

/* Parts of waits, by state. */
static const struct {
	enum thread_state state;
	enum overview_part part;
} waits[] = {{THREAD_DISK, PART_DISK}, {THREAD_LOCK, PART_LOCK}, {THREAD_SLEEP, PART_SLEEP},
	{THREAD_PEER, PART_PEER}, {THREAD_BLOCKED, PART_BLOCKED}};

enum { N_WAITS = sizeof(waits) / sizeof(*waits) };

/* ---- the whole ---- */

static uint64_t scaled(const struct overview_sums *sums, uint64_t value)
{
	return (uint64_t)((double)value * sums->scale);
}

/* Adds what a total of the thread times has grown by. */
static int take_count(struct overview *o, int what, uint64_t total, uint64_t *before)
{
	struct attar_keyrow *row = attar_keytable_at_u64(o->counts, (uint64_t)what);

	if (!row)
		return -ENOMEM;
	row->interval.sums[0] += total - *before;
	*before = total;
	return 0;
}

static int take_counts(struct overview *o)
{
	const struct thread_times *times = &o->times;
	int r = take_count(o, COUNT_SWITCHES, times->switches, &o->switches_before);

	return r < 0 ? r
		     : take_count(o, COUNT_MIGRATIONS, times->migrations, &o->migrations_before);
}

/* By its counter; NULL: there is none. */
static const struct attar_count *counter_of(const struct overview_sums *sums, int what)
{
	unsigned number = sums->overview->counters[what];

	if (!number || !sums->counters || attar_run_get_counter(sums->run, number - 1)->refused)
		return NULL;
	return &sums->counters[number - 1];
}

uint64_t overview_counted(const struct overview_sums *sums, int what, uint64_t seen)
{
	const struct attar_count *counter = counter_of(sums, what);
	uint64_t n;

	if (sums->scale <= 1 && !sums->overview->has_selection)
		return seen;
	n = counter ? counter->sum.value : scaled(sums, seen);
	return n > seen ? n : seen;
}

/* Samples are few. The counter has all, of a whole system also those of this process. */
static uint64_t counted_faults(struct overview_sums *sums, uint64_t sampled)
{
	const struct attar_count *counter = counter_of(sums, COUNT_FAULTS);

	sums->has_sampled_faults = !counter && attar_run_is_live(sums->run);
	return counter ? counter->sum.value : sampled;
}

static int read_counters(struct overview_sums *sums)
{
	const struct attar_count_row *rows;
	size_t n = 0;
	int r = 0;

	if (sums->overview->n_counters)
		r = attar_run_count_rows(sums->run, sums->scope, &rows, &n);
	sums->counters = r == 0 && n ? rows->counts : NULL;
	return r;
}

static void read_counts(struct overview_sums *sums)
{
	const struct overview *o = sums->overview;

	for (uint64_t i = 0; i < COUNTS; i++) {
		const struct attar_keyrow *row = attar_keytable_find(o->counts, &i, sizeof(i));
		uint64_t seen = row ? attar_keyrow_sums(row, sums->scope)->sums[0] : 0;

		sums->counts[i] =
			i <= COUNT_MIGRATIONS ? overview_counted(sums, (int)i, seen) : seen;
	}
	sums->counts[COUNT_FAULTS] = counted_faults(sums, sums->counts[COUNT_FAULTS]);
	for (uint64_t i = 0; i < LATENCIES; i++) {
		const struct attar_keyrow *row = attar_keytable_find(o->latencies, &i, sizeof(i));

		sums->latencies[i] = row ? &attar_keyrow_sums(row, sums->scope)->hists[0] : NULL;
	}
}

/* Those that are about to exit, too. */
static void read_ends(struct overview_sums *sums)
{
	struct attar_keyrow *row = NULL;
	uint64_t *counts = sums->counts;

	while ((row = attar_keytable_next(sums->overview->ends, row)))
		counts[COUNT_FAILED] += attar_keyrow_sums(row, sums->scope)->sums[0];
	if (counts[COUNT_EXITS] < counts[COUNT_FAILED])
		counts[COUNT_EXITS] = counts[COUNT_FAILED];
}

/* ---- processes ---- */

static uint64_t running(const uint64_t *thread)
{
	return thread[SUM_STATE + THREAD_RUNNING];
}

static uint64_t sum_of(const uint64_t *values)
{
	uint64_t sum = 0;

	for (int i = 0; i < CPU_PARTS; i++)
		sum += values[i];
	return sum;
}

/* The time on a CPU, divided as the samples of the thread, or of all if it has none. */
static void add_running(
	uint64_t time, const uint64_t *samples, const uint64_t *all_samples, uint64_t *parts)
{
	uint64_t all = sum_of(samples);

	if (!all) {
		samples = all_samples;
		all = sum_of(samples);
	}
	for (int i = 0; i < CPU_PARTS; i++)
		parts[i] += (uint64_t)((double)time * (double)samples[i] / (double)all);
}

/* Kernel threads, and threads that wait long while others are active, wait for work of others. */
static void add_waits(const struct overview_sums *sums, const struct thread_group *group,
	const uint64_t *thread, uint64_t *parts)
{
	for (size_t i = 0; i < N_WAITS; i++) {
		uint64_t all = thread[SUM_STATE + waits[i].state],
			 idle = overview_leaves_out(sums, waits[i].state)
					? thread[SUM_LONG + waits[i].state]
					: 0;

		idle = idle < all ? idle : all; /* a long wait may have begun before the interval */
		if (overview_is_idle(sums->overview, waits[i].part, group))
			idle = all;
		parts[waits[i].part] += all - idle;
		parts[PART_IDLE] += idle;
	}
	parts[PART_READY] += thread[SUM_STATE + THREAD_READY];
	parts[PART_IDLE] += thread[SUM_STATE + THREAD_CONDITION] + thread[SUM_STATE + THREAD_WORK];
}

/*
 * The present name of the main thread. If that has exited, the name under which it was on a CPU for
 * most of the time: its last name may belong to another process with the same pid. Otherwise a
 * name that a thread had.
 */
static void name_process(const struct overview_sums *sums, struct overview_process *process,
	const struct thread_row *row)
{
	const struct thread_group *group = &row->group;
	const struct attar_thread *thread = attar_run_thread(sums->run, group->pid);
	bool is_present = thread && !thread->exited && thread->process &&
			  (thread->process->started == process->started || !process->started),
	     is_main = group->tid == group->pid;
	uint64_t time = is_main ? running(row->sums) + 1 : 0;

	if (*process->comm && (is_present ? !is_main : time <= process->named))
		return;
	process->named = time;
	snprintf(process->comm, sizeof(process->comm), "%s",
		is_present ? thread->comm : group->comm);
}

static void add_thread(const struct overview_sums *sums, struct overview_process *process,
	const struct thread_row *row, const uint64_t *all_samples)
{
	if (sums->is_divided)
		add_running(
			running(row->sums), &row->sums[SUM_SAMPLES], all_samples, process->parts);
	else
		process->parts[PART_UNDIVIDED] += running(row->sums);
	add_waits(sums, &row->group, row->sums, process->parts);
	name_process(sums, process, row);
}

static int by_pid(const void *a, const void *b)
{
	const struct thread_group *x = &((const struct thread_row *)a)->group,
				  *y = &((const struct thread_row *)b)->group;

	if (x->pid != y->pid)
		return (x->pid > y->pid) - (x->pid < y->pid);
	return x->started != y->started ? (x->started > y->started) - (x->started < y->started)
					: (x->tid > y->tid) - (x->tid < y->tid);
}

static int by_active(const void *a, const void *b)
{
	const struct overview_process *x = a, *y = b;

	return (x->all < y->all) - (x->all > y->all);
}

/* Whether the processes are so busy that threads that wait long have nothing to do. */
static bool is_busy(const struct overview_sums *sums, const struct thread_row *rows, size_t n)
{
	uint64_t busy = 0;

	if (!sums->overview->has_selection)
		return true;
	for (size_t i = 0; i < n; i++)
		busy += running(rows[i].sums) + rows[i].sums[SUM_STATE + THREAD_READY] +
			rows[i].sums[SUM_STATE + THREAD_DISK];
	return (double)busy >= 0.2 * (double)sums->elapsed;
}

/* Adds up their weights, and their number in sums->samples. */
static void all_samples(
	struct overview_sums *sums, const struct thread_row *rows, size_t n, uint64_t *ret_samples)
{
	uint64_t number;

	for (size_t i = 0; i < n; i++)
		for (int part = 0; part < CPU_PARTS; part++) {
			ret_samples[part] += rows[i].sums[SUM_SAMPLES + part];
			sums->samples[part] += rows[i].sums[SUM_NUMBER + part];
		}
	number = sum_of(sums->samples);
	sums->is_divided = number >= OVERVIEW_SAMPLES_MIN;
	if (!sums->is_divided)
		sums->samples[PART_UNDIVIDED] = number;
}

/* ---- time that was not watched ---- */

static int time_of(int state)
{
	return state == THREAD_RUNNING ? TIME_RUNNING
	       : state == THREAD_READY ? TIME_READY
				       : TIME_WAITS;
}

/* What the kernel counted of a thread, and the number of its turns on a CPU. False: unknown. */
static bool count_times(
	const struct overview_sums *sums, pid_t tid, uint64_t *ret_times, uint64_t *ret_turns)
{
	const struct overview *o = sums->overview;
	const struct thread_scheds *from = sums->scope == ATTAR_SCOPE_WHOLE || !o->scheds_last.time
						   ? &o->scheds_began
						   : &o->scheds_last;
	struct thread_sched change;
	double scale;
	uint64_t busy;

	if (!sums->has_scheds || !from->time || o->scheds.time <= from->time ||
		!thread_scheds_change(from, &o->scheds, tid, &change))
		return false;
	/* the first reading is later than the start, and the last one than the end */
	scale = (double)sums->elapsed / (double)(o->scheds.time - from->time);
	ret_times[TIME_RUNNING] = (uint64_t)(scale * (double)change.ran);
	ret_times[TIME_READY] = (uint64_t)(scale * (double)change.delay);
	busy = ret_times[TIME_RUNNING] + ret_times[TIME_READY];
	ret_times[TIME_WAITS] = sums->elapsed > busy ? sums->elapsed - busy : 0;
	*ret_turns = change.turns;
	return true;
}

static void take_open_waits(const struct overview_sums *sums, uint64_t *thread, uint64_t mean)
{
	for (unsigned state = 0; state < THREAD_STATES; state++)
		if (overview_is_long(sums, state, mean))
			thread[SUM_LONG + state] += thread[SUM_OPEN + state];
}

/* The waits of a thread that was never watched: divided as the waits of its process. */
static void share_waits(uint64_t *thread, const uint64_t *process, uint64_t time)
{
	double all = 0;

	for (int state = THREAD_DISK; state < THREAD_STATES; state++)
		all += (double)process[state];
	for (int state = THREAD_DISK; all > 0 && state < THREAD_STATES; state++)
		thread[SUM_STATE + state] = thread[SUM_OPEN + state] =
			(uint64_t)((double)time * ((double)process[state] / all));
	if (all <= 0)
		thread[SUM_STATE + THREAD_BLOCKED] = thread[SUM_OPEN + THREAD_BLOCKED] = time;
}

/*
 * Rows of one thread, under each of its names. Of time that was not watched, the kernel counts the
 * time on a CPU and in the run queue; the rest is divided as the waits that were watched, here and
 * in the process.
 */
static void scale_thread(
	struct overview_sums *sums, struct thread_row *rows, size_t n, const uint64_t *process)
{
	uint64_t watched[TIMES] = {0}, counted[TIMES] = {0}, turns = 0, mean = 0;
	bool is_counted = count_times(sums, rows->group.tid, counted, &turns);

	for (size_t i = 0; i < n; i++)
		for (int state = 0; state < THREAD_STATES; state++)
			watched[time_of(state)] += rows[i].sums[SUM_STATE + state];
	for (size_t i = 0; i < n; i++)
		for (int sum = 0; sum < SUM_SAMPLES; sum++) {
			int time = time_of(sum % THREAD_STATES);
			double scale = is_counted && watched[time]
					       ? (double)counted[time] / (double)watched[time]
					       : 1;

			rows[i].sums[sum] = (uint64_t)((double)rows[i].sums[sum] * scale);
		}
	if (is_counted) {
		mean = counted[TIME_WAITS] / (turns + 1);
		rows->sums[SUM_STATE + THREAD_RUNNING] +=
			watched[TIME_RUNNING] ? 0 : counted[TIME_RUNNING];
		rows->sums[SUM_STATE + THREAD_READY] +=
			watched[TIME_READY] ? 0 : counted[TIME_READY];
		if (!watched[TIME_WAITS]) {
			share_waits(rows->sums, process, counted[TIME_WAITS]);
			for (int state = THREAD_DISK; state < THREAD_STATES; state++)
				sums->unseen_waits[overview_part_of(state)] +=
					(double)rows->sums[SUM_STATE + state];
		}
	}
	for (size_t i = 0; i < n; i++)
		take_open_waits(sums, rows[i].sums, mean);
	if (is_counted)
		sums->factors[sums->exact++] = (struct overview_factor){rows->group.tid,
			watched[TIME_WAITS]
				? (double)counted[TIME_WAITS] / (double)watched[TIME_WAITS]
				: 1,
			mean};
}

static bool is_same(const struct thread_row *a, const struct thread_row *b, bool thread)
{
	return a->group.pid == b->group.pid &&
	       (a->group.started == b->group.started || !a->group.started) &&
	       (!thread || a->group.tid == b->group.tid);
}

/* The first row after the rows of a process, or of a thread. */
static size_t end_of(const struct thread_row *rows, size_t n, size_t i, bool thread)
{
	size_t end = i + 1;

	while (end < n && is_same(&rows[end - 1], &rows[end], thread))
		end++;
	return end;
}

static int by_factor_tid(const void *a, const void *b)
{
	const struct overview_factor *x = a, *y = b;

	return (x->tid > y->tid) - (x->tid < y->tid);
}

const struct overview_factor *overview_factor_of(const struct overview_sums *sums, pid_t tid)
{
	const struct overview_factor wanted = {.tid = tid};

	return sums->exact
		       ? bsearch(&wanted, sums->factors, sums->exact, sizeof(wanted), by_factor_tid)
		       : NULL;
}

/* Sorted rows. */
static void scale_rows(struct overview_sums *sums, struct thread_row *rows, size_t n)
{
	for (size_t i = 0, end; i < n; i = end) {
		uint64_t process[THREAD_STATES] = {0};

		end = end_of(rows, n, i, false);
		for (size_t j = i; j < end; j++)
			for (int state = THREAD_DISK; state < THREAD_STATES; state++)
				process[state] += rows[j].sums[SUM_STATE + state];
		for (size_t j = i, next; j < end; j = next) {
			next = end_of(rows, end, j, true);
			scale_thread(sums, &rows[j], next - j, process);
		}
	}
	if (sums->exact)
		qsort(sums->factors, sums->exact, sizeof(*sums->factors), by_factor_tid);
}

/*
 * Adds the selected threads that were not seen while events were watched, behind n sorted rows.
 * Returns the number of all.
 */
static size_t add_unseen(const struct overview_sums *sums, struct thread_row *rows, size_t n)
{
	const struct thread_scheds *scheds = &sums->overview->scheds;
	size_t all = n;

	for (size_t i = 0; sums->overview->has_selection && i < scheds->n; i++) {
		const struct attar_thread *thread = attar_run_thread(sums->run, scheds->at[i].tid);
		struct thread_row *row = &rows[all];
		uint64_t times[TIMES], turns;

		if (!thread || !thread->process ||
			overview_is_own(sums->overview, sums->run, thread) ||
			!count_times(sums, thread->tid, times, &turns))
			continue;
		/* one that exited, which its parent has not waited for, waits for nothing */
		if (!turns && !times[TIME_READY] &&
			!thread_is_asleep(thread->process->pid, thread->tid))
			continue;
		row->group.tid = thread->tid;
		row->group.pid = thread->process->pid;
		row->group.started = thread->process->started;
		strncpy(row->group.comm, thread->comm, THREAD_COMM_BYTES - 1);
		all += !n || !bsearch(row, rows, n, sizeof(*rows), by_pid);
	}
	return all;
}

/*
 * Only rows with a key: what was evicted had the least time. *n is their number, then the number of
 * all rows.
 * NULL: out of memory.
 */
static struct thread_row *new_rows(
	struct overview_sums *sums, struct attar_keyrow *const *keyrows, size_t *n)
{
	struct thread_row *rows = calloc(*n + sums->overview->scheds.n + 1, sizeof(*rows));

	sums->factors = calloc(*n + sums->overview->scheds.n + 1, sizeof(*sums->factors));
	if (!rows || !sums->factors) {
		free(rows);
		return NULL;
	}
	for (size_t i = 0; i < *n; i++) {
		rows[i].group = *(const struct thread_group *)keyrows[i]->key;
		memcpy(rows[i].sums, attar_keyrow_sums(keyrows[i], sums->scope)->sums,
			sizeof(rows[i].sums));
	}
	qsort(rows, *n, sizeof(*rows), by_pid);
	sums->has_scheds = sums->scale > 1 && sums->has_all_cpus;
	*n = add_unseen(sums, rows, *n);
	qsort(rows, *n, sizeof(*rows), by_pid);
	scale_rows(sums, rows, *n);
	return rows;
}

/* Of the times of a thread. Nothing of them is uncertain if the kernel counted all. */
static double variance_of(const struct overview_sums *sums, pid_t tid)
{
	double doubt = overview_factor_of(sums, tid)
			       ? 0
			       : overview_slices_doubt_of(sums->overview, sums->scope, tid);

	return doubt * doubt;
}

static void add_processes(struct overview_sums *sums, const struct thread_row *rows, size_t n)
{
	uint64_t samples[CPU_PARTS] = {0};
	struct overview_process *process = sums->processes - 1;
	int32_t last = 0;

	sums->leaves_out_long = is_busy(sums, rows, n);
	all_samples(sums, rows, n, samples);
	for (size_t i = 0; i < n; i++) {
		const struct thread_group *group = &rows[i].group;

		if (!i || !is_same(&rows[i - 1], &rows[i], false)) {
			*++process = (struct overview_process){.pid = group->pid, .processes = 1};
			sums->n_processes++;
			last = 0;
		}
		if (group->tid != last) { /* it may have rows under several names */
			process->threads++;
			process->counted += overview_factor_of(sums, group->tid) != NULL;
			process->variance += variance_of(sums, group->tid);
		}
		last = group->tid;
		process->started = group->started;
		add_thread(sums, process, &rows[i], samples);
	}
	for (size_t i = 0, end, found = 0; i < n; i = end) {
		end = end_of(rows, n, i, false);
		sums->processes[found++].counts = overview_count_rows(sums, &rows[i], end - i);
	}
	for (size_t i = 0; i < sums->n_processes; i++)
		for (int part = 0; part < PARTS; part++) {
			uint64_t time = sums->processes[i].parts[part];

			sums->parts[part] += time;
			sums->processes[i].all += part < ACTIVE_PARTS ? time : 0;
			sums->active += part < ACTIVE_PARTS ? time : 0;
		}
	qsort(sums->processes, sums->n_processes, sizeof(*sums->processes), by_active);
}

/* Threads that were never seen may wait for something else than the others of their process. */
static const double unseen_doubt = 0.5;

/* The estimates of the time on a CPU are not divided: each part has as much of them. */
static void read_estimates(struct overview_sums *sums)
{
	uint64_t on_cpu = 0;

	for (int part = 0; part <= PART_UNDIVIDED; part++)
		on_cpu += sums->parts[part];
	for (int part = 0; part < PARTS; part++) {
		double unseen = sums->unseen_waits[part];
		bool is_cpu = part <= PART_UNDIVIDED;
		enum overview_part of = is_cpu ? overview_part_of(THREAD_RUNNING) : part;
		double share = is_cpu && on_cpu ? (double)sums->parts[part] / (double)on_cpu : 1;

		sums->estimated[part] = share * overview_slices_estimated(sums->overview,
							sums->scope, of, &sums->doubt[part]);
		sums->estimated[part] =
			fmin(sums->estimated[part] + unseen, (double)sums->parts[part]);
		sums->doubt[part] = fmin(
			share * sums->doubt[part] + unseen_doubt * unseen, sums->estimated[part]);
	}
}

/* ---- names ---- */

static int by_name(const void *a, const void *b)
{
	const struct overview_process *x = a, *y = b;
	int r = strcmp(x->comm, y->comm);

	return r ? r : by_active(a, b);
}

/* Adds up those with the same name. Returns the number of names. */
static size_t merge_names(struct overview_process *processes, size_t n)
{
	size_t found = 0;

	if (n)
		qsort(processes, n, sizeof(*processes), by_name);
	for (size_t i = 0; i < n; i++) {
		struct overview_process *name = &processes[found ? found - 1 : 0];

		if (!found || strcmp(name->comm, processes[i].comm) != 0) {
			processes[found++] = processes[i];
			continue;
		}
		name->pid = 0;
		name->processes += processes[i].processes;
		name->threads += processes[i].threads;
		name->counted += processes[i].counted;
		name->all += processes[i].all;
		name->variance += processes[i].variance;
		overview_add_counts(&name->counts, &processes[i].counts);
		for (int part = 0; part < PARTS; part++)
			name->parts[part] += processes[i].parts[part];
	}
	return found;
}

static int compare_pids(const void *a, const void *b)
{
	const struct overview_process *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

/* Sums of the names, or which name has the most processes. */
static int read_names(struct overview_sums *sums)
{
	size_t n = sums->n_processes;
	struct overview_process *copy = calloc(n + 1, sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	memcpy(copy, sums->processes, n * sizeof(*copy));
	if (sums->overview->only_comm) {
		if (n)
			qsort(copy, n, sizeof(*copy), compare_pids);
		sums->by_pid = copy;
		sums->n_by_pid = n;
		sums->n_processes = merge_names(sums->processes, n);
		qsort(sums->processes, sums->n_processes, sizeof(*copy), by_active);
		return 0;
	}
	n = merge_names(copy, n);
	for (size_t i = 0; i < n; i++)
		if (copy[i].processes > sums->most_common.processes)
			sums->most_common = copy[i];
	free(copy);
	return 0;
}

struct overview_name overview_name_of(const struct overview_process *process, bool threads)
{
	struct overview_name name;
	char details[32] = "";

	if (threads)
		snprintf(details, sizeof(details), ", %u thread%s", process->threads,
			process->threads == 1 ? "" : "s");
	if (process->pid)
		snprintf(name.text, sizeof(name.text), "%s (%s%d%s)", process->comm,
			threads ? "pid " : "", (int)process->pid, details);
	else
		snprintf(name.text, sizeof(name.text), "%s (%u process%s%s)", process->comm,
			process->processes, process->processes == 1 ? "" : "es", details);
	return name;
}

struct overview_name overview_call_name(const struct overview_sums *sums, uint64_t call)
{
	const struct attar_expr_value number = {.number = call};
	const struct attar_expr_record record = {.variables = &number};
	struct overview_name name = {""};
	struct attar_expr_value text;

	attar_expr_eval(sums->overview->syscall_name, &record, &text);
	if (text.bytes)
		snprintf(name.text, OVERVIEW_NAME_BYTES, "%.*s", (int)text.len, text.bytes);
	return name;
}

static int read_threads(struct overview_sums *sums)
{
	struct attar_keytable *threads = sums->overview->threads;
	struct attar_keyrow **keyrows;
	struct thread_row *rows;
	size_t n;
	int r = attar_keytable_rows(threads, sums->scope, SUM_ALL, &keyrows, &n);

	if (r < 0)
		return r;
	n -= n && !keyrows[n - 1]->key;
	rows = new_rows(sums, keyrows, &n);
	sums->processes = rows ? calloc(n + 1, sizeof(*sums->processes)) : NULL;
	if (sums->processes)
		add_processes(sums, rows, n);
	for (size_t i = 0, end; sums->processes && r == 0 && i < n; i = end) {
		end = end_of(rows, n, i, false);
		r = overview_check_pools(sums, &rows[i], end - i);
	}
	read_estimates(sums);
	free(rows);
	free(keyrows);
	if (r < 0)
		return r;
	return sums->processes ? read_names(sums) : -ENOMEM;
}

/* Part of the time may have been watched only. */
static void set_times(struct overview_sums *sums, struct attar_run *run)
{
	struct overview *o = sums->overview;
	uint64_t watched = duty_watched(&o->duty, attar_run_began(run), attar_run_until(run)),
		 recent = watched - o->watched_before;

	o->watched_before = watched;
	if (sums->scope == ATTAR_SCOPE_WHOLE)
		recent = watched;
	sums->scale = recent && recent < sums->elapsed ? (double)sums->elapsed / (double)recent : 1;
}

/* The losses of the rings of all sources. */
static void set_lost(struct overview_sums *sums)
{
	struct overview *o = sums->overview;
	uint64_t lost = o->lost, delivered = o->times.events + o->events;

	if (sums->scope == ATTAR_SCOPE_INTERVAL) {
		lost -= o->lost_before;
		delivered -= o->delivered_before;
	}
	o->lost_before = o->lost;
	o->delivered_before = o->times.events + o->events;
	sums->lost = lost ? (double)lost / (double)(lost + delivered) : 0;
}

/* Of a recording, the counts at its ends. */
static int read_scheds(struct attar_run *run, struct overview *o, enum attar_scope scope)
{
	int r;

	if (!attar_run_is_live(run) && (scope != ATTAR_SCOPE_WHOLE || o->scheds.time))
		return 0;
	if (!attar_run_is_live(run)) {
		r = thread_scheds_recorded(run, false, &o->scheds_began);
		return r == 0 ? thread_scheds_recorded(run, true, &o->scheds) : r;
	}
	thread_scheds_done(&o->scheds_last);
	o->scheds_last = o->scheds;
	return thread_scheds_read(run, &o->scheds);
}

/*
 * Of processes that run already, a long sleep is the pause of a loop that checks something now and
 * then. A command is run to see how long it takes.
 */
static bool is_service(struct attar_run *run)
{
	const char *words = run_target_words(run);

	return attar_run_is_live(run) && words && !strstr(words, " -- ");
}

static bool has_clock(const struct attar_run *run, const struct overview *o)
{
	const struct perf_event_attr *attr = attar_run_source_attr(run, o->sampler);

	return attr && attar_attr_is_clock(attr);
}

int overview_add_up(struct attar_run *run, struct overview *o, struct attar_report *report,
	enum attar_scope scope, struct overview_sums *ret_sums)
{
	int r = take_counts(o);

	*ret_sums = (struct overview_sums){.overview = o,
		.run = run,
		.scope = scope,
		.is_service = is_service(run),
		.has_all_cpus = overview_has_all_cpus(run),
		.has_clock = attar_run_is_live(run) && has_clock(run, o)};
	attar_report_get_interval(report, NULL, &ret_sums->elapsed);
	if (r == 0)
		r = overview_end_interval(o);
	if (r < 0)
		return r;
	set_times(ret_sums, run);
	set_lost(ret_sums);
	r = read_scheds(run, o, scope);
	if (r == 0 && attar_run_is_live(run)) {
		system_stat_read("", &o->now);
		kernel_log_read(&o->log);
		r = usage_report(run, &o->usage);
		o->networks_last = o->networks;
		overview_read_networks(&o->usage.now, &o->networks);
	}
	if (r < 0)
		return r;
	ret_sums->system = system_stat_change(
		scope == ATTAR_SCOPE_WHOLE ? &o->began : &o->last, &o->now, ret_sums->elapsed);
	o->last = o->now;
	r = read_counters(ret_sums);
	if (r < 0)
		return r;
	read_counts(ret_sums);
	read_ends(ret_sums);
	r = overview_read_errors(ret_sums);
	if (r == 0)
		r = overview_find_waits(ret_sums);
	return r < 0 ? r : read_threads(ret_sums);
}

void overview_sums_done(struct overview_sums *sums)
{
	free(sums->processes);
	free(sums->by_pid);
	free(sums->factors);
	free(sums->errors);
	open_waits_done(&sums->waits);
}

const struct overview_process *overview_process_of(const struct overview_sums *sums, pid_t pid)
{
	const struct overview_process wanted = {.pid = pid};

	return bsearch(&wanted, sums->by_pid, sums->n_by_pid, sizeof(wanted), compare_pids);
}

const struct overview_process *overview_top(
	const struct overview_sums *sums, enum overview_part part)
{
	const struct overview_process *top = NULL;

	for (size_t i = 0; i < sums->n_processes; i++)
		if (sums->processes[i].parts[part] > (top ? top->parts[part] : 0))
			top = &sums->processes[i];
	return top;
}
