/* SPDX-License-Identifier: MIT */
/* The limits are listed in docs/profilers/overview.md. */
#include <errno.h>
#include <signal.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/cgroups.h"
#include "overview/overview.h"

enum {
	SHARE = 20,           /* percent of the active time */
	AT_LEAST = 5,         /* percent of the time of the report, of some tasks */
	AT_LEAST_SYSTEM = 25, /* the same of the whole system, so a quarter of one thread */
	RUN_DELAY_MS = 20,    /* p99 */
	RUN_DELAYS = 100,     /* that many, at least, and 5 % of the time of the report in all */
	BLOCK_MS = 50,        /* p99 */
	BLOCKS = 10,
	MAJOR_FAULTS = 50, /* a second */
	MIGRATIONS = 1000, /* a second */
	ERRORS = 1000,     /* a second */
	SWITCHES = 20000,  /* a second on each CPU */
	SERVICE = 50,      /* percent of the active time of a service without sleep */
	SERVICES = 3,      /* findings of services, at most */
	POOL = 50,         /* percent of the work of a pool of threads */
	STEAL = 10,        /* percent of the CPU time */
	MEMORY = 10,       /* percent of the time */
	LOST = 20,         /* percent of the events */
	DOUBT = 10,        /* percent of the active time */
	NS_PER_MS = 1000000,
};

struct findings {
	const struct overview_sums *sums;
	struct overview_finding *at;
	size_t n;
};

static double seconds(const struct overview_sums *sums)
{
	return (double)sums->elapsed / 1e9;
}

static double percent_of(uint64_t value, uint64_t all)
{
	return all ? 100 * (double)value / (double)all : 0;
}

/* The finding, if value reaches limit; otherwise NULL. unit: "%", "ms" or "/s". */
static struct overview_finding *add(
	struct findings *findings, const char *name, double value, double limit, const char *unit)
{
	struct overview_finding *finding = &findings->at[findings->n];
	const char *blank = *unit == '/' ? "" : " ";

	if (value < limit || findings->n == FINDINGS_MAX)
		return NULL;
	findings->n++;
	*finding = (struct overview_finding){
		.name = name, .excess = value / limit, .value = value, .limit = limit};
	snprintf(finding->value_text, sizeof(finding->value_text), "%.*f%s%s", value < 100 ? 1 : 0,
		value, blank, unit);
	snprintf(finding->limit_text, sizeof(finding->limit_text), "%.0f%s%s", limit, blank, unit);
	return finding;
}

/* The target of the run, with which a command shows the same. */
static const char *target_of(const struct overview_sums *sums)
{
	const char *words = attar_run_target_words(sums->run);

	return words && strlen(words) < COMMAND_BYTES / 2 ? words : " -- COMMAND";
}

/* Whether the process is a child of those of -p, which would not be watched with them. */
static bool is_child(const char *target, int32_t pid)
{
	const char *at = strstr(target, " -p ");

	for (at = at ? at + strlen(" -p ") : ""; *at >= '0' && *at <= '9'; at += *at == ',') {
		char *end;

		if (strtol(at, &end, 10) == pid || *end == '-')
			return false;
		at = end;
	}
	return strstr(target, " -p ");
}

/* Whether a process that still runs can be the target, in place of the user's or within it. */
static bool can_select(const struct overview_sums *sums, const struct overview_process *process)
{
	const char *target = target_of(sums);

	if (!process || process->pid <= 0 || !attar_run_is_live(sums->run) ||
		strstr(target, " -- ") || strstr(target, " --cgroups ") || strstr(target, " -t "))
		return false;
	return (!sums->overview->has_selection || is_child(target, process->pid)) &&
	       kill(process->pid, 0) == 0;
}

/* A command that shows more details, and what it needs of a recording. */
struct next {
	const char *command;
	const char *events; /* "system:name", or page-faults, separated by commas; NULL: samples */
	bool stacks;        /* of context switches: without them it is of no use */
	bool all_tasks;     /* the switches of all tasks */
};

