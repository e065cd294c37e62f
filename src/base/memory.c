/* SPDX-License-Identifier: MIT */
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/buf.h"
#include "base/file.h"

/*
 * Reads VmHWM, which belongs to the address space. ru_maxrss includes the peak of the process that
 * called exec(), so a small program started from a large one would report the large one's peak.
 */
uint64_t memory_peak(void)
{
	struct buf status _cleanup_(buf_done) = {0};
	struct rusage usage;
	const char *line;

	if (file_read("/proc/self/status", 64 << 10, &status) == 0 &&
		(line = strstr(buf_text(&status), "\nVmHWM:")))
		return strtoull(line + strlen("\nVmHWM:"), NULL, 10) * 1024;
	getrusage(RUSAGE_SELF, &usage);
	return (uint64_t)usage.ru_maxrss * 1024;
}
