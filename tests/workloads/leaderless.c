/* SPDX-License-Identifier: MIT */
/*
 * A process whose main thread exits at once (pthread_exit(3)), while another runs. Truth: all time
 * is busy()'s, called by worker(). It prints its process ID when the main thread has exited, and
 * ends with its standard input.
 */
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include "workload.h"

static KEEP void busy(void)
{
	turns(2000000);
}

static KEEP void *worker(void *main_thread)
{
	struct pollfd end = {.fd = STDIN_FILENO, .events = POLLIN};

	pthread_join(*(pthread_t *)main_thread, NULL);
	printf("%d\n", getpid());
	fflush(stdout);
	while (poll(&end, 1, 0) == 0)
		busy();
	_exit(0);
}

int main(void)
{
	static pthread_t self;
	pthread_t thread;

	self = pthread_self();
	if (pthread_create(&thread, NULL, worker, &self))
		return 1;
	pthread_exit(NULL);
}
