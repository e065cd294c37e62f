/* SPDX-License-Identifier: MIT */
#include "run/part.h"

#include "run/run.h"

int parts_init(struct run_parts *parts, const struct run_part *const *list)
{
	for (int i = 0; i < PART_COUNT; i++) {
		parts->state[i] = list[i]->size ? calloc(1, list[i]->size) : NULL;
		if (list[i]->size && !parts->state[i])
			return base_oom();
	}
	parts->list = list;
	return 0;
}

int parts_sample(struct attar_run *run, uint64_t steps, struct attar_event *event)
{
	int r = 0;

	for (; r == 0 && steps; steps &= steps - 1) {
		const int i = __builtin_ctzll(steps);

		r = run->parts.list[i]->sample(run, run->parts.state[i], event);
	}
	return r;
}

void parts_detach(struct attar_run *run)
{
	for (int i = 0; i < PART_COUNT && run->parts.list; i++)
		if (run->parts.list[i]->detach && run->parts.state[i])
			run->parts.list[i]->detach(run, run->parts.state[i]);
}

void parts_free(struct attar_run *run)
{
	for (int i = 0; i < PART_COUNT && run->parts.list; i++)
		if (run->parts.list[i]->free && run->parts.state[i])
			run->parts.list[i]->free(run, run->parts.state[i]);
}

void parts_done(struct run_parts *parts)
{
	for (int i = 0; i < PART_COUNT; i++)
		free(parts->state[i]);
}
