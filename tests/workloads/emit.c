/* SPDX-License-Identifier: MIT */
/*
 * emit MODE [N]: a program with its own events (libperfume). Prints "ready PID" when they are
 * registered and "written N" at the end.
 *
 *	once N		waits for a listener of e2e_order, then emits N of them
 *	late N		the same half a second later
 *	blind N		the same without waiting
 *	flood N		two threads that emit N e2e_tick each as fast as they can
 *	crowd N		300 threads, all alive at the same time, that emit N e2e_tick each
 *	forever		e2e_tick every millisecond
 *	pair		the same in two threads
 *	calls N		waits for listeners, then emits N e2e_begin, with an e2e_end 2 ms after each
 *	described	an event that describes itself: id = 77, symbol = "ATTAR"
 *	named NAME	one event NAME, registered at run time, when it has a listener
 *
 * Order i has the fields id = i, price = i + 0.25, symbol = "S<i>", change = -i, lots = {i, i + 1},
 * last = i % 2.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "perfume.h"

PERFUME_EVENT(e2e_order, (u64, id), (f64, price), (str, symbol), (s32, change), (u32s, lots),
	(bool, last))
PERFUME_EVENT(e2e_tick, (u64, i))
PERFUME_EVENT(e2e_begin, (u64, i))
PERFUME_EVENT(e2e_end, (u64, i))
PERFUME_HEADER_EVENT(e2e, 4, 2a, described, (u64, id), (str, symbol))

static unsigned long n = 1;

static void print_number(const char *word, unsigned long number)
{
	printf("%s %lu\n", word, number);
	fflush(stdout);
}

static void nap(void)
{
	usleep(1000);
}

static void wait_for(uint32_t (*enabled)(void))
{
	for (int ms = 0; !enabled(); ms++) {
		if (ms > 60000)
			exit(1);
		nap();
	}
}

static void blind(void)
{
	for (unsigned long i = 0; i < n; i++) {
		uint32_t lots[2] = {(uint32_t)i, (uint32_t)i + 1};
		char symbol[24];

		snprintf(symbol, sizeof(symbol), "S%lu", i);
		perfume_e2e_order(i, (double)i + 0.25, symbol, -(int32_t)i, lots, 2, i % 2);
	}
	print_number("written", n);
}

static void once(void)
{
	wait_for(perfume_e2e_order_enabled);
	blind();
}

/* Half a second after the first listener: then all transports listen. */
static void late(void)
{
	wait_for(perfume_e2e_order_enabled);
	usleep(500000);
	blind();
}

static void forever(void)
{
	for (unsigned long i = 0;; i++) {
		perfume_e2e_tick(i);
		nap();
	}
}

static void *again(void *none)
{
	forever();
	return none;
}

static void pair(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, again, NULL);
	forever();
}

static void *ticks(void *none)
{
	for (unsigned long i = 0; i < n; i++)
		perfume_e2e_tick(i);
	return none;
}

static void flood(void)
{
	pthread_t threads[2];

	wait_for(perfume_e2e_tick_enabled);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, ticks, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	print_number("written", 2 * n);
}

static void calls(void)
{
	wait_for(perfume_e2e_begin_enabled);
	wait_for(perfume_e2e_end_enabled);
	for (unsigned long i = 0; i < n; i++) {
		perfume_e2e_begin(i);
		usleep(2000);
		perfume_e2e_end(i);
	}
}

static void described(void)
{
	wait_for(perfume_described_enabled);
	perfume_described(77, "ATTAR");
	print_number("written", 1);
}

static pthread_barrier_t together;

static void *tick_together(void *none)
{
	pthread_barrier_wait(&together);
	ticks(NULL);
	pthread_barrier_wait(&together);
	return none;
}

static void crowd(void)
{
	enum { THREADS = 300 };
	pthread_t threads[THREADS];

	wait_for(perfume_e2e_tick_enabled);
	pthread_barrier_init(&together, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, tick_together, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	print_number("written", THREADS * n);
}

static void named(const char *name)
{
	struct perfume_ctx *ctx = perfume_init(0);
	struct perfume_probe *probe = perfume_register(ctx, name, "u32 answer", NULL);
	uint32_t answer = 42;

	for (int ms = 0; probe && !perfume_probe_enabled(probe) && ms < 60000; ms++)
		nap();
	perfume_write(probe, &answer, sizeof(answer));
	print_number("written", 1);
	perfume_free(ctx);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "once", *word = argc > 2 ? argv[2] : "1";

	n = strtoul(word, NULL, 10);
	print_number("ready", (unsigned long)getpid());
	if (!strcmp(mode, "once"))
		once();
	else if (!strcmp(mode, "late"))
		late();
	else if (!strcmp(mode, "blind"))
		blind();
	else if (!strcmp(mode, "flood"))
		flood();
	else if (!strcmp(mode, "described"))
		described();
	else if (!strcmp(mode, "calls"))
		calls();
	else if (!strcmp(mode, "crowd"))
		crowd();
	else if (!strcmp(mode, "forever"))
		forever();
	else if (!strcmp(mode, "pair"))
		pair();
	else
		named(word);
	return 0;
}
