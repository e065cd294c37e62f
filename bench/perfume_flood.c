/* SPDX-License-Identifier: MIT */
/*
 * perfume_flood EVENTS: two programs each write this many events to their rings at full speed,
 * while one collector reads both. Prints the counts of the programs and of the collector, and the
 * cost of reading.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "../perfume/collector/collector.h"
#include "../perfume/perfume.h"

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/*
 * Each writer registers with the collector in its environment, so that its events are enabled from
 * the first one.
 */
static pid_t start_writer(const char *variable, unsigned long n)
{
	struct perfume_probe *probe;
	struct perfume_ctx *ctx;
	unsigned long i, written = 0;
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	putenv((char *)(uintptr_t)variable);
	ctx = perfume_init(0);
	probe = perfume_register(ctx, "flood_event", "u64 a", "u64 b", NULL);
	for (i = 0; i < n; i++) {
		uint64_t payload[] = {i, ~i};

		written +=
			perfume_write_payload(probe, payload, sizeof(payload)) == sizeof(payload);
	}
	_exit(written == n ? 0 : 1);
}

/* False if a payload differs from what was written. */
static int is_right(const struct perfume_received *event)
{
	const uint64_t *payload = event->payload;

	return event->size == 16 && payload[0] == ~payload[1];
}

int main(int argc, char **argv)
{
	unsigned long n = argc == 2 ? strtoul(argv[1], NULL, 10) : 0, wrong = 0;
	struct perfume_collector_options options = {
		.size = sizeof(options), .patterns = "flood_event", .only_started = 1};
	struct perfume_collector_stats stats;
	struct perfume_collector *collector;
	struct perfume_received event;
	int i, status, left = 2, bad = 0;

	if (!n || perfume_collector_new(&options, &collector) < 0)
		return 2;
	for (i = 0; i < 2; i++)
		start_writer(perfume_collector_variable(collector), n);
	do {
		while (left && waitpid(-1, &status, WNOHANG) > 0) {
			bad |= status;
			left--;
		}
		perfume_collector_poll(collector, !left);
		while (perfume_collector_next(collector, &event) > 0)
			wrong += !is_right(&event);
		perfume_collector_stats(collector, &stats);
	} while (left || stats.writers);
	printf("{\"wrote\": %lu, \"written\": %lu, \"read\": %lu, \"lost\": %lu, \"wrong\": %lu, "
	       "\"cpu\": %.6f}\n",
		bad ? 0 : 2 * n, stats.written, stats.read, stats.lost, wrong + stats.forged,
		cpu_seconds());
	perfume_collector_free(collector);
	return 0;
}
