/* SPDX-License-Identifier: MIT */
/*
 * allocates MODE: allocates as MODE says, with a function for each kind of object. Each mode also
 * keeps one object of 12,345 bytes, which is allocated by early(), before main().
 *
 *	leaks     500 objects of 64 bytes by make(), of which 37 are kept
 *	known     keeps 20,000 of 100 bytes by small(), 2,000 of 3,000 by medium(), 40 of 200,000
 *	          by large()
 *	chain     realloc() to 1,000, 2,000 ... 100,000 bytes by grow(), of which the last is
 *	          kept: one more realloc() fails
 *	threads   8 threads with 1,000 objects of 48 bytes each by in_thread(); main() frees
 *	          all but 100 of each
 *	fork      keeps 10 of 100 bytes by parent(); a child frees 5 of them, and keeps 3 of 200
 *	          by child()
 *	exec      keeps 7 of 500 bytes by before_exec(), then executes itself as `leaks`
 *	maps      3 mappings of 64 KiB by map(); the first is unmapped, and half of the second
 *	peak      10 of 1,000,000 bytes by first(), freed; then keeps 4 of 1,000,000 by second()
 *	soon      frees 1,000 of 32 bytes by quick() at once, and 1,000 by slow() after 50 ms
 *	grows     keeps 10 of 1,000 bytes by step() each time that a line is read; prints a line
 *	signal    allocates 5 of 333 bytes by handler(), a signal handler, and keeps them
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "workload.h"

enum { THREADS = 8, OBJECTS = 1000 };

static void *volatile sink;
static void *objects[32768];

#define MAKES(name)                                                                                \
	static KEEP void *name(size_t size)                                                        \
	{                                                                                          \
		void *p = malloc(size);                                                            \
		sink = p;                                                                          \
		return p;                                                                          \
	}

MAKES(early)
MAKES(make)
MAKES(small)
MAKES(medium)
MAKES(large)
MAKES(in_thread)
MAKES(parent)
MAKES(child)
MAKES(before_exec)
MAKES(first)
MAKES(second)
MAKES(quick)
MAKES(slow)
MAKES(step)

static __attribute__((constructor)) void begin(void)
{
	early(12345);
}

static KEEP void many(void *(*make_one)(size_t), size_t n, size_t size)
{
	for (size_t i = 0; i < n; i++)
		objects[i] = make_one(size);
}

static KEEP void some_free(size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		free(objects[i]);
}

static KEEP void leaks(void)
{
	many(make, 500, 64);
	some_free(37, 500);
}

static KEEP void *grow(void *p, size_t size)
{
	void *q = realloc(p, size);

	__asm__ volatile("" : "+r"(q));
	return q;
}

static void chain(void)
{
	volatile size_t too_much = SIZE_MAX / 4;
	void *p = NULL;

	for (size_t i = 1; i <= 100; i++) {
		p = grow(p, i * 1000);
		if (i == 100 && grow(p, too_much))
			abort();
	}
	sink = p;
}

static void *run_thread(void *ctx)
{
	void **mine = ctx;

	for (int i = 0; i < OBJECTS; i++)
		mine[i] = in_thread(48);
	return NULL;
}

static void threads(void)
{
	pthread_t all[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&all[i], NULL, run_thread, objects + i * OBJECTS);
	for (int i = 0; i < THREADS; i++)
		pthread_join(all[i], NULL);
	for (size_t i = 0; i < THREADS; i++)
		some_free(i * OBJECTS + 100, (i + 1) * OBJECTS);
}

static void fork_child(void)
{
	many(parent, 10, 100);
	if (fork() == 0) {
		some_free(0, 5);
		many(child, 3, 200);
		exit(0);
	}
	wait(NULL);
}

static KEEP void *map(size_t size)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void maps(void)
{
	char *all[] = {map(65536), map(65536), map(65536)};

	munmap(all[0], 65536);
	munmap(all[1], 32768);
}

static void soon(void)
{
	const struct timespec pause = {.tv_nsec = 50000000};

	for (int i = 0; i < 1000; i++)
		free(quick(32));
	many(slow, 1000, 32);
	nanosleep(&pause, NULL);
	some_free(0, 1000);
}

static void grows(void)
{
	for (char line[80]; fgets(line, sizeof(line), stdin);) {
		many(step, 10, 1000);
		puts("done");
		fflush(stdout);
	}
}

static KEEP void handler(int number)
{
	(void)number;
	for (int i = 0; i < 5; i++)
		sink = malloc(333);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "leaks";

	if (!strcmp(mode, "leaks"))
		leaks();
	if (!strcmp(mode, "known")) {
		many(small, 20000, 100);
		many(medium, 2000, 3000);
		many(large, 40, 200000);
	}
	if (!strcmp(mode, "chain"))
		chain();
	if (!strcmp(mode, "threads"))
		threads();
	if (!strcmp(mode, "fork"))
		fork_child();
	if (!strcmp(mode, "exec")) {
		many(before_exec, 7, 500);
		execl("/proc/self/exe", argv[0], "leaks", NULL);
	}
	if (!strcmp(mode, "maps"))
		maps();
	if (!strcmp(mode, "peak")) {
		many(first, 10, 1000000);
		some_free(0, 10);
		many(second, 4, 1000000);
	}
	if (!strcmp(mode, "soon"))
		soon();
	if (!strcmp(mode, "grows"))
		grows();
	if (!strcmp(mode, "signal")) {
		signal(SIGUSR1, handler);
		raise(SIGUSR1);
	}
	return 0;
}
