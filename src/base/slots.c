/* SPDX-License-Identifier: MIT */
#include "base/slots.h"

enum { SLOTS_FIRST = 64 };

int slots_grow(struct slots *s)
{
	size_t n_old = s->at ? (size_t)s->mask + 1 : 0, n = n_old ? n_old * 2 : SLOTS_FIRST;
	struct slots grown = {.mask = (uint32_t)(n - 1)};

	grown.at = n <= UINT32_MAX ? calloc(n, sizeof(*grown.at)) : NULL;
	if (!grown.at)
		return base_oom();
	for (size_t i = 0; i < n_old; i++)
		if (s->at[i].number)
			slots_put(&grown, s->at[i]);
	free(s->at);
	*s = grown;
	return 0;
}

/* Backward-shift deletion: moves later slots that would no longer be found. */
void slots_remove(struct slots *s, uint32_t hash, uint32_t number)
{
	uint32_t gap = hash & s->mask, i;

	while (s->at[gap].number != number)
		gap = (gap + 1) & s->mask;
	for (i = (gap + 1) & s->mask; s->at[i].number; i = (i + 1) & s->mask) {
		uint32_t home = s->at[i].hash & s->mask;

		if (((i - home) & s->mask) < ((i - gap) & s->mask))
			continue;
		s->at[gap] = s->at[i];
		gap = i;
	}
	s->at[gap] = (struct slot){0};
	s->n--;
}

void slots_reset(struct slots *s)
{
	if (s->at)
		memset(s->at, 0, slots_memory(s));
	s->n = 0;
}

void slots_done(struct slots *s)
{
	free(s->at);
	*s = (struct slots){0};
}