static bool has_event(const struct overview_sums *sums, const char *event, size_t n)
{
	const struct attar_format *format;
	char system[64], name[64];
	size_t colon = strcspn(event, ":");

	if (colon >= n) /* only one such event is needed */
		return sums->overview->has_faults;
	snprintf(system, sizeof(system), "%.*s", (int)colon, event);
	snprintf(name, sizeof(name), "%.*s", (int)(n - colon - 1), event + colon + 1);
	if (attar_catalog_format(attar_run_catalog(sums->run), system, name, &format) == 0)
		return true;
	attar_error_clear();
	return false;
}

static bool can_read(const struct overview_sums *sums, const struct next *next)
{
	const struct thread_times *times = &sums->overview->times;

	if ((next->stacks && !thread_times_has_stacks(sums->run, times->source)) ||
		(next->all_tasks && !times->has_all_switches))
		return false;
	for (const char *event = next->events; *event; event += *event == ',') {
		size_t n = strcspn(event, ",");

		if (!has_event(sums, event, n))
			return false;
		event += n;
	}
	return true;
}

/* The command reads the same recording, or one that has to be made. */
static void set_recorded_command(
	const struct overview_sums *sums, struct overview_finding *finding, const struct next *next)
{
	bool has_stacks = thread_times_has_stacks(sums->run, sums->overview->sampler);

	if (finding->needs_samples) {
		snprintf(finding->command, COMMAND_BYTES, "attar record -a -g -d 10s -F 9999");
		snprintf(finding->then, THEN_BYTES, "attar profile -g --input perf.data");
	} else if (!next->events) { /* of samples; those of user code are not excluded later */
		snprintf(finding->command, COMMAND_BYTES, "attar profile%s%s",
			has_stacks ? " -g" : "", target_of(sums));
	} else if (can_read(sums, next)) {
		snprintf(finding->command, COMMAND_BYTES, "attar %s%s", next->command,
			target_of(sums));
	} else {
		snprintf(finding->command, COMMAND_BYTES, "attar record -a -g -d 10s -e %s",
			next->events);
		snprintf(finding->then, THEN_BYTES, "attar %s --input perf.data", next->command);
	}
}

/* The target is the user's; of the whole system, it is the process, which may be NULL. */
static void set_command(struct findings *findings, struct overview_finding *finding,
	const struct overview_process *process, const struct next *next)
{
	const struct overview_sums *sums = findings->sums;
	const char *target = target_of(sums);

	if (!attar_run_is_live(sums->run))
		set_recorded_command(sums, finding, next);
	else if (can_select(sums, process))
		snprintf(finding->command, COMMAND_BYTES, "attar %s%s -p %d", next->command,
			sums->overview->has_selection ? "" : target, (int)process->pid);
	else
		snprintf(finding->command, COMMAND_BYTES, "attar %s%s", next->command, target);
}

/* Of the whole system, while the command runs if there is one; or of the recording. */
static void set_system_command(
	struct findings *findings, struct overview_finding *finding, const struct next *next)
{
	const char *target = target_of(findings->sums);
	const char *words = strstr(target, " -- ");

	if (!attar_run_is_live(findings->sums->run))
		set_recorded_command(findings->sums, finding, next);
	else
		snprintf(finding->command, COMMAND_BYTES, "attar %s%s%s", next->command,
			words ? " -a" : "", words ? words : "");
}

/* ---- where the time goes ---- */

#define SWITCHES_AND(event) "sched:sched_switch," event
#define OFFCPU(command)                                                                            \
	{                                                                                          \
		command, SWITCHES_AND("sched:sched_waking"), true, true                            \
	}
#define RUNDELAY                                                                                   \
	{                                                                                          \
		"rundelay", SWITCHES_AND("sched:sched_wakeup,sched:sched_wakeup_new"), false, true \
	}

