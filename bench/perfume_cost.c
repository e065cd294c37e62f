/* SPDX-License-Identifier: MIT */
/*
 * perfume_cost off|ring|kernel EVENTS: the cost of a libperfume event of 20 bytes for its program,
 * compared with a minimal implementation. CPU time of the thread in ns; each value is the best of
 * several alternating measurements.
 *
 * off: the event is disabled; compared with a loop with one relaxed load and a branch.
 *
 * ring: a collector has enabled the event through shared memory and never reads; compared with a
 * bare ring of the same size for one thread, with the same timestamp.
 *
 * kernel: ftrace has enabled the event in user_events; compared with write() of the same bytes, and
 * with writev() with one allocated iovec per field. Requires root and a kernel with user_events.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "../perfume/collector/collector.h"
#include "../perfume/perfume.h"

PERFUME_EVENT(bench_event, (u32, a), (u64, b), (u64, c))

enum { RING = 1 << 20 };

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

typedef void loop_fn(unsigned long n);

static double cost_of(loop_fn *loop, unsigned long n)
{
	double start = now_ns();

	loop(n);
	return (now_ns() - start) / (double)n;
}

/* Runs the loops alternately; the result is the best time of each. */
static void compare(
	int turns, unsigned long n, loop_fn *const loops[], double *ret_best, size_t n_loops)
{
	int turn;
	size_t i;

	for (i = 0; i < n_loops; i++)
		ret_best[i] = 1e9;
	for (turn = 0; turn < turns; turn++)
		for (i = 0; i < n_loops; i++) {
			double cost = cost_of(loops[i], n);

			ret_best[i] = cost < ret_best[i] ? cost : ret_best[i];
		}
}

__attribute__((noinline)) static void ours(unsigned long n)
{
	unsigned long i;

	for (i = 0; i < n; i++)
		perfume_bench_event((uint32_t)i, i, i);
}

/* ---- off ---- */

static uint32_t bare_word;

__attribute__((noinline, cold)) static void bare_emit(uint32_t a, uint64_t b, uint64_t c)
{
	fprintf(stderr, "%u %lu %lu\n", a, b, c);
}

__attribute__((noinline)) static void bare_check(unsigned long n)
{
	unsigned long i;

	for (i = 0; i < n; i++)
		if (__builtin_expect(__atomic_load_n(&bare_word, __ATOMIC_RELAXED), 0))
			bare_emit((uint32_t)i, i, i);
}

static int run_off(unsigned long n)
{
	loop_fn *const loops[] = {ours, bare_check};
	double best[2];

	compare(7, n, loops, best, 2);
	printf("{\"ours\": %.4f, \"bare\": %.4f}\n", best[0], best[1]);
	return 0;
}

/* ---- ring ---- */

/*
 * A minimal ring for one thread: writes a record with its size and time, then publishes the head.
 */
static unsigned char *bare_ring;
static uint64_t bare_head;

static uint64_t stamp(void)
{
#ifdef __x86_64__
	return __builtin_ia32_rdtsc();
#else
	uint64_t now;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(now));
	return now;
#endif
}

__attribute__((noinline)) static void bare_put(uint32_t a, uint64_t b, uint64_t c)
{
	unsigned char *at = bare_ring + (bare_head & (RING - 1));
	const uint32_t size = 40;
	uint64_t time = stamp();

	memcpy(at, &size, 4);
	memcpy(at + 8, &time, 8);
	memcpy(at + 16, &a, 4);
	memcpy(at + 20, &b, 8);
	memcpy(at + 28, &c, 8);
	__atomic_store_n(&bare_head, bare_head + size, __ATOMIC_RELEASE);
}

__attribute__((noinline)) static void bare_puts(unsigned long n)
{
	unsigned long i;

	for (i = 0; i < n; i++)
		bare_put((uint32_t)i, i, i);
}

__attribute__((noinline)) static void stamps(unsigned long n)
{
	unsigned long i;

	for (i = 0; i < n; i++)
		__asm__ volatile("" : : "r"(stamp()));
}

