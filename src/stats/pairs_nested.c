/* SPDX-License-Identifier: MIT */
/* The stacks of open starts with the same key. */
#include "stats/pairs.h"

void pairs_push(struct attar_pairs *p, struct open_start *s, struct open_start *below)
{
	s->below = below;
	s->start.depth = below->start.depth + 1;
	below->above = s;
	keyed_relink(&p->keyed, below, s);
}

static void remove_by_key(struct attar_pairs *p, struct open_start *s)
{
	if (s->below)
		s->below->above = s->above;
	if (s->above)
		s->above->below = s->below;
	else if (s->below)
		keyed_relink(&p->keyed, s, s->below);
	else
		keyed_unlink(&p->keyed, s);
	for (struct open_start *above = s->above; above; above = above->above)
		above->start.depth--;
}

void pairs_remove(struct attar_pairs *p, struct open_start *s)
{
	remove_by_key(p, s);
	pairs_release(p, s);
}
