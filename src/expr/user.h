/* SPDX-License-Identifier: MIT */
/* Expressions of users, attar/expr.h: a dialect whose names are fields, variables, functions. */
#ifndef EXPR_USER_H
#define EXPR_USER_H

#include "attar/expr.h"
#include "expr/build.h"
#include "expr/print.h"

/* Bytes of data that an expression can change: as many as the largest record has. */
enum { USER_COPY_MAX = 65536 };

struct user_column {
	struct attar_expr_column pub; /* its name is in attar_expr.strings */
	int32_t node;
};

struct attar_expr {
	struct expr expr;
	const struct attar_format *format; /* borrowed; NULL: no fields */
	char *text;                        /* as written */
	char *names;                       /* of the columns */
	struct attar_expr_opts opts;       /* variables are in variables, what is not kept */
	VEC(struct attar_expr_variable) variables; /* with their own names */
	struct user_column columns[ATTAR_EXPR_COLUMNS_MAX];
	size_t n_columns, key_size;
	print_pieces pieces; /* of all printf(), each ends with one without a conversion */
	char *texts;         /* ATTAR_EXPR_TEXT_MAX bytes for each call that returns text */
	size_t n_texts;
	bool changes;  /* it changes fields */
	uint8_t *copy; /* USER_COPY_MAX bytes for the data, if it does; otherwise NULL */
	struct attar_expr_faults faults;
};

/* Parses a name and what belongs to it; see struct expr_dialect. */
bool user_operand(struct expr_parser *p, int32_t *ret_node);

/* Offers all names that an expression can use, for the word at the place of an error. */
struct suggest;
void user_suggest(const struct attar_expr *e, struct suggest *s);

/* Starts an evaluation, and ends it by adding its faults to the faults of the expression. */
static inline struct expr_run user_begin(
	struct attar_expr *e, const struct attar_expr_record *record)
{
	struct expr_run run = {.expr = &e->expr,
		.raw = record->raw,
		.size = record->raw ? record->raw_size : 0,
		.user = e,
		.record = record};

	if (unlikely(e->copy) && record->raw) {
		run.size = MIN(run.size, (size_t)USER_COPY_MAX);
		memcpy(e->copy, record->raw, run.size);
		run.raw = run.copy = e->copy;
	}
	return run;
}

static inline void user_end(struct attar_expr *e, const struct expr_run *run)
{
	e->faults.absent += run->absent;
	e->faults.by_zero += run->by_zeros;
}

#endif
