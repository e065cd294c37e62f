/* SPDX-License-Identifier: MIT */
/*
 * write_code.h - which mappings of code a file of samples needs.
 *
 * A process may have ended, or run another program, when its samples are written. What maps their
 * code follows from their stacks: each address has a file and an offset in it.
 */
#ifndef KPERF_WRITE_CODE_H
#define KPERF_WRITE_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "data.h"

enum { KP_CODE_RECENT = 4096 };

/* A page of code of a process that has a mapping in the file. */
struct kp_code_page {
	int pid;
	unsigned dso;
	uint64_t page;
};

/* Zeroed: empty. */
struct kp_code {
	struct kp_code_page
		recent[KP_CODE_RECENT]; /* by their hash: an older one is written again */
};

/* The mapping of a file, or of a page of it if it cannot be read. */
struct kp_code_mapping {
	uint64_t start, size, offset; /* bytes; offset: in the file */
	char path[4096];
};

/*
 * Whether the file needs a mapping for the frame of a sample, which it then has. Frames without a
 * file need none.
 */
bool kp_code_needs(struct kp_code *code, int pid, const struct kp_frames *frames,
	const struct kp_frame *frame, struct kp_code_mapping *ret_mapping);

/* The address of the kernel's _text; 0: unknown, because the kernel hides it. */
uint64_t kp_code_kernel_text(void);

#endif
