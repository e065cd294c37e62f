/* SPDX-License-Identifier: MIT */
/* A database that queries can only read, and that interrupts those that do not end. */
#include <errno.h>
#include <stdlib.h>

#include "sql/aggregate.h"

#include "attar/builtin.h"

enum {
	STEPS = 10000,      /* of SQLite's machine between two looks at the clock */
	ROWS_MAX = 1000000, /* of one result */
	NAME_BYTES = 256,
	TYPE_BYTES = 32,
	VALUE_BYTES_MAX = 16 << 20, /* of a text or BLOB */
};

/* ---- creating ---- */

/* A file that cannot be written fails as files of other outputs do. */
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
static void add_ordinary(const struct sql_db *db, const struct sql_table *table, sqlite3_str *text)
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
	sqlite3_str_appendall(text, ")");
}

static void copy_table(const struct sql_db *db, struct sql_table *table, sqlite3_str *text)
{
	const struct sql_columns *columns = &table->columns;

	if (!table->is_in_file)
		add_ordinary(db, table, text);
	table->is_in_file = db->opts.is_appended;
	sqlite3_str_appendf(text, "; INSERT INTO main.\"%w\" SELECT *", table->name);
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
		r = run_create_database(db->run, db->opts.path, &db->sqlite);
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
		sqlite3_progress_handler(db->sqlite, STEPS, sql_db_interrupts, db);
		sql_db_restrict(db, true);
	}
	return r;
}

static void give_clock(const struct attar_run *run, const struct sql_db_opts *opts)
{
	for (size_t i = 0; i < opts->n_tables; i++)
		for (size_t j = 0; j < opts->tables[i]->columns.n; j++)
			opts->tables[i]->columns.at[j].run = run;
}

int sql_db_new(struct attar_run *run, const struct sql_db_opts *opts, struct sql_db **ret_db)
{
	struct sql_db *db = calloc(1, sizeof(*db));
	int r;

	if (!db)
		return attar_fail(-ENOMEM, "out of memory");
	db->run = run;
	db->opts = *opts;
	give_clock(run, opts);
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
		sql_lookups_free(db);
		sql_stacks_free(db);
	}
	free(db);
	return NULL;
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
	else if (type == SQLITE_TEXT || type == SQLITE_BLOB)
		attar_cell_text(table, (const char *)sqlite3_column_text(statement, i));
	else if (type == SQLITE_FLOAT)
		attar_cell_double(table, sqlite3_column_double(statement, i));
	else if (unit == ATTAR_UNIT_TIME || unit == ATTAR_UNIT_HEX)
		attar_cell_u64(table, (uint64_t)sqlite3_column_int64(statement, i));
	else
		attar_cell_i64(table, sqlite3_column_int64(statement, i));
}

/* The names of the columns are as in `named`; n units are uninitialized. */
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
		sql_db_prepare(db, groups ? groups : text, ret_statement, NULL) != SQLITE_OK)
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
	if (sql_db_prepare(db, text, &plan, NULL) != SQLITE_OK)
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
