/* SPDX-License-Identifier: MIT */
/*
 * A SELECT on one table in its clauses, for what attar does in place of SQLite.
 *
 *	struct sql_statement s;
 *
 *	if (sql_statement_read(db, text, len, &s))
 *		condition = sql_where(&s, &is_exact);
 */
#ifndef PROFILERS_SQL_STATEMENT_H
#define PROFILERS_SQL_STATEMENT_H

#include "sql/db.h"
#include "sql/token.h"

enum { SQL_TOKENS_MAX = 512, SQL_NAME_BYTES = 256 };

/* Tokens from the first to before the last. */
struct sql_range {
	size_t from, to;
};

struct sql_statement {
	struct sql_token tokens[SQL_TOKENS_MAX];
	size_t n;
	struct sql_table *table; /* borrowed */
	/* SELECT items FROM table WHERE where GROUP (BY) group HAVING having tail */
	struct sql_range items, where, group, having, tail;
};

/* Whether the statement is a SELECT on one table without anything that is not known here. */
bool sql_statement_read(
	const struct sql_db *db, const char *text, size_t len, struct sql_statement *ret);

/* The table's column with this name; -1: none. */
int sql_statement_column(const struct sql_statement *s, const struct sql_token *token);

/* ---- sql_where.c ---- */

/*
 * A condition in the language of filters that all events of the result fulfil, to be freed with
 * sqlite3_free(); NULL: none is known. *ret_is_exact: no other events fulfil it.
 */
char *sql_where(const struct sql_statement *s, bool *ret_is_exact);

#endif
