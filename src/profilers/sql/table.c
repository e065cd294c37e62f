/* SPDX-License-Identifier: MIT */
/* The events of a table, as SQLite's virtual table. Only the columns that a query uses are read. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attar/builtin.h"
#include "sql/db.h"

enum { TEXT_BYTES = 4096 };

struct table {
	sqlite3_vtab base; /* first */
	struct sql_db *db;
	struct sql_table *of;
};

struct cursor {
	struct sql_cursor base;             /* first; in the order of rows in groups */
	const struct sql_row *const *found; /* that were looked up; NULL: none were */
	bool descends;                      /* these are visited from the last one */
	struct sql_place place;
	const struct sql_row *row; /* NULL: after the last */
	size_t n, at;
	sqlite3_int64 number;
};

/* ---- values ---- */

/* "{1,2}" */
static void result_array(sqlite3_context *context, const struct attar_field *field,
	const struct attar_number_type *type, const void *raw, size_t size)
{
	size_t count = attar_field_count(field, raw, size), n = 1;
	char text[TEXT_BYTES] = "{";

	for (size_t i = 0; i < count && n + 40 < sizeof(text); i++) {
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s", i ? "," : "");
		if (type->is_float)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%.17g",
				attar_field_double_at(field, raw, size, i));
		else if (type->is_signed)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%lld",
				(long long)attar_field_i64_at(field, raw, size, i));
		else
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%llu",
				(unsigned long long)attar_field_u64_at(field, raw, size, i));
	}
	text[n++] = '}';
	sqlite3_result_text(context, text, (int)n, SQLITE_TRANSIENT);
}

static void result_field(
	sqlite3_context *context, const struct attar_field *field, const struct sql_row *row)
{
	const void *raw = sql_row_view(row).raw, *bytes;
	struct attar_number_type type;
	size_t size = row->raw_size, n;

	if (!sql_field_is_within(field, size)) {
		sqlite3_result_null(context);
	} else if (field->kind == ATTAR_FIELD_NUMBER) {
		sqlite3_result_int64(context, attar_field_i64(field, raw, size));
	} else if (field->kind == ATTAR_FIELD_STRING) {
		bytes = attar_field_string(field, raw, size, &n);
		if (bytes)
			sqlite3_result_text(context, bytes, (int)n, SQLITE_STATIC);
	} else if (attar_field_number_type(field, &type) && type.is_array) {
		result_array(context, field, &type, raw, size);
	} else if (attar_field_number_type(field, &type) && type.is_float) {
		sqlite3_result_double(context, attar_field_double(field, raw, size));
	} else if (attar_field_number_type(field, &type)) {
		sqlite3_result_int64(context, attar_field_i64_at(field, raw, size, 0));
	} else {
		bytes = attar_field_bytes(field, raw, size, &n);
		if (bytes)
			sqlite3_result_blob(context, bytes, (int)n, SQLITE_STATIC);
	}
}

static void result_known(sqlite3_context *context, int32_t number)
{
	if (number >= 0)
		sqlite3_result_int(context, number);
}

/* ---- stacks ---- */

void sql_stacks_free(struct sql_db *db)
{
	for (size_t i = 0; i < db->n_stacks; i++)
		sqlite3_free(db->stacks[i]);
	free(db->stacks);
	db->stacks = NULL;
	db->n_stacks = 0;
}

/* "main;work;read", the innermost function last. */
static char *stack_text(struct sql_db *db, const attar_location *locations, size_t n)
{
	struct attar_symbols *symbols = attar_run_symbols(db->run);
	sqlite3_str *text = sqlite3_str_new(db->sqlite);

	for (size_t i = n; i > 0; i--) {
		struct attar_symbol symbol;
		bool is_named = attar_symbols_resolve(symbols, locations[i - 1], &symbol) == 0;

		if (is_named)
			sqlite3_str_appendall(text, symbol.name);
		else
			sqlite3_str_appendf(text, *symbol.dso == '[' ? "%s" : "[%s]", symbol.dso);
		if (i > 1)
			sqlite3_str_appendchar(text, 1, ';');
	}
	return sqlite3_str_finish(text);
}

/* Its text is made once and stays while the database exists. */
static void result_stack(sqlite3_context *context, struct sql_db *db, uint32_t number)
{
	const attar_location *locations;
	char **stacks;
	size_t n;

	if (!number)
		return;
	if (number >= db->n_stacks) {
		n = number + 1 > 2 * db->n_stacks ? number + 1 : 2 * db->n_stacks;
		stacks = realloc(db->stacks, n * sizeof(*stacks));
		if (!stacks) {
			sqlite3_result_error_nomem(context);
			return;
		}
		memset(stacks + db->n_stacks, 0, (n - db->n_stacks) * sizeof(*stacks));
		db->stacks = stacks;
		db->n_stacks = n;
	}
	if (!db->stacks[number]) {
		locations = attar_stack_table_get(db->opts.stacks, number, &n);
		db->stacks[number] = stack_text(db, locations, n);
	}
	if (db->stacks[number])
		sqlite3_result_text(context, db->stacks[number], -1, SQLITE_STATIC);
}

