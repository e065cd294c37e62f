/* SPDX-License-Identifier: MIT */
/*
 * Expected: all time is the self time of one function, whose name is "name_" and 10,000 times the
 * letter x.
 */
#include "workload.h"

#define X10    "xxxxxxxxxx"
#define X100   X10 X10 X10 X10 X10 X10 X10 X10 X10 X10
#define X1000  X100 X100 X100 X100 X100 X100 X100 X100 X100 X100
#define X10000 X1000 X1000 X1000 X1000 X1000 X1000 X1000 X1000 X1000 X1000

static KEEP void very_long(void) __asm__("name_" X10000);

static KEEP void very_long(void)
{
	turns(300000);
}

int main(int argc, char **argv)
{
	for (uint64_t left = argument(argc, argv, 1, 1600); left; left--)
		very_long();
	return 0;
}
