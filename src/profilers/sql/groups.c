/* SPDX-License-Identifier: MIT */
/* The groups of an aggregate as SQLite's virtual table: their keys, then the measures. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql/aggregate.h"
#include "sql/statement.h"

struct table {
	sqlite3_vtab base; /* first */
	struct sql_aggregate *of;
};

struct cursor {
	struct sql_cursor base; /* first; in the order of the groups, uint32_t */
	size_t n, at;
};

/* ---- columns ---- */

static void result_value(sqlite3_context *context, const struct sql_value *v)
{
	if (v->is_null)
		return;
	if (v->text)
		sqlite3_result_text(context, v->text, (int)v->n, SQLITE_TRANSIENT);
	else
		sqlite3_result_int64(context, v->number);
}

static void result_sum(sqlite3_context *context, const struct sql_aggregate *a,
	enum sql_measure_kind kind, const struct sql_sum *sum)
{
	if (kind == SQL_COUNT)
		sqlite3_result_int64(context, (sqlite3_int64)sum->n);
	else if (kind == SQL_TOTAL)
		sqlite3_result_double(context, sql_sum_real(sum, a->adds_integers));
	else if (!sum->n)
		sqlite3_result_null(context);
	else if (kind == SQL_AVG)
		sqlite3_result_double(
			context, sql_sum_real(sum, a->adds_integers) / (double)sum->n);
	else if (kind == SQL_SUM && sum->is_too_large)
		sqlite3_result_error(context, "integer overflow", -1);
	else
		sqlite3_result_int64(context, kind == SQL_SUM   ? sum->sum
					      : kind == SQL_MIN ? sum->min
								: sum->max);
}

static int on_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
	const struct sql_aggregate *a = ((const struct table *)base->pVtab)->of;
	const struct cursor *c = (const struct cursor *)base;
	size_t group = ((const uint32_t *)c->base.order)[c->at], i = (size_t)column;
	const struct sql_measure *m;
	static const struct sql_sum nothing;

	if (i < a->n_keys) {
		result_value(context, &a->keys[group * a->n_keys + i]);
		return SQLITE_OK;
	}
	m = &a->measures[i - a->n_keys];
	if (m->kind == SQL_COUNT_ROWS)
		sqlite3_result_int64(context, a->n ? (sqlite3_int64)a->groups[group].n : 0);
	else
		result_sum(context, a, m->kind,
			a->n ? &a->sums[group * a->n_summed + m->sum] : &nothing);
	return SQLITE_OK;
}

/* ---- the module ---- */

static int declare(sqlite3 *sqlite, const struct sql_aggregate *a)
{
	sqlite3_str *text = sqlite3_str_new(sqlite);
	char *declaration;
	int r;

	sqlite3_str_appendall(text, "CREATE TABLE x(");
	for (size_t i = 0; i < a->n_keys; i++) {
		const struct sql_column *key = &a->table->columns.at[a->key_columns[i]];

		sqlite3_str_appendf(text, "%s\"%w\" %s", i ? ", " : "", key->name, key->type);
	}
	for (size_t i = 0; i < a->n_measures; i++)
		sqlite3_str_appendf(
			text, "%s\"measure %d\"", i || a->n_keys ? ", " : "", (int)i + 1);
	sqlite3_str_appendall(text, ")");
	declaration = sqlite3_str_finish(text);
	r = declaration ? sqlite3_declare_vtab(sqlite, declaration) : SQLITE_NOMEM;
	sqlite3_free(declaration);
	return r;
}

struct sql_aggregate *sql_groups_find(const struct sql_db *db, unsigned number)
{
	for (size_t i = 0; i < db->opts.n_tables; i++)
		for (struct sql_aggregate *a = db->opts.tables[i]->aggregates; a; a = a->next)
			if (a->number == number)
				return a;
	return db->candidate && db->candidate->number == number ? db->candidate : NULL;
}

static int on_connect(sqlite3 *sqlite, void *ctx, int argc, const char *const *argv,
	sqlite3_vtab **ret_table, char **ret_error)
{
	struct sql_aggregate *a =
		argc > 3 ? sql_groups_find(ctx, (unsigned)strtoul(argv[3], NULL, 10)) : NULL;
	struct table *t;
	int r;

	if (!a)
		return SQLITE_ERROR;
	r = declare(sqlite, a);
	if (r != SQLITE_OK)
		return r;
	t = calloc(1, sizeof(*t));
	if (!t)
		return SQLITE_NOMEM;
	t->of = a;
	*ret_table = &t->base;
	return SQLITE_OK;
}

/* EXPLAIN QUERY PLAN shows idxStr. */
static int on_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	const struct sql_aggregate *a = ((const struct table *)base)->of;
	sqlite3_str *text = sqlite3_str_new(NULL);

	sqlite3_str_appendf(text, "%s: ", a->table->name);
	if (a->condition)
		sqlite3_str_appendf(text, "only %s; ", a->condition);
	for (size_t i = 0; i < a->n_keys; i++)
		sqlite3_str_appendf(text, "%s%s", i ? ", " : "in groups of ",
			a->table->columns.at[a->key_columns[i]].name);
	sqlite3_str_appendf(text, "%scomputed while events arrive", a->n_keys ? "; " : "");
	info->idxStr = sqlite3_str_finish(text);
	info->needToFreeIdxStr = 1;
	info->estimatedCost = 1e3;
	return info->idxStr ? SQLITE_OK : SQLITE_NOMEM;
}

static int on_open(sqlite3_vtab *table, sqlite3_vtab_cursor **ret_cursor)
{
	return sql_cursor_new(sizeof(struct cursor), ret_cursor);
}

/* Without GROUP BY there is one row, also of no events. */
static int on_filter(
	sqlite3_vtab_cursor *base, int number, const char *text, int argc, sqlite3_value **argv)
{
	const struct sql_aggregate *a = ((const struct table *)base->pVtab)->of;
	struct cursor *c = (struct cursor *)base;

	uint32_t *order = sql_aggregate_order(a);

	free(c->base.order);
	c->base.order = order;
	if (!order)
		return SQLITE_NOMEM;
	c->n = a->n_keys ? a->n : 1;
	c->at = 0;
	if (!a->n)
		order[0] = 0;
	return SQLITE_OK;
}

static int on_next(sqlite3_vtab_cursor *base)
{
	((struct cursor *)base)->at++;
	return SQLITE_OK;
}

static int on_eof(sqlite3_vtab_cursor *base)
{
	const struct cursor *c = (const struct cursor *)base;

	return c->at >= c->n;
}

static int on_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret_number)
{
	*ret_number = (sqlite3_int64)((const struct cursor *)base)->at;
	return SQLITE_OK;
}

int sql_groups_create(struct sql_db *db, struct sql_aggregate *a)
{
	char text[SQL_NAME_BYTES];

	snprintf(text, sizeof(text),
		"CREATE VIRTUAL TABLE temp.\"groups %u\" USING attar_groups(%u)", a->number,
		a->number);
	return sqlite3_exec(db->sqlite, text, NULL, NULL, NULL);
}

int sql_groups_register(struct sql_db *db)
{
	static const sqlite3_module module = SQL_CURSOR_MODULE;
	int r = sqlite3_create_module(db->sqlite, "attar_groups", &module, db);

	for (size_t i = 0; i < db->opts.n_tables; i++)
		for (struct sql_aggregate *a = db->opts.tables[i]->aggregates; r == SQLITE_OK && a;
			a = a->next)
			r = sql_groups_create(db, a);
	return r;
}
