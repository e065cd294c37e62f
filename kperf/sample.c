/* SPDX-License-Identifier: MIT */
/* Sampling: rows are the samples of a stream, in the order of time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attar/sample.h"
#include "attar/stream.h"
#include "blocked.h"
#include "error.h"
#include "task.h"
#include "topology.h"

enum {
	MOST_FRAMES = 256,
	FREQUENCY = 4000, /* Hz, of clocks and hardware events without a rate */
	COMMS = 64,
};

/* What the rows of one read have in common. */
struct reading {
	struct kp_task *task;
	struct kp_list *list;
	const char *comms[COMMS]; /* names of threads that were copied, by their hash */
};

static bool is_counted_by_ones(const struct attar_event_spec *spec)
{
	struct perf_event_attr attr = {.type = spec->type, .config = spec->config};

	if (spec->kind == ATTAR_EVENT_SOFTWARE)
		return !attar_attr_is_clock(&attr);
	return spec->kind == ATTAR_EVENT_TRACEPOINT || spec->kind == ATTAR_EVENT_PROBE ||
	       spec->kind == ATTAR_EVENT_BREAKPOINT;
}

void kp_sample_rate(const struct PmuAttr *attr, const struct EvtAttr *own,
	const struct attar_event_spec *spec, struct perf_event_attr *ret)
{
	bool has_own = own->period || spec->period || spec->freq;
	uint64_t period = own->period ? own->period : spec->period, freq = period ? 0 : spec->freq;

	if (!has_own && attr->useFreq)
		freq = attr->freq;
	else if (!has_own)
		period = attr->period;
	if (!period && !freq && is_counted_by_ones(spec))
		period = 1;
	if (period) {
		ret->sample_period = period;
	} else {
		ret->freq = 1;
		ret->sample_freq = freq ? freq : FREQUENCY;
	}
}

void kp_sample_attr(const struct kp_task *task, const struct PmuAttr *attr,
	const struct EvtAttr *own, const struct attar_event_spec *spec, struct perf_event_attr *ret)
{
	kp_sample_rate(attr, own, spec, ret);
	attar_stream_attr(ret, false);
	ret->sample_type |= PERF_SAMPLE_IP;
	/*
	 * With it the kernel ignores the period of these events and writes a sample for each
	 * occurrence, with the weight of this occurrence: perf_swevent_event().
	 */
	if (ret->freq || ret->sample_period == 1 || !is_counted_by_ones(spec))
		ret->sample_type |= PERF_SAMPLE_PERIOD;
	if (task->stacks)
		ret->sample_type |= PERF_SAMPLE_CALLCHAIN;
	/* The kernel's functions are the same for every system call. */
	ret->exclude_callchain_kernel = task->stacks && task->kind == KP_KIND_SYSCALL;
	if (spec->format)
		ret->sample_type |= PERF_SAMPLE_RAW;
	if (task->blocked && spec->kind == ATTAR_EVENT_SOFTWARE &&
		spec->config == PERF_COUNT_SW_CONTEXT_SWITCHES)
		ret->context_switch = 1;
	if (attr->branchSampleFilter) {
		ret->sample_type |= PERF_SAMPLE_BRANCH_STACK;
		ret->branch_sample_type = attr->branchSampleFilter;
	}
}

int kp_sample_open(struct kp_task *task)
{
	struct attar_counter **counters = calloc(task->n_counters, sizeof(*counters));
	struct attar_stream_opts opts = {.size = sizeof(opts), .keep_own = true, .track = true};
	int r;

	if (!counters)
		return kp_fail(COMMON_ERR_NOMEM, "out of memory");
	for (size_t i = 0; i < task->n_counters; i++)
		counters[i] = task->counters[i].counter;
	r = attar_stream_live(task->target, counters, task->n_counters, task->origin->symbols,
		&opts, &task->stream);
	free(counters);
	return r < 0 ? kp_fail_mmap(r) : SUCCESS;
}

int kp_sample_enable(struct kp_task *task)
{
	int r = 0;

	if (!task->started) {
		r = attar_stream_start(task->stream);
		task->started = r == 0;
	} else {
		for (size_t i = 0; i < task->n_counters && r == 0; i++)
			r = attar_counter_resume(task->counters[i].counter);
	}
	return r < 0 ? kp_fail(LIBPERF_ERR_FAILED_PMU_ENABLE, "%s", attar_error()) : SUCCESS;
}

