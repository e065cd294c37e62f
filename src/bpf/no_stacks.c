/* SPDX-License-Identifier: MIT */
/* In place of stacks.c, where clang or the headers of libbpf are missing, and not on x86-64. */
#include "bpf/stacks.h"

#include "bpf/counting.h"

int stacks_new(const struct stacks_opts *opts, struct stacks **ret_stacks)
{
	int r = counting_check();

	return r < 0 ? r
		     : attar_fail(-EOPNOTSUPP, "stacks are walked in the kernel on x86-64 only");
}

struct stacks *stacks_free(struct stacks *stacks)
{
	return NULL;
}

int stacks_program(const struct stacks *stacks)
{
	return -1;
}

void stacks_add(struct stacks *stacks, struct attar_event *event)
{
}

void stacks_forget(struct stacks *stacks, pid_t pid)
{
}

bool stacks_update(struct stacks *stacks, const struct attar_stream *stream)
{
	return false;
}

void stacks_get_stats(const struct stacks *stacks, struct stacks_stats *ret_stats)
{
	*ret_stats = (struct stacks_stats){0};
}
