/* SPDX-License-Identifier: MIT */
/* The limits are listed in docs/profilers/overview.md. */
#include <errno.h>
#include <signal.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "overview/findings.h"

enum {
	SHARE = 20,           /* percent of the active time */
	AT_LEAST = 5,         /* percent of the time of the report, of some tasks */
	AT_LEAST_READY = 10,  /* the same of waits for a CPU: a busy machine is no fault */
	AT_LEAST_SYSTEM = 25, /* the same of the whole system, so a quarter of one thread */
	RUN_DELAY_MS = 20,    /* p99 */
	RUN_DELAYS = 100,     /* that many, at least, and 5 % of the time of the report in all */
	BLOCK_MS = 50,        /* p99 */
	BLOCKS = 10,
	MAJOR_FAULTS = 50, /* a second */
	MIGRATIONS = 1000, /* a second */
	SWITCHES = 20000,  /* a second on each CPU */
	SERVICE = 50,      /* percent of the active time of a service without sleep */
	SERVICES = 3,      /* findings of services, at most */
	POOL = 50,         /* percent of the work of a pool of threads */
	LOST = 20,         /* percent of the events */
	DOUBT = 10,        /* percent of the active time */
	NS_PER_MS = 1000000,
};

static size_t append(char *text, size_t n, const char *fmt, ...) ATTAR_PRINTF(3, 4);

static size_t append(char *text, size_t n, const char *fmt, ...)
{
	va_list args;

	if (n >= FINDING_TEXT_BYTES)
		return n;
	va_start(args, fmt);
	n += (size_t)vsnprintf(text + n, FINDING_TEXT_BYTES - n, fmt, args);
	va_end(args);
	return n;
}

/* ---- where the time goes ---- */

#define SWITCHES_AND(event) "sched:sched_switch," event
#define OFFCPU(command)                                                                            \
	{                                                                                          \
		command, SWITCHES_AND("sched:sched_waking"), true, true                            \
	}
#define BLAME                                                                                      \
	{                                                                                          \
		"blame --by process", SWITCHES_AND("sched:sched_wakeup,sched:sched_wakeup_new"),   \
			false, true                                                                \
	}

static const struct {
	const char *evidence; /* after "comm (pid)" */
	struct overview_next next;
} of_parts[ACTIVE_PARTS] = {
	[PART_USER] = {"runs its own code", {"profile -g"}},
	[PART_KERNEL] = {"runs kernel code, in system calls", {"profile -g --exclude-user"}},
	[PART_FAULT] = {"handles page faults", {"page-faults -g", "page-faults"}},
	[PART_IRQ] = {"is interrupted", {"profile -g --exclude-user"}},
	[PART_SPIN] = {"spins on kernel locks",
		{"locks --kernel", "lock:contention_begin,lock:contention_end"}},
	[PART_UNDIVIDED] = {"runs on a CPU", {"profile -g -F 9999"}},
	[PART_READY] = {"waits for a CPU", BLAME},
	[PART_DISK] = {"waits for disks", OFFCPU("offcpu -D")},
	[PART_LOCK] = {"waits for locks",
		{"locks", "lock:contention_begin,lock:contention_end,"
			  "syscalls:sys_enter_futex,syscalls:sys_exit_futex"}},
	[PART_SLEEP] = {"sleeps", OFFCPU("offcpu")},
	[PART_PEER] = {"waits for other programs", OFFCPU("offcpu")},
	[PART_BLOCKED] = {"is blocked", OFFCPU("offcpu")},
};

/* "45.3 us", "1.5 ms" */
struct duration {
	char text[32];
};

static struct duration quantile(const struct attar_hist *hist, double q)
{
	uint64_t ns = attar_hist_quantile(hist, q);
	bool is_small = ns < NS_PER_MS;
	struct duration d;

	snprintf(d.text, sizeof(d.text), "%.1f %s", (double)ns / (is_small ? 1e3 : 1e6),
		is_small ? "us" : "ms");
	return d;
}

