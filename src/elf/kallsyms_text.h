/* SPDX-License-Identifier: MIT */
/*
 * Line-by-line parser for /proc/kallsyms, with lines such as "ffffffff81000000 T _text [module]"
 * (kernel/kallsyms.c, s_show()).
 */
#ifndef ELF_KALLSYMS_TEXT_H
#define ELF_KALLSYMS_TEXT_H

#include "base/base.h"

/* One line; the names point into it and have no NUL. */
struct kallsyms_line {
	uint64_t address;         /* 0 if addresses are hidden */
	char type;                /* as in nm(1): t, T, w and W are code */
	const char *name, *owner; /* owner in brackets; NULL: the kernel itself */
	size_t name_len, owner_len;
};

static inline bool kallsyms_is_code(const struct kallsyms_line *line)
{
	return line->type && strchr("tTwW", line->type);
}

/*
 * Whether a symbol of code is not a function: padding before each function (x86 with
 * CONFIG_FUNCTION_PADDING, since 6.2) and arm64 mapping symbols.
 */
bool kallsyms_is_noise(const struct kallsyms_line *line);

/* Called for each line with a symbol; a nonzero return value ends the iteration and is returned. */
typedef int kallsyms_line_fn(void *ctx, const struct kallsyms_line *line);

/*
 * Returns 0; the nonzero value returned by fn; -EBADMSG if path is not a symbol list; or the
 * negative errno of open(2) or read(2).
 */
int kallsyms_each(const char *path, kallsyms_line_fn *fn, void *ctx);

/* The same for text in memory, which need not end in a newline. */
int kallsyms_each_of_text(const char *text, size_t n, kallsyms_line_fn *fn, void *ctx);

#endif
