/* SPDX-License-Identifier: MIT */
/* The time that system calls take: pairs of the tracepoints of their entry and exit. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <asm/unistd.h>

#include "attar/format.h"
#include "error.h"
#include "stack.h"
#include "trace.h"

enum {
	BUCKETS = 1024,
	MOST_FUNCTIONS = 1 << 12,
};

static const char *const names[] = {
#include "syscall_list.inc"
};
enum { N_NAMES = sizeof(names) / sizeof(names[0]) };

/* ---- names ---- */

static const char *list[N_NAMES];
static unsigned n_list;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_list(void)
{
	for (size_t i = 0; i < N_NAMES; i++)
		if (names[i])
			list[n_list++] = names[i];
}

const char **PmuSysCallFuncList(unsigned *n)
{
	kp_begin();
	if (!n) {
		kp_fail(LIBPERF_ERR_NULL_POINTER, "PmuSysCallFuncList(): numFunc is NULL");
		return NULL;
	}
	pthread_once(&once, make_list);
	*n = n_list;
	return list;
}

void PmuSysCallFuncListFree(void)
{
	kp_begin(); /* the names are constant */
}

static int number_of(const char *name)
{
	for (int i = 0; name && i < (int)N_NAMES; i++)
		if (names[i] && strcmp(names[i], name) == 0)
			return i;
	return -1;
}

/* ---- pairs ---- */

/* A call that has not returned. */
struct call {
	struct call *next; /* in its bucket */
	int tid;
	bool open;
	uint64_t number, start;
	struct kp_frames *frames; /* of the program; NULL: none yet */
	size_t room;              /* for frames */
};

struct syscalls {
	struct kp_rows rows; /* struct PmuTraceData */
	struct call *buckets[BUCKETS];
	const struct attar_field *enter_id, *exit_id;
	struct kp_task *task;
	size_t most_frames; /* of a stack; 0: no stacks */
};

static void free_syscalls(void *own)
{
	struct syscalls *s = own;

	for (size_t i = 0; i < BUCKETS; i++)
		for (struct call *call = s->buckets[i], *next; call; call = next) {
			next = call->next;
			free(call->frames);
			free(call);
		}
	free(s->rows.array);
	free(s);
}

static struct call *call_of(struct syscalls *s, int tid)
{
	struct call **bucket = &s->buckets[(unsigned)tid % BUCKETS], *call = *bucket;

	while (call && call->tid != tid)
		call = call->next;
	if (call)
		return call;
	call = calloc(1, sizeof(*call));
	if (!call)
		return NULL;
	call->tid = tid;
	call->next = *bucket;
	return *bucket = call;
}

/* Sets the frames of a call from the sample of its entry. */
static int set_frames(struct syscalls *s, struct call *call, const struct attar_event *event)
{
	size_t room = kp_sample_most_frames(event);

	if (room > s->most_frames)
		room = s->most_frames;
	if (room > call->room) {
		size_t size = sizeof(*call->frames) + room * sizeof(call->frames->at[0]);
		struct kp_frames *frames = realloc(call->frames, size);

		if (!frames)
			return -ENOMEM;
		call->frames = frames;
		call->room = room;
	}
	if (room > 0)
		kp_sample_frames(s->task, event, true, call->frames, room);
	return 0;
}

static int add_row(struct syscalls *s, const struct call *call, const struct attar_event *event,
	struct kp_list *memory)
{
	struct PmuTraceData *row = kp_rows_add(&s->rows);
	const char *comm = kp_rows_comm(memory, event);

	if (!row || !comm)
		return -ENOMEM;
	*row = (struct PmuTraceData){
		.funcs = call->number < N_NAMES && names[call->number] ? names[call->number]
								       : "unknown",
		.startTs = (int64_t)call->start,
		.elapsedTime = (double)(event->time - call->start) / 1e6,
		.pid = event->thread->process->pid,
		.tid = event->thread->tid,
		.cpu = (int)event->cpu,
		.comm = comm,
	};
	return call->frames ? kp_stack_make(memory, call->frames, &row->stack) : 0;
}

static int add_event(void *ctx, const struct attar_event *event, struct kp_list *memory)
{
	struct syscalls *s = ctx;
	const struct attar_sample *sample = &event->record->sample;
	bool is_enter = event->counter == 0;
	struct call *call = call_of(s, event->thread->tid);
	uint64_t number =
		attar_field_u64(is_enter ? s->enter_id : s->exit_id, sample->raw, sample->raw_size);
	int r = 0;

	if (!call)
		return -ENOMEM;
	if (is_enter) {
		call->open = true;
		call->number = number;
		call->start = event->time;
		return set_frames(s, call, event);
	}
	if (call->open && call->number == number) /* its entry was not lost */
		r = add_row(s, call, event, memory);
	call->open = false;
	return r;
}

/* ---- tasks ---- */

/* "id == 0 || id == 1"; NULL: the call has failed. The caller frees it. */
static char *filter_of(const struct PmuTraceAttr *attr)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out) {
		kp_fail(COMMON_ERR_NOMEM, "out of memory");
		return NULL;
	}
	for (unsigned i = 0; i < attr->numFuncs; i++) {
		int number = number_of(attr->funcs[i]);

		if (number < 0) {
			kp_fail(LIBPERF_ERR_INVALID_SYSCALL_FUN,
				"funcs: there is no system call '%s'",
				attr->funcs[i] ? attr->funcs[i] : "NULL");
			fclose(out);
			free(text);
			return NULL;
		}
		fprintf(out, "%sid == %d", i > 0 ? " || " : "", number);
	}
	fclose(out);
	return text;
}