/* ---- rows ---- */

static const char *copy_comm(struct reading *reading, const struct attar_thread *thread)
{
	const char **known = &reading->comms[thread->comm_hash % COMMS];
	size_t size = strlen(thread->comm) + 1;
	char *copy;

	if (*known && strcmp(*known, thread->comm) == 0)
		return *known;
	copy = kp_list_alloc(reading->list, size);
	return copy ? *known = memcpy(copy, thread->comm, size) : NULL;
}

static bool add_frame(struct kp_frames *frames, struct attar_thread *thread,
	const struct attar_callchain *chain, uint64_t ip)
{
	struct kp_frame *frame = &frames->at[frames->n];

	*frame = (struct kp_frame){
		.ip = ip,
		.kernel = chain->context == ATTAR_CONTEXT_KERNEL,
		.caller = chain->caller,
	};
	ip -= frame->caller;
	frame->location =
		frame->kernel ? attar_location_kernel(ip) : attar_thread_locate(thread, ip);
	if (frames->n && attar_location_dso(frame->location) == ATTAR_DSO_UNKNOWN)
		return false; /* the frame pointer was not one */
	frames->n++;
	return true;
}

size_t kp_sample_most_frames(const struct attar_event *event)
{
	size_t n = event->record->sample.callchain_nr;

	return n == 0 ? 1 : n < MOST_FRAMES ? n : MOST_FRAMES;
}

void kp_sample_frames(struct kp_task *task, const struct attar_event *event, bool user_only,
	struct kp_frames *frames, size_t room)
{
	const struct attar_sample *sample = &event->record->sample;
	struct attar_callchain chain;
	uint64_t ip, first[] = {sample->ip};
	const uint64_t *entries = sample->callchain_nr ? sample->callchain : first;

	frames->origin = task->origin;
	frames->n = 0;
	attar_callchain_init(&chain, entries, sample->callchain_nr ? sample->callchain_nr : 1,
		event->record->misc);
	while (frames->n < room && attar_callchain_next(&chain, &ip)) {
		if (user_only && chain.context != ATTAR_CONTEXT_USER)
			continue;
		if (!add_frame(frames, event->thread, &chain, ip))
			break;
	}
}

static struct kp_frames *frames_of(
	struct kp_task *task, const struct attar_event *event, struct kp_list *list)
{
	size_t room = kp_sample_most_frames(event);
	struct kp_frames *frames =
		kp_list_alloc(list, sizeof(*frames) + room * sizeof(frames->at[0]));

	if (frames)
		kp_sample_frames(task, event, task->blocked, frames, room);
	return frames;
}

int kp_sample_branches(
	struct kp_list *list, const struct attar_sample *sample, struct PmuDataExt **ret_ext)
{
	struct PmuDataExt *ext = kp_list_alloc(list, sizeof(*ext));
	struct BranchSampleRecord *records =
		kp_list_alloc(list, (sample->branch_nr + 1) * sizeof(*records));

	if (!ext || !records)
		return -ENOMEM;
	memset(ext, 0, sizeof(*ext));
	for (uint32_t i = 0; i < sample->branch_nr; i++) {
		struct attar_branch branch = attar_branch_at(sample, i);

		records[i] = (struct BranchSampleRecord){
			.fromAddr = branch.from,
			.toAddr = branch.to,
			.cycles = branch.cycles,
			.misPred = branch.mispredicted,
			.predicted = branch.predicted,
		};
	}
	ext->nr = sample->branch_nr;
	ext->branchRecords = records;
	*ret_ext = ext;
	return 0;
}

/* The control group whose event wrote the sample. */
static const char *cgroup_of_sample(
	const struct kp_task *task, const struct kp_counter *c, const struct attar_event *event)
{
	if (task->n_cgroups == 0)
		return NULL;
	for (size_t i = 0; i < c->n; i++)
		if (c->instances[i].id == event->record->id)
			return kp_cgroup_of(task, &c->instances[i]);
	return NULL;
}

