/* SPDX-License-Identifier: MIT */
/* For tests of libkperf: work with known counts. */
#ifndef KPERF_TEST_H
#define KPERF_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "pcerrc.h"
#include "pmu.h"
#include "symbol.h"

/* Exactly n page faults; at most this many more with a sanitizer, which allocates memory too. */
#ifdef __SANITIZE_ADDRESS__
#define TEST_FAULTS_MORE 500
#else
#define TEST_FAULTS_MORE 0
#endif
#define test_faults_are(count, n) assert_in_range(count, n, (n) + TEST_FAULTS_MORE)
void test_fault(size_t n);

/* Uses the CPU for about this time in test_burn() itself. */
void test_burn(int ms);

/* Exactly n calls of getppid(2). */
void test_getppid(size_t n);

/* The rows of a task that was enabled while act(n) ran. Returns their number; free *ret_data. */
int test_read_after(int pd, void (*act)(size_t n), size_t n, struct PmuData **ret_data);

/* Attributes of one event for the calling process, and the arrays that they refer to. */
struct test_attr {
	struct PmuAttr attr;
	char *events[8];
	int pids[1];
};
void test_attr(struct test_attr *test, const char *event);

/* Attributes for 1,000 samples a second of the calling process's CPU time, with user stacks. */
void test_sampling_attr(struct test_attr *test, enum SymbolMode mode);

/* Opens a task; fails without one. */
int test_open(enum PmuTaskType type, struct test_attr *test);

/* Skips the test unless it runs as root. */
void test_need_root(void);

/* Whether the thread's last call has this error, with its message; and a test of this. */
bool test_has_error(int code);
void test_error_is(int code);

/* The same, if the call returns the code. */
#define test_returns(call, code)                                                                   \
	do {                                                                                       \
		assert_int_equal(call, code);                                                      \
		test_error_is(code);                                                               \
	} while (0)

/* A child that waits for a byte, faults n times, calls getppid(2) as often, and waits again. */
struct test_child {
	pid_t pid;
	int go[2], done[2];
};

void test_child_start(struct test_child *child, size_t n);

/* Returns when it has worked. */
void test_child_work(struct test_child *child);
void test_child_end(struct test_child *child);

/*
 * A child that waits for test_child_exec(), faults n times, calls getppid(2) as often, and executes
 * a script of sh.
 */
void test_child_start_exec(struct test_child *child, size_t n, const char *script);
void test_child_exec(struct test_child *child);

#endif
