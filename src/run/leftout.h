/* SPDX-License-Identifier: MIT */
/*
 * Events that a pattern matches and the kernel refuses are left out of the run, with one line for
 * the pattern. An event that was named exactly, and a pattern of which nothing can be opened, end
 * the run.
 */
#ifndef RUN_LEFTOUT_H
#define RUN_LEFTOUT_H

#include "attar/event.h"

struct leftout {
	const char *pattern;  /* of the events at hand, borrowed; NULL: none */
	size_t matched, left; /* events of it */
	char *why, *names;    /* the sentence for the first one; further names */
	int error;            /* that the first was refused with */
};

/* Whether the refusal of this event leaves the rest of its pattern alone. */
bool leftout_may(const struct attar_event_spec *spec, int error);

/*
 * Takes the next event, in the order of the text, and the result r of opening it. 0, or the error
 * that ends the run: r itself, or that of a pattern before it of which nothing was opened.
 */
int leftout_take(struct leftout *l, const struct attar_event_spec *spec, int r);

/* Ends the pattern at hand. 0, or its error when nothing of it was opened. Frees what l holds. */
int leftout_end(struct leftout *l);

#endif
