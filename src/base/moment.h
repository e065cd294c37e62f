/* SPDX-License-Identifier: MIT */
/* Moments as users write them: times of day, dates, and times since a start or before an end. */
#ifndef BASE_MOMENT_H
#define BASE_MOMENT_H

#include <time.h>

#include "base/base.h"

enum moment_kind {
	MOMENT_START, /* ns since the start */
	MOMENT_END,   /* ns before the end */
	MOMENT_DAY,   /* a time of day */
	MOMENT_DATE,  /* a local date, with a time of day */
};

struct moment {
	enum moment_kind kind;
	uint64_t ns;    /* of START and END; otherwise the part of a second */
	struct tm time; /* local; of DAY only the time of day */
};

/*
 * Parses "03:12", "03:12:40.5", "2026-11-30 03:12:40", "2026-11-30T03:12:40", "12.5" and "2m" since
 * the start, "-30s" before the end. Returns 0, or -EINVAL with the expected syntax.
 */
int moment_parse(const char *text, struct moment *ret_moment);

/* What a moment may refer to: times of a clock, ns. */
struct moment_span {
	uint64_t from, to; /* where a time of day is looked for */
	uint64_t start;    /* the time of MOMENT_START */
	uint64_t end;      /* the time of MOMENT_END */
	uint64_t offset;   /* ns since 1970 minus the clock, modulo 2^64; of DAY and DATE */
};

/*
 * The time of a moment on the clock, ns; 0 if it is before the clock began. A time of day is the
 * first one within the span, otherwise the one that is nearest to it.
 */
uint64_t moment_resolve(const struct moment *moment, const struct moment_span *span);

#endif
