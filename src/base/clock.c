/* SPDX-License-Identifier: MIT */
#include <time.h>

#include "base/base.h"

uint64_t base_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}
