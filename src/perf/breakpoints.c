/* SPDX-License-Identifier: MIT */
#include "perf/breakpoints.h"

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <unistd.h>

#include "perf/open.h"

int breakpoints_test(void)
{
	static volatile long watched;
	union uapi_attr attr = {.attr = {.type = PERF_TYPE_BREAKPOINT,
					.bp_type = HW_BREAKPOINT_W,
					.bp_addr = (uintptr_t)&watched,
					.bp_len = sizeof(watched),
					.exclude_kernel = 1,
					.exclude_hv = 1}};
	int fd = open_event(&attr, 0, -1, -1, 0);
	uint64_t hits;
	int r;

	if (fd < 0)
		return fd;
	watched = 1;
	r = read(fd, &hits, sizeof(hits)) == sizeof(hits) ? hits != 0 : -EIO;
	close(fd);
	return r;
}