static const struct {
	const char *evidence; /* after "comm (pid)" */
	struct next next;
} of_parts[ACTIVE_PARTS] = {
	[PART_USER] = {"runs its own code", {"profile -g"}},
	[PART_KERNEL] = {"runs kernel code, in system calls", {"profile -g --exclude-user"}},
	[PART_FAULT] = {"handles page faults", {"page-faults -g", "page-faults"}},
	[PART_IRQ] = {"is interrupted", {"profile -g --exclude-user"}},
	[PART_SPIN] = {"spins on kernel locks",
		{"locks --kernel", "lock:contention_begin,lock:contention_end"}},
	[PART_UNDIVIDED] = {"runs on a CPU", {"profile -g -F 9999"}},
	[PART_READY] = {"waits for a CPU", RUNDELAY},
	[PART_DISK] = {"waits for disks", OFFCPU("offcpu -D")},
	[PART_LOCK] = {"waits for locks",
		{"locks", "lock:contention_begin,lock:contention_end,"
			  "syscalls:sys_enter_futex,syscalls:sys_exit_futex"}},
	[PART_SLEEP] = {"sleeps", OFFCPU("offcpu")},
	[PART_PEER] = {"waits for other programs", OFFCPU("offcpu")},
	[PART_BLOCKED] = {"is blocked", OFFCPU("offcpu")},
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
			percent_of(f.weight, f.all), process ? "it" : "all");
	return append(text, n, ", %.0f %% of %s in %s (%s)", percent_of(f.weight, f.all),
		process ? "it" : "all", f.name, f.dso);
}

static size_t add_detail(
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
	if (part == PART_LOCK && sums->parts[PART_SLEEP])
		return append(text, n, "; the value is the share of the time without sleep");
	if (part == PART_UNDIVIDED)
		return append(text, n, "; %llu sample%s too few to tell in which code",
			(unsigned long long)sums->samples[part],
			sums->samples[part] == 1 ? " is" : "s are");
	if (part == PART_FAULT)
		return append(text, n, "; %.0f faults a second",
			(double)sums->counts[COUNT_FAULTS] / seconds(sums));
	return n;
}

/* Threads that sleep, on purpose, do not make the waits of others for a lock less important. */
static uint64_t whole_of(const struct overview_sums *sums, enum overview_part part)
{
	return part == PART_LOCK ? sums->active - sums->parts[PART_SLEEP] : sums->active;
}

/* Who makes up at least half of a part. */
struct culprit {
	const struct overview_process *process; /* the one with the most of it */
	struct overview_process group;          /* the processes with its name */
	bool is_group, is_spread;               /* only the group does; not even that */
	unsigned processes;                     /* that have some of it */
};

static void add_to_group(struct overview_process *group, const struct overview_process *process,
	enum overview_part part)
{
	group->processes += process->processes ? process->processes : 1;
	group->threads += process->threads;
	group->parts[part] += process->parts[part];
}

static struct culprit find_culprit(const struct overview_sums *sums, enum overview_part part)
{
	struct culprit c = {.process = overview_top(sums, part)};
	uint64_t half = sums->parts[part] / 2;

	if (!c.process || c.process->parts[part] >= half)
		return c;
	memcpy(c.group.comm, c.process->comm, sizeof(c.group.comm));
	for (size_t i = 0; i < sums->n_processes; i++) {
		const struct overview_process *process = &sums->processes[i];

		c.processes += process->parts[part] != 0;
		if (process->parts[part] && !strcmp(process->comm, c.group.comm))
			add_to_group(&c.group, process, part);
	}
	c.is_group = c.group.processes > 1 && c.group.parts[part] >= half;
	c.is_spread = !c.is_group && c.processes > 1;
	return c;
}

