/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attar/stream.h"
#include "blocked.h"
#include "task.h"

enum { BUCKETS = 1024 };

struct thread {
	struct thread *next; /* in its bucket */
	uint32_t tid;
	bool away;
	uint64_t since;           /* of its state: on the CPU or away */
	uint64_t ran;             /* ns on the CPU since its last sample, before `since` */
	double rate;              /* of the first event, per ns; 0: unknown */
	struct PmuData row;       /* while away */
	struct kp_frames *frames; /* its own copy */
	char *comm;
};

struct kp_blocked {
	struct thread *buckets[BUCKETS];
	double rate;   /* of the last thread with a sample */
	bool is_clock; /* the first event counts ns: its rate is 1 */
};

struct kp_blocked *kp_blocked_new(bool is_clock)
{
	struct kp_blocked *blocked = calloc(1, sizeof(*blocked));

	if (blocked)
		blocked->is_clock = is_clock;
	return blocked;
}

void kp_blocked_free(struct kp_blocked *blocked)
{
	for (size_t i = 0; blocked && i < BUCKETS; i++)
		for (struct thread *t = blocked->buckets[i], *next; t; t = next) {
			next = t->next;
			free(t->frames);
			free(t->comm);
			free(t);
		}
	free(blocked);
}

static struct thread *thread_of(struct kp_blocked *blocked, uint32_t tid)
{
	struct thread **bucket = &blocked->buckets[tid % BUCKETS], *t = *bucket;

	while (t && t->tid != tid)
		t = t->next;
	if (t)
		return t;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->tid = tid;
	t->next = *bucket;
	return *bucket = t;
}

static void on_cpu(struct kp_blocked *blocked, struct thread *t, const struct attar_event *event)
{
	uint64_t ran = t->ran + (t->since ? event->time - t->since : 0);

	if (ran > 0)
		blocked->rate = t->rate = (double)event->record->sample.period / (double)ran;
	t->ran = 0;
	t->since = event->time;
	t->away = false;
}

/* Moves the last row of the list to the thread. */
static int leave(struct thread *t, uint64_t time, struct kp_list *list)
{
	const struct kp_frames *frames = kp_list_frames(list, list->n - 1);
	size_t size = sizeof(*frames) + frames->n * sizeof(frames->at[0]);
	struct kp_frames *copy = malloc(size);

	t->row = list->rows[--list->n];
	free(t->frames);
	free(t->comm);
	t->frames = copy ? memcpy(copy, frames, size) : NULL;
	t->comm = strdup(t->row.comm);
	if (t->since && !t->away)
		t->ran += time - t->since;
	t->since = time;
	t->away = true;
	return copy && t->comm ? 0 : -ENOMEM;
}

/* Adds the row of the time that the thread was away. */
static int come_back(
	const struct kp_blocked *blocked, struct thread *t, uint64_t time, struct kp_list *list)
{
	double known = t->rate > 0 ? t->rate : blocked->rate;
	double rate = blocked->is_clock || known <= 0 ? 1 : known;
	size_t size = sizeof(*t->frames) + t->frames->n * sizeof(t->frames->at[0]);
	struct kp_frames *frames = kp_list_alloc(list, size);
	char *comm = kp_list_alloc(list, strlen(t->comm) + 1);
	struct PmuData *row = kp_list_add(list);

	if (!row || !frames || !comm)
		return -ENOMEM;
	*row = t->row;
	row->comm = strcpy(comm, t->comm);
	row->period = (uint64_t)((double)(time - t->since) * rate);
	return kp_list_set_frames(list, list->n - 1, memcpy(frames, t->frames, size));
}

int kp_blocked_event(
	struct kp_blocked *blocked, const struct attar_event *event, struct kp_list *list)
{
	const struct attar_record *record = event->record;
	struct thread *t;
	int r = 0;

	if (record->type != PERF_RECORD_SAMPLE && record->type != PERF_RECORD_SWITCH)
		return 0;
	t = thread_of(blocked, record->tid);
	if (!t)
		return -ENOMEM;
	if (record->type == PERF_RECORD_SAMPLE && event->counter == 0) {
		on_cpu(blocked, t, event);
	} else if (record->type == PERF_RECORD_SAMPLE && event->counter == 1) {
		r = leave(t, event->time, list);
	} else if (record->type == PERF_RECORD_SWITCH && !record->context_switch.out) {
		if (t->away && t->frames)
			r = come_back(blocked, t, event->time, list);
		t->away = false;
		t->since = event->time;
	}
	return r;
}