/* After a number of events that are not watched during pauses. */
static const char *seen(const struct overview_sums *sums)
{
	return sums->scale > 1 ? " observed" : "";
}

/* "mostly in heavy (./split), 70 %" */
static size_t add_function(const struct overview_sums *sums, enum overview_part part,
	const struct overview_process *process, char *text, size_t n)
{
	struct overview_function f;

	if (!overview_places(sums, part, process, &f, 1) || !f.name)
		return n;
	if (part < CPU_PARTS && f.all_samples < OVERVIEW_SAMPLES_MIN)
		return n;
	if (!strcmp(f.name, OVERVIEW_STOPPED))
		return append(text, n, ", %.0f %% of %s stopped by a signal or a debugger",
			overview_percent(f.weight, f.all), process ? "it" : "all");
	return append(text, n, ", %.0f %% of %s in %s (%s)", overview_percent(f.weight, f.all),
		process ? "it" : "all", f.name, f.dso);
}

static size_t add_numbers(
	const struct overview_sums *sums, enum overview_part part, char *text, size_t n)
{
	const struct attar_hist *run = sums->latencies[LATENCY_RUN],
				*block = sums->latencies[LATENCY_BLOCK];

	if (part == PART_READY && run && run->count)
		return append(text, n, "; at a time %s at p50, %s at p99", quantile(run, 0.5).text,
			quantile(run, 0.99).text);
	if (part == PART_DISK && block && block->count)
		return append(text, n, "; %llu request%s%s of %s at p50, %s at p99",
			(unsigned long long)block->count, block->count == 1 ? "" : "s", seen(sums),
			quantile(block, 0.5).text, quantile(block, 0.99).text);
	if (part == PART_UNDIVIDED)
		return append(text, n, "; %llu sample%s too few to tell in which code",
			(unsigned long long)sums->samples[part],
			sums->samples[part] == 1 ? " is" : "s are");
	if (part == PART_FAULT)
		return append(text, n, "; %.0f faults a second",
			(double)sums->counts[COUNT_FAULTS] / overview_seconds(sums));
	return n;
}

/*
 * Threads that sleep, on purpose, do not make less important what others do for half of the time of
 * a thread, or that they wait for a lock.
 */
static bool is_without_sleep(const struct overview_sums *sums, enum overview_part part)
{
	uint64_t time = sums->parts[part];

	for (int i = 0; part <= PART_UNDIVIDED && i <= PART_UNDIVIDED; i++)
		time += i == (int)part ? 0 : sums->parts[i];
	return sums->parts[PART_SLEEP] && part != PART_SLEEP &&
	       (part == PART_LOCK || time >= sums->elapsed / 2);
}

/*
 * Waits for a CPU do not make less important what runs on it, if that is the reason for them, or if
 * the process waits for nothing else.
 */
static bool is_without_ready(const struct overview_sums *sums, enum overview_part part)
{
	return part <= PART_UNDIVIDED && sums->parts[PART_READY] &&
	       (overview_is_own_load(sums) || overview_starving(sums));
}

static uint64_t whole_of(const struct overview_sums *sums, enum overview_part part)
{
	uint64_t whole = sums->active;

	if (is_without_ready(sums, part))
		whole -= sums->parts[PART_READY];
	return is_without_sleep(sums, part) ? whole - sums->parts[PART_SLEEP] : whole;
}

static void add_detail(const struct overview_sums *sums, enum overview_part part, char *text)
{
	size_t n = add_numbers(sums, part, text, strlen(text));
	bool ready = is_without_ready(sums, part), sleep = is_without_sleep(sums, part);

	if (ready || sleep)
		append(text, n, "; the value is the share of the time without %s%s%s",
			ready ? "waits for a CPU" : "", ready && sleep ? " and " : "",
			sleep ? "sleep" : "");
}

/*
 * What a process runs that waits for a CPU most of all comes after these waits, unless it takes
 * more of the time.
 */
