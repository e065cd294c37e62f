/* SPDX-License-Identifier: CC0-1.0 */
/*
 * Which allocations are sampled. The distance from one sample to the next is a number of bytes with
 * an exponential distribution, so that an allocation of n bytes is sampled with the probability
 * p = 1 - exp(-n / interval), whatever was allocated before. A sample stands for 1 / p allocations
 * of its size, which makes sums of sizes and counts unbiased.
 */
#include "heap.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

uint64_t heap_interval = HEAP_INTERVAL;
uint8_t heap_maps;
__thread struct heap_thread heap_thread;

static uint32_t heap_epoch = 1; /* a child of fork() draws other numbers than its parent */

/* ---- mathematics, without libm ---- */

/* The natural logarithm of a number that is greater than 0. */
static double ln(double x)
{
	double z, square, sum = 0;
	uint64_t bits;
	int exponent;

	memcpy(&bits, &x, sizeof(bits));
	exponent = (int)(bits >> 52) - 1023;
	bits = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1023) << 52;
	memcpy(&x, &bits, sizeof(x));
	if (x > 1.4142135623730951) {
		x /= 2;
		exponent++;
	}
	/* ln(x) = 2 artanh((x - 1) / (x + 1)) */
	z = (x - 1) / (x + 1);
	square = z * z;
	for (int i = 17; i > 0; i -= 2)
		sum = sum * square + 1.0 / i;
	return 2 * z * sum + exponent * 0.69314718055994530942;
}

/* 1 - exp(-x), for x of at least 0. */
static double probability(double x)
{
	int halved = 0;
	double e;

	if (x > 40)
		return 1;
	for (; x > 1.0 / 64; x /= 2)
		halved++;
	/* exp(-x) - 1, and exp(-2x) - 1 = e (e + 2) */
	e = -x * (1 - x / 2 * (1 - x / 3 * (1 - x / 4 * (1 - x / 5))));
	for (; halved; halved--)
		e *= e + 2;
	return -e;
}

/* ---- random numbers ---- */

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static void seed(struct heap_thread *t)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	t->random = mix((uint64_t)now.tv_nsec ^ (uint64_t)now.tv_sec << 30 ^ (uintptr_t)t ^
			(uint64_t)syscall(SYS_gettid) << 40);
	t->epoch = heap_epoch;
}

/* The number of the byte that is sampled next, from 1. */
static int64_t draw(struct heap_thread *t)
{
	double unit, bytes;

	t->random += UINT64_C(0x9e3779b97f4a7c15);
	unit = (double)((mix(t->random) >> 11) + 1) * 0x1p-53;
	bytes = -ln(unit) * (double)heap_interval;
	return bytes < 0x1p62 ? (int64_t)bytes + 1 : INT64_MAX;
}

/* Whether the allocation is sampled, whose bytes were already subtracted. */
static int is_sampled(struct heap_thread *t, size_t size)
{
	if (heap_interval == 1)
		return 1;
	if (unlikely(t->epoch != heap_epoch)) {
		seed(t);
		t->left = draw(t);
		if (size <= INT64_MAX && (t->left -= (int64_t)size) > 0)
			return 0;
	}
	t->left = draw(t);
	return 1;
}

/* ---- samples ---- */

__attribute__((noinline, cold)) void heap_sample_take(
	const void *address, size_t size, enum heap_call call)
{
	struct heap_thread *t = &heap_thread;
	uint64_t frames[HEAP_FRAMES_MAX];
	double weight = 1;
	int saved = errno;

	if (t->busy) {
		t->left = t->epoch ? draw(t) : 0; /* the own allocation does not count */
		return;
	}
	if (!is_sampled(t, size ? size : 1))
		return;
	t->busy = 1;
	if (heap_interval > 1) {
		weight = 1 / probability((double)(size ? size : 1) / (double)heap_interval);
		heap_set_add(address);
	}
	heap_events_alloc(address, size, weight, call, frames, heap_walk(frames, HEAP_FRAMES_MAX));
	t->busy = 0;
	errno = saved;
}

__attribute__((noinline, cold)) int heap_sample_give(const void *address)
{
	struct heap_thread *t = &heap_thread;
	int saved = errno;

	if (t->busy || !heap_set_remove(address))
		return 0;
	t->busy = 1;
	heap_events_free(address, HEAP_FREED);
	t->busy = 0;
	errno = saved;
	return 1;
}

void heap_sample_unmap(const void *address, size_t size)
{
	struct heap_thread *t = &heap_thread;
	int saved = errno;

	t->busy = 1;
	heap_events_free(address, size);
	t->busy = 0;
	errno = saved;
}

__attribute__((noinline, cold)) void heap_sample_keep(const void *address)
{
	int saved = errno;

	heap_thread.busy = 1;
	if (heap_interval > 1)
		heap_set_add(address);
	heap_events_free(address, HEAP_KEPT);
	heap_thread.busy = 0;
	errno = saved;
}

static void forked(void)
{
	heap_epoch++;
}

void heap_sample_begin(void)
{
	const char *text = secure_getenv("PERFUME_HEAP_SAMPLE");
	unsigned long long bytes = text ? strtoull(text, NULL, 10) : 0;

	if (bytes)
		heap_interval = bytes;
	heap_set_all = heap_interval == 1;
	text = secure_getenv("PERFUME_HEAP_MMAP");
	heap_maps = text && *text == '1';
	pthread_atfork(NULL, NULL, forked);
}
