/* SPDX-License-Identifier: MIT */
/*
 * Expected: main() calls outer() COUNT (100) times; each outer() calls middle() 3 times and inner()
 * once; each middle() calls inner() twice. usage: nested [COUNT]
 */
#include "workload.h"

static KEEP void inner(void)
{
	turns(10);
}

static KEEP void middle(void)
{
	inner();
	inner();
	turns(10);
}

static KEEP void outer(void)
{
	for (int i = 0; i < 3; i++)
		middle();
	inner();
	turns(10);
}

int main(int argc, char **argv)
{
	uint64_t count = argument(argc, argv, 1, 100);

	for (uint64_t i = 0; i < count; i++)
		outer();
	return 0;
}