static double excess_of(const struct overview_sums *sums, enum overview_part part, double value)
{
	uint64_t whole = whole_of(sums, part) + sums->parts[PART_READY];
	double ready = overview_percent(sums->parts[PART_READY], whole_of(sums, PART_READY)),
	       natural = overview_percent(sums->parts[part], whole);

	if (!is_without_ready(sums, part) || overview_is_own_load(sums) || ready < SHARE)
		return value / SHARE;
	return fmax(natural, fmin(value, 0.99 * ready)) / SHARE;
}

/* Who makes up at least half of a part. */
struct culprit {
	const struct overview_process *process; /* the one with the most of it */
	struct overview_process group;          /* the processes with its name, or of a service */
	const char *unit;                       /* of the service; NULL: none */
	bool is_group, is_spread;               /* only the group does; not even that */
	unsigned processes;                     /* that have some of it */
};

static void add_to_group(struct overview_process *group, const struct overview_process *process)
{
	group->processes += process->processes ? process->processes : 1;
	group->threads += process->threads;
	for (int i = 0; i < PARTS; i++)
		group->parts[i] += process->parts[i];
	overview_add_counts(&group->counts, &process->counts);
}

/* Processes with several names may be of one service. */
static void find_service(
	const struct overview_findings *findings, enum overview_part part, struct culprit *c)
{
	for (size_t i = 0; i < findings->n_services; i++) {
		const struct overview_service *service = &findings->services[i];

		if (!*service->unit || service->all.parts[part] < findings->sums->parts[part] / 2)
			continue;
		c->group = service->all;
		c->unit = service->unit;
		c->is_group = true;
		c->is_spread = false;
		return;
	}
}

static struct culprit find_culprit(
	const struct overview_findings *findings, enum overview_part part)
{
	const struct overview_sums *sums = findings->sums;
	struct culprit c = {.process = overview_top(sums, part)};
	uint64_t half = sums->parts[part] / 2;

	if (!c.process || c.process->parts[part] >= half)
		return c;
	memcpy(c.group.comm, c.process->comm, sizeof(c.group.comm));
	for (size_t i = 0; i < sums->n_processes; i++) {
		const struct overview_process *process = &sums->processes[i];

		c.processes += process->parts[part] != 0;
		if (process->parts[part] && !strcmp(process->comm, c.group.comm))
			add_to_group(&c.group, process);
	}
	c.is_group = c.group.processes > 1 && c.group.parts[part] >= half;
	c.is_spread = !c.is_group && c.processes > 1;
	if (c.is_spread)
		find_service(findings, part, &c);
	return c;
}

/* "runs its own code for 50 % of the time", "sleeps in 2.5 threads on average" */
static size_t add_share(const struct overview_sums *sums, enum overview_part part, const char *name,
	const struct overview_process *process, char *text, size_t n)
{
	double share = overview_percent(process->parts[part], sums->elapsed);

	n = append(text, n, "%s %s ", name, of_parts[part].evidence);
	return share > 100 && process->threads > 1
		       ? append(text, n, "in %.1f threads on average", share / 100)
		       : append(text, n, "for %.0f %% of the time", share);
}

static void add_culprit(const struct overview_sums *sums, enum overview_part part,
	const struct culprit *c, char *text)
{
	const struct overview_process *process = c->is_group ? &c->group : c->process;
	char name[SERVICE_BYTES + 64];
	size_t n = 0;

	if (c->is_spread)
		n = append(text, n, "spread over %u processes; the first of them, ", c->processes);
	if (c->unit)
		snprintf(name, sizeof(name), "%s (%u processes, %u threads)", c->unit,
			c->group.processes, c->group.threads);
	else
		snprintf(name, sizeof(name), "%s", overview_name_of(process, true).text);
	n = add_share(sums, part, name, process, text, n);
	add_function(sums, part, c->is_group || c->is_spread ? NULL : c->process, text, n);
}

