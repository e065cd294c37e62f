/* SPDX-License-Identifier: MIT */
/*
 * Memory that programs give to system calls, and get from them: a program in the kernel copies it
 * at the entry and the exit of the call, as a table of the calls and arguments says. It needs what
 * bpf/counting.h needs.
 *
 *	call_memory_new(getpid(), true, &memory);
 *	call_memory_want(memory, number, i, &copy);
 *	call_memory_follow(memory, pid);
 *	call_memory_attach(memory);
 *	...
 *	call_memory_read(memory);
 *	call_memory_take(memory, &call, items);
 *	call_memory_free(memory);
 */
#ifndef BPF_CALL_MEMORY_H
#define BPF_CALL_MEMORY_H

#include <sys/types.h>

#include "attar/private/calls.h"

struct call_memory;

/*
 * own_pid: the process whose calls are left out. follows: only calls of processes of
 * call_memory_follow(), and of those that they create. 0, or a negative errno with a message.
 * Threads are numbered as in the first PID namespace, in which attar must be.
 */
int call_memory_new(pid_t own_pid, bool follows, struct call_memory **ret_memory);
struct call_memory *call_memory_free(struct call_memory *memory);

/* Copies argument i of the call with this number. 0 or a negative errno. Before the attachment. */
int call_memory_want(
	struct call_memory *memory, uint32_t number, unsigned i, const struct calls_copy *copy);
int call_memory_follow(struct call_memory *memory, pid_t pid);

/* The programs are called from now on. 0 or a negative errno with a message. */
int call_memory_attach(struct call_memory *memory);

/* Reads what the programs have copied. The newest 32 MiB are kept. */
void call_memory_read(struct call_memory *memory);

/*
 * What was copied of the arguments of a call. Calls of a thread must be given in their order; what
 * was copied of earlier calls is dropped. Items are borrowed until the next call of a function.
 * Returns 1; 0: the programs may not have copied all yet, unless is_late; -ENOENT: the call has no
 * args, and none were copied. *ret_args is set for a call without them; may be NULL.
 */
int call_memory_take(struct call_memory *memory, const struct calls_made *call, bool is_late,
	struct calls_copied items[CALLS_COPY_ARGS], uint64_t ret_args[CALLS_COPY_ARGS]);

#endif
