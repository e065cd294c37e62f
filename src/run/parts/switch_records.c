/* SPDX-License-Identifier: MIT */
#include "run/parts/switch_records.h"

#include <sched.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

#include "base/proc.h"
#include "run/deliver.h"
#include "run/run.h"
#include "run/events/sources.h"
#include "stream/stream.h"

/* As in the samples. */
enum { PRIO_DEADLINE = -1, PRIO_REALTIME = 99, PRIO_NORMAL = 120 };
enum { TASK_INTERRUPTIBLE = 0x01, TASK_UNINTERRUPTIBLE = 0x02, TASK_REPORT_IDLE = 0x80 };

/* ---- the source of the records ---- */

/* The event has no samples. */
static int on_no_sample(struct attar_run *run, void *self, const struct attar_event *ev)
{
	return 0;
}

int switch_records_add(struct attar_run *run, const struct perf_event_attr *switches)
{
	const struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = switches->sample_type & PERF_SAMPLE_IP, /* before the time */
		.context_switch = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1};
	int r = run_add_source(run, "context switches", &attr, on_no_sample);

	if (r == 0)
		run->sources.list.at[run->sources.list.n - 1].use->is_internal = true;
	return r;
}

bool switch_records_concern(const struct source *s)
{
	const struct attar_event_spec *spec = s->spec;

	return spec && spec->kind == ATTAR_EVENT_TRACEPOINT && spec->format &&
	       !strcmp(spec->format->system, "sched") &&
	       !strcmp(spec->format->name, "sched_switch") && !s->is_filtered && !s->use->host &&
	       s->attr.sample_period == 1 && !s->attr.freq && !s->attr.write_backward &&
	       !s->attr.exclude_kernel && !s->attr.exclude_idle;
}

/* ---- the fields of samples ---- */

static void put_number(
	const struct switch_records *records, const struct attar_field *field, int64_t number)
{
	/* of a little or a big endian machine: the number is as wide as the field */
	if (field && field->size == sizeof(int64_t))
		memcpy(records->raw + field->offset, &number, sizeof(number));
	else if (field && field->size == sizeof(int32_t))
		memcpy(records->raw + field->offset, &(int32_t){(int32_t)number}, sizeof(int32_t));
	else if (field && field->size == sizeof(int16_t))
		memcpy(records->raw + field->offset, &(int16_t){(int16_t)number}, sizeof(int16_t));
}

static void put_name(
	const struct switch_records *records, const struct attar_field *field, const char *text)
{
	if (field && field->size) /* a recording has the format */
		strncpy(records->raw + field->offset, text, field->size - (size_t)1);
}

static struct switch_task task_of(
	const struct attar_format *format, const char *comm, const char *pid, const char *prio)
{
	return (struct switch_task){attar_format_field(format, comm),
		attar_format_field(format, pid), attar_format_field(format, prio)};
}

static void find_fields(struct switch_records *records)
{
	const struct attar_format *format = records->format;

	records->prev = task_of(format, "prev_comm", "prev_pid", "prev_prio");
	records->next = task_of(format, "next_comm", "next_pid", "next_prio");
	records->common_pid = attar_format_field(format, "common_pid");
	records->state = attar_format_field(format, "prev_state");
}

/* Whether priorities are used: events of the user may use them. */
static bool uses_prio(const struct source *s)
{
	if (!s->use->input)
		return true;
	for (size_t i = 0; i < ATTAR_INPUT_FIELDS && s->use->input->fields[i]; i++)
		if (strstr(s->use->input->fields[i], "_prio"))
			return true;
	return false;
}

/* ---- life ---- */

int switch_records_begin(
	struct switch_records *records, struct attar_run *run, const struct source *source)
{
	*records = (struct switch_records){.format = source->spec->format};
	vec_each (&run->sources.list, s)
		if (s->use->fn == on_no_sample)
			records->counter = s->counter;
	if (!records->counter && !run->replay)
		return 0;
	records->raw = calloc(1, records->format->size);
	if (!records->raw)
		return base_oom();
	find_fields(records);
	records->needs_prio = !run->replay && uses_prio(source);
	put_number(records, attar_format_field(records->format, "common_type"),
		(int64_t)records->format->id);
	return 0;
}

