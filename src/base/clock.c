/* SPDX-License-Identifier: MIT */
#include <time.h>

#include "base/base.h"

static uint64_t read_clock(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

uint64_t base_now(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t base_now_boot(void)
{
	return read_clock(CLOCK_BOOTTIME);
}

uint64_t base_now_coarse(void)
{
	return read_clock(CLOCK_MONOTONIC_COARSE);
}

uint64_t base_realtime(void)
{
	return read_clock(CLOCK_REALTIME);
}
