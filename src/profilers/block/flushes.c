/* SPDX-License-Identifier: MIT */
#include "block/flushes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SECTOR = 512, WAITING_MAX = 1024 };

/* In the order in which they began to wait. */
struct block_waiting {
	struct block_request request;
	bool has_flush; /* one was begun for it */
};

void block_flushes_done(struct block_flushes *flushes)
{
	free(flushes->at);
	*flushes = (struct block_flushes){0};
}

void block_flushes_forget(struct block_flushes *flushes)
{
	flushes->n = 0;
}

static void flushes_remove(struct block_flushes *flushes, size_t i)
{
	flushes->n--;
	memmove(&flushes->at[i], &flushes->at[i + 1], (flushes->n - i) * sizeof(*flushes->at));
}

int block_flushes_wait(
	struct block_flushes *flushes, const struct block_request *request, uint64_t time)
{
	struct block_waiting *waiting;

	if (!flushes->at)
		flushes->at = calloc(WAITING_MAX, sizeof(*flushes->at));
	if (!flushes->at)
		return -ENOMEM;
	if (flushes->n == WAITING_MAX) /* its end was not seen */
		flushes_remove(flushes, 0);
	waiting = &flushes->at[flushes->n++];
	*waiting = (struct block_waiting){.request = *request};
	waiting->request.since = time;
	return 0;
}

bool block_flushes_end(struct block_flushes *flushes, uint32_t dev, uint64_t sector)
{
	for (size_t i = 0; i < flushes->n; i++) {
		const struct block_request *request = &flushes->at[i].request;

		if (request->dev == dev &&
			(request->sector == sector ||
				request->sector + request->bytes / SECTOR == sector)) {
			bool is_selected = request->is_selected;

			flushes_remove(flushes, i);
			return is_selected;
		}
	}
	return false;
}

const struct block_request *block_flushes_next(struct block_flushes *flushes, uint32_t dev)
{
	struct block_waiting *found = NULL;

	for (size_t i = 0; i < flushes->n; i++) {
		struct block_waiting *waiting = &flushes->at[i];

		if (waiting->request.dev != dev || waiting->has_flush)
			continue;
		if (!found || (waiting->request.is_selected && !found->request.is_selected))
			found = waiting;
	}
	if (!found)
		return NULL;
	found->has_flush = true;
	return &found->request;
}

bool block_flushes_overlap(const struct block *block, uint64_t dev)
{
	for (size_t i = 0; i < block->n_overlapping; i++)
		if (block->overlapping[i] == dev)
			return true;
	return false;
}

void block_flushes_set_overlap(struct block *block, uint64_t dev)
{
	block->missed--;
	if (block_flushes_overlap(block, dev))
		return;
	if (block->n_overlapping == sizeof(block->overlapping) / sizeof(*block->overlapping))
		block->n_overlapping = 0;
	block->overlapping[block->n_overlapping++] = (uint32_t)dev;
}