/* What a thread of the process waits for at the time of the report, and for whom. */
static void add_wait(const struct overview_sums *sums, enum overview_part part,
	const struct culprit *c, char *text)
{
	const struct open_wait *wait = overview_wait_of(sums, c->process, part);
	size_t n = strlen(text);
	uint64_t threads;

	if (!wait || wait == overview_stuck(sums, &threads))
		return;
	n = append(text, n, "; now %s (%d) waits for %s", wait->comm, (int)wait->tid, wait->what);
	if (*wait->then)
		append(text, n, "; %s", wait->then);
}

/* Locks of files and semaphores of System V have no events that attar-locks(1) could show. */
static bool has_no_events(const struct overview_call *call)
{
	static const char *const calls[] = {"flock", "fcntl", "fcntl64", "semop", "semtimedop"};

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (!strcmp(call->name, calls[i]))
			return true;
	return false;
}

/* Whether the process, or NULL, mostly waits for such locks. Calls without a thread are any's. */
static bool waits_without_events(
	const struct overview_sums *sums, const struct overview_process *process)
{
	const struct open_wait *wait = process ? overview_wait_of(sums, process, PART_LOCK) : NULL;
	struct attar_keyrow *row = NULL;
	uint64_t all = 0, without = 0;

	/* of the kernel, and its start was not watched */
	if (wait && (wait->kind == ATTAR_WAIT_SERVER || wait->kind == ATTAR_WAIT_UNKNOWN) &&
		wait->longest >= sums->elapsed)
		return true;
	while ((row = attar_keytable_next(sums->overview->calls, row))) {
		const struct overview_call *call = row->key;
		const struct attar_thread *thread =
			call->tid ? attar_run_thread(sums->run, call->tid) : NULL;
		uint64_t time = attar_keyrow_sums(row, sums->scope)->sums[CALL_WAITS];

		if (call->state != THREAD_LOCK || (process && thread && thread->process &&
							  thread->process->pid != process->pid))
			continue;
		all += time;
		without += has_no_events(call) ? time : 0;
	}
	return without > all / 2;
}

/* What shows more of a part, of the process or of all. */
static const struct overview_next *next_of(const struct overview_sums *sums,
	enum overview_part part, const struct overview_process *process)
{
	return &of_parts[part == PART_LOCK && waits_without_events(sums, process) ? PART_BLOCKED
										  : part]
			.next;
}

/* The system call in which most of the waits in a state pass; NULL: none. */
static const char *call_of(const struct overview_sums *sums, enum thread_state state)
{
	struct attar_keyrow *row = NULL;
	const char *most = NULL;
	uint64_t all = 0, n = 0;

	while ((row = attar_keytable_next(sums->overview->calls, row))) {
		const struct overview_call *call = row->key;
		uint64_t time = attar_keyrow_sums(row, sums->scope)->sums[CALL_WAITS];

		if (call->state != state)
			continue;
		all += time;
		if (time <= n)
			continue;
		n = time;
		most = call->name;
	}
	return most && *most && n > all / 10 ? most : NULL;
}

/* Of a command: which of its processes takes most of the time. */
static void add_longest(const struct overview_sums *sums, struct overview_finding *finding)
{
	const struct usage_readings *usage = &sums->overview->usage;

	if (attar_run_is_live(sums->run) && !sums->is_service && *usage->words)
		overview_say(finding, "; the longest process that was seen is %d: %s",
			(int)usage->longest.pid, usage->words);
}

/* Limits of control groups that explain the waits. */
static void add_limits(const struct overview_sums *sums, enum overview_part part,
	const struct culprit *c, struct overview_finding *finding)
{
	const char *call = part == PART_DISK    ? call_of(sums, THREAD_DISK)
			   : part == PART_SLEEP ? call_of(sums, THREAD_SLEEP)
						: NULL;
	char text[256];

	if (!attar_run_is_live(sums->run))
		return;
	if (part == PART_USER)
		add_longest(sums, finding);
	if (call)
		overview_say(finding, "; mostly in the system call %s", call);
	if (part == PART_DISK && c->process->pid > 0 &&
		(cgroups_io_limit(c->process->pid, text, sizeof(text)) ||
			cgroups_memory_is_full(c->process->pid, text, sizeof(text))))
		overview_say(finding, "; %s", text);
}

