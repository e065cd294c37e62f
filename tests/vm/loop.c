// SPDX-License-Identifier: MIT
/*
 * usage: loop N...: for each N, counts a loop of N iterations of two instructions each, in user
 * mode, and prints "N INSTRUCTIONS CYCLES". Uses system calls only: it shows whether the guest's
 * PMU is exact.
 */
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_counter(uint64_t config, int group)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = config,
		.disabled = group < 0,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.read_format = PERF_FORMAT_GROUP,
	};
	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, group, 0);

	if (fd < 0) {
		perror("loop: perf_event_open");
		exit(1);
	}
	return fd;
}

__attribute__((noinline)) static void turn(uint64_t n)
{
#ifdef __aarch64__
	__asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(n) : : "cc");
#else
	__asm__ volatile("1: sub $1, %0\n\tjnz 1b" : "+r"(n) : : "cc");
#endif
}

int main(int argc, char **argv)
{
	int group = open_counter(PERF_COUNT_HW_INSTRUCTIONS, -1);

	open_counter(PERF_COUNT_HW_CPU_CYCLES, group);
	for (int i = 1; i < argc; i++) {
		uint64_t n = strtoull(argv[i], NULL, 10);
		uint64_t values[3];

		ioctl(group, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
		ioctl(group, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
		turn(n);
		ioctl(group, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
		if (read(group, values, sizeof(values)) != sizeof(values) || values[0] != 2) {
			fputs("loop: the group cannot be read\n", stderr);
			return 1;
		}
		printf("%ju %ju %ju\n", (uintmax_t)n, (uintmax_t)values[1], (uintmax_t)values[2]);
	}
	return 0;
}
