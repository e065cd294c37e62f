/* SPDX-License-Identifier: MIT */
/* The stacks of open starts with the same key. */
#include "stats/pairs.h"

struct open_start *pairs_find_linked(struct attar_pairs *p, struct keyed_key key)
{
	return keyed_find(&p->keyed, &key);
}

void pairs_push(struct attar_pairs *p, struct open_start *s, struct open_start *below)
{
	s->below = below;
	s->start.depth = below->start.depth + 1;
	below->above = s;
	pairs_unset_top(p, below);
}

static void remove_by_key(struct attar_pairs *p, struct open_start *s)
{
	if (s->below)
		s->below->above = s->above;
	if (s->above)
		s->above->below = s->below;
	else
		pairs_unset_top(p, s);
	if (s->below && !s->above)
		pairs_set_top(p, s->below);
	for (struct open_start *above = s->above; above; above = above->above)
		above->start.depth--;
}

void pairs_remove(struct attar_pairs *p, struct open_start *s)
{
	remove_by_key(p, s);
	pairs_release(p, s);
}

void pairs_forget(struct attar_pairs *p, struct open_start *s)
{
	p->n_kept--;
	pairs_unset_top(p, s);
	pairs_release(p, s);
}