/* Who causes it: other programs that use the CPUs, or the code that runs. */
static void add_cause(const struct overview_sums *sums, enum overview_part part,
	const struct culprit *c, struct overview_finding *finding)
{
	if (part == PART_USER)
		overview_say_code(sums, finding, c->is_group || c->is_spread ? NULL : c->process);
	if (part != PART_READY || !attar_run_is_live(sums->run))
		return;
	if (!overview_is_own_load(sums)) {
		overview_say_users(sums, finding, c->process->pid);
		return;
	}
	overview_say(finding, "; the processes use most of the CPU time themselves");
	finding->excess = fmin(finding->excess, 1); /* what they do comes first */
}

/* What a process does with the CPUs that it waits for: its own code may be why it wants them. */
static void add_demand(const struct overview_sums *sums, const struct overview_process *process,
	struct overview_finding *finding)
{
	enum overview_part part = PART_USER;
	struct overview_function f;

	if (!process || !overview_starving(sums) || overview_is_own_load(sums))
		return;
	for (int i = 0; i < CPU_PARTS; i++)
		if (process->parts[i] > process->parts[part])
			part = (enum overview_part)i;
	if (overview_percent(process->parts[part], sums->elapsed) < AT_LEAST ||
		!overview_places(sums, part, process, &f, 1) || !f.name ||
		f.all_samples < OVERVIEW_SAMPLES_MIN)
		return;
	overview_say(finding, "; on a CPU, it mostly %s", of_parts[part].evidence);
	add_function(sums, part, process, finding->evidence, strlen(finding->evidence));
	if (part != PART_USER)
		return;
	overview_say_code(sums, finding, process);
	add_longest(sums, finding);
}

static void check_part(struct overview_findings *findings, enum overview_part part)
{
	const struct overview_sums *sums = findings->sums;
	uint64_t time = sums->parts[part], whole = whole_of(sums, part);
	double least = !sums->overview->has_selection ? AT_LEAST_SYSTEM
		       : part == PART_READY           ? AT_LEAST_READY
						      : AT_LEAST;
	const struct culprit culprit = find_culprit(findings, part);
	const struct overview_process *process =
		culprit.is_group || culprit.is_spread ? NULL : culprit.process;
	struct overview_finding *finding;

	if (!culprit.process || overview_percent(time, sums->elapsed) < least ||
		(part == PART_SLEEP && sums->is_service) || /* as any that has nothing to do */
		(part == PART_PEER && process && overview_serves_datagrams(sums, process)))
		return;
	finding = overview_add_finding(
		findings, overview_part_names[part], overview_percent(time, whole), SHARE, "%");
	if (!finding)
		return;
	finding->is_share = true;
	finding->excess = excess_of(sums, part, finding->value);
	finding->is_sleep = part == PART_SLEEP;
	finding->needs_samples = part == PART_UNDIVIDED;
	add_culprit(sums, part, &culprit, finding->evidence);
	overview_say_counts(
		sums, finding, part, culprit.is_group ? &culprit.group : culprit.process);
	add_cause(sums, part, &culprit, finding);
	add_detail(sums, part, finding->evidence);
	add_wait(sums, part, &culprit, finding->evidence);
	add_limits(sums, part, &culprit, finding);
	if (part == PART_READY)
		add_demand(sums, process, finding);
	if (part == PART_USER && overview_is_interpreted(sums, process)) {
		overview_set_process_command(findings, finding, "stack --repeat 300", process->pid);
		return;
	}
	overview_set_command(findings, finding, process,
		part == PART_USER && attar_run_is_live(sums->run) &&
				overview_lacks_callers(sums, process)
			? &(struct overview_next){"profile --call-graph dwarf"}
			: next_of(sums, part, process));
}

