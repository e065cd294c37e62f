/* SPDX-License-Identifier: MIT */
/*
 * Print formats of tracepoints: a C format string and C expressions on the fields, as expanded by
 * the kernel's macros. They are parsed once into a tree (expr/expr.h) and evaluated for each record
 * by the rules of C, with bounds checks on all accesses. If the parser does not support a construct
 * (statements, functions of a subsystem), the fields are listed instead.
 */
#ifndef EXPR_PRINT_H
#define EXPR_PRINT_H

#include "base/recent.h"
#include "expr/expr.h"
#include "tracefs/format.h"

/* A conversion such as "%-16s", and the text before it. */
struct print_piece {
	uint32_t before, before_len; /* in the expression's strings */
	char suffix[8];              /* for %p: "I4", "S" ...; "" for others */
	char flags[8];
	int32_t width, precision; /* -1: none; node numbers if given as `*` */
	bool width_node, precision_node;
	uint8_t bits;    /* for numbers: 8, 16, 32, 64 */
	char conversion; /* d u x X o c s p; 0: text only */
	int32_t node;
	/* An integer at a fixed offset that is printed without evaluating node; size 0: none. */
	struct print_number {
		uint32_t offset; /* in the record */
		uint8_t size;    /* 1, 2, 4, 8 bytes */
		uint8_t unused;  /* high bits of 64 that are not of the printed number */
		bool is_signed;  /* the printed number */
		bool is_hex;
		uint8_t width;   /* the least number of characters */
		bool has_zeroes; /* pads with zeroes instead of spaces */
		uint32_t recent; /* its newest text: in print_program.recent */
	} quick;
};

typedef VEC(struct print_piece) print_pieces;

struct print_program {
	struct expr expr;
	print_pieces pieces;
	VEC(struct recent_text) recent; /* of numbers, with the text before them */
};

/*
 * Parses the print format of a format; returns NULL if it is not supported. Names of constants are
 * looked up in tracefs and BTF unless tracefs is NULL. Names without a known value are printed as
 * "?", or as a page frame number. Free the program with print_free().
 */
struct print_program *print_parse(const struct attar_format *format, struct tracefs *tracefs);
void print_free(struct print_program *program);

/* Fills in print_piece.quick, for the common conversions of integers. */
void print_find_numbers(struct print_program *program);

/* State for printing a record. */
struct print_run {
	const struct print_program *program;
	struct expr_run record;  /* the record, and the expressions of the program */
	struct tracefs *tracefs; /* resolves kernel functions and strings; NULL: none */
	/* Output: at most max bytes; len also counts what did not fit. */
	char *at;
	size_t max, len;
	/* Replace characters of the record's text that shells interpret. */
	bool for_shell;
};

static inline void print_text(struct print_run *run, const char *text, size_t n)
{
	if (run->len + 1 < run->max) {
		size_t fits = MIN(n, run->max - run->len - 1);

		base_copy_short(run->at + run->len, text, fits);
		run->at[run->len + fits] = '\0';
	}
	run->len += n;
}

void print_form(struct print_run *run, const char *fmt, ...) ATTAR_PRINTF(2, 3);

/* Writes a space unless it is first, and "name=value". */
void print_field(struct print_run *run, const struct attar_field *field);

/* The text before the conversion of a piece, before_len bytes. */
static inline const char *print_text_before(
	const struct print_run *run, const struct print_piece *piece)
{
	return run->record.expr->strings.at + piece->before;
}

static inline void print_before(struct print_run *run, const struct print_piece *piece)
{
	print_text(run, print_text_before(run, piece), piece->before_len);
}

/* Writes the output of a complete program. */
void print_program(struct print_run *run);

/* Writes a conversion of any kind, and the text before it. */
void print_conversion(struct print_run *run, const struct print_piece *piece);

/* Writes a value as "%p" with the suffix does; width: as in "%*ph", -1 none. */
void print_pointer(struct print_run *run, const char *suffix, int width, struct expr_value value);

void print_bitmap(struct print_run *run, const uint8_t *bytes, size_t bits, bool as_list);

#endif
