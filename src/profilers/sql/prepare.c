/* SPDX-License-Identifier: MIT */
/* Prepares queries: what they may do and how long they may take, and why one is refused. */
#include <errno.h>
#include <time.h>

#include "sql/aggregate.h"

#include "attar/builtin.h"

int sql_db_failed(const struct sql_db *db, const char *what)
{
	return attar_fail(-EIO, "sql: %s: %s", what, sqlite3_errmsg(db->sqlite));
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* ---- limits of queries ---- */

#define STOP_LIMIT_NS 1000000000ULL

void sql_db_set_deadline(struct sql_db *db, uint64_t timeout)
{
	db->deadline = now() + timeout;
	db->was_stopped = run_is_stopped(db->run);
	db->stopped_at = 0;
}

/* A query that is about to end is not interrupted by the signal that ends the run. */
static bool is_stopped(struct sql_db *db)
{
	if (db->was_stopped || !run_is_stopped(db->run))
		return false;
	if (!db->stopped_at)
		db->stopped_at = now();
	return now() - db->stopped_at > STOP_LIMIT_NS;
}

int sql_db_interrupts(void *ctx)
{
	struct sql_db *db = ctx;

	return db->deadline && (now() > db->deadline || is_stopped(db));
}

static const char *action_name(int action)
{
	switch (action) {
	case SQLITE_INSERT:
		return "INSERT";
	case SQLITE_UPDATE:
		return "UPDATE";
	case SQLITE_DELETE:
		return "DELETE";
	case SQLITE_ATTACH:
		return "ATTACH";
	case SQLITE_DETACH:
		return "DETACH";
	case SQLITE_PRAGMA:
		return "PRAGMA";
	case SQLITE_TRANSACTION:
		return "a transaction";
	case SQLITE_SAVEPOINT:
		return "SAVEPOINT";
	default:
		return "a change of the schema";
	}
}

/* The number of a row depends on all events before it. */
static void note_column(struct sql_table *table, const char *name)
{
	int column = sql_columns_find(&table->columns, name, strlen(name));

	if (column >= 0)
		table->columns.at[column].is_read = true;
	else if (!strcmp(name, "ROWID"))
		table->is_needed = table->uses_rowid = true;
}

static void note_read(struct sql_db *db, const char *table, const char *column)
{
	bool needs_all = !strcmp(table, SQL_METADATA) && sql_metadata_counts(column);

	for (size_t i = 0; i < db->opts.n_tables; i++) {
		db->opts.tables[i]->is_needed |= needs_all;
		if (!strcmp(db->opts.tables[i]->name, table))
			note_column(db->opts.tables[i], column);
	}
}

static int authorize(
	void *ctx, int action, const char *a, const char *b, const char *c, const char *d)
{
	struct sql_db *db = ctx;

	db->is_parsed = true;
	if (action == SQLITE_READ)
		note_read(db, a, b);
	if (action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_FUNCTION ||
		action == SQLITE_RECURSIVE)
		return SQLITE_OK;
	/* DROP begins with a change of the table of tables. */
	if (action == SQLITE_DELETE && !strncmp(a, "sqlite_", 7))
		action = SQLITE_DROP_TABLE;
	if (action == SQLITE_INSERT && !strncmp(a, "sqlite_", 7)) /* and CREATE */
		action = SQLITE_CREATE_TABLE;
	db->refused = db->refused ? db->refused : action_name(action);
	return SQLITE_DENY;
}

void sql_db_restrict(struct sql_db *db, bool is_restricted)
{
	sqlite3_set_authorizer(db->sqlite, is_restricted ? authorize : NULL, db);
}

/* ---- errors ---- */

/* Of the hidden columns, a message names those that are not the same or common to all events. */
static bool is_listed(const struct sql_column *column)
{
	return !column->is_hidden || (!column->same && !column->field);
}

/* "sched_wakeup(time, cpu, ...), ..." */
static void list_tables(struct sql_db *db, char *ret_text, size_t max)
{
	size_t n = 0;

	if (db->opts.is_input) {
		sql_input_describe(db, ret_text, max);
		return;
	}
	*ret_text = '\0';
	for (size_t i = 0; i < db->opts.n_tables && n < max; i++) {
		const struct sql_columns *columns = &db->opts.tables[i]->columns;

		n += (size_t)snprintf(
			ret_text + n, max - n, "%s%s(", i ? ", " : "", db->opts.tables[i]->name);
		for (size_t c = 0; n < max && c < columns->n; c++)
			if (is_listed(&columns->at[c]))
				n += (size_t)snprintf(ret_text + n, max - n, "%s%s", c ? ", " : "",
					columns->at[c].name);
		if (n < max)
			n += (size_t)snprintf(ret_text + n, max - n, ")");
	}
	if (n < max)
		snprintf(ret_text + n, max - n, ", " SQL_METADATA);
}

/*
 * Whether an error can be about the name of a table or column, for which SQLite has no code: names
 * are looked up after a statement was parsed, and SQLite reports no place for names of tables.
 */
static bool may_be_name(const struct sql_db *db, const char *query)
{
	int at = sqlite3_error_offset(db->sqlite);

	if (sqlite3_errcode(db->sqlite) != SQLITE_ERROR || !db->is_parsed)
		return false;
	/* a function is followed by its arguments */
	return at < 0 || query[at + (int)strcspn(query + at, "(),; \t\n")] != '(';
}

/* The query on one line, and a caret under the place if SQLite reports it. */
static void point(const struct sql_db *db, const char *query, char *ret_text, size_t max)
{
	int at = sqlite3_error_offset(db->sqlite);
	size_t n = strcspn(query, "\n");

	*ret_text = '\0';
	if (at >= 0 && (size_t)at < n)
		snprintf(ret_text, max, "\n    %.*s\n    %*s^", (int)n, query, at, "");
}

const char *sql_db_what(const struct sql_db *db)
{
	return db->opts.is_prompt ? "query" : "--query";
}

int sql_db_prepare(
	struct sql_db *db, const char *query, sqlite3_stmt **ret_statement, const char **ret_end)
{
	int code;

	db->is_parsed = false;
	code = sqlite3_prepare_v2(db->sqlite, query, -1, ret_statement, ret_end);
	if (code == SQLITE_OK) /* later errors are not about names */
		db->is_parsed = false;
	return code;
}

int sql_db_refuse(struct sql_db *db, const char *query)
{
	const char *refused = db->refused;
	char tables[1024], place[1024], message[1024];

	snprintf(message, sizeof(message), "%s", sqlite3_errmsg(db->sqlite));
	db->refused = NULL;
	if (sqlite3_errcode(db->sqlite) == SQLITE_INTERRUPT && now() <= db->deadline)
		return attar_fail(-EINTR, "%s: interrupted by a signal", sql_db_what(db));
	if (sqlite3_errcode(db->sqlite) == SQLITE_INTERRUPT)
		return attar_fail(-ETIMEDOUT,
			"%s: interrupted after %g s, the limit of --timeout" ATTAR_FIX
			"use a longer --timeout, or check that the query ends",
			sql_db_what(db), (double)db->opts.timeout / 1e9);
	if (refused)
		return attar_fail(-EINVAL,
			"%s: %s is not allowed: queries are read-only (SELECT, WITH, EXPLAIN)",
			sql_db_what(db), refused);
	point(db, query, place, sizeof(place));
	if (may_be_name(db, query)) {
		list_tables(db, tables, sizeof(tables));
		return attar_fail(-EINVAL, "%s: %s; the tables are %s%s", sql_db_what(db), message,
			tables, place);
	}
	return attar_fail(-EINVAL, "%s: %s%s", sql_db_what(db), message, place);
}

/* ---- statements ---- */

/* Refuses a statement whose symbolic() has no known names. 1: it has. */
static int check_symbolic(
	struct sql_db *db, const char *query, const char *end, sqlite3_stmt **statement)
{
	char *expanded;
	int r = sql_symbolic_expand(db, query, (size_t)(end - query), &expanded);

	sqlite3_free(expanded);
	if (r == 0)
		return 1;
	sqlite3_finalize(*statement);
	*statement = NULL;
	return r;
}

int sql_db_next(struct sql_db *db, const char **text, sqlite3_stmt **ret_statement)
{
	const char *query = *text;

	*ret_statement = NULL;
	db->refused = NULL;
	while (*query) {
		if (sql_db_prepare(db, query, ret_statement, text) != SQLITE_OK)
			return sql_db_refuse(db, query);
		if (*ret_statement)
			return check_symbolic(db, query, *text, ret_statement);
		query = *text; /* a comment, or an empty statement */
	}
	return 0;
}
