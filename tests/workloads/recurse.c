/* SPDX-License-Identifier: MIT */
/*
 * Expected: all time is the self time of bottom(), under DEPTH frames of dive() under main(). A
 * profile counts dive() once per stack, so its total is 100%, not DEPTH times that. usage: recurse
 * [DEPTH [CYCLES]]
 */
#include "workload.h"

static KEEP void bottom(void)
{
	turns(6000000); /* a thousand returns are negligible compared with it */
}

static KEEP void dive(uint64_t depth)
{
	if (depth > 1)
		dive(depth - 1);
	else
		bottom();
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	uint64_t depth = argument(argc, argv, 1, 50);

	for (uint64_t left = argument(argc, argv, 2, 200); left; left--)
		dive(depth);
	return 0;
}
