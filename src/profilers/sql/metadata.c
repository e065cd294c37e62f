/* SPDX-License-Identifier: MIT */
/* The table event_metadata: a row for each table of events, with the columns of perf-prof. */
#include <stdlib.h>
#include <string.h>

#include "sql/db.h"

enum {
	TABLE,
	SYSTEM,
	EVENT,
	ID,
	FILTER,
	HAS_STACK,
	MAX_STACK,
	FIELDS,
	CREATED,
	SAMPLES,
	FIRST,
	LAST,
	FUNCTIONS,
};

static const struct {
	const char *name, *type;
} all[] = {[TABLE] = {"table_name", "TEXT"},
	[SYSTEM] = {"event_system", "TEXT"},
	[EVENT] = {"event_name", "TEXT"},
	[ID] = {"event_id", "INTEGER"},
	[FILTER] = {"filter_expression", "TEXT"},
	[HAS_STACK] = {"has_stack", "INTEGER"},
	[MAX_STACK] = {"max_stack", "INTEGER"},
	[FIELDS] = {"field_count", "INTEGER"},
	[CREATED] = {"created_time", "INTEGER"},
	[SAMPLES] = {"sample_count", "INTEGER"},
	[FIRST] = {"first_sample_time", "TIME"},
	[LAST] = {"last_sample_time", "TIME"},
	[FUNCTIONS] = {"function_list", "TEXT"}};

enum { COLUMNS = sizeof(all) / sizeof(*all) };

struct table {
	sqlite3_vtab base; /* first */
	struct sql_db *db;
};

struct cursor {
	struct sql_cursor base; /* first */
	size_t at;              /* the table of events */
};

bool sql_metadata_counts(const char *column)
{
	return !strcmp(column, all[SAMPLES].name) || !strcmp(column, all[FIRST].name) ||
	       !strcmp(column, all[LAST].name);
}

void sql_metadata_describe(bool columns, struct attar_section *section)
{
	for (size_t i = 0; i < (columns ? COLUMNS : 1); i++) {
		attar_section_row(section);
		attar_cell_text(section, SQL_METADATA);
		if (columns) {
			attar_cell_text(section, all[i].name);
			attar_cell_text(section, all[i].type);
		} else {
			attar_cell_none(section);
		}
	}
}

static void result_text(sqlite3_context *context, const char *text)
{
	if (text)
		sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
}

static void result_time(
	sqlite3_context *context, const struct sql_db *db, const struct sql_table *t, uint64_t time)
{
	if (t->n_events)
		sqlite3_result_int64(context, (sqlite3_int64)attar_run_realtime(db->run, time));
}

static int field_count(const struct sql_table *t)
{
	int n = 0;

	for (size_t i = 0; i < t->columns.n; i++)
		n += t->columns.at[i].field && !t->columns.at[i].is_hidden;
	return n;
}

static int on_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
	const struct sql_db *db = ((const struct table *)base->pVtab)->db;
	const struct sql_table *t = db->opts.tables[((const struct cursor *)base)->at];
	const struct attar_event_spec *spec = t->spec;

	switch (column) {
	case TABLE:
		result_text(context, t->name);
		break;
	case SYSTEM:
		result_text(context, t->format ? t->format->system : NULL);
		break;
	case EVENT:
		result_text(context, t->format ? t->format->name : spec->name);
		break;
	case ID:
		if (!spec->profiler)
			sqlite3_result_int64(context,
				(sqlite3_int64)(t->format ? t->format->id : spec->config));
		break;
	case FILTER:
		result_text(context, spec->filter);
		break;
	case HAS_STACK:
		sqlite3_result_int(context, t->has_stack);
		break;
	case MAX_STACK:
		if (t->max_stack)
			sqlite3_result_int(context, (int)t->max_stack);
		break;
	case FIELDS:
		sqlite3_result_int(context, field_count(t));
		break;
	case CREATED:
		sqlite3_result_int64(context, t->created);
		break;
	case SAMPLES:
		sqlite3_result_int64(context, (sqlite3_int64)t->n_events);
		break;
	case FIRST:
		result_time(context, db, t, t->first);
		break;
	case LAST:
		result_time(context, db, t, t->last);
		break;
	case FUNCTIONS:
		sqlite3_result_text(context, sql_print_functions(t), -1, sqlite3_free);
		break;
	}
	return SQLITE_OK;
}

static int on_connect(sqlite3 *sqlite, void *ctx, int argc, const char *const *argv,
	sqlite3_vtab **ret_table, char **ret_error)
{
	sqlite3_str *text = sqlite3_str_new(sqlite);
	char *declaration;
	struct table *t;
	int r;

	for (size_t i = 0; i < COLUMNS; i++)
		sqlite3_str_appendf(
			text, "%s%s %s", i ? ", " : "CREATE TABLE x(", all[i].name, all[i].type);
	sqlite3_str_appendall(text, ")");
	declaration = sqlite3_str_finish(text);
	r = declaration ? sqlite3_declare_vtab(sqlite, declaration) : SQLITE_NOMEM;
	sqlite3_free(declaration);
	t = r == SQLITE_OK ? calloc(1, sizeof(*t)) : NULL;
	if (!t)
		return r == SQLITE_OK ? SQLITE_NOMEM : r;
	t->db = ctx;
	*ret_table = &t->base;
	return SQLITE_OK;
}

/* EXPLAIN QUERY PLAN shows idxStr. */
static int on_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	info->estimatedCost = 10;
	info->estimatedRows = 10;
	info->idxStr = (char *)(uintptr_t)SQL_METADATA;
	return SQLITE_OK;
}

static int on_open(sqlite3_vtab *table, sqlite3_vtab_cursor **ret_cursor)
{
	return sql_cursor_new(sizeof(struct cursor), ret_cursor);
}

static int on_filter(
	sqlite3_vtab_cursor *base, int number, const char *text, int argc, sqlite3_value **argv)
{
	((struct cursor *)base)->at = 0;
	return SQLITE_OK;
}

static int on_next(sqlite3_vtab_cursor *base)
{
	((struct cursor *)base)->at++;
	return SQLITE_OK;
}

static int on_eof(sqlite3_vtab_cursor *base)
{
	return ((const struct cursor *)base)->at >=
	       ((const struct table *)base->pVtab)->db->opts.n_tables;
}

static int on_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret_number)
{
	*ret_number = (sqlite3_int64)((const struct cursor *)base)->at + 1;
	return SQLITE_OK;
}

int sql_metadata_register(struct sql_db *db)
{
	static const sqlite3_module module = SQL_CURSOR_MODULE;

	return sqlite3_create_module(db->sqlite, "attar_metadata", &module, db);
}
