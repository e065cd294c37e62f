/* SPDX-License-Identifier: MIT */
/*
 * User stacks of samples, walked in the kernel: a program (src/bpf/stacks.bpf.c) finds the callers
 * with the call frame information of the binaries, which attar compiles and gives to it, and writes
 * their addresses. It copies the stacks that it cannot walk yet, or not at all: attar unwinds these
 * (attar/unwind.h), and gives what they needed to the program. It needs what bpf/counting.h needs,
 * x86-64, and Linux 6.3, which the caller checks.
 *
 *	stacks_new(&opts, &stacks);
 *	// its attr has exclude_callchain_user
 *	attar_counter_attach_bpf(counter, stacks_program(stacks));
 *	for each sample of the counter, in order of time:
 *		stacks_add(stacks, &event);
 *	stacks_update(stacks, stream);	// now and then
 *	stacks_free(stacks);
 *
 * Program and maps are file descriptors: the kernel removes them when this process ends.
 */
#ifndef BPF_STACKS_H
#define BPF_STACKS_H

#include "attar/stream.h"

struct stacks;

struct stacks_opts {
	pid_t own_pid;   /* whose samples have no user stacks; 0: none */
	uint64_t memory; /* bytes of call frame information in the kernel at most */
};

/* 0, or a negative errno with a message: -EOPNOTSUPP if the system lacks something; -EPERM. */
int stacks_new(const struct stacks_opts *opts, struct stacks **ret_stacks);

/* Returns NULL. Accepts NULL. */
struct stacks *stacks_free(struct stacks *stacks);

/* The descriptor of the program, for events that are not tracepoints. Borrowed. */
int stacks_program(const struct stacks *stacks);

/*
 * Gives a sample its user stack: as callers in its call chain, or as registers and a copy of the
 * stack. Samples are given in order of time. What event->record points to then is borrowed until
 * the next call.
 */
void stacks_add(struct stacks *stacks, struct attar_event *event);

/* Code was mapped in a process: it may be where other code was. */
void stacks_forget(struct stacks *stacks, pid_t pid);

/*
 * Gives the program what it did not have for the stacks so far; whether there was any. stream:
 * whose events they were.
 */
bool stacks_update(struct stacks *stacks, const struct attar_stream *stream);

/* Since the start. */
struct stacks_stats {
	uint64_t walked;     /* stacks, to their start */
	uint64_t copied;     /* that the program could not walk */
	uint64_t unended;    /* whose outer callers were not found */
	uint64_t limited;    /* with more than STACKS_FRAMES frames */
	uint64_t lost;       /* that found no room */
	uint64_t callers;    /* of the walked stacks */
	uint64_t fp_callers; /* of these: by frame pointers, in code that has nothing else */
	uint64_t bytes;      /* of call frame information in the kernel */
	uint64_t refused;    /* binaries whose call frame information exceeds the memory */
	uint64_t left;       /* binaries whose tables made room for tables of others */
};

void stacks_get_stats(const struct stacks *stacks, struct stacks_stats *ret_stats);

#endif
