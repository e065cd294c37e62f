/* SPDX-License-Identifier: MIT */
/*
 * The text of /proc/kallsyms, "ffffffff81000000 T _text [module]" per line (kernel/kallsyms.c,
 * s_show()), line by line.
 */
#ifndef ELF_KALLSYMS_TEXT_H
#define ELF_KALLSYMS_TEXT_H

#include "base/base.h"

/* One line; the names point into it and have no NUL. */
struct kallsyms_line {
	uint64_t address;         /* 0 when addresses are hidden */
	char type;                /* as nm(1) shows it: t, T, w and W are code */
	const char *name, *owner; /* owner with its brackets; NULL: the kernel itself */
	size_t name_len, owner_len;
};

/* Called for each line that names a symbol; a result other than 0 ends the walk and is its result. */
typedef int kallsyms_line_fn(void *ctx, const struct kallsyms_line *line);

/* 0; what fn returned; -EBADMSG when path is not a list of symbols; or the errno of its reading. */
int kallsyms_each(const char *path, kallsyms_line_fn *fn, void *ctx);

/* The same from text in memory, which need not end in a newline. */
int kallsyms_each_of_text(const char *text, size_t n, kallsyms_line_fn *fn, void *ctx);

#endif
