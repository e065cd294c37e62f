/* SPDX-License-Identifier: MIT */
/*
 * By how much the clock of another machine is ahead, while both drift apart: a line through points
 * in its time, to which each measurement adds.
 *
 * Times that were converted stay as they are: a measurement changes the offset from its own time
 * on. A change is spread over some time, so that converted times never run backwards.
 */
#ifndef PEER_OFFSET_H
#define PEER_OFFSET_H

#include <stddef.h>
#include <stdint.h>

enum { OFFSET_POINTS = 256 };

struct offset {
	struct offset_point {
		uint64_t time;   /* ns, of the other clock */
		int64_t ahead;   /* ns */
	} points[OFFSET_POINTS]; /* the newest ones, point i at i modulo; in the order of times */
	size_t n;                /* ever added */
	uint64_t measured;       /* the time of the newest measurement */
	uint64_t first_error;    /* ns: of the first one */
	uint64_t error;          /* ns: the maximum until now; UINT64_MAX: unknown */
};

/* The first measurement, for all times, and its error; UINT64_MAX: unknown. */
void offset_start(struct offset *offset, int64_t ahead, uint64_t error);

/* By how much the other clock is ahead when it shows `time`. 0 before the first measurement. */
int64_t offset_at(const struct offset *offset, uint64_t time);

/*
 * The other clock was found ahead by this at `time`, with this maximum error. Times that are not
 * later than the times of earlier calls, or of more than 36 years, are ignored.
 */
void offset_follow(struct offset *offset, uint64_t time, int64_t ahead, uint64_t error);

/* `time` of the other clock, by this machine's. */
uint64_t offset_here(const struct offset *offset, uint64_t time);

#endif
