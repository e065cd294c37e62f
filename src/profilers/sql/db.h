/* SPDX-License-Identifier: MIT */
/* Internals of what is compiled with SQLite. */
#ifndef PROFILERS_SQL_DB_H
#define PROFILERS_SQL_DB_H

#include <sqlite3.h>

#include "sql/sql.h"

struct sql_db {
	struct attar_run *run;
	struct sql_db_opts opts;
	sqlite3 *sqlite;
	uint64_t deadline;   /* of the query, ns; 0: none */
	bool was_stopped;    /* the run, before the query: it does not interrupt this one */
	uint64_t stopped_at; /* the run, during the query, by now(); 0: it is not */
	const char *refused; /* what the authorizer refused; NULL: nothing */
	bool is_parsed;      /* while a statement is prepared: it has no syntax error */
	struct sql_scan *scans;
	struct sql_lookup *lookups;
	struct sql_aggregate *candidate; /* whose query is being checked; borrowed */
	char **stacks;                   /* the text of each stack, by number; NULL: not made yet */
	size_t n_stacks;
};

/* Sets an error message with the message of SQLite. Returns -EIO. */
int sql_db_failed(const struct sql_db *db, const char *what);

/* ---- sql_functions.c ---- */

int sql_functions_add(struct attar_run *run, struct sql_db *db);

/* ---- sql_symbolic.c ---- */

int sql_symbolic_add(struct sql_db *db);

/*
 * Gives calls of symbolic() with one argument, the column, the name of its field. *ret_text: the
 * statement with them, to be freed with sqlite3_free(); NULL: there are none. -EINVAL with an error
 * message if the column does not decide which names are meant.
 */
int sql_symbolic_expand(const struct sql_db *db, const char *query, size_t len, char **ret_text);

/* ---- sql_print.c ---- */

/*
 * The arguments that show the names of a field's values, one or two, each for a "%s": from the
 * result up to *ret_end. NULL: none.
 */
const char *sql_print_names(
	const char *print, const char *name, const char **ret_end, unsigned *ret_n);

/*
 * "symbolic('softirq_entry.vec', vec), ksymbol(function)": functions for the fields of an event. To
 * be freed with sqlite3_free(); NULL: there are none.
 */
char *sql_print_functions(const struct sql_table *table);

/* ---- sql_metadata.c ---- */

/* Adds the module "attar_metadata" of the table event_metadata. A code of SQLite. */
int sql_metadata_register(struct sql_db *db);

/* Whether a column of it needs all events to be delivered. */
bool sql_metadata_counts(const char *column);

/* Adds it to lists of tables and columns. */
void sql_metadata_describe(bool columns, struct attar_section *section);

/* ---- sql_db.c ---- */

/* Where queries come from, for messages: "--query". */
const char *sql_db_what(const struct sql_db *db);

/* Whether statements may only read. */
void sql_db_restrict(struct sql_db *db, bool is_restricted);

/*
 * The next statement of *text, which moves past it: 1; 0 after the last; or -EINVAL with an error
 * message. The caller finalizes it.
 */
int sql_db_next(struct sql_db *db, const char **text, sqlite3_stmt **ret_statement);

/*
 * Prepares what is executed in place of a statement: the query on its groups, or the statement with
 * names for symbolic(). *ret_statement is NULL if the statement is executed itself. 0 or a negative
 * errno with an error message.
 */
int sql_db_prepare_other(struct sql_db *db, unsigned number, const char *query, size_t len,
	sqlite3_stmt **ret_statement);

/* Sets an error message with what SQLite says of a query. Returns -EINVAL, -EINTR or -ETIMEDOUT. */
int sql_db_refuse(struct sql_db *db, const char *query);

/* Interrupts statements that are executed after this time, ns. */
/* Prepares a statement; *ret_end may be NULL. A code of SQLite: see sql_db_refuse(). */
int sql_db_prepare(
	struct sql_db *db, const char *query, sqlite3_stmt **ret_statement, const char **ret_end);

/* Whether the query is to end: for sqlite3_progress_handler(). */
int sql_db_interrupts(void *ctx);

void sql_db_set_deadline(struct sql_db *db, uint64_t timeout);

/* ---- sql_order.c ---- */

enum { SQL_KEYS_MAX = 32 };

/* The order of the rows of a statement. */
struct sql_order {
	/* The statement without LIMIT, with terms of ORDER BY as more columns; sqlite3_free(). */
	char *query;
	int keys[SQL_KEYS_MAX],
		n;       /* columns of that statement: rows with other values are ordered */
	bool is_unknown; /* ORDER BY has terms that are not among the keys */
	int64_t offset;  /* of the first row of the result */
};

/*
 * Finds the order of a statement, of which `named` has the columns. 0; -ENOMEM with an error
 * message. Free with sql_order_done().
 */
