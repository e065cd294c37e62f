/* SPDX-License-Identifier: MIT */
/*
 * Expected: COUNT threads run one after another, WIDTH at a time, each named "storm" and 2 ms busy
 * in brief(). usage: threadstorm [COUNT [WIDTH]]
 */
#include <pthread.h>

#include "workload.h"

static KEEP void brief(void)
{
	turns(1500000);
}

static void *live(void *unused)
{
	pthread_setname_np(pthread_self(), "storm");
	brief();
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t count = argument(argc, argv, 1, 1000), width = argument(argc, argv, 2, 8);
	pthread_t thread[64];

	if (!width || width > 64)
		return 2;
	for (uint64_t born = 0; born < count; born++) {
		if (born >= width)
			pthread_join(thread[born % width], NULL);
		if (pthread_create(&thread[born % width], NULL, live, NULL))
			return 1;
	}
	for (uint64_t i = 0; i < width && i < count; i++)
		pthread_join(thread[(count - 1 - i) % width], NULL);
	return 0;
}
