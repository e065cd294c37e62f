/* SPDX-License-Identifier: MIT */
/* The second work() of namesakes.c. */
#include "workload.h"

void light(uint64_t n);

static KEEP void work(uint64_t n)
{
	turns(3 * n);
}

KEEP void light(uint64_t n)
{
	work(n);
}
