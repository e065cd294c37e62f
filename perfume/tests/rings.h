/* SPDX-License-Identifier: CC0-1.0 */
/*
 * What tests of rings share: programs that write to them, collectors that read them, and the
 * account of what was received. A test's main() goes where nobody else is, asks for rings, and runs
 * its cases:
 *
 *	live_alone();
 *	setenv("PERFUME_RING", "1", 1);
 *	return cmocka_run_group_tests(tests, NULL, NULL);
 */
#ifndef PERFUME_TESTS_RINGS_H
#define PERFUME_TESTS_RINGS_H

#include "collector.h"
#include "../perfume.h"
#include "../src/ring.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

/* Begins a test case with an empty account. */
#define CASE(name) cmocka_unit_test_setup(name, forget)

struct program {
	pid_t pid;
	FILE *out;
	int in;
};

/* What was received, of the events whose fields are (u64 i, u64 not_i). */
extern struct received {
	uint64_t n, ticks, wrong_payload, out_of_order, last_time;
	uint64_t last_i, first_i;
	struct {
		pid_t tid;
		uint64_t n, next;
	} threads[2048];
	unsigned n_threads;
	unsigned n_wrong_sequence;
	char names[4][64], texts[4][64];
	pid_t pids[4];
} got;

/* Starts ring_writer in that mode. variable: an environment setting for it, or NULL. */
struct program start(const char *mode, unsigned long n, const char *variable);

/* The number behind that word in the next line. */
unsigned long hear(struct program *program, const char *word);

/* Waits for it; its status as waitpid() gives it. */
int end_of(struct program *program);

/* pid: of the only program to read, 0 for all, -1 for those only that start later. */
struct perfume_collector *collector_for(const char *patterns, pid_t pid);

/* Polls once and takes what there is into the account. */
void read_all(struct perfume_collector *collector, int all);

/* Reads until the account says so, for half a minute at most. */
#define READ_UNTIL(collector, condition)                                                           \
	do {                                                                                       \
		int tries_ = 30000;                                                                \
		while (read_all(collector, 0), !(condition) && --tries_)                           \
			usleep(1000);                                                              \
		if (!tries_)                                                                       \
			fail_msg("still not: %s", #condition);                                     \
	} while (0)

struct perfume_collector_stats stats_of(struct perfume_collector *collector);

/* Written = read + lost, to the event. */
void expect_balance(struct perfume_collector *collector);

int forget(void **state);

/* The area of a program, as a collector maps it. */
struct area *area_of(pid_t pid);

/*
 * Collectors see every program of the system, so a second run of these tests would disturb this
 * one. As root we go where nobody else is: an own table of processes, own sockets, an own /run.
 */
void live_alone(void);

#endif
