/* SPDX-License-Identifier: MIT */
/*
 * A system call as a line: name(arguments) = result.
 *
 *	struct calls_line line = {.at = memory, .max = sizeof(memory), .text_max = 32};
 *
 *	calls_line_args(&line, &call);
 *	calls_line_result(&line, &call);
 */
#ifndef PROFILERS_CALLS_LINE_H
#define PROFILERS_CALLS_LINE_H

#include <sys/types.h>

#include "calls/signatures.h"

/* What a program gave to a call in memory, or got from it. Borrowed. */
struct calls_memory {
	const char *at; /* NULL: it is not known */
	size_t n;       /* bytes */
	bool is_cut;    /* there are more */
	bool is_lost;   /* it was copied, and lost */
};

struct calls_call {
	const char *name;
	const struct calls_signature *signature; /* NULL: not known */
	uint64_t args[CALLS_ARGS];
	struct calls_memory memory[CALLS_ARGS];
	int64_t result;
	bool has_ended;
	pid_t pid; /* -1: unknown */
};

/* Text that is too long is cut. It ends with NUL. */
struct calls_line {
	char *at;
	size_t n, max;
	size_t text_max; /* bytes of a buffer that are shown */
	/*
	 * Adds the name of a descriptor, such as "</etc/passwd>", to the line. NULL: descriptors
	 * have no names.
	 */
	void (*name_fd)(void *ctx, struct calls_line *line, pid_t pid, int fd);
	void *ctx;
};

enum { CALLS_ERRNO_MAX = 4095 };

/* Whether the result is an error, which is -result. */
static inline bool calls_has_failed(int64_t result)
{
	return result < 0 && result >= -CALLS_ERRNO_MAX;
}

void calls_line_add(struct calls_line *line, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Bytes in quotes; those that cannot be printed are escaped as in C, or with is_hex all of them.
 * is_cut: "..." follows.
 */
void calls_line_quote(
	struct calls_line *line, const char *bytes, size_t n, bool is_hex, bool is_cut);

/* A number by its names. */
void calls_line_names(struct calls_line *line, const struct calls_names *names, uint64_t value);

/* A pointer; "NULL" for 0. */
void calls_line_pointer(struct calls_line *line, uint64_t address);

void calls_line_fd(struct calls_line *line, pid_t pid, int fd);
void calls_line_signal(struct calls_line *line, int signal);
/* "S_IFDIR|S_ISGID|0770" */
void calls_line_mode(struct calls_line *line, unsigned mode);

/* name(arguments), and its end: " = result" with the error, or " <unfinished ...>". */
void calls_line_args(struct calls_line *line, const struct calls_call *call);
void calls_line_result(struct calls_line *line, const struct calls_call *call);

/* A structure that was copied, or its address. */
void calls_line_struct(struct calls_line *line, const struct calls_call *call, unsigned i);

/* The arguments from number i on of a call whose signature says CALLS_SPECIAL. */
void calls_line_special(struct calls_line *line, const struct calls_call *call, unsigned i);

#endif
