/* SPDX-License-Identifier: MIT */
#include "heap/live.h"

#include <errno.h>
#include <stdlib.h>

enum { ROOM_MIN = 1024 };

static size_t live_place(const struct live *live, uint32_t pid, uint64_t address)
{
	uint64_t hash = (address >> 4 ^ (uint64_t)pid << 40) * UINT64_C(0x9e3779b97f4a7c15);

	return (size_t)(hash >> 20) & (live->room - 1);
}

struct live_object *live_find(const struct live *live, uint32_t pid, uint64_t address)
{
	if (!live->n)
		return NULL;
	for (size_t i = live_place(live, pid, address); live->at[i].pid;
		i = (i + 1) & (live->room - 1))
		if (live->at[i].address == address && live->at[i].pid == pid)
			return &live->at[i];
	return NULL;
}

static void live_put(struct live *live, const struct live_object *object)
{
	size_t i = live_place(live, object->pid, object->address);

	while (live->at[i].pid)
		i = (i + 1) & (live->room - 1);
	live->at[i] = *object;
}

/* At most three quarters are used. */
static int live_grow(struct live *live)
{
	struct live old = *live;

	if (old.n < old.room / 4 * 3)
		return 0;
	live->room = old.room ? old.room * 2 : ROOM_MIN;
	live->at = calloc(live->room, sizeof(*live->at));
	if (!live->at) {
		*live = old;
		return -ENOMEM;
	}
	for (size_t i = 0; i < old.room; i++)
		if (old.at[i].pid)
			live_put(live, &old.at[i]);
	free(old.at);
	return 0;
}

int live_add(struct live *live, const struct live_object *object)
{
	int r;

	if (live->n >= live->max) {
		live->refused++;
		return 0;
	}
	r = live_grow(live);
	if (r < 0)
		return r;
	live_put(live, object);
	live->n++;
	live->of_process[object->pid % LIVE_PROCESSES]++;
	return 1;
}

/* What follows moves up, so that searches do not end early. */
void live_remove(struct live *live, struct live_object *object)
{
	const size_t mask = live->room - 1;
	size_t hole = (size_t)(object - live->at);

	live->of_process[object->pid % LIVE_PROCESSES]--;
	for (size_t i = (hole + 1) & mask; live->at[i].pid; i = (i + 1) & mask) {
		size_t home = live_place(live, live->at[i].pid, live->at[i].address);

		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		live->at[hole] = live->at[i];
		hole = i;
	}
	live->at[hole] = (struct live_object){0};
	live->n--;
}

static struct live_object *live_from(const struct live *live, size_t i)
{
	while (i < live->room && !live->at[i].pid)
		i++;
	return i < live->room ? &live->at[i] : NULL;
}

struct live_object *live_next(const struct live *live, const struct live_object *object)
{
	return live_from(live, object ? (size_t)(object - live->at) + 1 : 0);
}

struct live_object *live_again(const struct live *live, const struct live_object *object)
{
	return live_from(live, (size_t)(object - live->at));
}

void live_done(struct live *live)
{
	free(live->at);
	*live = (struct live){0};
}
