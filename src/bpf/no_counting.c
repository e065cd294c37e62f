/* SPDX-License-Identifier: MIT */
/* In place of counting.c, where clang or the headers of libbpf are missing. */
#include "bpf/counting.h"

static int counting_refuse(void)
{
	return attar_fail(-EOPNOTSUPP,
		"counting in the kernel: this attar was built without programs for it" ATTAR_FIX
		"build it with clang and libbpf");
}

int counting_check(void)
{
	return counting_refuse();
}

int counting_new(const struct counting_opts *opts, struct counting **ret_counting)
{
	return counting_refuse();
}

struct counting *counting_free(struct counting *counting)
{
	return NULL;
}

int counting_attach(struct counting *counting, const struct counting_field *field)
{
	return 0;
}

int counting_select(struct counting *counting, pid_t tid)
{
	return 0;
}

void counting_select_command(struct counting *counting, pid_t pid)
{
}

void counting_enable(struct counting *counting, bool on)
{
}

int counting_read(struct counting *counting, counting_row_fn *fn, void *ctx)
{
	return 0;
}

void counting_get_stats(const struct counting *counting, struct counting_stats *ret_stats)
{
	*ret_stats = (struct counting_stats){0};
}
