/* SPDX-License-Identifier: MIT */
/* The samples in the AUX areas of a task as rows. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "attar/record.h"
#include "attar/spe.h"
#include "error.h"
#include "spe.h"
#include "topology.h"

enum {
	MOST_PROCESSES = 1024, /* whose mappings are kept from one read to the next */
	BUCKETS = 256,
	COMM = 64,
};

struct kp_spe_process {
	struct kp_spe_process *next;
	pid_t pid;
	struct attar_address_space *space;
	bool scanned; /* in this read */
};

/* A thread that has samples in a read; in memory of the list. */
struct thread {
	struct thread *next;
	pid_t tid, pid;
	struct kp_spe_process *process;
	char comm[COMM];
};

/* A sample with the data of its ring and record. */
struct found {
	int64_t ts;
	size_t number; /* keeps samples of the same time in order */
	int cpu;
	struct thread *thread;
	struct attar_spe_sample sample;
};

struct reading {
	struct kp_task *task;
	struct kp_spe *spe;
	const struct kp_spe_clock *clock;
	struct kp_list *list;
	struct found *found;
	size_t n, room;
	struct thread *threads[BUCKETS];
};

void kp_spe_forget(struct kp_spe *spe)
{
	for (struct kp_spe_process *p = spe->processes, *next; p; p = next) {
		next = p->next;
		attar_address_space_free(p->space);
		free(p);
	}
	spe->processes = NULL;
	spe->n_processes = 0;
}

static struct kp_spe_process *process_of(struct reading *reading, pid_t pid)
{
	struct kp_spe *spe = reading->spe;
	struct kp_spe_process *p = spe->processes;

	while (p && p->pid != pid)
		p = p->next;
	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->pid = pid;
	p->space = attar_address_space_new(reading->task->origin->symbols, pid);
	p->next = spe->processes;
	spe->processes = p;
	spe->n_processes++;
	return p;
}

/* The thread of a number, -1 if it is unknown; pid is its process, or -1. NULL: out of memory. */
static struct thread *thread_of(struct reading *reading, pid_t tid, pid_t pid)
{
	struct thread **bucket = &reading->threads[(unsigned)tid % BUCKETS], *thread = *bucket;

	while (thread && thread->tid != tid)
		thread = thread->next;
	if (thread)
		return thread;
	thread = kp_list_alloc(reading->list, sizeof(*thread));
	if (!thread)
		return NULL;
	*thread = (struct thread){.next = *bucket, .tid = tid, .pid = tid < 0 ? -1 : tid};
	if (tid > 0)
		thread->pid = kp_thread_names(tid, thread->comm, sizeof(thread->comm));
	if (pid > 0)
		thread->pid = pid;
	if (thread->pid > 0) {
		thread->process = process_of(reading, thread->pid);
		if (!thread->process)
			return NULL;
	}
	return *bucket = thread;
}

static int64_t time_of(const struct kp_spe_clock *clock, const struct attar_spe_sample *sample,
	const struct attar_record *record)
{
	__int128 ticks = (__int128)sample->time - clock->ticks;

	if (!(sample->has & ATTAR_SPE_TIME) || clock->hz == 0)
		return (int64_t)record->time;
	return clock->ns + (int64_t)(ticks * 1000000000 / (int64_t)clock->hz);
}

/*
 * The kernel ends the data of a task when it switches to another one, so the record has the task.
 * On a CPU, only the context packet has it.
 */
static struct thread *thread_of_sample(struct reading *reading, const struct attar_record *record,
	const struct attar_spe_sample *sample)
{
	if (reading->task->has_pids)
		return thread_of(reading, (pid_t)record->tid, (pid_t)record->pid);
	if (sample->has & ATTAR_SPE_CONTEXT)
		return thread_of(reading, (pid_t)sample->context, -1);
	reading->spe->unknown++;
	return thread_of(reading, -1, -1);
}

static int add_sample(struct reading *reading, const struct attar_record *record, int cpu,
	const struct attar_spe_sample *sample)
{
	struct found *found;

	if (reading->n == reading->room) {
		size_t room = reading->room ? reading->room * 2 : 256;

		found = reallocarray(reading->found, room, sizeof(*found));
		if (!found)
			return -ENOMEM;
		reading->found = found;
		reading->room = room;
	}
	found = &reading->found[reading->n];
	*found = (struct found){
		.ts = time_of(reading->clock, sample, record),
		.number = reading->n++,
		.cpu = cpu >= 0 ? cpu : (int)record->cpu,
		.thread = thread_of_sample(reading, record, sample),
		.sample = *sample,
	};
	return found->thread ? 0 : -ENOMEM;
}

