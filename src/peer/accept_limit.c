/* SPDX-License-Identifier: MIT */
#include "peer/accept_limit.h"

#include "base/base.h"

static const uint64_t SECOND = 1000000000;

static const uint64_t EACH = 1000000000 / ACCEPT_RATE;

bool accept_limit_allows(const struct accept_limit *limit, uint64_t now)
{
	return now - limit->from >= EACH;
}

void accept_limit_count(struct accept_limit *limit, uint64_t now)
{
	if (now - limit->from > ACCEPT_AT_ONCE * EACH)
		limit->from = now - ACCEPT_AT_ONCE * EACH;
	limit->from += EACH;
}

/* The origin 0, root and the caller, is never excluded. */
void accept_limit_refused(struct accept_limit *limit, uint64_t origin, uint64_t now)
{
	size_t place = 0;

	if (!origin)
		return;
	for (size_t i = 0; i < REFUSED_ORIGINS; i++) {
		if (limit->refused[i].origin == origin) {
			place = i;
			break;
		}
		if (limit->refused[i].since < limit->refused[place].since)
			place = i;
	}
	if (limit->refused[place].origin != origin || now - limit->refused[place].since > SECOND) {
		limit->refused[place].origin = origin;
		limit->refused[place].since = now;
		limit->refused[place].n = 0;
	}
	limit->refused[place].n++;
}

bool accept_limit_excludes(const struct accept_limit *limit, uint64_t origin, uint64_t now)
{
	for (size_t i = 0; i < REFUSED_ORIGINS && origin; i++)
		if (limit->refused[i].origin == origin && now - limit->refused[i].since <= SECOND)
			return limit->refused[i].n > REFUSED_MAX;
	return false;
}
