/* SPDX-License-Identifier: MIT */
#include "run/parts/switch_check.h"

#include <unistd.h>

#include "attar/private/perf.h"
#include "attar/private/report.h"
#include "base/proc.h"
#include "run/input/replay.h"
#include "run/parts.h"
#include "run/parts/switch_records.h"
#include "run/record/recorder.h"
#include "run/rings.h"
#include "run/run.h"
#include "run/parts/sample_filter.h"
#include "run/events/sources.h"
#include "stream/stream.h"

enum { UNKNOWN = -1, CPUS_SHOWN = 8, RECORDED_CPUS = 8192, TRUSTED = 1000 };

static const struct attar_field *pid_field(const struct attar_format *format, const char *name)
{
	const struct attar_field *field = attar_format_field(format, name);

	return field && field->size == sizeof(pid_t) ? field : NULL;
}

/* Whether switches of all tasks are expected. */
static bool is_whole(const struct attar_run *run)
{
	return run->replay ||
	       (!rings_of(run)->overwritten && target_kind_of(run->target) == ATTAR_TARGET_SYSTEM);
}

/* Events of a CPU, -1: of all, were lost or disabled. */
static void switch_check_forget(struct switch_check *check, int cpu)
{
	for (size_t i = 0; i < check->n_cpus; i++)
		if (cpu < 0 || i == (size_t)cpu)
			check->cpus[i].task = UNKNOWN;
}

static void switch_check_done(struct switch_check *check)
{
	switch_records_done(&check->records);
	free(check->cpus);
	*check = (struct switch_check){0};
}

static void switch_check_free(struct attar_run *run, void *self)
{
	switch_check_done(self);
}

/*
 * Whether switches can be made: what a file or a receiver gets is not decoded. Sources of programs
 * that start later would get numbers after the source of the records, which no profiler expects.
 */
static bool can_make(const struct attar_run *run)
{
	return !run->replay && !run->sources.programs.events.requests.n && !run_records(run) &&
	       !sample_filter_is_on(run) && proc_has_first_pids() &&
	       (run->select.is_on || run_watches_system(run));
}

static int switch_check_complete(struct attar_run *run, void *self)
{
	if (can_make(run))
		vec_each (&run->sources.list, s)
			if (switch_records_concern(s) && !s->use->pushes)
				return switch_records_add(run, &s->attr);
	return 0;
}

/* Of a recording, samples have the numbers of its events. */
static uint32_t event_of(const struct attar_run *run, uint32_t source)
{
	if (run->replay)
		vec_each (&run->replay->events, event)
			vec_each (&event->numbers, number)
				if (*number == source)
					return (uint32_t)(event - run->replay->events.at);
	return source;
}

/* Starts to check the first source that has all switches of its CPUs, if there is one. */
static int switch_check_opened(struct attar_run *run, void *self)
{
	struct switch_check *check = self;
	long n = run->replay ? RECORDED_CPUS : sysconf(_SC_NPROCESSORS_CONF);
	int r = 0;

	switch_check_done(check);
	if (!is_whole(run) || n <= 0)
		return 0;
	vec_each (&run->sources.list, s) {
		const struct attar_field *prev, *next;

		if (check->cpus || !switch_records_concern(s) || (!s->counter && !run->replay))
			continue;
		prev = pid_field(s->spec->format, "prev_pid");
		next = pid_field(s->spec->format, "next_pid");
		if (!prev || !next)
			continue;
		check->cpus = calloc((size_t)n, sizeof(*check->cpus));
		if (!check->cpus)
			return base_oom();
		check->n_cpus = (size_t)n;
		check->source = (uint32_t)(s - run->sources.list.at);
		check->prev = prev->offset;
		check->next = next->offset;
		s->use->steps |= UINT64_C(1) << PART_SWITCH_CHECK;
		check->event = event_of(run, check->source);
		r = switch_records_begin(&check->records, run, s);
	}
	switch_check_forget(check, -1);
	return r;
}

/*
 * Whether the stream left out a switch from this task, since it is one of attar: never the idle
 * task, whose process has the number of an unknown recorder.
 */
