/* SPDX-License-Identifier: MIT */
/* User stacks that a program in the kernel walks (--unwind kernel), see bpf/stacks.h. */
#ifndef RUN_PARTS_KERNEL_STACKS_H
#define RUN_PARTS_KERNEL_STACKS_H

#include "attar/run.h"

struct source;

/* Loads the program. 0; -EOPNOTSUPP or -EPERM with a message; -ENOMEM. */
int kernel_stacks_open(struct attar_run *run);

/* Whether the program could take the user stacks of a source, if there is one. */
bool kernel_stacks_suit(const struct attar_run *run, const struct source *s);

/* Whether the program can take them. */
bool kernel_stacks_can_take(const struct attar_run *run, const struct source *s);

/* The source is about to be opened: the program takes them. */
void kernel_stacks_take(
	const struct attar_run *run, const struct source *s, struct perf_event_attr *attr);

/* After it was opened: attaches the program if it was taken. */
int kernel_stacks_attach(struct attar_run *run, const struct source *s);

/* That the program has found. */
struct kernel_stacks_callers {
	uint64_t by_cfi, by_fp;
};

struct kernel_stacks_callers kernel_stacks_get_callers(const struct attar_run *run);

#endif
