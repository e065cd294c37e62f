/* SPDX-License-Identifier: MIT */
/* The events of a table, as SQLite's virtual table. Only the columns that a query uses are read. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql/db.h"

enum { TEXT_BYTES = 4096 };

struct table {
	sqlite3_vtab base; /* first */
	struct sql_db *db;
	struct sql_table *of;
};

struct cursor {
	struct sql_cursor base; /* first; in the order of rows in groups */
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

/* A field that a damaged record lacks is NULL, as it is for filters. */
static bool is_within(const struct attar_field *field, size_t size)
{
	return (size_t)field->offset + field->size <= size;
}

static void result_field(
	sqlite3_context *context, const struct attar_field *field, const struct sql_row *row)
{
	const void *raw = sql_row_view(row).raw, *bytes;
	struct attar_number_type type;
	size_t size = row->raw_size, n;

	if (!is_within(field, size)) {
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
	case SQL_FIELD:
		result_field(context, column->field, row);
	}
	return SQLITE_OK;
}

/* ---- values of groups ---- */

bool sql_column_has_value(const struct sql_column *column)
{
	if (column->field)
		return column->field->kind == ATTAR_FIELD_NUMBER ||
		       column->field->kind == ATTAR_FIELD_STRING;
	return column->source != SQL_TIME && column->source != SQL_STACK &&
	       column->source != SQL_LINE;
}

static struct sql_value known(int32_t number)
{
	return (struct sql_value){.is_null = number < 0, .number = number};
}

static struct sql_value field_value(const struct attar_field *field, const struct sql_view *view)
{
	struct sql_value v = {0};

	if (field->kind == ATTAR_FIELD_NUMBER) {
		v.number = attar_field_i64(field, view->raw, view->row->raw_size);
		v.is_null = !is_within(field, view->row->raw_size);
	} else {
		v.text = attar_field_string(field, view->raw, view->row->raw_size, &v.n);
		v.is_null = !v.text;
	}
	return v;
}

struct sql_value sql_column_value(const struct sql_column *column, const struct sql_view *view)
{
	switch (column->source) {
	case SQL_CPU:
		return known(view->row->cpu);
	case SQL_PID:
		return known(view->row->pid);
	case SQL_TID:
		return known(view->row->tid);
	case SQL_COMM:
		return (struct sql_value){.text = view->comm, .n = view->row->comm_size};
	case SQL_PERIOD:
		return (struct sql_value){.number = (int64_t)view->row->period};
	case SQL_IP:
		return (struct sql_value){.number = (int64_t)view->row->ip};
	case SQL_ADDR:
		return (struct sql_value){.number = (int64_t)view->row->addr};
	default:
		return field_value(column->field, view);
	}
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

		sqlite3_str_appendf(text, "%s\"%w\" %s%s", i ? ", " : "", column->name,
			column->type, column->is_hidden ? " HIDDEN" : "");
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

bool sql_table_is_needed(const struct sql_table *table, const struct sql_row *row)
{
	struct attar_expr_record record = {.raw = sql_row_view(row).raw, .raw_size = row->raw_size};

	return !table->only || attar_expr_is_true(table->only, &record);
}

static int on_next(sqlite3_vtab_cursor *base)
{
	const struct table *t = (const struct table *)base->pVtab;
	struct cursor *c = (struct cursor *)base;

	c->number++;
	if (c->base.order) {
		const struct sql_row **rows = c->base.order;

		c->row = c->at < c->n ? rows[c->at++] : NULL;
		return SQLITE_OK;
	}
	do {
		c->row = sql_rows_next(&t->of->rows, &c->place);
	} while (c->row && t->db->opts.is_filtered && !sql_table_is_needed(t->of, c->row));
	return SQLITE_OK;
}

static int on_filter(
	sqlite3_vtab_cursor *base, int number, const char *text, int argc, sqlite3_value **argv)
{
	struct cursor *c = (struct cursor *)base;
	const struct table *t = (const struct table *)base->pVtab;
	const struct sql_scan *scan = text ? sql_scan_find(t->db, text) : NULL;

	free(c->base.order);
	c->base.order = NULL;
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
	static const sqlite3_module module = {.xCreate = on_connect,
		.xConnect = on_connect,
		.xBestIndex = on_best_index,
		.xDisconnect = sql_cursor_free_table,
		.xDestroy = sql_cursor_free_table,
		.xOpen = on_open,
		.xClose = sql_cursor_free,
		.xFilter = on_filter,
		.xNext = on_next,
		.xEof = on_eof,
		.xColumn = on_column,
		.xRowid = on_rowid,
		.xUpdate = sql_cursor_update};

	return sqlite3_create_module(db->sqlite, "attar", &module, db);
}
