/* SPDX-License-Identifier: MIT */
/*
 * LD_PRELOAD: a time of day that passes faster or is another one, also for programs that are
 * started.
 *
 *     FAULT_CLOCK=N        CLOCK_REALTIME passes N times as fast
 *     FAULT_CLOCK_START=S  since S, in seconds since 1970
 *     FAULT_CLOCK_AHEAD=S  CLOCK_REALTIME is S seconds ahead; sleeping until a time of it works
 *     FAULT_CLOCK_STEP=PATH  the same, of the number in a file that a test writes meanwhile
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define SECOND INT64_C(1000000000)

static int64_t factor, start, ahead;
static const char *step;

__attribute__((constructor)) static void begin(void)
{
	const char *n = getenv("FAULT_CLOCK"), *s = getenv("FAULT_CLOCK_START");
	const char *a = getenv("FAULT_CLOCK_AHEAD");

	ahead = a ? strtoll(a, NULL, 10) * SECOND : 0;
	step = getenv("FAULT_CLOCK_STEP");
	factor = n ? strtoll(n, NULL, 10) : ahead || step;
	start = s ? strtoll(s, NULL, 10) * SECOND : 0;
}

/* Seconds; 0: the file does not exist. */
static int64_t read_step(void)
{
	char text[32] = "";
	int fd = step ? open(step, O_RDONLY | O_CLOEXEC) : -1;

	if (fd < 0)
		return 0;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	return strtoll(text, NULL, 10);
}

EXPORT int clock_gettime(clockid_t clock, struct timespec *t)
{
	int r = (int)syscall(SYS_clock_gettime, clock, t);
	int64_t now;

	if (r < 0 || clock != CLOCK_REALTIME || !factor)
		return r;
	now = start + (t->tv_sec * SECOND + t->tv_nsec - start) * factor + ahead +
	      read_step() * SECOND;
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
