/* SPDX-License-Identifier: MIT */
/* A database that queries can only read, and that interrupts those that do not end. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sql_aggregate.h"

enum {
	STEPS = 10000,      /* of SQLite's machine between two looks at the clock */
	ROWS_MAX = 1000000, /* of one result */
	NAME_BYTES = 256,
	TYPE_BYTES = 32,
	VALUE_BYTES_MAX = 16 << 20, /* of a text or BLOB */
};

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

void sql_db_set_deadline(struct sql_db *db, uint64_t timeout)
{
	db->deadline = now() + timeout;
	db->was_stopped = attar_run_is_stopped(db->run);
}

static int on_progress(void *ctx)
{
	struct sql_db *db = ctx;

	return db->deadline &&
	       (now() > db->deadline || (!db->was_stopped && attar_run_is_stopped(db->run)));
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
	db->refused = db->refused ? db->refused : action_name(action);
	return SQLITE_DENY;
}

void sql_db_restrict(struct sql_db *db, bool is_restricted)
{
	sqlite3_set_authorizer(db->sqlite, is_restricted ? authorize : NULL, db);
}

/* ---- creating ---- */

/* A file that cannot be written fails as those of other outputs. */
static int execute(struct sql_db *db, const char *text)
{
	int code = sqlite3_exec(db->sqlite, text, NULL, NULL, NULL) & 0xff, error;

	if (code == SQLITE_OK)
		return 0;
	if (!db->opts.path || (code != SQLITE_FULL && code != SQLITE_IOERR))
		return sql_db_failed(db, "cannot create the tables");
	error = code == SQLITE_FULL ? ENOSPC : sqlite3_system_errno(db->sqlite);
	error = error ? error : EIO;
	return attar_fail(-error, "cannot write '%s': %s", db->opts.path, strerror(error));
}

/* Ordinary tables have no hidden columns: those for sql_db_compare() have what a query reads. */
static bool is_stored(const struct sql_db *db, const struct sql_column *column)
{
	return !column->is_hidden || !db->opts.is_compared || column->is_read;
}

/* %w doubles quotes in names. A column with the same values as another takes no space. */
static void copy_table(const struct sql_db *db, const struct sql_table *table, sqlite3_str *text)
{
	const struct sql_columns *columns = &table->columns;

	sqlite3_str_appendf(text, "; DROP TABLE IF EXISTS main.\"%w\"; CREATE TABLE main.\"%w\"(",
		table->name, table->name);
	for (size_t i = 0; i < columns->n; i++) {
		const struct sql_column *column = &columns->at[i];

		if (!is_stored(db, column))
			continue;
		sqlite3_str_appendf(text, "%s\"%w\" %s", i ? ", " : "", column->name, column->type);
		if (column->same)
			sqlite3_str_appendf(text, " GENERATED ALWAYS AS (\"%w\")", column->same);
	}
	sqlite3_str_appendf(text, "); INSERT INTO main.\"%w\" SELECT *", table->name);
	for (size_t i = 0; i < columns->n; i++)
		if (columns->at[i].is_hidden && !columns->at[i].same &&
			is_stored(db, &columns->at[i]))
			sqlite3_str_appendf(text, ", \"%w\"", columns->at[i].name);
	sqlite3_str_appendf(
		text, " FROM temp.\"%w\"; DROP TABLE temp.\"%w\"", table->name, table->name);
}

static int create_table(struct sql_db *db, size_t i)
{
	sqlite3_str *text = sqlite3_str_new(db->sqlite);
	char *statements;
	int r;

	sqlite3_str_appendf(text, "CREATE VIRTUAL TABLE temp.\"%w\" USING attar(%d)",
		db->opts.tables[i]->name, (int)i);
	if (db->opts.is_stored)
		copy_table(db, db->opts.tables[i], text);
	statements = sqlite3_str_finish(text);
	r = statements ? execute(db, statements) : attar_fail(-ENOMEM, "out of memory");
	sqlite3_free(statements);
	return r;
}

static int create_metadata(struct sql_db *db)
{
	int r = execute(db, "CREATE VIRTUAL TABLE temp." SQL_METADATA " USING attar_metadata");

	if (r < 0 || !db->opts.is_stored)
		return r;
	return execute(db,
		"DROP TABLE IF EXISTS main." SQL_METADATA "; CREATE TABLE main." SQL_METADATA
		" AS SELECT * FROM temp." SQL_METADATA "; DROP TABLE temp." SQL_METADATA);
}

