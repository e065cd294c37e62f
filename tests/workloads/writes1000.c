/* SPDX-License-Identifier: MIT */
/*
 * Expected: store() writes 1 to COUNT (1000) to `counter`, of 8 bytes, once each; then add() adds 5
 * to it ten times. `small`, of 2 bytes, gets 7, and 6 and 5 by decrements. Waits for a line on its
 * standard input first. usage: writes1000 [COUNT]
 */
#include "workload.h"

volatile uint64_t counter __attribute__((aligned(8)));
volatile uint16_t small __attribute__((aligned(8)));

static KEEP void store(uint64_t value)
{
	counter = value;
}

static KEEP void add(void)
{
	counter += 5;
}

int main(int argc, char **argv)
{
	uint64_t count = argument(argc, argv, 1, 1000);

	if (getchar() == EOF)
		return 1;
	for (uint64_t i = 1; i <= count; i++)
		store(i);
	for (int i = 0; i < 10; i++)
		add();
	small = 7;
	small--;
	small--;
	return 0;
}