/* "runs its own code for 50 % of the time", "sleeps in 2.5 threads on average" */
static size_t add_share(const struct overview_sums *sums, enum overview_part part,
	const struct overview_process *process, char *text, size_t n)
{
	double share = percent_of(process->parts[part], sums->elapsed);

	n = append(
		text, n, "%s %s ", overview_name_of(process, true).text, of_parts[part].evidence);
	return share > 100 && process->threads > 1
		       ? append(text, n, "in %.1f threads on average", share / 100)
		       : append(text, n, "for %.0f %% of the time", share);
}

static size_t add_culprit(const struct overview_sums *sums, enum overview_part part,
	const struct culprit *c, char *text)
{
	size_t n = 0;

	if (c->is_spread)
		n = append(text, n, "spread over %u processes; the first of them, ", c->processes);
	n = add_share(sums, part, c->is_group ? &c->group : c->process, text, n);
	return add_function(sums, part, c->is_group || c->is_spread ? NULL : c->process, text, n);
}

/* What a thread of the process waits for at the time of the report, and for whom. */
static void add_wait(const struct overview_sums *sums, enum overview_part part,
	const struct culprit *c, char *text)
{
	const struct open_wait *wait = NULL;
	size_t n = strlen(text);
	uint64_t threads;

	if (!c->is_group && !c->is_spread)
		wait = overview_wait_of(sums, c->process, part);
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
	struct attar_keyrow *row = NULL;
	uint64_t all = 0, without = 0;

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
static const struct next *next_of(const struct overview_sums *sums, enum overview_part part,
	const struct overview_process *process)
{
	return &of_parts[part == PART_LOCK && waits_without_events(sums, process) ? PART_BLOCKED
										  : part]
			.next;
}

/* The processes of a command that has ended were in the group of attar, unless they moved. */
static pid_t pid_with_limit(
	const struct overview_sums *sums, const struct overview_process *process)
{
	if (process->pid > 0 && kill(process->pid, 0) == 0)
		return process->pid;
	return sums->overview->has_selection && strstr(target_of(sums), " -- ") ? getpid() : 0;
}

static void add_cpu_limit(
	const struct overview_sums *sums, const struct overview_process *process, char *text)
{
	pid_t pid = attar_run_is_live(sums->run) ? pid_with_limit(sums, process) : 0;
	struct cpu_limit limit;

	if (pid && cgroups_cpu_limit(pid, &limit))
		append(text, strlen(text),
			"; control group %s may use %.2f CPUs, and has been stopped in %llu of "
			"%llu periods so far, because it had used them",
			limit.group, limit.cpus, (unsigned long long)limit.throttled,
			(unsigned long long)limit.periods);
}

static void check_part(struct findings *findings, enum overview_part part)
{
	const struct overview_sums *sums = findings->sums;
	uint64_t time = sums->parts[part], whole = whole_of(sums, part);
	double least = sums->overview->has_selection ? AT_LEAST : AT_LEAST_SYSTEM;
	const struct culprit culprit = find_culprit(sums, part);
	const struct overview_process *process =
		culprit.is_group || culprit.is_spread ? NULL : culprit.process;
	struct overview_finding *finding;
	size_t n;

	if (!culprit.process || percent_of(time, sums->elapsed) < least)
		return;
	finding = add(findings, overview_part_names[part], percent_of(time, whole), SHARE, "%");
	if (!finding)
		return;
	finding->is_share = true;
	finding->is_sleep = part == PART_SLEEP;
	finding->needs_samples = part == PART_UNDIVIDED;
	n = add_culprit(sums, part, &culprit, finding->evidence);
	add_detail(sums, part, finding->evidence, n);
	add_wait(sums, part, &culprit, finding->evidence);
	if (part == PART_READY)
		add_cpu_limit(sums, culprit.process, finding->evidence);
	if (part == PART_READY && attar_run_is_live(sums->run)) /* who has the CPUs meanwhile */
		set_system_command(findings, finding, &(struct next){"oncpu"});
	else
		set_command(findings, finding, process, next_of(sums, part, process));
}

/* ---- single services ---- */

static bool has_finding(const struct findings *findings, enum overview_part part)
{
	for (size_t i = 0; i < findings->n; i++)
		if (findings->at[i].is_share &&
			!strcmp(findings->at[i].name, overview_part_names[part]))
			return true;
	return false;
}

/* Whether a finding about the system says the same: all wait for CPUs, or the service is named. */
static bool is_known(const struct findings *findings, const struct overview_service *service)
{
	const struct overview_sums *sums = findings->sums;
	const struct culprit culprit = find_culprit(sums, service->part);

	if (!has_finding(findings, service->part))
		return false;
	return service->part == PART_READY || culprit.is_group ||
	       (!culprit.is_spread && overview_is_in_service(sums, service, culprit.process));
}

static void add_service(struct findings *findings, const struct overview_service *service)
{
	static const char *const names[ACTIVE_PARTS] = {[PART_READY] = "run queue of a service",
		[PART_DISK] = "disk of a service",
		[PART_LOCK] = "lock of a service",
		[PART_SPIN] = "kernel spinlocks of a service"};
	const struct overview_sums *sums = findings->sums;
	const enum overview_part part = service->part;
	struct overview_finding *finding =
		add(findings, names[part], 100 * service->lost, SERVICE, "%");
	size_t n = 0;

	if (!finding)
		return;
	finding->is_share = true;
	finding->excess = finding->value / SHARE; /* as shares of the time of all */
	if (*service->unit)
		n = append(finding->evidence, n, "%s: ", service->unit);
	n = add_share(sums, part, &service->all, finding->evidence, n);
	append(finding->evidence, n, "; the value is the share of its own time without sleep");
	add_wait(sums, part, &(struct culprit){.process = service->first}, finding->evidence);
	set_command(findings, finding, service->first, next_of(sums, part, service->first));
}

/* Of the whole system: time that a service loses, however busy others are. */
static void check_services(struct findings *findings)
{
	const struct overview_sums *sums = findings->sums;
	struct overview_service *services;
	size_t n, found = 0;

	if (sums->overview->has_selection)
		return;
	n = overview_services(sums, &services);
	for (size_t i = 0; i < n && found < SERVICES; i++) {
		const struct overview_service *service = &services[i];
		uint64_t time = service->all.parts[service->part];

		if (100 * service->lost < SERVICE ||
			percent_of(time, sums->elapsed) < AT_LEAST_SYSTEM ||
			is_known(findings, service))
			continue;
		add_service(findings, service);
		found++;
	}
	free(services);
}

/* ---- one thread of many ---- */

static void check_pool(struct findings *findings)
{
	const struct overview_sums *sums = findings->sums;
	const struct overview_pool *pool = &sums->pool;
	struct overview_finding *finding =
		pool->all ? add(findings, "uneven threads", percent_of(pool->top, pool->all), POOL,
				    "%")
			  : NULL;
	const char *target = target_of(sums);

	if (!finding)
		return;
	append(finding->evidence, 0,
		"%s (%d) does this share of the work of %zu threads with its name in process %d, "
		"and is on a CPU for %.0f %% of the time; the others for %.0f %% on average",
		pool->comm, (int)pool->tid, pool->threads, (int)pool->pid,
		percent_of(pool->top, sums->elapsed),
		percent_of(pool->all - pool->top, sums->elapsed) / (double)(pool->threads - 1));
	if (attar_run_is_live(sums->run) && !strstr(target, " -- "))
		snprintf(finding->command, COMMAND_BYTES, "attar profile -g -t %d", (int)pool->tid);
	else
		set_command(findings, finding, NULL, &of_parts[PART_USER].next);
}

/* ---- waits that outlast the report ---- */

/* The time of such threads is not active: no share of the time shows them. */
static void check_stuck(struct findings *findings)
{
	uint64_t threads;
	const struct open_wait *wait = overview_stuck(findings->sums, &threads);
	struct overview_finding *finding =
		wait ? add(findings, "stuck", (double)threads, 1, "threads") : NULL;
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

static void check_latencies(struct findings *findings)
{
	const struct overview_sums *sums = findings->sums;
	const struct attar_hist *run = sums->latencies[LATENCY_RUN],
				*block = sums->latencies[LATENCY_BLOCK];
	struct overview_finding *finding;

	if (run && run->count >= RUN_DELAYS &&
		percent_of(sums->parts[PART_READY], sums->elapsed) >= AT_LEAST) {
		finding = add(findings, "run delay",
			(double)attar_hist_quantile(run, 0.99) / NS_PER_MS, RUN_DELAY_MS, "ms");
		if (finding) {
			append(finding->evidence, 0,
				"one in a hundred waits for a CPU is longer; %llu waits%s, the "
				"longest %.1f ms",
				(unsigned long long)run->count, seen(sums),
				(double)run->max / NS_PER_MS);
			set_command(findings, finding, overview_top(sums, PART_READY),
				&of_parts[PART_READY].next);
		}
	}
	if (!block || block->count < BLOCKS)
		return;
	finding = add(findings, "block latency",
		(double)attar_hist_quantile(block, 0.99) / NS_PER_MS, BLOCK_MS, "ms");
	if (!finding)
		return;
	append(finding->evidence, 0,
		"one in a hundred requests takes longer; %llu requests%s, the longest %.1f ms",
		(unsigned long long)block->count, seen(sums), (double)block->max / NS_PER_MS);
	set_system_command(findings, finding,
		&(struct next){"biolatency -D", "block:block_rq_issue,block:block_rq_complete"});
}

/* Fewer events than the limit has in a second are none, in a shorter time either. */
static struct overview_finding *add_rate(struct findings *findings, const char *name, uint64_t n,
	double limit, const char *what, const struct next *next)
{
	struct overview_finding *finding = NULL;

	if ((double)n >= limit)
		finding = add(findings, name, (double)n / seconds(findings->sums), limit, "/s");
	if (!finding)
		return NULL;
	append(finding->evidence, 0, "%llu %s", (unsigned long long)n, what);
	set_command(findings, finding, NULL, next);
	return finding;
}

static void check_rate(struct findings *findings, const char *name, enum overview_count which,
	double limit, const char *what, const struct next *next)
{
	add_rate(findings, name, findings->sums->counts[which], limit, what, next);
}

/* The call and error that most failing calls have, without those that healthy programs make. */
static void check_errors(struct findings *findings)
{
	const struct overview_sums *sums = findings->sums;
	const struct overview_errors *most = NULL;
	struct overview_finding *finding;
	uint64_t all = 0, n = sums->counts[COUNT_ERRORS];
	const char *error;

	for (size_t i = 0; i < sums->n_failures; i++) {
		if (overview_is_harmless(sums, &sums->errors[i].key)) {
			n -= sums->errors[i].n < n ? sums->errors[i].n : n;
			continue;
		}
		all += sums->errors[i].n;
		if (!most || sums->errors[i].n > most->n)
			most = &sums->errors[i];
	}
	finding = add_rate(findings, "failing calls", n, ERRORS,
		"system calls failed, except those that are usual",
		&(struct next){"syscalls", "raw_syscalls:sys_enter,raw_syscalls:sys_exit"});
	if (!finding || !all)
		return;
	error = strerrorname_np((int)most->key.error);
	append(finding->evidence, strlen(finding->evidence), ", %.0f %% of them %s with %s",
		percent_of(most->n, all), overview_call_name(sums, most->key.call).text,
		error ? error : "an unknown error");
}

/* The reason why processes are missing afterwards. */
static void check_oom_kills(struct findings *findings)
{
	uint64_t kills = findings->sums->system.oom_kills;
	struct overview_finding *finding = add(findings, "OOM kill", (double)kills, 1, "");

	if (!finding)
		return;
	finding->is_stuck = true;
	snprintf(finding->value_text, sizeof(finding->value_text), "%llu process%s",
		(unsigned long long)kills, kills == 1 ? "" : "es");
	snprintf(finding->limit_text, sizeof(finding->limit_text), "1");
	append(finding->evidence, 0,
		"of the system killed by the kernel, because the memory of the machine or of a "
		"control group was used up: dmesg names %s",
		kills == 1 ? "it" : "them");
	set_system_command(findings, finding, &(struct next){"oomkill"});
}

static void check_system(struct findings *findings)
{
	const struct system_change *system = &findings->sums->system;
	struct overview_finding *finding = add(findings, "steal", 100 * system->steal, STEAL, "%");

	if (finding) {
		append(finding->evidence, 0,
			"the host of this virtual machine runs something else on its CPUs");
		set_system_command(findings, finding, &(struct next){"cpu-util -i 1s"});
	}
	finding = add(findings, "memory pressure", 100 * system->memory, MEMORY, "%");
	if (!finding)
		return;
	append(finding->evidence, 0, "tasks wait until memory is reclaimed or swapped in");
	set_system_command(findings, finding, &(struct next){"drsnoop"});
}

/* The part of the active time that may be in a wrong row, because it was estimated, in percent. */
static double doubt_of(const struct overview_sums *sums)
{
	double most = 0;

	for (int part = 0; part < ACTIVE_PARTS; part++)
		most = fmax(most, sums->doubt[part]);
	return sums->active ? 100 * most / (double)sums->active : 0;
}

/* What the other findings, or that there are none, are based on. */
static void check_basis(struct findings *findings)
{
	const struct overview_sums *sums = findings->sums;
	double lost = 100 * sums->lost;
	bool is_lost = lost > LOST;
	struct overview_finding *finding =
		is_lost ? add(findings, "unreliable", lost, LOST, "%")
			: add(findings, "unreliable", doubt_of(sums), DOUBT, "%");

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
		set_command(findings, finding, NULL, &(struct next){"overview -m 4096"});
}

/*
 * Threads that cannot go on first, then shares of the time, then what is most beyond its limit,
 * then time that programs sleep on purpose, then doubts in all of them.
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
	if (x->is_share != y->is_share)
		return y->is_share - x->is_share;
	return (x->excess < y->excess) - (x->excess > y->excess);
}

size_t overview_find(
	const struct overview_sums *sums, struct overview_finding ret_findings[FINDINGS_MAX])
{
	struct findings findings = {.sums = sums, .at = ret_findings};
	unsigned cpus = sums->overview->cpus ? sums->overview->cpus : 1;

	if (!sums->elapsed)
		return 0;
	check_stuck(&findings);
	check_oom_kills(&findings);
	for (int part = 0; part < ACTIVE_PARTS; part++)
		check_part(&findings, part);
	check_services(&findings);
	check_pool(&findings);
	check_latencies(&findings);
	check_rate(&findings, "major faults", COUNT_MAJOR, MAJOR_FAULTS,
		"page faults read from a disk", &(struct next){"page-faults", "page-faults"});
	check_rate(&findings, "migrations", COUNT_MIGRATIONS, MIGRATIONS,
		"times a thread moved to another CPU",
		&(struct next){"sched-migrate --detail", "sched:sched_migrate_task"});
	check_errors(&findings);
	check_rate(&findings, "context switches", COUNT_SWITCHES, (double)SWITCHES * cpus,
		"context switches", &(struct next){"cpudist", "sched:sched_switch"});
	check_system(&findings);
	check_basis(&findings);
	qsort(ret_findings, findings.n, sizeof(*ret_findings), by_importance);
	return findings.n;
}