static int create_tables(struct sql_db *db)
{
	int r = 0;

	if (db->opts.path)
		r = attar_run_create_database(db->run, db->opts.path, &db->sqlite);
	else if (sqlite3_open(":memory:", &db->sqlite) != SQLITE_OK)
		r = sql_db_failed(db, "cannot create a database in memory");
	if (r < 0)
		return r;
	r = execute(db, "PRAGMA temp_store = MEMORY; BEGIN");
	if (r == 0 &&
		(sql_table_register(db) != SQLITE_OK || sql_metadata_register(db) != SQLITE_OK ||
			(!db->opts.is_stored && sql_groups_register(db) != SQLITE_OK)))
		r = sql_db_failed(db, "cannot create the tables");
	for (size_t i = 0; r == 0 && i < db->opts.n_tables; i++)
		r = create_table(db, i);
	if (r == 0)
		r = create_metadata(db);
	return r == 0 ? execute(db, "COMMIT") : r;
}

static int create(struct attar_run *run, struct sql_db *db)
{
	int r = db->opts.is_input ? sql_input_open(db) : create_tables(db);

	if (r == 0)
		r = sql_functions_add(run, db);
	if (r == 0) {
		sqlite3_limit(db->sqlite, SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX);
		sqlite3_progress_handler(db->sqlite, STEPS, on_progress, db);
		sql_db_restrict(db, true);
	}
	return r;
}

int sql_db_new(struct attar_run *run, const struct sql_db_opts *opts, struct sql_db **ret_db)
{
	struct sql_db *db = calloc(1, sizeof(*db));
	int r;

	if (!db)
		return attar_fail(-ENOMEM, "out of memory");
	db->run = run;
	db->opts = *opts;
	r = create(run, db);
	if (r < 0) {
		sqlite3_exec(db->sqlite, "ROLLBACK", NULL, NULL, NULL);
		sql_db_free(db);
		return r;
	}
	*ret_db = db;
	return 0;
}

struct sql_db *sql_db_free(struct sql_db *db)
{
	if (db) {
		sqlite3_close(db->sqlite);
		sql_scans_free(db);
		sql_stacks_free(db);
	}
	free(db);
	return NULL;
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
 * are looked up after a statement was parsed, and SQLite reports no place for those of tables.
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

static int prepare(
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

/* ---- tables ---- */

static void add_column(const struct sql_table *table, const struct sql_column *column,
	struct attar_section *section)
{
	char type[TYPE_BYTES];

	snprintf(type, sizeof(type), "%s%s", column->type, column->is_hidden ? " HIDDEN" : "");
	attar_section_row(section);
	attar_cell_text(section, table->name);
	attar_cell_text(section, column->name);
	attar_cell_text(section, type);
}

void sql_db_tables(struct sql_db *db, bool columns, struct attar_report *report)
{
	struct attar_section *section;

	if (db->opts.is_input) {
		sql_input_tables(db, columns, report);
		return;
	}
	section = attar_report_table(report, "tables");
	attar_section_column(section, "table", ATTAR_UNIT_TEXT);
	attar_section_column(section, columns ? "column" : "events", ATTAR_UNIT_TEXT);
	if (columns)
		attar_section_column(section, "type", ATTAR_UNIT_TEXT);
	for (size_t i = 0; i < db->opts.n_tables; i++) {
		const struct sql_table *table = db->opts.tables[i];

		for (size_t c = 0; columns && c < table->columns.n; c++)
			add_column(table, &table->columns.at[c], section);
		if (columns)
			continue;
		attar_section_row(section);
		attar_cell_text(section, table->name);
		attar_cell_text(section, table->event);
	}
	sql_metadata_describe(columns, section);
}

/* ---- running ---- */

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
		if (prepare(db, query, ret_statement, text) != SQLITE_OK)
			return sql_db_refuse(db, query);
		if (*ret_statement)
			return check_symbolic(db, query, *text, ret_statement);
		query = *text; /* a comment, or an empty statement */
	}
	return 0;
}

int sql_db_check(struct sql_db *db, const char *queries)
{
	sqlite3_stmt *statement;
	int r, n = 0;

	while ((r = sql_db_next(db, &queries, &statement)) > 0) {
		sqlite3_finalize(statement);
		n++;
	}
	return r == 0 && !n ? attar_fail(-EINVAL, "%s: there is no statement", sql_db_what(db)) : r;
}

