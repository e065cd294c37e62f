/* SPDX-License-Identifier: MIT */
/*
 * Limits what connections cost that are refused: another user, or another machine, can make
 * thousands in a second. ACCEPT_RATE connections of all are accepted in a second. An origin (see
 * address_origin()) with more than REFUSED_MAX refused connections in a second is closed at once
 * until the second is over.
 */
#ifndef PEER_ACCEPT_LIMIT_H
#define PEER_ACCEPT_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

enum {
	ACCEPT_RATE = 1000,
	ACCEPT_AT_ONCE = 64,
	REFUSED_MAX = 8,
	REFUSED_ORIGINS = 64,
};

struct accept_limit {
	uint64_t from; /* ns; moves on by the time of each connection */
	struct {
		uint64_t origin, since; /* ns: the start of its second */
		unsigned n;
	} refused[REFUSED_ORIGINS];
};

/* Returns whether one more connection may be accepted now. */
bool accept_limit_allows(const struct accept_limit *limit, uint64_t now);

/* One was accepted. */
void accept_limit_count(struct accept_limit *limit, uint64_t now);

void accept_limit_refused(struct accept_limit *limit, uint64_t origin, uint64_t now);
bool accept_limit_excludes(const struct accept_limit *limit, uint64_t origin, uint64_t now);

#endif
