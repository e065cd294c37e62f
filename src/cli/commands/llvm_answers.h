/* SPDX-License-Identifier: MIT */
/*
 * Answers of `attar symbols --style=llvm`. They are made in the order of addresses and printed in
 * the order of the questions: until then, an answer is a few numbers, and a name or a path is one
 * text for all answers that have it.
 */
#ifndef CLI_COMMANDS_LLVM_ANSWERS_H
#define CLI_COMMANDS_LLVM_ANSWERS_H

#include "attar/symbol.h"
#include "base/buf.h"
#include "base/vec.h"

enum { LLVM_TEXTS = 1 << 8 };

/* A name or a path that was written last. */
struct llvm_text {
	const char *key; /* interned */
	uint32_t at;     /* in `texts`, where its length is, and its bytes follow */
};

struct llvm_line {
	uint32_t name, file; /* in `texts` */
	uint32_t line, column;
};

struct llvm_answers {
	bool mangled, no_inlines;
	struct buf texts; /* "name\n" and "path:", each after its length */
	struct llvm_text names[LLVM_TEXTS], files[LLVM_TEXTS];
	VEC(struct llvm_line) lines;
	size_t last; /* first line of the last answer */
};

/* Appends the name of a function or variable and an end of line; mangled: not demangled. */
void llvm_name_add(struct buf *b, const char *name, bool mangled);

/* Makes room for n answers. Returns 0 or -ENOMEM. */
int llvm_answers_reserve(struct llvm_answers *answers, size_t n);

/*
 * Adds an answer; one that is equal to the last shares its lines. Sets the first line and the
 * number of lines. Returns 0; -E2BIG; -ENOMEM.
 */
int llvm_answers_add(struct llvm_answers *answers, const struct attar_frame *frames, size_t n,
	uint32_t *ret_first, uint32_t *ret_n);

/* "function\nfile:line:column\n" for each line, then an empty line. */
void llvm_answers_print(
	const struct llvm_answers *answers, size_t first, size_t n, struct buf *out);

/* Forgets all answers; keeps the memory. */
void llvm_answers_reset(struct llvm_answers *answers);
void llvm_answers_done(struct llvm_answers *answers);

#endif
