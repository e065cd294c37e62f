/* SPDX-License-Identifier: MIT */
/* In place of call_memory.c, where clang or the headers of libbpf are missing. */
#include "bpf/call_memory.h"

#include "bpf/counting.h"

int call_memory_new(pid_t own_pid, bool follows, struct call_memory **ret_memory)
{
	return counting_check();
}

struct call_memory *call_memory_free(struct call_memory *memory)
{
	return NULL;
}

int call_memory_want(
	struct call_memory *memory, uint32_t number, unsigned i, const struct calls_copy *copy)
{
	return 0;
}

int call_memory_follow(struct call_memory *memory, pid_t pid)
{
	return 0;
}

int call_memory_attach(struct call_memory *memory)
{
	return 0;
}

void call_memory_read(struct call_memory *memory)
{
}

int call_memory_take(struct call_memory *memory, const struct calls_made *call, bool is_late,
	struct calls_copied items[CALLS_COPY_ARGS], uint64_t ret_args[CALLS_COPY_ARGS])
{
	return -ENOENT;
}