/* The event as the kernel prints it. */
static void result_line(
	sqlite3_context *context, const struct attar_format *format, const struct sql_row *row)
{
	char text[TEXT_BYTES];
	size_t n = format ? attar_format_print(format, sql_row_view(row).raw, row->raw_size, text,
				    sizeof(text))
			  : 0;

	if (n)
		sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
}

/* NULL: the thread was in none. */
static void result_group(sqlite3_context *context, const struct attar_run *run,
	enum sql_source source, uint32_t group)
{
	static const enum run_name kinds[] = {[SQL_CGROUP] = RUN_NAME_CGROUP,
		[SQL_UNIT] = RUN_NAME_UNIT,
		[SQL_CONTAINER] = RUN_NAME_CONTAINER,
		[SQL_POD] = RUN_NAME_POD};
	const char *text = run_group_text(run, kinds[source], group);

	if (*text)
		sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
}

/* ---- the cursor's columns ---- */

static int on_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int number)
{
	const struct cursor *c = (const struct cursor *)base;
	const struct table *t = (const struct table *)base->pVtab;
	const struct sql_column *column = &t->of->columns.at[number];
	const struct sql_row *row = c->row;

	switch (column->source) {
	case SQL_TIME:
		sqlite3_result_int64(
			context, (sqlite3_int64)attar_run_realtime(t->db->run, row->time));
		break;
	case SQL_CPU:
		result_known(context, row->cpu);
		break;
	case SQL_PID:
		result_known(context, row->pid);
		break;
	case SQL_TID:
		result_known(context, row->tid);
		break;
	case SQL_COMM:
		sqlite3_result_text(
			context, sql_row_view(row).comm, (int)row->comm_size, SQLITE_STATIC);
		break;
	case SQL_PERIOD:
		sqlite3_result_int64(context, (sqlite3_int64)row->period);
		break;
	case SQL_IP:
		sqlite3_result_int64(context, (sqlite3_int64)row->ip);
		break;
	case SQL_ADDR:
		sqlite3_result_int64(context, (sqlite3_int64)row->addr);
		break;
	case SQL_STACK:
		result_stack(context, t->db, row->stack);
		break;
	case SQL_LINE:
		result_line(context, t->of->format, row);
		break;
	case SQL_CGROUP:
	case SQL_UNIT:
	case SQL_CONTAINER:
	case SQL_POD:
		result_group(context, t->db->run, column->source, row->group);
		break;
	case SQL_FIELD:
		result_field(context, column->field, row);
	}
	return SQLITE_OK;
}

/* ---- the module ---- */

static int declare(sqlite3 *sqlite, const struct sql_table *table)
{
	sqlite3_str *text = sqlite3_str_new(sqlite);
	char *declaration;
	int r;

	sqlite3_str_appendall(text, "CREATE TABLE x(");
	for (size_t i = 0; i < table->columns.n; i++) {
		const struct sql_column *column = &table->columns.at[i];

		/* SQLite asks for the rows of min() in order if the column is never NULL */
		sqlite3_str_appendf(text, "%s\"%w\" %s%s%s", i ? ", " : "", column->name,
			column->type, column->is_hidden ? " HIDDEN" : "",
			column->source == SQL_TIME ? " NOT NULL" : "");
	}
	sqlite3_str_appendall(text, ")");
	declaration = sqlite3_str_finish(text);
	r = declaration ? sqlite3_declare_vtab(sqlite, declaration) : SQLITE_NOMEM;
	sqlite3_free(declaration);
	return r;
}

static int on_connect(sqlite3 *sqlite, void *ctx, int argc, const char *const *argv,
	sqlite3_vtab **ret_table, char **ret_error)
{
	struct sql_db *db = ctx;
	size_t number = argc > 3 ? strtoul(argv[3], NULL, 10) : SIZE_MAX;
	struct table *t;
	int r;

	if (number >= db->opts.n_tables)
		return SQLITE_ERROR;
	r = declare(sqlite, db->opts.tables[number]);
	if (r != SQLITE_OK)
		return r;
	t = calloc(1, sizeof(*t));
	if (!t)
		return SQLITE_NOMEM;
	t->db = db;
	t->of = db->opts.tables[number];
	*ret_table = &t->base;
	return SQLITE_OK;
}

/* EXPLAIN QUERY PLAN shows idxStr. */
static int on_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	struct table *t = (struct table *)base;

	return sql_scan_plan(t->db, t->of, info);
}