static int add_sample(struct reading *reading, const struct attar_event *event)
{
	struct kp_task *task = reading->task;
	const struct kp_counter *c = &task->counters[event->counter];
	const struct attar_sample *sample = &event->record->sample;
	struct PmuData *row = kp_list_add(reading->list);

	if (!row)
		return -ENOMEM;
	row->evt = task->events[c->event].name;
	row->ts = (int64_t)event->time;
	row->pid = event->thread->process->pid;
	row->tid = event->thread->tid;
	row->cpu = (int)event->cpu;
	row->groupId = task->events[c->event].attr.groupId;
	row->cpuTopo = kp_topology(row->cpu);
	row->comm = copy_comm(reading, event->thread);
	row->period = sample->period;
	row->cgroupName = cgroup_of_sample(task, c, event);
	if (c->format)
		row->rawData = kp_raw_new(reading->list, c->format, sample->raw, sample->raw_size);
	if (sample->branches && kp_sample_branches(reading->list, sample, &row->ext) < 0)
		return -ENOMEM;
	if (!row->comm || (c->format && !row->rawData))
		return -ENOMEM;
	return kp_list_set_frames(
		reading->list, reading->list->n - 1, frames_of(task, event, reading->list));
}

static int add_event(struct reading *reading, const struct attar_event *event)
{
	struct kp_task *task = reading->task;
	bool is_sample = event->record->type == PERF_RECORD_SAMPLE;
	int r = 0;

	if (is_sample && event->counter < task->n_counters)
		r = add_sample(reading, event);
	if (r == 0 && task->blocked)
		r = kp_blocked_event(task->blocked, event, reading->list);
	return r;
}

uint64_t kp_sample_warn(const struct kp_task *task)
{
	struct attar_stream_stats stats;
	uint64_t lost;

	attar_stream_get_stats(task->stream, &stats);
	lost = stats.lost + stats.malformed;
	if (lost > task->lost)
		kp_warn(LIBPERF_WARN_DATA_LOST,
			"%llu sample%s lost: read more often, or take fewer samples",
			(unsigned long long)(lost - task->lost),
			lost - task->lost == 1 ? " was" : "s were");
	return lost;
}

/* Without samples: because nothing happened, or because the events were never on a counter? */
static void warn_if_not_counted(const struct kp_task *task)
{
	struct attar_value value;

	for (size_t i = 0; i < task->n_counters; i++)
		if (attar_counter_read(task->counters[i].counter, &value) == 0 &&
			value.quality == ATTAR_QUALITY_NOT_COUNTED)
			kp_warn_not_counted(task, &task->counters[i]);
}

int kp_sample_read(struct kp_task *task, struct kp_list *list)
{
	struct reading reading = {.task = task, .list = list};
	struct attar_event event;
	int r;

	pthread_mutex_lock(&task->origin->lock);
	while ((r = attar_stream_next(task->stream, &event)) > 0) {
		r = add_event(&reading, &event);
		if (r < 0)
			break;
	}
	if (r == 0 && list->n == 0)
		warn_if_not_counted(task);
	pthread_mutex_unlock(&task->origin->lock);
	if (r < 0)
		return kp_fail_errno(r, UNKNOWN_ERROR);
	if (task->origin->mode == RESOLVE_ELF || task->origin->mode == RESOLVE_ELF_DWARF)
		r = kp_list_resolve(list);
	return r < 0 ? kp_fail(COMMON_ERR_NOMEM, "out of memory") : SUCCESS;
}

int kp_sample_each(struct kp_task *task, kp_sample_fn *fn, void *ctx, struct kp_list **ret_memory)
{
	struct kp_list *memory = kp_list_new(task->origin);
	struct attar_event event;
	int r;

	if (!memory)
		return kp_fail(COMMON_ERR_NOMEM, "out of memory");
	pthread_mutex_lock(&task->origin->lock);
	while ((r = attar_stream_next(task->stream, &event)) > 0)
		if (event.record->type == PERF_RECORD_SAMPLE && event.counter < task->n_counters &&
			(r = fn(ctx, &event, memory)) < 0)
			break;
	task->lost = kp_sample_warn(task);
	pthread_mutex_unlock(&task->origin->lock);
	if (r == 0)
		*ret_memory = memory;
	else
		kp_list_free(memory);
	return r < 0 ? kp_fail_errno(r, UNKNOWN_ERROR) : SUCCESS;
}