struct column_unit {
	enum attar_unit unit;
	bool is_known;
};

/* Direct columns have the type that the table declares; others are computed. */
static struct column_unit declared_unit(sqlite3_stmt *statement, int i)
{
	const char *type = sqlite3_column_decltype(statement, i);

	if (type && !strcmp(type, "TIME"))
		return (struct column_unit){ATTAR_UNIT_TIME, true};
	if (type && !strcmp(type, "ADDRESS"))
		return (struct column_unit){ATTAR_UNIT_HEX, true};
	if (type && !strcmp(type, "INTEGER"))
		return (struct column_unit){ATTAR_UNIT_ID, true};
	return (struct column_unit){ATTAR_UNIT_TEXT, false};
}

/* Takes the units of values in a row. Returns the number of columns whose unit is unknown. */
static int take_units(sqlite3_stmt *statement, struct column_unit *units, int n)
{
	int unknown = 0;

	for (int i = 0; i < n; i++) {
		int type = sqlite3_column_type(statement, i);

		if (!units[i].is_known && (type == SQLITE_INTEGER || type == SQLITE_FLOAT))
			units[i].unit = ATTAR_UNIT_COUNT;
		units[i].is_known |= type != SQLITE_NULL;
		unknown += !units[i].is_known;
	}
	return unknown;
}

/*
 * Steps to the first row. The first value of a computed column that is not NULL decides its unit:
 * rows are read up to it, and then again from the beginning.
 */
static int step_first(sqlite3_stmt *statement, struct column_unit *units, int n)
{
	int result = sqlite3_step(statement), rows = 0;

	for (int i = 0; i < n; i++)
		units[i] = declared_unit(statement, i);
	for (; result == SQLITE_ROW && take_units(statement, units, n); rows++)
		result = sqlite3_step(statement);
	if (!rows || (result != SQLITE_ROW && result != SQLITE_DONE))
		return result;
	sqlite3_reset(statement);
	return sqlite3_step(statement);
}

static void add_cell(
	struct attar_section *table, sqlite3_stmt *statement, int i, enum attar_unit unit)
{
	int type = sqlite3_column_type(statement, i);

	if (type == SQLITE_NULL)
		attar_cell_none(table);
	else if (unit == ATTAR_UNIT_TEXT || type == SQLITE_TEXT || type == SQLITE_BLOB)
		attar_cell_text(table, (const char *)sqlite3_column_text(statement, i));
	else if (type == SQLITE_FLOAT)
		attar_cell_double(table, sqlite3_column_double(statement, i));
	else if (unit == ATTAR_UNIT_TIME || unit == ATTAR_UNIT_HEX)
		attar_cell_u64(table, (uint64_t)sqlite3_column_int64(statement, i));
	else
		attar_cell_i64(table, sqlite3_column_int64(statement, i));
}

/* The names of the columns are those of `named`; n units are uninitialized. */
static int add_rows_with(struct sql_db *db, sqlite3_stmt *statement, sqlite3_stmt *named,
	const char *query, struct attar_section *table, struct column_unit *units, int n)
{
	int result = step_first(statement, units, n);

	for (int i = 0; i < n && (result == SQLITE_ROW || result == SQLITE_DONE); i++)
		attar_section_column(table, sqlite3_column_name(named, i), units[i].unit);
	for (int rows = 0; result == SQLITE_ROW; rows++, result = sqlite3_step(statement)) {
		if (rows == ROWS_MAX)
			return attar_fail(-E2BIG,
				"%s: the result has more than %d rows" ATTAR_FIX "add a LIMIT",
				sql_db_what(db), ROWS_MAX);
		attar_section_row(table);
		for (int i = 0; i < n; i++)
			add_cell(table, statement, i, units[i].unit);
	}
	return result == SQLITE_DONE ? 0 : sql_db_refuse(db, query);
}

static int add_rows(struct sql_db *db, sqlite3_stmt *statement, sqlite3_stmt *named,
	const char *query, struct attar_section *table)
{
	int n = sqlite3_column_count(statement), r;
	struct column_unit *units = calloc((size_t)n + 1, sizeof(*units));

	if (!units)
		return attar_fail(-ENOMEM, "out of memory");
	r = add_rows_with(db, statement, named, query, table, units, n);
	free(units);
	return r;
}

