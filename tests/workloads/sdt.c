/* SPDX-License-Identifier: MIT */
/*
 * USDT probes of <sys/sdt.h> with arguments of each kind; `sdt [N] [FILE]`, N is 5 by default.
 *
 * - shop:order fires 2 N times, in two places of the code: for i = 0 .. N - 1 with arg1 = i and
 *   then with arg1 = -1 - i (int). arg2 = 1000000000000 + i (unsigned long long), arg3 = -7 (int, a
 *   constant), arg4 = 200 + i (unsigned char), arg5 = -300 - i (short).
 * - shop:total fires once if its semaphore is not 0, with arg1 = 0.5 (double) and arg2 = 77 (int,
 *   the variable `shipped`).
 * - shop:done fires once and has no arguments.
 *
 * Prints "enabled" if the semaphore of shop:total was not 0, else "disabled". With FILE, it waits
 * until FILE exists.
 */
#define _SDT_HAS_SEMAPHORES 1
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sdt.h>
#include <unistd.h>

#define SEMAPHORE __attribute__((visibility("hidden"), section(".probes")))

unsigned short shop_order_semaphore SEMAPHORE;
unsigned short shop_total_semaphore SEMAPHORE;
unsigned short shop_done_semaphore SEMAPHORE;

int shipped __attribute__((visibility("hidden"))) = 77;

/* Compiled into both functions below, so that the probe has two locations. */
static inline __attribute__((always_inline)) void order(int id, int i)
{
	unsigned long long price = 1000000000000ULL + (unsigned)i;
	unsigned char lot = (unsigned char)(200 + i);
	short change = (short)(-300 - i);

	DTRACE_PROBE5(shop, order, id, price, -7, lot, change);
}

static __attribute__((noinline)) void buy(int i)
{
	order(i, i);
}

static __attribute__((noinline)) void sell(int i)
{
	order(-1 - i, i);
}

__attribute__((visibility("default"))) int sdt_run(int argc, char **argv);

int sdt_run(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 5;
	volatile double half = 0.5;
	bool enabled;

	while (argc > 2 && access(argv[2], F_OK) < 0)
		usleep(1000);
	for (int i = 0; i < n; i++) {
		buy(i);
		sell(i);
	}
	enabled = __atomic_load_n(&shop_total_semaphore, __ATOMIC_RELAXED) != 0;
	if (enabled)
		DTRACE_PROBE2(shop, total, half, shipped);
	DTRACE_PROBE(shop, done);
	puts(enabled ? "enabled" : "disabled");
	return 0;
}
