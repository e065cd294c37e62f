/* SPDX-License-Identifier: CC0-1.0 */
/*
 * Common code of ring tests: programs that write to rings, collectors that read them, and counts of
 * what was received. A test's main() isolates itself, requests rings, and runs its cases:
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

/* Defines a test case that starts with empty counts. */
#define CASE(name) cmocka_unit_test_setup(name, forget)

struct program {
	pid_t pid;
	FILE *out;
	int in;
};

/* What was received of the events whose fields are (u64 i, u64 not_i). */
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

/* Returns the number after that word in the next line. */
unsigned long await_word(struct program *program, const char *word);

/* Waits for it to end, and returns its status as waitpid() does. */
int end_of(struct program *program);

/* pid: the only program to read; 0 for all; -1 for those that start later only. */
struct perfume_collector *collector_for(const char *patterns, pid_t pid);

/* Polls once and counts what has arrived. */
void read_all(struct perfume_collector *collector, int all);

/* Reads until the condition holds, for half a minute at most. */
#define READ_UNTIL(collector, condition)                                                           \
	do {                                                                                       \
		int tries_ = 30000;                                                                \
		while (read_all(collector, 0), !(condition) && --tries_)                           \
			usleep(1000);                                                              \
		if (!tries_)                                                                       \
			fail_msg("still not: %s", #condition);                                     \
	} while (0)

struct perfume_collector_stats stats_of(struct perfume_collector *collector);

/* Checks that written = read + lost for each event. */
void expect_balance(struct perfume_collector *collector);

int forget(void **state);

/* Maps the area of a program as a collector does. */
struct area *area_of(pid_t pid);

#define FORGED_RING 65536

/* Creates an area with the event "forged u32 a" and four empty rings. */
struct area *forge(int *ret_fd, int seals);
struct area *forge_large(int *ret_fd, int seals, uint32_t ring_size);

/* Sends a descriptor to the collector, as programs send their area, and closes it. */
void send_fd(const struct perfume_collector *collector, int fd);

/* Publishes a record of 8 bytes with this time in a forged ring. */
void put_forged(struct area *area, uint32_t ring, uint64_t time);

/*
 * Collectors see every program of the system, so a parallel run of these tests would disturb this
 * one. As root, isolate the process: its own PID namespace, sockets and /run.
 */
void live_alone(void);

#endif