/* ---- single services ---- */

static bool has_finding(const struct overview_findings *findings, enum overview_part part)
{
	for (size_t i = 0; i < findings->n; i++)
		if (findings->at[i].is_share &&
			!strcmp(findings->at[i].name, overview_part_names[part]))
			return true;
	return false;
}

/* Whether a finding about the system says the same: all wait for CPUs, or the service is named. */
static bool is_known(
	const struct overview_findings *findings, const struct overview_service *service)
{
	const struct culprit culprit = find_culprit(findings, service->part);

	if (!has_finding(findings, service->part))
		return false;
	if (culprit.unit && service->part != PART_READY)
		return !strcmp(culprit.unit, service->unit);
	return service->part == PART_READY || culprit.is_group ||
	       (!culprit.is_spread &&
		       overview_is_in_service(findings->sums, service, culprit.process));
}

static void add_service(struct overview_findings *findings, const struct overview_service *service)
{
	static const char *const names[ACTIVE_PARTS] = {[PART_READY] = "run queue of a service",
		[PART_DISK] = "disk of a service",
		[PART_LOCK] = "lock of a service",
		[PART_SPIN] = "kernel spinlocks of a service"};
	const struct overview_sums *sums = findings->sums;
	const enum overview_part part = service->part;
	struct overview_finding *finding =
		overview_add_finding(findings, names[part], 100 * service->lost, SERVICE, "%");
	size_t n = 0;

	if (!finding)
		return;
	finding->is_share = true;
	finding->excess = finding->value / SHARE; /* as shares of the time of all */
	if (*service->unit)
		n = append(finding->evidence, n, "%s: ", service->unit);
	n = add_share(sums, part, overview_name_of(&service->all, true).text, &service->all,
		finding->evidence, n);
	append(finding->evidence, n, "; the value is the share of its own time without sleep");
	add_wait(sums, part, &(struct culprit){.process = service->first}, finding->evidence);
	overview_set_command(
		findings, finding, service->first, next_of(sums, part, service->first));
}

/* Of the whole system: time that a service loses, however busy others are. */
static void check_services(struct overview_findings *findings)
{
	const struct overview_sums *sums = findings->sums;
	size_t found = 0;

	for (size_t i = 0; i < findings->n_services && found < SERVICES; i++) {
		const struct overview_service *service = &findings->services[i];
		uint64_t time = service->all.parts[service->part];

		if (100 * service->lost < SERVICE ||
			overview_percent(time, sums->elapsed) < AT_LEAST_SYSTEM ||
			is_known(findings, service))
			continue;
		add_service(findings, service);
		found++;
	}
}

/* ---- one thread of many ---- */

static void check_pool(struct overview_findings *findings)
{
	const struct overview_sums *sums = findings->sums;
	const struct overview_pool *pool = &sums->pool;
	struct overview_finding *finding =
		pool->all ? overview_add_finding(findings, "uneven threads",
				    overview_percent(pool->top, pool->all), POOL, "%")
			  : NULL;
	const char *target = overview_target(sums);

	if (!finding)
		return;
	append(finding->evidence, 0,
		"%s (%d) does this share of the work of %zu threads with its name in process %d, "
		"and is on a CPU for %.0f %% of the time; the others for %.0f %% on average",
		pool->comm, (int)pool->tid, pool->threads, (int)pool->pid,
		overview_percent(pool->top, sums->elapsed),
		overview_percent(pool->all - pool->top, sums->elapsed) /
			(double)(pool->threads - 1));
	if (attar_run_is_live(sums->run) && !strstr(target, " -- "))
		snprintf(finding->command, COMMAND_BYTES, "attar profile -g -t %d", (int)pool->tid);
	else
		overview_set_command(findings, finding, NULL, &of_parts[PART_USER].next);
}

/* ---- waits that outlast the report ---- */

