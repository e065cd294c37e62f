/* SPDX-License-Identifier: MIT */
#include "base/moment.h"

#include <ctype.h>

#include "base/parse.h"

enum { NS_PER_S = 1000000000, FRACTION_DIGITS = 9 };

/* ---- parsing ---- */

/* Exactly n digits; -1: there are fewer. */
static int take_digits(const char **p, int n)
{
	int value = 0;

	for (; n; n--, ++*p) {
		if (!isdigit((unsigned char)**p))
			return -1;
		value = value * 10 + (**p - '0');
	}
	return value;
}

static bool take_char(const char **p, const char *any)
{
	const bool has = **p && strchr(any, **p);

	*p += has;
	return has;
}

/* ".5" is 500000000; more digits than nanoseconds have are left out. False: no digit follows. */
static bool take_fraction(const char **p, uint64_t *ret_ns)
{
	uint64_t ns = 0;
	int n = 0;

	for (; isdigit((unsigned char)**p); ++*p, n++)
		if (n < FRACTION_DIGITS)
			ns = ns * 10 + (uint64_t)(**p - '0');
	for (int i = n; i < FRACTION_DIGITS; i++)
		ns *= 10;
	*ret_ns = ns;
	return n > 0;
}

/* "03:12", "03:12:40", "03:12:40.5", up to the end of the text. */
static bool take_clock(const char *p, struct moment *m)
{
	const int hour = take_digits(&p, 2);
	int minute, second = 0;

	if (hour < 0 || hour > 23 || !take_char(&p, ":"))
		return false;
	minute = take_digits(&p, 2);
	if (minute < 0 || minute > 59)
		return false;
	if (take_char(&p, ":")) {
		second = take_digits(&p, 2);
		if (second < 0 || second > 59 || (take_char(&p, ".") && !take_fraction(&p, &m->ns)))
			return false;
	}
	m->time.tm_hour = hour;
	m->time.tm_min = minute;
	m->time.tm_sec = second;
	return !*p;
}

/* "2026-11-30", and what separates the time from it. */
static bool take_date(const char **p, struct moment *m)
{
	const int year = take_digits(p, 4);
	int month, day;
	struct tm there;

	if (year < 0 || !take_char(p, "-"))
		return false;
	month = take_digits(p, 2);
	if (month < 0 || !take_char(p, "-"))
		return false;
	day = take_digits(p, 2);
	m->time = (struct tm){.tm_year = year - 1900,
		.tm_mon = month - 1,
		.tm_mday = day,
		.tm_hour = 12,
		.tm_isdst = -1};
	there = m->time; /* a day that the month does not have becomes another date */
	return mktime(&there) != -1 && there.tm_mday == day && there.tm_mon == month - 1 &&
	       take_char(p, " T");
}

int moment_parse(const char *text, struct moment *ret_moment)
{
	struct moment m = {.kind = MOMENT_DAY}, date = {.kind = MOMENT_DATE};
	const bool before_end = *text == '-';
	const char *p = text;

	if (take_clock(text, &m)) {
		*ret_moment = m;
		return 0;
	}
	if (take_date(&p, &date) && take_clock(p, &date)) {
		*ret_moment = date;
		return 0;
	}
	m = (struct moment){.kind = before_end ? MOMENT_END : MOMENT_START};
	if (parse_time(text + before_end, NS_PER_S, &m.ns) < 0) {
		attar_error_clear();
		return attar_fail(-EINVAL,
			"'%s' is not a time: use a time of day (03:12:40.5), a date "
			"(2026-11-30 03:12:40), seconds since the start of the recording (12.5) "
			"or before its end (-30s)",
			CLIP(text));
	}
	*ret_moment = m;
	return 0;
}

/* ---- resolving ---- */

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* ns; negative if it is before the clock began. */
static int64_t on_clock(const struct moment_span *span, const struct tm *local, uint64_t ns)
{
	struct tm tm = *local;
	int64_t seconds, time;

	tm.tm_isdst = -1;
	seconds = (int64_t)mktime(&tm);
	if (__builtin_mul_overflow(seconds, (int64_t)NS_PER_S, &time) ||
		__builtin_add_overflow(time, (int64_t)ns, &time) ||
		__builtin_sub_overflow(time, (int64_t)span->offset, &time))
		return seconds < 0 ? INT64_MIN : INT64_MAX;
	return time;
}

/* How far a time is from the span, ns. */
static uint64_t outside(const struct moment_span *span, int64_t time)
{
	if (time < 0)
		return span->from + (uint64_t) - (time + 1) + 1;
	return (uint64_t)time < span->from ? span->from - (uint64_t)time
					   : less((uint64_t)time, span->to);
}

static int64_t resolve_day(const struct moment *m, const struct moment_span *span)
{
	const time_t from = (time_t)((span->from + span->offset) / NS_PER_S);
	struct tm day = {0};
	int64_t best;

	localtime_r(&from, &day);
	day.tm_hour = m->time.tm_hour;
	day.tm_min = m->time.tm_min;
	day.tm_sec = m->time.tm_sec;
	day.tm_mday--;
	best = on_clock(span, &day, m->ns);
	for (int i = 0; i <= 2; i++) {
		int64_t time;

		day.tm_mday++;
		time = on_clock(span, &day, m->ns);
		if (outside(span, time) < outside(span, best))
			best = time;
	}
	return best;
}

uint64_t moment_resolve(const struct moment *m, const struct moment_span *span)
{
	uint64_t time;

	switch (m->kind) {
	case MOMENT_START:
		return __builtin_add_overflow(span->start, m->ns, &time) ? UINT64_MAX : time;
	case MOMENT_END:
		return less(span->end, m->ns);
	case MOMENT_DATE:
		return (uint64_t)MAX(on_clock(span, &m->time, m->ns), (int64_t)0);
	default:
		return (uint64_t)MAX(resolve_day(m, span), (int64_t)0);
	}
}