void switch_records_enable(const struct switch_records *records, int cpu, bool on)
{
	if (!records->counter)
		return;
	vec_each (&records->counter->fds, it)
		if (cpu < 0 || it->cpu == cpu)
			ioctl(it->fd, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

void switch_records_done(struct switch_records *records)
{
	free(records->raw);
	*records = (struct switch_records){0};
}

/* ---- the samples ---- */

/* The priority that the kernel shows of a task in its events; the usual one if it has ended. */
static int priority_of(pid_t tid)
{
	struct sched_param param = {0};

	switch (sched_getscheduler(tid) & ~SCHED_RESET_ON_FORK) {
	case SCHED_DEADLINE:
		return PRIO_DEADLINE;
	case SCHED_FIFO:
	case SCHED_RR:
		sched_getparam(tid, &param);
		return PRIO_REALTIME - param.sched_priority;
	case -1 & ~SCHED_RESET_ON_FORK:
		return PRIO_NORMAL;
	default:
		return PRIO_NORMAL + getpriority(PRIO_PROCESS, (id_t)tid);
	}
}

/*
 * The state in which a task was switched out is in the sample only. Until it runs again, it has the
 * same one.
 */
static int64_t state_of(const struct switch_made *made, bool is_live)
{
	char state = made->why == SWITCH_PREEMPTED ? 'R'
		     : is_live                     ? proc_state(made->from.tid)
						   : 'S';

	if (!made->from.tid)
		return 0;
	if (state == 'R' && made->why == SWITCH_BLOCKED)
		state = 'S'; /* it was woken up since */
	switch (state) {
	case 'R':
		return 0;
	case 'D':
		return TASK_UNINTERRUPTIBLE;
	case 'I':
		return TASK_REPORT_IDLE;
	default:
		return TASK_INTERRUPTIBLE;
	}
}

static void put_task(const struct switch_records *records, const struct switch_task *fields,
	const struct attar_thread *thread, uint32_t cpu)
{
	char idle[32];

	if (thread->tid) {
		put_name(records, fields->comm, thread->comm);
	} else {
		snprintf(idle, sizeof(idle), "swapper/%u", cpu);
		put_name(records, fields->comm, idle);
	}
	put_number(records, fields->pid, thread->tid);
	put_number(records, fields->prio,
		thread->tid && records->needs_prio ? priority_of(thread->tid) : PRIO_NORMAL);
}

struct switch_made switch_records_read(const struct attar_record *record)
{
	const struct attar_record_context_switch *other = &record->context_switch;
	const pid_t pid = (pid_t)record->pid, tid = (pid_t)record->tid,
		    other_pid = (pid_t)other->other_pid, other_tid = (pid_t)other->other_tid;

	if (!other->out)
		return (struct switch_made){{other_pid, other_tid}, {pid, tid}, SWITCH_UNKNOWN};
	return (struct switch_made){{pid, tid}, {other_pid, other_tid},
		other->preempt ? SWITCH_PREEMPTED : SWITCH_BLOCKED};
}

int switch_records_make(const struct switch_records *records, struct attar_run *run, uint32_t event,
	const struct attar_event *ev, const struct switch_made *made)
{
	struct procs *procs = &run->stream->procs;
	struct thread *to = procs_thread(procs, made->to.pid, made->to.tid),
		      *from = procs_thread(procs, made->from.pid, made->from.tid);
	struct attar_record record = {.type = PERF_RECORD_SAMPLE,
		.id = ev->record->id,
		.pid = (uint32_t)made->from.pid,
		.tid = (uint32_t)made->from.tid,
		.time = ev->record->time,
		.cpu = ev->record->cpu,
		.sample = {.branch_hw_idx = UINT64_MAX,
			.period = 1,
			.raw = records->raw,
			.raw_size = records->format->size}};
	struct attar_event sample = *ev;

	if (!to || !from)
		return base_oom();
	put_number(records, records->common_pid, made->from.tid);
	put_number(records, records->state, state_of(made, !run->replay));
	put_task(records, &records->prev, &from->pub, ev->cpu);
	put_task(records, &records->next, &to->pub, ev->cpu);
	sample.record = &record;
	sample.counter = event;
	sample.thread = &from->pub;
	if (!run->replay)
		missing_take_made(run->stream, event, ev->cpu);
	return run_deliver_made(run, &sample);
}
