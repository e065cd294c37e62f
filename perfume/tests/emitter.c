/* SPDX-License-Identifier: CC0-1.0 */
/*
 * emitter N: prints "ready", waits for a listener, emits order_placed N times, and prints how often
 * the arguments were evaluated. Event i has the fields i, i + 0.5, "S<i>", -i, {i, i + 1} and i %
 * 256.
 */
#include "perfume.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

PERFUME_EVENT(order_placed, (u64, id), (f64, price), (str, symbol), (s32, change), (u32s, lots),
	(u8, last))

static unsigned long evaluated;

static uint64_t next_id(void)
{
	return evaluated++;
}

int main(int argc, char **argv)
{
	unsigned long i, n = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	int waited_ms;

	puts("ready");
	fflush(stdout);
	for (waited_ms = 0; !perfume_order_placed_enabled(); waited_ms++) {
		if (waited_ms > 60000)
			return 1;
		usleep(1000);
	}
	for (i = 0; i < n; i++) {
		uint32_t lots[2] = {(uint32_t)i, (uint32_t)i + 1};
		char symbol[24];

		snprintf(symbol, sizeof(symbol), "S%lu", i);
		PERFUME(order_placed, next_id(), (double)i + 0.5, symbol, -(int32_t)i, lots, 2,
			(uint8_t)i);
	}
	printf("evaluated %lu\n", evaluated);
	return 0;
}