/* Decodes the data of an AUX record and gives its space back to the PMU. */
static int add_area(struct reading *reading, struct attar_ring *ring, struct attar_aux *aux,
	const struct attar_record *record)
{
	struct attar_spe_sample sample;
	struct attar_aux_data data;
	struct attar_spe spe;
	int r = 0;

	if (attar_aux_read(aux, record, &data) < 0) {
		reading->spe->malformed++;
		return 0;
	}
	attar_spe_init(&spe, data.parts[0].bytes, data.parts[0].size, data.parts[1].bytes,
		data.parts[1].size, data.offset);
	while (r == 0 && attar_spe_next(&spe, &sample))
		r = add_sample(reading, record, attar_ring_cpu(ring), &sample);
	reading->spe->malformed += spe.malformed;
	reading->spe->truncated += data.truncated;
	reading->spe->collisions += data.collision;
	attar_aux_release(aux, &data);
	return r;
}

static int read_ring(struct reading *reading, struct attar_ring *ring, struct attar_aux *aux)
{
	const struct perf_event_header *header;
	int r = 0;

	attar_ring_begin(ring);
	while (r == 0 && (header = attar_ring_next(ring))) {
		struct attar_record record;

		if (attar_record_parse(&reading->spe->layout, header, header->size, &record) < 0)
			reading->spe->malformed++;
		else if (record.type == PERF_RECORD_AUX)
			r = add_area(reading, ring, aux, &record);
		else if (record.type == PERF_RECORD_LOST)
			reading->spe->lost += record.lost.lost;
	}
	attar_ring_end(ring);
	return r;
}

static int by_time(const void *left, const void *right)
{
	const struct found *a = left, *b = right;

	if (a->ts != b->ts)
		return a->ts < b->ts ? -1 : 1;
	return a->number < b->number ? -1 : 1;
}

/* Mappings are read when they are needed first, and again if there are new ones. */
static attar_location locate(struct kp_spe_process *process, uint64_t pc)
{
	attar_location at = attar_address_space_locate(process->space, pc);

	if (attar_location_dso(at) != ATTAR_DSO_UNKNOWN || process->scanned)
		return at;
	process->scanned = true;
	attar_address_space_scan(process->space);
	return attar_address_space_locate(process->space, pc);
}

static int set_frame(struct reading *reading, const struct found *found)
{
	struct kp_frames *frames =
		kp_list_alloc(reading->list, sizeof(*frames) + sizeof(frames->at[0]));
	const struct attar_spe_sample *sample = &found->sample;
	struct kp_spe_process *process = found->thread->process;

	if (!frames)
		return -ENOMEM;
	frames->origin = reading->task->origin;
	frames->n = 1;
	frames->at[0] = (struct kp_frame){.ip = sample->pc, .kernel = sample->level > 0};
	if (frames->at[0].kernel)
		frames->at[0].location = attar_location_kernel(sample->pc);
	else if (process && process->space)
		frames->at[0].location = locate(process, sample->pc);
	return kp_list_set_frames(reading->list, reading->list->n - 1, frames);
}

/* No data source is not 0, which is one. */
static unsigned short source_of(const struct attar_spe_sample *sample)
{
	return sample->has & ATTAR_SPE_SOURCE ? sample->source : USHRT_MAX;
}

/* The bits of both enumerations are in the same order. */
static uint32_t operation_of(const struct attar_spe_sample *sample)
{
	_Static_assert(SPE_OP_AR == ATTAR_SPE_ACQUIRE_RELEASE * SPE_OP_LD, "SpeLdStOpType");
	return sample->access * SPE_OP_LD;
}

static int add_row(struct reading *reading, const struct found *found)
{
	struct PmuDataExt *ext = kp_list_alloc(reading->list, sizeof(*ext));
	struct PmuData *row = kp_list_add(reading->list);

	if (!ext || !row)
		return -ENOMEM;
	*ext = (struct PmuDataExt){
		.pa = found->sample.pa,
		.va = found->sample.va,
		.event = found->sample.events,
		.lat = found->sample.latency,
		.source = source_of(&found->sample),
		.op = operation_of(&found->sample),
	};
	row->evt = reading->spe->name;
	row->ts = found->ts;
	row->pid = found->thread->pid;
	row->tid = found->thread->tid;
	row->comm = found->thread->comm;
	row->cpu = found->cpu;
	row->cpuTopo = kp_topology(row->cpu);
	row->groupId = -1;
	row->period = reading->spe->period;
	row->countPercent = -1;
	row->ext = ext;
	return set_frame(reading, found);
}

int kp_spe_rows(struct kp_task *task, struct kp_spe *spe, const struct kp_spe_clock *clock,
	struct kp_list *list)
{
	struct reading reading = {.task = task, .spe = spe, .clock = clock, .list = list};
	int r = 0;

	if (spe->n_processes > MOST_PROCESSES)
		kp_spe_forget(spe);
	for (struct kp_spe_process *p = spe->processes; p; p = p->next)
		p->scanned = false;
	for (size_t i = 0; i < spe->n_rings && r == 0; i++)
		r = read_ring(&reading, spe->rings[i], spe->auxes[i]);
	if (reading.n > 0)
		qsort(reading.found, reading.n, sizeof(*reading.found), by_time);
	for (size_t i = 0; i < reading.n && r == 0; i++)
		r = add_row(&reading, &reading.found[i]);
	free(reading.found);
	return r < 0 ? kp_fail(COMMON_ERR_NOMEM, "out of memory") : SUCCESS;
}
