/* SPDX-License-Identifier: MIT */
/*
 * Expected: all code keeps frame pointers, since there is no C library. All user time is in _start
 * > work > outer > inner, without end.
 */
#include "workload.h"

void _start(void);

static KEEP void inner(void)
{
	turns(100000);
}

static KEEP void outer(void)
{
	inner();
	__asm__ volatile("" : : : "memory");
}

static KEEP void work(void)
{
	for (;;) {
		outer();
		__asm__ volatile("" : : : "memory");
	}
}

/* The first function has no caller: its frame pointer is 0. */
void _start(void)
{
	work();
}
