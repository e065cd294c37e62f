/* SPDX-License-Identifier: MIT */
/*
 * LD_PRELOAD: a time of day that passes faster or is another one, also for programs that are
 * started.
 *
 *     FAULT_CLOCK=N        CLOCK_REALTIME passes N times as fast
 *     FAULT_CLOCK_START=S  since S, in seconds since 1970
 *     FAULT_CLOCK_AHEAD=S  CLOCK_REALTIME is S seconds ahead; sleeping until a time of it works
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define SECOND INT64_C(1000000000)

static int64_t factor, start, ahead;

__attribute__((constructor)) static void begin(void)
{
	const char *n = getenv("FAULT_CLOCK"), *s = getenv("FAULT_CLOCK_START");
	const char *a = getenv("FAULT_CLOCK_AHEAD");

	ahead = a ? strtoll(a, NULL, 10) * SECOND : 0;
	factor = n ? strtoll(n, NULL, 10) : ahead != 0;
	start = s ? strtoll(s, NULL, 10) * SECOND : 0;
}

EXPORT int clock_gettime(clockid_t clock, struct timespec *t)
{
	int r = (int)syscall(SYS_clock_gettime, clock, t);
	int64_t now;

	if (r < 0 || clock != CLOCK_REALTIME || !factor)
		return r;
	now = start + (t->tv_sec * SECOND + t->tv_nsec - start) * factor + ahead;
	t->tv_sec = now / SECOND;
	t->tv_nsec = now % SECOND;
	return 0;
}

EXPORT int clock_nanosleep(
	clockid_t clock, int flags, const struct timespec *t, struct timespec *left)
{
	struct timespec until = *t;

	if (clock == CLOCK_REALTIME && flags & TIMER_ABSTIME)
		until.tv_sec -= (time_t)(ahead / SECOND);
	return syscall(SYS_clock_nanosleep, clock, flags, &until, left) < 0 ? errno : 0;
}
