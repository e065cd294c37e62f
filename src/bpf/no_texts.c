/* SPDX-License-Identifier: MIT */
/* In place of texts.c, where clang or the headers of libbpf are missing. */
#include "bpf/texts.h"

#include "bpf/counting.h"

int texts_new(unsigned what, pid_t own_pid, struct texts **ret_texts)
{
	return counting_check();
}

struct texts *texts_free(struct texts *texts)
{
	return NULL;
}

int texts_want(struct texts *texts, const char *name, unsigned i)
{
	return 0;
}

int texts_attach(struct texts *texts)
{
	return 0;
}

void texts_read(struct texts *texts, uint64_t needed)
{
}

enum texts_found texts_get(const struct texts *texts, pid_t tid, uint64_t address, uint64_t from,
	uint64_t until, const char **ret_text, size_t *ret_n)
{
	return TEXTS_NONE;
}

int texts_get_exec(const struct texts *texts, pid_t tid, uint64_t from, struct buf *strings,
	struct texts_exec *ret_exec)
{
	return TEXTS_NONE;
}