static bool is_left_out(const struct attar_run *run, pid_t task)
{
	const struct attar_thread *thread;
	char path[64];

	if (run->select.keeps_own || task == 0)
		return false;
	thread = stream_thread(run->stream, task);
	if (thread)
		return thread->process->pid == run_own_pid(run);
	if (run->replay)
		return false;
	snprintf(path, sizeof(path), "/proc/self/task/%d", task);
	return access(path, F_OK) == 0;
}

/*
 * Where samples arrive from the idle task, and no switch was missing so far, the other records only
 * cost time.
 */
static void switch_check_trust(struct switch_check *check, struct switch_cpu *cpu, uint32_t number)
{
	cpu->is_trusted = ++cpu->from_idle == TRUSTED;
	if (cpu->is_trusted)
		switch_records_enable(&check->records, (int)number, false);
}

/* The samples of some threads do not arrive on any CPU. */
static void switch_check_doubt(struct switch_check *check)
{
	if (check->lacks_some)
		return;
	check->lacks_some = true;
	for (size_t i = 0; i < check->n_cpus; i++)
		check->cpus[i].is_trusted = false;
	if (!check->is_paused)
		switch_records_enable(&check->records, -1, true);
}

/* A sample of the source, before a filter in user space. */
static int switch_check_sample(struct attar_run *run, void *self, struct attar_event *ev)
{
	struct switch_check *check = self;
	const struct attar_sample *s = &ev->record->sample;
	const char *raw = s->raw;
	struct switch_cpu *cpu;
	pid_t prev;

	if (unlikely(ev->cpu >= check->n_cpus || !raw ||
		     s->raw_size < MAX(check->prev, check->next) + sizeof(prev)))
		return 0;
	cpu = &check->cpus[ev->cpu];
	memcpy(&prev, raw + check->prev, sizeof(prev));
	check->from_idle += prev == 0;
	if (likely(prev == cpu->task)) {
		check->in_order++;
	} else if (cpu->task != UNKNOWN && !is_left_out(run, cpu->task)) {
		cpu->missing++;
		switch_check_doubt(check);
	}
	if (unlikely(!prev && !cpu->is_trusted && !check->lacks_some))
		switch_check_trust(check, cpu, ev->cpu);
	memcpy(&cpu->task, raw + check->next, sizeof(cpu->task));
	return 0;
}

/* The task of a CPU has executed a program: another thread than the main one has its tid then. */
static void switch_check_exec(struct switch_check *check, uint32_t cpu, pid_t tid)
{
	if (cpu < check->n_cpus && check->cpus[cpu].task != UNKNOWN)
		check->cpus[cpu].task = tid;
}

/* Whether cpus= excludes a CPU, whose records arrive nevertheless. */
static bool is_excluded(const struct attar_run *run, const struct switch_check *check, uint32_t cpu)
{
	const struct attar_event_spec *spec = run->sources.list.at[check->source].spec;
	size_t i = 0;

	while (i < spec->n_only_cpus && (uint32_t)spec->only_cpus[i] != cpu)
		i++;
	return i == spec->n_only_cpus && i > 0;
}

/*
 * A record of a task that is being switched out, or was switched in: makes the switch, unless its
 * sample was delivered, or the switch was made from the other record of it. Events are enabled one
 * after the other: like samples, switches count from the moment when all are.
 */
static int switch_check_make(
	struct switch_check *check, struct attar_run *run, const struct attar_event *ev)
{
	const struct switch_made made = switch_records_read(ev->record);
	struct switch_cpu *cpu = ev->cpu < check->n_cpus ? &check->cpus[ev->cpu] : NULL;

	if (!cpu || cpu->task == made.to.tid || made.from.tid < 0 || made.to.tid < 0 ||
		check->is_paused || !check->records.raw || !run->clock.began ||
		ev->record->time < run->stream->start_time ||
		(run->clock.cut && ev->record->time >= run->clock.cut) ||
		is_excluded(run, check, ev->cpu) || is_left_out(run, made.from.tid))
		return 0;
	if (cpu->task != UNKNOWN)
		switch_check_doubt(check);
	check->made++;
	return switch_records_make(&check->records, run, check->event, ev, &made);
}

