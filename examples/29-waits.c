/* SPDX-License-Identifier: MIT */
/*
 * Shows what each thread of a process waits for, the thread or process that can end the wait, and
 * what that one waits for; without an argument, of this process.
 *
 *	29-waits [PID]
 */
#include <attar/attar.h>
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { CHAIN_MAX = 8 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *lock(void *arg)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	return arg;
}

static void show(struct attar_waits *waits, pid_t tid)
{
	struct attar_wait chain[CHAIN_MAX];
	char text[ATTAR_WAIT_TEXT_BYTES];
	int n = attar_waits_chain(waits, tid, chain, CHAIN_MAX);

	if (n < 0)
		printf("%d: %s\n", (int)tid, attar_error());
	for (int i = 0; i < n; i++)
		printf("%d%s waits for %s\n", (int)tid, i ? ": which" : "",
			attar_wait_text(&chain[i], text));
}

int main(int argc, char **argv)
{
	struct attar_waits *waits;
	struct dirent *entry;
	char path[64];
	DIR *threads;
	pthread_t thread;

	if (argc < 2) {
		pthread_mutex_lock(&mutex);
		pthread_create(&thread, NULL, lock, NULL);
		usleep(20000);
	}
	snprintf(path, sizeof(path), "/proc/%d/task", argc > 1 ? atoi(argv[1]) : (int)getpid());
	threads = opendir(path);
	if (!threads || attar_waits_new(0, &waits) < 0) {
		perror(path);
		return 1;
	}
	while ((entry = readdir(threads)))
		if (atoi(entry->d_name) > 0)
			show(waits, atoi(entry->d_name));
	closedir(threads);
	attar_waits_free(waits);
	if (argc < 2) {
		pthread_mutex_unlock(&mutex);
		pthread_join(thread, NULL);
	}
	return 0;
}
