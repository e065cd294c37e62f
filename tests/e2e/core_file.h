/* SPDX-License-Identifier: MIT */
/*
 * Core files of samples (core(5)), for debuggers: the registers, the copy of the stack, and the
 * files that are mapped. On x86-64 only.
 */
#ifndef TESTS_CORE_FILE_H
#define TESTS_CORE_FILE_H

#include "attar/unwind.h"
#include "unwind/registers.h"

/* Writes a thread with this frame and the stack of the input. Returns 0 or a negative errno. */
int core_file_write(const char *path, const struct attar_address_space *space,
	const struct attar_unwind_input *input, const struct unwind_frame *frame);

#endif
