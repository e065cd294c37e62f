/* SPDX-License-Identifier: MIT */
/*
 * Compares the times of a finding with what is never lost: the kernel's counts of each thread
 * (schedstat) and of each process (utime and stime), and the number of samples.
 */
#include <math.h>
#include <unistd.h>

#include "overview/findings.h"

/* Smaller differences are not said. Of the time of the report. */
static const double limit = 0.05;

/* Standard deviations of a number of samples or ticks. */
static const double deviations = 4.5;

enum {
	CPU_TICKS = 4,   /* utime and stime are rounded down, at both readings */
	TICKS_MIN = 100, /* that divide the CPU time between user code and the kernel */
	NS_PER_TICK = 10000000,
};

/* ---- threads ---- */

static enum thread_check_time time_of_state(int state)
{
	return state == THREAD_RUNNING ? CHECK_RUNNING
	       : state == THREAD_READY ? CHECK_READY
				       : CHECK_OFF;
}

void overview_add_counts(struct overview_counts *to, const struct overview_counts *from)
{
	for (int time = 0; time < CHECK_TIMES; time++) {
		to->seen[time] += from->seen[time];
		to->counted[time] += from->counted[time];
	}
	to->slack += from->slack;
	to->queued += from->queued;
	to->turns += from->turns;
	to->threads += from->threads;
	to->samples += from->samples;
	to->sampled += from->sampled;
}

static void add_row(struct overview_counts *counts, const struct thread_row *row, bool is_counted)
{
	for (int state = 0; is_counted && state < THREAD_STATES; state++)
		counts->seen[time_of_state(state)] += row->sums[SUM_STATE + state];
	for (int part = 0; part < CPU_PARTS; part++) {
		counts->sampled += row->sums[SUM_SAMPLES + part];
		counts->samples += row->sums[SUM_NUMBER + part];
	}
}

/* How long the thread waits for a CPU now. */
static uint64_t queued_for(const struct overview_sums *sums, pid_t tid)
{
	const uint64_t key = (uint64_t)tid, until = attar_run_until(sums->run);
	const struct attar_state *state =
		attar_states_get(sums->overview->times.states, &key, sizeof(key));
	const struct thread_block *block = state ? state->value : NULL;

	return block && state->state == THREAD_READY && block->since < until ? until - block->since
									     : 0;
}

struct overview_counts overview_count_rows(
	const struct overview_sums *sums, const struct thread_row *rows, size_t n)
{
	const struct overview *o = sums->overview;
	const struct thread_scheds *from = sums->scope == ATTAR_SCOPE_WHOLE || !o->scheds_last.time
						   ? &o->scheds_began
						   : &o->scheds_last;
	const uint64_t until = attar_run_until(sums->run);
	struct overview_counts counts = {.seen = {0}};
	bool is_counted = false;

	for (size_t i = 0; i < n; i++) {
		const pid_t tid = rows[i].group.tid;
		struct thread_counted counted;

		if (!i || tid != rows[i - 1].group.tid) { /* it may have rows of several names */
			is_counted = sums->has_all_cpus &&
				     thread_check_counted(sums->run, from, &o->scheds,
					     until - sums->elapsed, until, tid, &counted);
			for (int time = 0; is_counted && time < CHECK_TIMES; time++)
				counts.counted[time] += counted.times[time];
			counts.slack += is_counted ? counted.slack : 0;
			counts.queued += is_counted ? queued_for(sums, tid) : 0;
			counts.turns += is_counted ? counted.turns : 0;
			counts.threads += is_counted;
		}
		add_row(&counts, &rows[i], is_counted);
	}
	return counts;
}

/* ---- processes ---- */

/* utime and stime since the begin of the report, or of the process, in ticks. */
struct cpu_ticks {
	uint64_t user, kernel;
	uint64_t slack; /* ns: because of the moments of the readings */
};

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static const struct usages *first_reading(const struct overview_sums *sums)
{
	const struct usage_readings *usage = &sums->overview->usage;

	return sums->scope == ATTAR_SCOPE_WHOLE || !usage->last.time ? &usage->began : &usage->last;
}

/* False: unknown, such as of a process that has ended. */
static bool read_ticks(const struct overview_sums *sums, const struct overview_process *process,
	struct cpu_ticks *ret_ticks)
{
	const struct usage_readings *usage = &sums->overview->usage;
	const struct usages *first = first_reading(sums);
	const struct usage *to = process->pid ? usages_of(&usage->now, process->pid) : NULL,
			   *from = to ? usages_same(first, to) : NULL;
	const struct attar_thread *thread =
		process->pid ? attar_run_thread(sums->run, process->pid) : NULL;
	const uint64_t until = attar_run_until(sums->run), since = until - sums->elapsed;
	const uint64_t cpus = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
	const uint64_t most = process->threads < cpus ? process->threads : cpus;

	if (!to || !first->time || !sums->has_all_cpus ||
		(!from && !(thread && thread->started >= since)))
		return false;
	*ret_ticks = (struct cpu_ticks){.user = to->user - (from ? from->user : 0),
		.kernel = to->cpu - to->user - (from ? from->cpu - from->user : 0),
		.slack = most * (distance(usage->now.time, until) +
					(from ? distance(first->time, since) : 0))};
	return true;
}

static uint64_t time_on_cpu(const struct overview_process *process)
{
	uint64_t time = 0;

	for (int part = 0; part <= PART_UNDIVIDED; part++)
		time += process->parts[part];
	return time;
}

/* ---- differences ---- */

