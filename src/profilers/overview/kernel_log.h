/* SPDX-License-Identifier: MIT */
/* New messages of the kernel about something that is broken, or was killed. */
#ifndef PROFILERS_OVERVIEW_KERNEL_LOG_H
#define PROFILERS_OVERVIEW_KERNEL_LOG_H

#include <stdbool.h>
#include <stdint.h>

enum { KERNEL_LOG_TEXT_BYTES = 200 };

struct kernel_log {
	bool is_open; /* it can be read */
	int fd;
	uint64_t errors;                    /* messages */
	char error[KERNEL_LOG_TEXT_BYTES];  /* the first one; "": none */
	char killed[KERNEL_LOG_TEXT_BYTES]; /* what was killed at last: "process 7 (python3)" */
};

/* Messages from now on; is_whole: all that are in the file. */
void kernel_log_open(struct kernel_log *log, const char *path, bool is_whole);

/* Reads what is new. */
void kernel_log_read(struct kernel_log *log);
void kernel_log_close(struct kernel_log *log);

#endif
