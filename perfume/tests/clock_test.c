/* SPDX-License-Identifier: CC0-1.0 */
/* The times of records are right although the collector is preempted between two clock readings. */
#include "rings.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#define MS 1000000ULL

/* The clock reading, counted from now on, that is followed by a delay; -1: all; 0: none. */
static int delayed, n_read;
static unsigned delay_us;

int clock_gettime(clockid_t id, struct timespec *ret_now)
{
	int r = (int)syscall(SYS_clock_gettime, id, ret_now);

	if (delayed < 0 || (delayed && ++n_read == delayed))
		usleep(delay_us);
	return r;
}

/* Waits until the collector recalibrates, and polls with that reading delayed. */
static void poll_late(struct perfume_collector *collector, int reading, unsigned us)
{
	uint64_t until = perfume_clock_pair().ns + 120 * MS;

	while (perfume_clock_pair().ns < until)
		usleep(1000);
	n_read = 0;
	delay_us = us;
	delayed = reading;
	perfume_collector_poll(collector, 0);
	delayed = 0;
}

static struct area *forge_for(const struct perfume_collector *collector)
{
	struct area *area;
	int fd;

	area = forge(&fd, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
#ifdef __x86_64__
	area->clock = AREA_CLOCK_TSC;
#elif defined(__aarch64__)
	area->clock = AREA_CLOCK_COUNTER;
#else
	print_message("records have CLOCK_MONOTONIC here\n");
	skip();
#endif
	send_fd(collector, fd);
	return area;
}

static void expect_time(struct perfume_collector *collector, uint64_t ns)
{
	struct perfume_received event;

	perfume_collector_poll(collector, 0);
	assert_int_equal(perfume_collector_next(collector, &event), 1);
	assert_in_range(event.time, ns - 2 * MS, ns + 2 * MS);
}

static void check_delay(int reading, unsigned us)
{
	struct perfume_collector *collector = collector_for("forged", -1);
	struct area *area = forge_for(collector);
	struct perfume_clock_pair then, now;

	perfume_collector_poll(collector, 0);
	poll_late(collector, 0, 0);
	then = perfume_clock_pair();
	poll_late(collector, reading, us);
	now = perfume_clock_pair();
	put_forged(area, 0, now.ticks);
	expect_time(collector, now.ns);
	/* The rate of a later interval, with a record from before it. */
	poll_late(collector, 0, 0);
	put_forged(area, 1, then.ticks);
	expect_time(collector, then.ns);
	munmap(area, AREA_DATA + 4 * FORGED_RING);
	perfume_collector_free(collector);
}

static void one_preemption_does_not_shift_times(void **state)
{
	int reading;

	for (reading = 1; reading <= 4; reading++)
		check_delay(reading, 30000);
}

static void a_pair_that_took_long_is_not_used(void **state)
{
	check_delay(-1, 20000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(one_preemption_does_not_shift_times),
		CASE(a_pair_that_took_long_is_not_used),
	};

	live_alone();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
