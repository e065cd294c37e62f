/* SPDX-License-Identifier: MIT */
/*
 * Expected: THREADS threads map and unmap a page COUNT times each, all at the same time: they wait
 * for the lock of the address space, a kernel lock that is held for writing.
 * usage: maplocks [THREADS [COUNT]]
 */
#include <pthread.h>
#include <sys/mman.h>

#include "workload.h"

static pthread_barrier_t begin;

static void *live(void *arg)
{
	pthread_barrier_wait(&begin);
	for (uint64_t left = *(uint64_t *)arg; left; left--) {
		char *page = mmap(
			NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (page == MAP_FAILED)
			abort();
		*page = 1;
		munmap(page, 4096);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t threads = argument(argc, argv, 1, 8), count = argument(argc, argv, 2, 5000);
	pthread_t thread[64];

	if (!threads || threads > 64)
		return 2;
	pthread_barrier_init(&begin, NULL, (unsigned)threads);
	for (uint64_t i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, live, &count))
			return 1;
	for (uint64_t i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