/* The time of such threads is not active: no share of the time shows them. */
static void check_stuck(struct overview_findings *findings)
{
	uint64_t threads;
	const struct open_wait *wait = overview_stuck(findings->sums, &threads);
	struct overview_finding *finding =
		wait ? overview_add_finding(findings, "stuck", (double)threads, 1, "threads")
		     : NULL;
	int pid;
	size_t n;

	if (!finding)
		return;
	pid = overview_pid_of_wait(findings->sums, wait);
	finding->is_stuck = true;
	snprintf(finding->value_text, sizeof(finding->value_text), "%llu thread%s",
		(unsigned long long)threads, threads == 1 ? "" : "s");
	snprintf(finding->limit_text, sizeof(finding->limit_text), "1 s");
	n = append(finding->evidence, 0, "%s (%d) has waited for %s%.1f s for %s", wait->comm,
		(int)wait->tid, wait->is_lower_bound ? "more than " : "",
		(double)wait->longest / 1e9, wait->what);
	if (*wait->then)
		append(finding->evidence, n, "; %s", wait->then);
	if (pid && attar_run_is_live(findings->sums->run))
		snprintf(finding->command, COMMAND_BYTES, "attar stack -p %d", pid);
}

/* ---- other values ---- */

static void check_latencies(struct overview_findings *findings)
{
	const struct overview_sums *sums = findings->sums;
	const struct attar_hist *run = sums->latencies[LATENCY_RUN],
				*block = sums->latencies[LATENCY_BLOCK];
	struct overview_finding *finding;

	if (run && run->count >= RUN_DELAYS && !has_finding(findings, PART_READY) &&
		overview_percent(sums->parts[PART_READY], sums->elapsed) >= AT_LEAST) {
		finding = overview_add_finding(findings, "run delay",
			(double)attar_hist_quantile(run, 0.99) / NS_PER_MS, RUN_DELAY_MS, "ms");
		if (finding) {
			append(finding->evidence, 0,
				"one in a hundred waits for a CPU is longer; %llu waits%s, the "
				"longest %.1f ms",
				(unsigned long long)run->count, seen(sums),
				(double)run->max / NS_PER_MS);
			overview_set_command(findings, finding, overview_top(sums, PART_READY),
				&of_parts[PART_READY].next);
		}
	}
	/* they are of the whole system: selected processes that wait for no disk have others */
	if (!block || block->count < BLOCKS ||
		(sums->overview->has_selection &&
			overview_percent(sums->parts[PART_DISK], sums->elapsed) < AT_LEAST))
		return;
	finding = overview_add_finding(findings, "block latency",
		(double)attar_hist_quantile(block, 0.99) / NS_PER_MS, BLOCK_MS, "ms");
	if (!finding)
		return;
	append(finding->evidence, 0,
		"one in a hundred requests takes longer; %llu requests%s, the longest %.1f ms",
		(unsigned long long)block->count, seen(sums), (double)block->max / NS_PER_MS);
	overview_set_system_command(findings, finding,
		&(struct overview_next){
			"biolatency -D", "block:block_rq_issue,block:block_rq_complete"});
}

/*
 * The part of the active time that may be in a wrong row, because it was estimated, in percent.
 * Less time than each finding needs changes none; nor do sleeps that are none.
 */
static double doubt_of(const struct overview_sums *sums)
{
	double least = sums->overview->has_selection ? AT_LEAST : AT_LEAST_SYSTEM, most = 0;

	for (int part = 0; part < ACTIVE_PARTS; part++)
		if (part != PART_SLEEP || !sums->is_service)
			most = fmax(most, sums->doubt[part]);
	return sums->active && 100 * most >= least * (double)sums->elapsed
		       ? 100 * most / (double)sums->active
		       : 0;
}