static int set_filter(struct kp_task *task, const struct PmuTraceAttr *attr)
{
	char *filter;
	int r = 0;

	if (attr->numFuncs == 0)
		return SUCCESS;
	filter = filter_of(attr);
	if (!filter)
		return Perrorno();
	for (size_t i = 0; i < task->n_counters && r == 0; i++)
		r = attar_counter_filter(task->counters[i].counter, filter);
	free(filter);
	return r < 0 ? kp_fail_errno(r, LIBPERF_ERR_INVALID_SYSCALL_FUN) : SUCCESS;
}

static bool has_stacks(const struct PmuTraceAttr *attr)
{
	return attr->symbolMode != NO_SYMBOL_RESOLVE &&
	       (unsigned)attr->symbolMode <= RESOLVE_DELAY_DWARF;
}

static int open_trace(struct kp_task *task, const void *of_kind)
{
	const struct PmuTraceAttr *trace = of_kind;
	static char enter[] = "raw_syscalls:sys_enter", leave[] = "raw_syscalls:sys_exit";
	char *events[] = {enter, leave};
	const struct PmuAttr attr = {.evtList = events,
		.numEvt = 2,
		.pidList = trace->pidList,
		.numPid = trace->numPid,
		.cpuList = trace->cpuList,
		.numCpu = trace->numCpu};
	struct syscalls *s = calloc(1, sizeof(*s));
	int r = s ? kp_open_target(task, &attr) : kp_fail(COMMON_ERR_NOMEM, "out of memory");

	task->own = s;
	task->free_own = s ? free_syscalls : NULL;
	if (r != SUCCESS)
		return r;
	s->rows.row_size = sizeof(struct PmuTraceData);
	s->task = task;
	if (has_stacks(trace))
		s->most_frames = trace->callStack ? SIZE_MAX : 1;
	task->stacks = s->most_frames > 0;
	task->origin->mode = trace->symbolMode;
	pthread_mutex_lock(&task->origin->lock);
	r = kp_open_events(task, &attr);
	pthread_mutex_unlock(&task->origin->lock);
	if (r == SUCCESS)
		r = set_filter(task, trace);
	if (r != SUCCESS)
		return r;
	s->enter_id = attar_format_field(task->counters[0].format, "id");
	s->exit_id = attar_format_field(task->counters[1].format, "id");
	if (!s->enter_id || !s->exit_id)
		return kp_fail(LIBPERF_ERR_FIND_FIELD_LOSS, "raw_syscalls has no field 'id'");
	return kp_sample_open(task);
}

int PmuTraceOpen(enum PmuTraceType type, struct PmuTraceAttr *attr)
{
	struct attar_catalog_opts opts = {.size = sizeof(opts), .mount = true};
	int pd;

	kp_begin();
	if (type != TRACE_SYS_CALL)
		return kp_error(LIBPERF_ERR_INVALID_TRACE_TYPE,
			"PmuTraceOpen(): the type %d is unknown: use TRACE_SYS_CALL", type);
	if (!attr)
		return kp_error(LIBPERF_ERR_NULL_POINTER, "PmuTraceOpen(): traceAttr is NULL");
	if (attr->numFuncs > MOST_FUNCTIONS || (attr->numFuncs > 0 && !attr->funcs))
		return kp_error(LIBPERF_ERR_INVALID_SYSCALL_FUN,
			"numFuncs is %u, but funcs does not have that many names", attr->numFuncs);
	if (kp_check_lists(&(struct PmuAttr){.pidList = attr->pidList,
		    .numPid = attr->numPid,
		    .cpuList = attr->cpuList,
		    .numCpu = attr->numCpu}) != SUCCESS)
		return -1;
	pd = kp_trace_open(KP_KIND_SYSCALL, &opts, open_trace, attr);
	if (pd > 0 && !has_stacks(attr) && attr->symbolMode != NO_SYMBOL_RESOLVE)
		kp_warn(LIBPERF_WARN_IGNORED, "symbolMode %d is unknown: NO_SYMBOL_RESOLVE is used",
			(int)attr->symbolMode);
	return pd;
}

int PmuTraceEnable(int pd)
{
	return kp_task_call(pd, KP_KIND_SYSCALL, kp_task_enable);
}

int PmuTraceDisable(int pd)
{
	return kp_task_call(pd, KP_KIND_SYSCALL, kp_task_disable);
}

int PmuTraceRead(int pd, struct PmuTraceData **data)
{
	int n;

	kp_begin();
	if (!data)
		return kp_error(LIBPERF_ERR_NULL_POINTER, "PmuTraceRead(): pmuTraceData is NULL");
	*data = kp_trace_read(pd, KP_KIND_SYSCALL, add_event, &n);
	return n;
}

void PmuTraceClose(int pd)
{
	kp_begin();
	kp_task_remove(pd, KP_KIND_SYSCALL);
}

void PmuTraceDataFree(struct PmuTraceData *data)
{
	kp_list_release(data, "PmuTraceDataFree");
}
