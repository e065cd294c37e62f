/* SPDX-License-Identifier: MIT */
/*
 * The modes of the CPU in which an event is sampled, as the modifiers u, k, h, G and H select them,
 * and the modes of its samples: sets of PERF_RECORD_MISC_KERNEL and so on, as bits.
 */
#ifndef PERF_MODES_H
#define PERF_MODES_H

#include "attar/perf.h"

/*
 * Those that the attributes do not exclude. The user code and the kernel of a guest are user code
 * and kernel, too. A sample in an unknown mode is of the host, and is not excluded otherwise.
 */
unsigned modes_of(const struct perf_event_attr *attr);

/* Whether a sample with these misc bits of its record is in one of the modes; modes 0: in all. */
static inline bool modes_have(unsigned modes, uint16_t misc)
{
	return !modes || modes & 1U << (misc & PERF_RECORD_MISC_CPUMODE_MASK);
}

/* How well an event of a recording has the modes of a request. */
enum modes_fit {
	FIT_NONE,  /* none of them */
	FIT_PARTS, /* some, and no others */
	FIT_MORE,  /* all, and others: samples are selected */
	FIT_EXACT,
};

/*
 * Compares user code and kernel. The hypervisor only matters to events that are not sampled in
 * these; guests and the host only if they have no mode in common.
 */
enum modes_fit modes_fit(unsigned wanted, unsigned recorded);

/*
 * Whether samples of one of these events can have the id of the other: the kernel passes one struct
 * perf_sample_data to all software events of the same kind and sets the id for the first of them
 * only (seen on 6.18). Clocks have timers of their own.
 */
bool modes_share_ids(const struct perf_event_attr *a, const struct perf_event_attr *b);

/* A message on two such events, with their names. */
#define MODES_COMMON_IDS                                                                           \
	"'%s' and '%s' sample the same software event: the kernel can give samples of one the id " \
	"of the other, and then the counts of both are wrong; sample one of them"

/* Whether the attributes of two events are the same except for u, k and h, or in all. */
bool modes_alone_differ(const struct perf_event_attr *a, const struct perf_event_attr *b);

/* Gives both the modes of either, by u, k and h. */
void modes_join(struct perf_event_attr *a, struct perf_event_attr *b);

/* Sets u, k and h of an event to these modes. */
void modes_select(struct perf_event_attr *attr, unsigned modes);

/* "user code", for messages. */
const char *modes_text(unsigned modes);

#endif