/* What the other findings, or that there are none, are based on. */
static void check_basis(struct overview_findings *findings)
{
	const struct overview_sums *sums = findings->sums;
	double lost = 100 * sums->lost;
	bool is_lost = lost > LOST;
	struct overview_finding *finding =
		is_lost ? overview_add_finding(findings, "unreliable", lost, LOST, "%")
			: overview_add_finding(findings, "unreliable", doubt_of(sums), DOUBT, "%");

	if (!finding)
		return;
	finding->is_doubt = true;
	if (is_lost)
		append(finding->evidence, 0,
			"of the events were lost: the findings are based on the remaining "
			"events, and may be wrong");
	else
		append(finding->evidence, 0,
			"of the active time may be in a wrong row: the load changed while attar "
			"did not watch it, to limit its CPU time; %.0f %% of the time was watched; "
			"compare intervals (-i 1s)",
			100 / sums->scale);
	if (is_lost && attar_run_is_live(sums->run))
		overview_set_command(
			findings, finding, NULL, &(struct overview_next){"overview -m 4096"});
}

/* Of pages that were in memory before, if there is too little of it. */
static void check_major_faults(struct overview_findings *findings)
{
	const struct overview_sums *sums = findings->sums;
	const struct overview_process *most = overview_top(sums, PART_DISK);
	uint64_t n = sums->counts[COUNT_MAJOR];
	struct overview_finding *finding =
		overview_add_rate(findings, "major faults", n, MAJOR_FAULTS);
	char text[256];

	if (!finding)
		return;
	overview_say(finding, "%llu page faults read from a disk", (unsigned long long)n);
	if (most)
		overview_say(
			finding, ", for which mostly %s waits", overview_name_of(most, false).text);
	if (most && most->pid > 0 && attar_run_is_live(sums->run) &&
		cgroups_memory_is_full(most->pid, text, sizeof(text)))
		overview_say(finding, "; %s", text);
	overview_set_command(
		findings, finding, most, &(struct overview_next){"page-faults -g", "page-faults"});
}

/*
 * Threads that cannot go on first, then what is most beyond its limit, then time that programs
 * sleep on purpose, then doubts in all of them.
 */
static int by_importance(const void *a, const void *b)
{
	const struct overview_finding *x = a, *y = b;

	if (x->is_doubt != y->is_doubt)
		return x->is_doubt - y->is_doubt;
	if (x->is_stuck != y->is_stuck)
		return y->is_stuck - x->is_stuck;
	if (x->is_sleep != y->is_sleep)
		return x->is_sleep - y->is_sleep;
	return (x->excess < y->excess) - (x->excess > y->excess);
}

size_t overview_find(
	const struct overview_sums *sums, struct overview_finding ret_findings[FINDINGS_MAX])
{
	struct overview_findings findings = {.sums = sums, .at = ret_findings};
	unsigned cpus = sums->overview->cpus ? sums->overview->cpus : 1;

	if (!sums->elapsed)
		return 0;
	if (!sums->overview->has_selection)
		findings.n_services = overview_services(sums, &findings.services);
	check_stuck(&findings);
	for (int part = 0; part < ACTIVE_PARTS; part++)
		check_part(&findings, part);
	check_services(&findings);
	check_pool(&findings);
	check_latencies(&findings);
	check_major_faults(&findings);
	overview_check_rate(&findings, sums->counts[COUNT_MIGRATIONS],
		&(struct overview_rate){"migrations", "times a thread moved to another CPU",
			.limit = MIGRATIONS,
			.next = {"sched-migrate --detail", "sched:sched_migrate_task"}});
	overview_check_errors(&findings);
	overview_check_rate(&findings, sums->counts[COUNT_SWITCHES],
		&(struct overview_rate){"context switches", "context switches",
			.limit = (double)SWITCHES * cpus,
			.next = {"cpudist", "sched:sched_switch"}});
	overview_check_system(&findings);
	overview_check_processes(&findings);
	overview_check_peers(&findings);
	overview_check_groups(&findings);
	overview_check_network(&findings);
	overview_check_rates(&findings);
	check_basis(&findings);
	qsort(ret_findings, findings.n, sizeof(*ret_findings), by_importance);
	free(findings.services);
	return findings.n;
}
