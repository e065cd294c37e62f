/* SPDX-License-Identifier: MIT */
/*
 * Sources of the same event, such as sched:sched_switch as start and as end of pairs, share one
 * counter: the kernel writes each event once, and it is delivered to each of these sources, with
 * its number, fields and filter in attar.
 *
 * Software events that only differ in the modifiers u and k, such as "page-faults,page-faults:u",
 * share one, too, in the modes of all of them: each source has the samples in its own. (The kernel
 * gives samples of one the id of the other, see modes_share_ids().)
 *
 * The first of them has the counter and is the head of a list of the others.
 */
#ifndef SOURCE_SHARE_H
#define SOURCE_SHARE_H

#include "source/source.h"

/* Before the sources are opened: gives those that can share a counter the same modes. */
void sources_join(struct source_set *set);

/*
 * Whether a source can use a counter of another: each sample stands for one occurrence, and the
 * records are not copied.
 */
bool source_is_shareable(const struct source_set *set, const struct source *s);

/* Whether a source that is being opened uses the counter of an earlier one. */
bool source_shares(const struct source_set *set, const struct source *s);

/*
 * When all sources are open: makes the lists. 0, or the error of a source whose modes the kernel
 * refuses, and that therefore differ from the modes of the common counter.
 */
int sources_link(struct source_set *set);

/* The head of the list of a source; the source itself, if it shares no counter. */
uint32_t source_owner(const struct source_set *set, const struct source *s);

/* The counter that a source uses; NULL: it is not open. */
struct attar_counter *source_counter(const struct source_set *set, const struct source *s);

/* Whether the kernel writes the same records for both, which can be different in attar. */
bool sources_are_same(const struct source_set *set, const struct source *a, const struct source *b);

#endif