/* Time on a CPU that interrupts and the host take may be in one of both times only. */
static uint64_t allowed(const struct overview_sums *sums)
{
	return (uint64_t)((limit + sums->system.taken) * (double)sums->elapsed);
}

static bool say_times(const struct overview_sums *sums, struct overview_finding *finding,
	enum thread_check_time time, uint64_t seen, uint64_t counted, uint64_t slack)
{
	static const char *const names[CHECK_TIMES] = {
		"on a CPU", "waiting for a CPU", "neither on a CPU nor waiting for one"};
	const uint64_t least = counted > slack ? counted - slack : 0;

	if (distance(seen, counted) <= slack + allowed(sums))
		return false;
	overview_say(finding,
		"; uncertain: the kernel counted %.2f to %.2f s %s, the events show %.2f s",
		(double)least / 1e9, (double)(counted + slack) / 1e9, names[time],
		(double)seen / 1e9);
	return true;
}

/* Of a share that n of them show. */
static double error_of(double share, double n)
{
	return deviations * sqrt((share * (1 - share) + 1 / n) / n);
}

/* A process that runs for less than a tick at a time may run between ticks only. */
static bool has_ticks(const struct overview_process *process, const struct cpu_ticks *ticks)
{
	return ticks->user + ticks->kernel >= TICKS_MIN && process->counts.threads &&
	       process->counts.counted[CHECK_RUNNING] > process->counts.turns * NS_PER_TICK;
}

/* Interrupts are of both. */
static void say_division(const struct overview_sums *sums, struct overview_finding *finding,
	const struct overview_process *process, const struct cpu_ticks *ticks)
{
	const double all = (double)(ticks->user + ticks->kernel),
		     counted = (double)ticks->user / all, on_cpu = (double)time_on_cpu(process),
		     n = (double)process->counts.samples,
		     least = (double)process->parts[PART_USER] / on_cpu,
		     most = least + (double)process->parts[PART_IRQ] / on_cpu,
		     error = error_of(counted, all) + error_of(least, n) + limit;

	if (counted + error >= least && counted - error <= most)
		return;
	overview_say(finding,
		"; uncertain: the kernel counted %.0f to %.0f %% of its CPU time as time of user "
		"code, the samples show %.0f %%",
		100 * fmax(0, counted - error_of(counted, all)),
		100 * fmin(1, counted + error_of(counted, all)), 100 * least);
	(void)sums;
}

/* Samples that are not delivered may all be of one kind of code. */
static void say_samples(const struct overview_sums *sums, struct overview_finding *finding,
	const struct overview_process *process)
{
	const double n = (double)process->counts.samples,
		     period = process->counts.samples ? (double)process->counts.sampled / n
						      : 1e9 / run_freq(sums->run),
		     expected = (double)time_on_cpu(process) / period;

	if (!sums->has_clock || fabs(n - expected) <= deviations * sqrt(fmax(n, expected)) +
							      (double)allowed(sums) / period)
		return;
	overview_say(finding, "; uncertain: it has %.0f samples, its time on a CPU makes %.0f", n,
		expected);
}

/* Whether the process may have waited for a CPU when the report began. */
static bool was_queued(const struct overview_sums *sums, const struct overview_process *process)
{
	const struct usage *from =
		process->pid ? usages_of(first_reading(sums), process->pid) : NULL;

	return !from || process->threads > 1 || from->state == 'R';
}

/*
 * The kernel counts a wait for a CPU when it ends. If one has begun before the report, it counts
 * more for the report than its time, and less for other waits.
 */
static void say_waits(const struct overview_sums *sums, struct overview_finding *finding,
	enum thread_check_time time, const struct overview_process *process)
{
	const struct overview_counts *counts = &process->counts;
	const uint64_t queued = counts->queued, all = counts->counted[time],
		       seen = counts->seen[time],
		       counted = time == CHECK_READY ? all + queued
						     : all - (queued < all ? queued : all);

	if ((time == CHECK_READY) == (counted > seen) && was_queued(sums, process))
		return;
	say_times(sums, finding, time, seen, counted, counts->slack);
}

static void say_cpu_time(const struct overview_sums *sums, struct overview_finding *finding,
	const struct overview_process *process)
{
	const struct overview_counts *counts = &process->counts;
	const uint64_t tick = 1000000000 / (uint64_t)sysconf(_SC_CLK_TCK);
	struct cpu_ticks ticks = {0};
	const bool has_process = read_ticks(sums, process, &ticks);
	bool is_said;

	/* threads may have ended, which the process has the times of */
	if (counts->threads < process->threads && has_process)
		is_said = say_times(sums, finding, CHECK_RUNNING, time_on_cpu(process),
			(ticks.user + ticks.kernel) * tick, ticks.slack + CPU_TICKS * tick);
	else
		is_said = say_times(sums, finding, CHECK_RUNNING, counts->seen[CHECK_RUNNING],
			counts->counted[CHECK_RUNNING], counts->slack);
	if (!is_said)
		say_samples(sums, finding, process);
	if (has_process && has_ticks(process, &ticks) && sums->is_divided &&
		counts->samples >= OVERVIEW_SAMPLES_MIN)
		say_division(sums, finding, process, &ticks);
}

void overview_say_counts(const struct overview_sums *sums, struct overview_finding *finding,
	enum overview_part part, const struct overview_process *process)
{
	if (part <= PART_UNDIVIDED)
		say_cpu_time(sums, finding, process);
	else
		say_waits(sums, finding, part == PART_READY ? CHECK_READY : CHECK_OFF, process);
}