int sql_order_read(struct sql_db *db, const char *query, size_t len, sqlite3_stmt *named,
	struct sql_order *ret_order);
void sql_order_done(struct sql_order *order);

/* ---- sql_input.c ---- */

/* Opens the database that is the input. 0 or a negative errno with an error message. */
int sql_input_open(struct sql_db *db);

/* Lists the tables: "functions(report, self_percent, ...), ..." */
void sql_input_describe(struct sql_db *db, char *ret_text, size_t max);

/* See sql_db_tables(). */
void sql_input_tables(struct sql_db *db, bool columns, struct attar_report *report);

/* ---- sql_group.c ---- */

enum { SQL_GROUP_MAX = 4 };

/* The columns of GROUP BY. They are in the order of ORDER BY, which SQLite may then leave out. */
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

/* What a scan needs of the times of its rows. */
struct sql_times {
	bool from, to; /* SQLite passes a bound, which may be in the result */
	bool is_order; /* rows are to be in the order of their times */
	bool descends;
};

/* A plan that SQLite was given. */
struct sql_scan {
	struct sql_scan *next;
	struct sql_table *table;
	char *plan, *condition; /* sqlite3_free(); condition NULL: all rows are needed */
	uint64_t columns;       /* that are read: bit 63 is for all from the 64th on */
	struct sql_grouping grouping;
	struct sql_grouping lookup; /* columns whose values SQLite passes; n 0: it passes none */
	struct sql_times times;
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

/* Callbacks of SQLite: they return its codes. size: of a struct that begins with one. */
int sql_cursor_new(size_t size, sqlite3_vtab_cursor **ret_cursor);
int sql_cursor_free(sqlite3_vtab_cursor *cursor);
int sql_cursor_free_table(sqlite3_vtab *table);

/*
 * Never changes a table. With this callback SQLite asks the authorizer about a change, which
 * refuses it by its name; without it, SQLite refuses the change itself, with a message but no code.
 */
int sql_cursor_update(
	sqlite3_vtab *table, int n, sqlite3_value **values, sqlite3_int64 *ret_number);

/* A module whose own functions are on_connect(), on_open() and so on. */
#define SQL_CURSOR_MODULE                                                                          \
	{                                                                                          \
		.xCreate = on_connect, .xConnect = on_connect, .xBestIndex = on_best_index,        \
		.xDisconnect = sql_cursor_free_table, .xDestroy = sql_cursor_free_table,           \
		.xOpen = on_open, .xClose = sql_cursor_free, .xFilter = on_filter,                 \
		.xNext = on_next, .xEof = on_eof, .xColumn = on_column, .xRowid = on_rowid,        \
		.xUpdate = sql_cursor_update                                                       \
	}

/* ---- sql_table.c ---- */

/* Adds the module "attar", whose argument is the number of the table. */
int sql_table_register(struct sql_db *db);
void sql_stacks_free(struct sql_db *db);

/* ---- sql_value.c ---- */

/* A field that a damaged record lacks is NULL, as it is for filters. */
static inline bool sql_field_is_within(const struct attar_field *field, size_t size)
{
	return (size_t)field->offset + field->size <= size;
}

/* A value: NULL, a string, borrowed from the row, or a number. */
struct sql_value {
	bool is_null;
	const char *text; /* without NUL; NULL: a number */
	size_t n;         /* bytes of the string */
	int64_t number;
};

/* Whether sql_column_value() has this column: numbers and strings that a row stores. */
bool sql_column_has_value(const struct sql_column *column);
/* Whether rows can be looked up by this column: these, and times, which are computed. */
bool sql_column_can_look_up(const struct sql_column *column);
bool sql_column_is_text(const struct sql_column *column);
struct sql_value sql_column_value(const struct sql_column *column, const struct sql_view *view);

/* Adds a value to a hash. */
uint64_t sql_value_hash(uint64_t hash, const struct sql_value *value);

/* As SQLite: NULL is the smallest, strings are compared by bytes. Less than 0, 0, or more. */
int sql_value_compare(const struct sql_value *a, const struct sql_value *b);

/* Whether rows of the queries must have this one; see sql_table.only. */
bool sql_table_is_needed(const struct sql_table *table, const struct sql_row *row);

/* ---- sql_lookup.c ---- */

/*
 * The rows of the table with these values of the columns `by`, in the order of their times,
 * borrowed from the database. values, and bounds of the times, ns, which are included; NULL: none.
 * Returns NULL: out of memory.
 */
const struct sql_row *const *sql_lookup(struct sql_db *db, const struct sql_table *table,
	const struct sql_grouping *by, const struct sql_value *values, const int64_t *from,
	const int64_t *to, size_t *ret_n);
void sql_lookups_free(struct sql_db *db);

#endif