/* The query on the groups that attar has computed for the statement with this number; or NULL. */
static const char *query_on_groups(const struct sql_db *db, unsigned number)
{
	const struct sql_aggregate *a = db->opts.is_stored ? NULL : sql_groups_find(db, number);

	return a ? a->query : NULL;
}

int sql_db_prepare_other(struct sql_db *db, unsigned number, const char *query, size_t len,
	sqlite3_stmt **ret_statement)
{
	const char *groups = query_on_groups(db, number);
	char *text = NULL;
	int r = groups ? 0 : sql_symbolic_expand(db, query, len, &text);

	*ret_statement = NULL;
	if (r == 0 && (groups || text) &&
		prepare(db, groups ? groups : text, ret_statement, NULL) != SQLITE_OK)
		r = sql_db_refuse(db, groups ? groups : text);
	sqlite3_free(text);
	return r;
}

static int add_result(struct sql_db *db, sqlite3_stmt *statement, unsigned number,
	const char *query, size_t len, struct attar_report *report)
{
	sqlite3_stmt *other;
	char name[NAME_BYTES];
	int r = sql_db_prepare_other(db, number, query, len, &other);

	snprintf(name, sizeof(name), "query %u", number);
	if (r >= 0)
		r = add_rows(db, other ? other : statement, statement, query,
			attar_report_table(report, name));
	sqlite3_finalize(other);
	return r;
}

int sql_db_run(struct sql_db *db, const char *queries, struct attar_report *report)
{
	sqlite3_stmt *statement;
	unsigned number = 1;
	int r;

	sql_db_set_deadline(db, db->opts.timeout);
	for (const char *query = queries; (r = sql_db_next(db, &queries, &statement)) > 0;
		query = queries) {
		r = add_result(db, statement, number++, query, (size_t)(queries - query), report);
		sqlite3_finalize(statement);
		if (r < 0)
			break;
	}
	db->deadline = 0;
	return r;
}

/* The rows of EXPLAIN QUERY PLAN, indented as the tree that they are. */
static int add_plan(struct sql_db *db, const char *query, size_t len, struct attar_section *table)
{
	enum { ID, PARENT, DETAIL = 3, STEPS_MAX = 256 };
	char *text = sqlite3_mprintf("EXPLAIN QUERY PLAN %.*s", (int)len, query);
	int depths[STEPS_MAX] = {0}, r = 0;
	sqlite3_stmt *plan = NULL;

	attar_section_column(table, "SQLite", ATTAR_UNIT_TEXT);
	if (!text)
		return attar_fail(-ENOMEM, "out of memory");
	if (prepare(db, text, &plan, NULL) != SQLITE_OK)
		r = sql_db_refuse(db, text);
	while (r == 0 && sqlite3_step(plan) == SQLITE_ROW) {
		unsigned id = (unsigned)sqlite3_column_int(plan, ID) % STEPS_MAX;
		unsigned parent = (unsigned)sqlite3_column_int(plan, PARENT) % STEPS_MAX;
		char line[1024];

		depths[id] = sqlite3_column_int(plan, PARENT) ? depths[parent] + 1 : 0;
		snprintf(line, sizeof(line), "%*s%s", 2 * depths[id], "",
			(const char *)sqlite3_column_text(plan, DETAIL));
		attar_section_row(table);
		attar_cell_text(table, line);
	}
	sqlite3_finalize(plan);
	sqlite3_free(text);
	return r;
}

int sql_db_explain(struct sql_db *db, const char *queries, struct attar_report *report)
{
	const char *query = queries, *groups;
	sqlite3_stmt *statement;
	unsigned number = 1;
	int r;

	while ((r = sql_db_next(db, &queries, &statement)) > 0) {
		bool is_plan = sqlite3_stmt_isexplain(statement);
		char name[NAME_BYTES];

		sqlite3_finalize(statement);
		snprintf(name, sizeof(name), "plan of query %u", number);
		groups = query_on_groups(db, number++);
		if (!is_plan)
			r = add_plan(db, groups ? groups : query,
				groups ? strlen(groups) : (size_t)(queries - query),
				attar_report_table(report, name));
		if (r < 0)
			break;
		query = queries;
	}
	return r;
}