static int on_open(sqlite3_vtab *table, sqlite3_vtab_cursor **ret_cursor)
{
	return sql_cursor_new(sizeof(struct cursor), ret_cursor);
}

static int on_next(sqlite3_vtab_cursor *base)
{
	const struct table *t = (const struct table *)base->pVtab;
	struct cursor *c = (struct cursor *)base;
	const struct sql_row *const *rows = c->found ? c->found : c->base.order;

	c->number++;
	if (rows) {
		c->row = c->at >= c->n ? NULL : rows[c->descends ? c->n - 1 - c->at : c->at];
		c->at++;
		return SQLITE_OK;
	}
	do {
		c->row = sql_rows_next(&t->of->rows, &c->place);
	} while (c->row && t->db->opts.is_filtered && !sql_table_is_needed(t->of, c->row));
	return SQLITE_OK;
}

/* A value of the type of the column, which SQLite compares without converting it, or NULL. */
static bool take_value(
	const struct sql_column *column, sqlite3_value *from, struct sql_value *ret_value)
{
	int type = sqlite3_value_type(from);

	*ret_value = (struct sql_value){.is_null = type == SQLITE_NULL};
	if (type == SQLITE_INTEGER && !sql_column_is_text(column))
		ret_value->number = sqlite3_value_int64(from);
	else if (type == SQLITE_TEXT && sql_column_is_text(column))
		*ret_value = (struct sql_value){.text = (const char *)sqlite3_value_text(from),
			.n = (size_t)sqlite3_value_bytes(from)};
	else
		return ret_value->is_null;
	return true;
}

/*
 * An integer that is at the bound or beyond it, in this direction. SQLite compares a bound of
 * another type with all times.
 */
static const int64_t *take_bound(sqlite3_value *from, int beyond, int64_t *bound)
{
	int type = sqlite3_value_type(from);
	double number;

	if (type == SQLITE_INTEGER) {
		*bound = sqlite3_value_int64(from);
		return bound;
	}
	number = type == SQLITE_FLOAT ? sqlite3_value_double(from) : INFINITY;
	if (!(number > -9e18 && number < 9e18))
		return NULL;
	*bound = (int64_t)number + beyond;
	return bound;
}

/*
 * Finds the rows that have the values of another table and times within bounds, which are the last
 * arguments. If a value has another type than its column, SQLite compares it with the values of all
 * rows.
 */
static int look_up(struct sql_db *db, const struct sql_scan *scan, struct cursor *c, int argc,
	sqlite3_value **argv)
{
	const struct sql_times *times = &scan->times;
	struct sql_value values[SQL_GROUP_MAX];
	struct sql_grouping by = scan->lookup;
	int n = by.n + times->from + times->to;
	const int64_t *from = NULL, *to = NULL;
	int64_t bounds[2];

	c->found = NULL;
	c->descends = times->descends;
	if ((!n && !times->is_order) || argc < n)
		return SQLITE_OK;
	argv += argc - n;
	for (int i = 0; i < scan->lookup.n; i++)
		if (!take_value(
			    &scan->table->columns.at[scan->lookup.columns[i]], argv[i], &values[i]))
			by.n = 0;
	argv += scan->lookup.n;
	if (times->from)
		from = take_bound(*argv++, -1, &bounds[0]);
	if (times->to)
		to = take_bound(*argv, 1, &bounds[1]);
	c->found = sql_lookup(db, scan->table, &by, values, from, to, &c->n);
	return c->found ? SQLITE_OK : SQLITE_NOMEM;
}

static int on_filter(
	sqlite3_vtab_cursor *base, int number, const char *text, int argc, sqlite3_value **argv)
{
	struct cursor *c = (struct cursor *)base;
	const struct table *t = (const struct table *)base->pVtab;
	const struct sql_scan *scan = text ? sql_scan_find(t->db, text) : NULL;

	free(c->base.order);
	c->base.order = NULL;
	if (scan && look_up(t->db, scan, c, argc, argv) != SQLITE_OK)
		return SQLITE_NOMEM;
	if (scan && scan->grouping.n) {
		c->base.order = sql_group(t->of, &scan->grouping, t->db->opts.is_filtered, &c->n);
		if (!c->base.order)
			return SQLITE_NOMEM;
	}
	c->at = 0;
	c->place = (struct sql_place){0};
	c->number = 0;
	return on_next(base);
}

static int on_eof(sqlite3_vtab_cursor *base)
{
	return !((const struct cursor *)base)->row;
}

static int on_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret_number)
{
	*ret_number = ((const struct cursor *)base)->number;
	return SQLITE_OK;
}

int sql_table_register(struct sql_db *db)
{
	static const sqlite3_module module = SQL_CURSOR_MODULE;

	return sqlite3_create_module(db->sqlite, "attar", &module, db);
}