/* A collector that renews its lease four times a second and reads nothing. */
static pid_t start_collector(void)
{
	pid_t parent = getpid(), pid = fork();
	struct perfume_collector_options options = {
		.size = sizeof(options), .patterns = "bench_event"};
	struct perfume_collector *collector;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	options.pids = &parent;
	options.n_pids = 1;
	if (perfume_collector_new(&options, &collector) < 0 ||
		perfume_collector_scan(collector) < 1)
		_exit(1);
	for (;; usleep(250000))
		perfume_collector_poll(collector, 0);
}

static int run_ring(unsigned long n)
{
	loop_fn *const loops[] = {ours, bare_puts, stamps};
	double best[3];
	pid_t pid;

	/* Exclude page faults: touch the memory first. */
	bare_ring = malloc(RING + 4096);
	memset(bare_ring, 1, RING + 4096);
	pid = start_collector();
	while (!perfume_bench_event_enabled())
		usleep(1000);
	ours(RING / 16);
	compare(7, n, loops, best, 3);
	kill(pid, SIGKILL);
	printf("{\"ours\": %.3f, \"bare\": %.3f, \"stamp\": %.3f}\n", best[0], best[1], best[2]);
	return 0;
}

/* ---- kernel ---- */

#define TRACEFS "/sys/kernel/tracing/"

struct user_reg { /* linux/user_events.h */
	uint32_t size;
	uint8_t enable_bit, enable_size;
	uint16_t flags;
	uint64_t enable_addr, name_args;
	uint32_t write_index;
} __attribute__((packed));

static struct user_reg reg = {.size = sizeof(reg), .enable_size = 4};
static int kernel_fd;

__attribute__((noinline)) static void bare_writes(unsigned long n)
{
	struct {
		uint32_t index, a;
		uint64_t b, c;
	} __attribute__((packed)) packet = {.index = reg.write_index};
	unsigned long i;

	for (i = 0; i < n; i++) {
		packet.a = (uint32_t)i;
		packet.b = packet.c = i;
		if (write(kernel_fd, &packet, sizeof(packet)) != sizeof(packet))
			exit(1);
	}
}

__attribute__((noinline)) static void iovecs(unsigned long n)
{
	unsigned long i;
	uint32_t a;

	for (i = 0; i < n; i++) {
		struct iovec *pieces = malloc(4 * sizeof(*pieces));

		a = (uint32_t)i;
		pieces[0] = (struct iovec){&reg.write_index, 4};
		pieces[1] = (struct iovec){&a, 4};
		pieces[2] = (struct iovec){&i, 8};
		pieces[3] = (struct iovec){&i, 8};
		if (writev(kernel_fd, pieces, 4) != 24)
			exit(1);
		free(pieces);
	}
}

static int listen_in_ftrace(void)
{
	int fd = open(TRACEFS "events/user_events/bench_event/enable", O_WRONLY);
	int ok = fd >= 0 && write(fd, "1", 1) == 1;

	close(fd);
	return ok && perfume_bench_event_enabled();
}

static int run_kernel(unsigned long n)
{
	loop_fn *const loops[] = {ours, bare_writes, iovecs};
	static uint32_t word;
	double best[3];

	kernel_fd = open(TRACEFS "user_events_data", O_WRONLY);
	reg.enable_addr = (uintptr_t)&word;
	reg.name_args = (uintptr_t) "bench_event u32 a; u64 b; u64 c";
	if (kernel_fd < 0 || ioctl(kernel_fd, _IOWR('*', 0, struct user_reg *), &reg) ||
		!listen_in_ftrace()) {
		fprintf(stderr, "no user_events: %s\n", perfume_check_str(perfume_check()));
		return 77;
	}
	compare(400, n, loops, best, 3);
	printf("{\"ours\": %.1f, \"bare\": %.1f, \"iovecs\": %.1f}\n", best[0], best[1], best[2]);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned long n = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;

	if (n && !strcmp(argv[1], "off"))
		return run_off(n);
	if (n && !strcmp(argv[1], "ring"))
		return run_ring(n);
	if (n && !strcmp(argv[1], "kernel"))
		return run_kernel(n);
	fprintf(stderr, "usage: perfume_cost off|ring|kernel EVENTS\n");
	return 2;
}
