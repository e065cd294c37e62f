/* SPDX-License-Identifier: MIT */
/* Internals of what is compiled with SQLite. */
#ifndef PROFILERS_SQL_DB_H
#define PROFILERS_SQL_DB_H

#include <sqlite3.h>

#include "sql.h"

struct sql_db {
	struct attar_run *run;
	struct sql_db_opts opts;
	sqlite3 *sqlite;
	uint64_t deadline;   /* of the query, ns; 0: none */
	bool was_stopped;    /* the run, before the query: it does not interrupt this one */
	const char *refused; /* what the authorizer refused; NULL: nothing */
	bool is_parsed;      /* while a statement is prepared: it has no syntax error */
	struct sql_scan *scans;
	struct sql_aggregate *candidate; /* whose query is being checked; borrowed */
	char **stacks;                   /* the text of each stack, by number; NULL: not made yet */
	size_t n_stacks;
};

/* Sets an error message with that of SQLite. Returns -EIO. */
int sql_db_failed(const struct sql_db *db, const char *what);

/* ---- sql_functions.c ---- */

int sql_functions_add(struct attar_run *run, struct sql_db *db);

/* ---- sql_symbolic.c ---- */

int sql_symbolic_add(struct sql_db *db);

/* ---- sql_db.c ---- */

/* Whether statements may only read. */
void sql_db_restrict(struct sql_db *db, bool is_restricted);

/*
 * The next statement of *text, which moves past it: 1; 0 after the last; or -EINVAL with an error
 * message. The caller finalizes it.
 */
int sql_db_next(struct sql_db *db, const char **text, sqlite3_stmt **ret_statement);

/* ---- sql_input.c ---- */

/* Opens the database that is the input. 0 or a negative errno with an error message. */
int sql_input_open(struct sql_db *db);

/* Lists the tables: "functions(report, self_percent, ...), ..." */
void sql_input_describe(struct sql_db *db, char *ret_text, size_t max);

/* See sql_db_tables(). */
void sql_input_tables(struct sql_db *db, bool columns, struct attar_report *report);

/* ---- sql_group.c ---- */

enum { SQL_GROUP_MAX = 4 };

/* The columns of GROUP BY. Their order is that of ORDER BY, which SQLite may then leave out. */
struct sql_grouping {
	int n; /* 0: any order */
	int columns[SQL_GROUP_MAX];
	bool descends[SQL_GROUP_MAX];
};

/*
 * The rows in the order of these columns, equal ones in the order of their times; to be freed.
 * is_filtered: without those that are not needed. NULL: out of memory.
 */
const struct sql_row **sql_group(const struct sql_table *table, const struct sql_grouping *grouping,
	bool is_filtered, size_t *ret_n);

/* ---- sql_scan.c ---- */

/* A plan that SQLite was given. */
struct sql_scan {
	struct sql_scan *next;
	struct sql_table *table;
	char *plan, *condition; /* sqlite3_free(); condition NULL: all rows are needed */
	uint64_t columns;       /* that are read: bit 63 is for all from the 64th on */
	struct sql_grouping grouping;
};

/* The scan with this plan; NULL: there is none. */
struct sql_scan *sql_scan_find(const struct sql_db *db, const char *plan);

/*
 * "field op constant" in the language of filters; op is a constraint of SQLite. To be freed with
 * sqlite3_free(). NULL: the language does not have it.
 */
char *sql_condition_number(const struct attar_field *field, int op, sqlite3_int64 number);
char *sql_condition_text(const struct attar_field *field, int op, const char *text, size_t n);

/* Describes a scan of the table in info->idxStr, and remembers it. A code of SQLite. */
int sql_scan_plan(struct sql_db *db, struct sql_table *table, sqlite3_index_info *info);
void sql_scans_free(struct sql_db *db);

/* ---- sql_cursor.c ---- */

/* What the cursors of all virtual tables begin with. */
struct sql_cursor {
	sqlite3_vtab_cursor base; /* first */
	void *order;              /* owned: what to visit in this order; NULL: nothing is sorted */
};

/* Callbacks of SQLite: they return its codes. The size is that of a struct that begins with one. */
int sql_cursor_new(size_t size, sqlite3_vtab_cursor **ret_cursor);
int sql_cursor_free(sqlite3_vtab_cursor *cursor);
int sql_cursor_free_table(sqlite3_vtab *table);

/*
 * Never changes a table. With this callback SQLite asks the authorizer about a change, which
 * refuses it by its name; without it, SQLite refuses the change itself, with a message but no code.
 */
int sql_cursor_update(
	sqlite3_vtab *table, int n, sqlite3_value **values, sqlite3_int64 *ret_number);

/* ---- sql_table.c ---- */

/* Adds the module "attar", whose argument is the number of the table. */
int sql_table_register(struct sql_db *db);

/* The columns of a table: those common to all events, then its fields. */
size_t sql_table_columns(const struct sql_table *table);
void sql_table_column_name(
	const struct sql_table *table, size_t column, char *ret_name, size_t max);

/* Whether rows of the queries must have this one; see sql_table.only. */
bool sql_table_is_needed(const struct sql_table *table, const struct sql_row *row);

/* Whether the column is the name of the thread, and whether it is read from the fields. */
bool sql_table_is_comm(size_t column);
bool sql_table_is_of_fields(size_t column);

/* A value: NULL, a string, borrowed from the row, or a number. */
struct sql_value {
	bool is_null;
	const char *text; /* without NUL; NULL: a number */
	size_t n;         /* bytes of the string */
	int64_t number;
};

/* Whether sql_table_value() has this column: numbers and strings that a row stores. */
bool sql_table_has_value(const struct sql_table *table, size_t column);
struct sql_value sql_table_value(
	const struct sql_table *table, size_t column, const struct sql_view *view);

/* ---- sql_value.c ---- */

/* Adds a value to a hash. */
uint64_t sql_value_hash(uint64_t hash, const struct sql_value *value);

/* As SQLite: NULL is the smallest, strings are compared by bytes. Less than 0, 0, or more. */
int sql_value_compare(const struct sql_value *a, const struct sql_value *b);

/* ---- sql_table.c ---- */

/* The declared type of a column, such as "INTEGER". */
const char *sql_table_type(const struct sql_table *table, size_t column);

/* The names of the columns that '*' does not include; each has at most 8 bytes. */
void sql_table_hidden_names(const struct sql_table *table, char *ret_stack, char *ret_line);
void sql_stacks_free(struct sql_db *db);

/* The field of a column; NULL: the column is common to all events. */
const struct attar_field *sql_table_field(const struct sql_table *table, size_t column);

#endif