static int switch_check_record(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct switch_check *check = self;

	switch (ev->record->type) {
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		switch_check_forget(check, (int)ev->cpu);
		break;
	case PERF_RECORD_COMM:
		if (ev->record->comm.exec)
			switch_check_exec(check, ev->cpu, (pid_t)ev->record->comm.tid);
		break;
	case PERF_RECORD_SWITCH_CPU_WIDE:
		return switch_check_make(check, run, ev);
	default:
		break;
	}
	return 0;
}

static void switch_check_toggled(struct attar_run *run, void *self, uint32_t source, bool on)
{
	struct switch_check *check = self;

	if (!check->cpus || source != check->source)
		return;
	switch_check_forget(check, -1);
	check->is_paused = !on;
	for (size_t i = 0; i < check->n_cpus; i++)
		if (!check->cpus[i].is_trusted)
			switch_records_enable(&check->records, (int)i, on);
}

/* A recording of single tasks has no switches from others, such as the idle tasks. */
static void remark_of_recording(const struct attar_run *run, const struct switch_check *check,
	struct attar_report *report, uint64_t n, const char *cpus)
{
	if (check->from_idle || check->in_order > n)
		attar_report_remark(report,
			"the recording lacks at least %llu switch%s between tasks (%s), which the "
			"kernel did not deliver or which were filtered: times that begin or end "
			"with them are wrong",
			(unsigned long long)n, n == 1 ? "" : "es", cpus);
	else if (run->select.is_on)
		attar_report_remark(report,
			"the recording lacks switches from other tasks to those that were "
			"recorded: times of running and waiting are wrong; record all tasks with "
			"-a");
}

/* Events that the user named are shown or counted one by one. */
static void remark_of_made(const struct attar_run *run, struct switch_check *check,
	struct attar_report *report, enum attar_scope scope)
{
	uint64_t n = check->made;

	if (scope == ATTAR_SCOPE_INTERVAL) {
		n -= check->reported_made;
		check->reported_made = check->made;
	}
	if (n && !run->sources.list.at[check->source].use->input)
		attar_report_remark(report,
			"%llu sample%s of sched:sched_switch that the kernel did not deliver %s "
			"made from its records of context switches",
			(unsigned long long)n, PLURAL_S(n), n == 1 ? "was" : "were");
}

static void switch_check_remark(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct switch_check *check = self;
	struct buf cpus _cleanup_(buf_done) = {0};
	uint64_t missing = 0, before = scope == ATTAR_SCOPE_INTERVAL ? check->reported : 0;
	size_t shown = 0;

	remark_of_made(run, check, report, scope);
	for (size_t i = 0; i < check->n_cpus; i++) {
		missing += check->cpus[i].missing;
		if (check->cpus[i].missing && shown++ < CPUS_SHOWN)
			buf_printf(&cpus, "%sCPU %zu", cpus.len ? ", " : "", i);
	}
	if (shown > CPUS_SHOWN)
		buf_str(&cpus, ", ...");
	if (scope == ATTAR_SCOPE_INTERVAL)
		check->reported = missing;
	if (missing <= before)
		return;
	if (run->replay)
		remark_of_recording(run, check, report, missing - before, buf_text(&cpus));
	else
		report_detail(report,
			"the kernel did not report at least %llu switch%s between tasks (%s): "
			"times that begin or end with them are wrong; see 'delivery' in 'attar "
			"doctor'",
			(unsigned long long)(missing - before), missing - before == 1 ? "" : "es",
			buf_text(&cpus));
}

const struct run_part part_switch_check = {.size = sizeof(struct switch_check),
	.complete = switch_check_complete,
	.opened = switch_check_opened,
	.sample = switch_check_sample,
	.record = switch_check_record,
	.toggled = switch_check_toggled,
	.remark = switch_check_remark,
	.free = switch_check_free};
