/* SPDX-License-Identifier: MIT */
#include "stream/merge.h"

void merge_push(struct merge *m, struct cursor *c)
{
	size_t i = m->n++;

	for (; i && m->heap[(i - 1) / 2]->time > c->time; i = (i - 1) / 2)
		m->heap[i] = m->heap[(i - 1) / 2];
	m->heap[i] = c;
}

void merge_sink(struct merge *m)
{
	struct cursor *c = m->heap[0];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < m->n) {
		if (child + 1 < m->n && m->heap[child + 1]->time < m->heap[child]->time)
			child++;
		if (m->heap[child]->time >= c->time)
			break;
		m->heap[i] = m->heap[child];
		i = child;
	}
	m->heap[i] = c;
}

void merge_drop_first(struct merge *m)
{
	m->heap[0] = m->heap[--m->n];
	merge_sink_first(m);
}
