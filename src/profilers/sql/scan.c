/* SPDX-License-Identifier: MIT */
/*
 * What the queries need of each table. SQLite asks on_best_index() of sql_table.c for a plan of
 * each scan, with the conditions that rows must fulfil. A program of SQLite's machine names the
 * plans of all its scans. An event that fulfils the conditions of no scan changes no result, so it
 * need not be kept: the kernel can drop it.
 */
#include <errno.h>
#include <stdlib.h>

#include "sql/aggregate.h"
#include "sql/statement.h"

static void free_scan(struct sql_scan *scan)
{
	sqlite3_free(scan->plan);
	sqlite3_free(scan->condition);
	free(scan);
}

void sql_scans_free(struct sql_db *db)
{
	for (struct sql_scan *next, *scan = db->scans; scan; scan = next) {
		next = scan->next;
		free_scan(scan);
	}
	db->scans = NULL;
}

struct sql_scan *sql_scan_find(const struct sql_db *db, const char *plan)
{
	struct sql_scan *scan = db->scans;

	while (scan && strcmp(scan->plan, plan))
		scan = scan->next;
	return scan;
}

/* ---- conditions ---- */

/* "prio > 5"; NULL: the constraint cannot be expressed, or is not one of a field and a constant. */
static char *condition_of(const struct sql_table *table, sqlite3_index_info *info, int i)
{
	const struct sqlite3_index_constraint *c = &info->aConstraint[i];
	const struct attar_field *field;
	sqlite3_value *value;

	field = c->usable && c->iColumn >= 0 ? table->columns.at[c->iColumn].field : NULL;
	if (!field || sqlite3_vtab_rhs_value(info, i, &value) != SQLITE_OK || !value)
		return NULL;
	if (field->kind == ATTAR_FIELD_NUMBER && sqlite3_value_type(value) == SQLITE_INTEGER)
		return sql_condition_number(field, c->op, sqlite3_value_int64(value));
	if (field->kind == ATTAR_FIELD_STRING && sqlite3_value_type(value) == SQLITE_TEXT &&
		!strcmp(sqlite3_vtab_collation(info, i), "BINARY"))
		return sql_condition_text(field, c->op, (const char *)sqlite3_value_text(value),
			(size_t)sqlite3_value_bytes(value));
	return NULL;
}

/*
 * The conditions that all rows of a scan must fulfil; NULL: there are none. With argvIndex, SQLite
 * takes the plan only where it can use the condition: not, for example, one that ON of a LEFT JOIN
 * has for the table on its left.
 */
static char *conditions_of(const struct sql_db *db, const struct sql_table *table,
	sqlite3_index_info *info, int *ret_n)
{
	sqlite3_str *text = sqlite3_str_new(db->sqlite);
	int n = 0;

	for (int i = 0; i < info->nConstraint; i++) {
		char *condition = condition_of(table, info, i);

		if (!condition)
			continue;
		sqlite3_str_appendf(text, "%s%s", n ? " && " : "", condition);
		sqlite3_free(condition);
		info->aConstraintUsage[i].argvIndex = ++n;
	}
	*ret_n = n;
	return sqlite3_str_finish(text);
}

/* ---- lookups ---- */

/* Whether a constraint compares a column with a value of another table, or of an outer query. */
static bool can_look_up(const struct sql_table *table, sqlite3_index_info *info, int i)
{
	const struct sqlite3_index_constraint *c = &info->aConstraint[i];
	const struct sql_column *column;
	sqlite3_value *value;

	if (!c->usable || c->op != SQLITE_INDEX_CONSTRAINT_EQ || c->iColumn < 0 ||
		info->aConstraintUsage[i].argvIndex || sqlite3_vtab_in(info, i, -1) ||
		sqlite3_vtab_rhs_value(info, i, &value) == SQLITE_OK)
		return false;
	column = &table->columns.at[c->iColumn];
	return sql_column_can_look_up(column) &&
	       (!sql_column_is_text(column) || !strcmp(sqlite3_vtab_collation(info, i), "BINARY"));
}

/* n: of the arguments before. SQLite compares the values of the rows once more. */
static struct sql_grouping lookup_of(const struct sql_table *table, sqlite3_index_info *info, int n)
{
	struct sql_grouping by = {0};

	for (int i = 0; i < info->nConstraint && by.n < SQL_GROUP_MAX && !table->uses_rowid; i++) {
		if (!can_look_up(table, info, i))
			continue;
		info->aConstraintUsage[i].argvIndex = n + by.n + 1;
		by.columns[by.n++] = info->aConstraint[i].iColumn;
	}
	return by;
}

/* ---- times ---- */

/* Takes a bound of the times, of a value of another table or of an outer query. */
static bool take_bound(const struct sql_table *table, sqlite3_index_info *info, int ops, int *n)
{
	for (int i = 0; i < info->nConstraint; i++) {
		const struct sqlite3_index_constraint *c = &info->aConstraint[i];
		sqlite3_value *value;

		if (!c->usable || !(c->op & ops) || c->op >= SQLITE_INDEX_CONSTRAINT_MATCH ||
			c->iColumn < 0 || table->columns.at[c->iColumn].source != SQL_TIME ||
			info->aConstraintUsage[i].argvIndex ||
			sqlite3_vtab_rhs_value(info, i, &value) == SQLITE_OK)
			continue;
		info->aConstraintUsage[i].argvIndex = ++*n;
		return true;
	}
	return false;
}

/* n: of the arguments before. SQLite compares the times once more. */
static struct sql_times times_of(const struct sql_table *table, sqlite3_index_info *info, int n)
{
	struct sql_times times = {0};

	if (table->uses_rowid)
		return times;
	times.from = take_bound(
		table, info, SQLITE_INDEX_CONSTRAINT_GT | SQLITE_INDEX_CONSTRAINT_GE, &n);
	times.to = take_bound(
		table, info, SQLITE_INDEX_CONSTRAINT_LT | SQLITE_INDEX_CONSTRAINT_LE, &n);
	times.is_order = info->nOrderBy == 1 && info->aOrderBy[0].iColumn >= 0 &&
			 table->columns.at[info->aOrderBy[0].iColumn].source == SQL_TIME;
	times.descends = times.is_order && info->aOrderBy[0].desc;
	return times;
}

/* ---- plans ---- */

/*
 * The columns of GROUP BY, by which sql_group.c can order the rows. The number of a row is the
 * number of its time, so the rows then stay in that order.
 */
static struct sql_grouping grouping_of(
	const struct sql_table *table, const sqlite3_index_info *info)
{
	struct sql_grouping by = {.n = info->nOrderBy};

	if (by.n > SQL_GROUP_MAX || table->uses_rowid ||
		sqlite3_vtab_distinct((sqlite3_index_info *)(uintptr_t)info) != 1)
		return (struct sql_grouping){0};
	for (int i = 0; i < by.n; i++) {
		by.columns[i] = info->aOrderBy[i].iColumn;
		by.descends[i] = info->aOrderBy[i].desc;
		if (by.columns[i] < 0 || !sql_column_has_value(&table->columns.at[by.columns[i]]))
			return (struct sql_grouping){0};
	}
	return by;
}

/* SQLite's last bit is for all columns from the 64th on. */
static bool reads(const struct sql_scan *scan, size_t column)
{
	return scan->columns & (uint64_t)1 << (column < 63 ? column : 63);
}

/* "in groups of comm, pid DESC; " */
static void describe_columns(sqlite3_str *text, const struct sql_table *table, const char *words,
	const struct sql_grouping *by)
{
	for (int i = 0; i < by->n; i++)
		sqlite3_str_appendf(text, "%s%s%s%s", i ? ", " : words,
			table->columns.at[by->columns[i]].name, by->descends[i] ? " DESC" : "",
			i == by->n - 1 ? "; " : "");
}

/* "sched_wakeup: only prio > 5; in groups of comm; reads comm, prio" */
static char *describe(const struct sql_db *db, const struct sql_scan *scan)
{
	sqlite3_str *text = sqlite3_str_new(db->sqlite);
	const struct sql_table *table = scan->table;
	bool any = false;

	sqlite3_str_appendf(text, "%s: ", table->name);
	if (scan->condition)
		sqlite3_str_appendf(text, "only %s; ", scan->condition);
	describe_columns(text, table, "looks up ", &scan->lookup);
	if (scan->times.from || scan->times.to)
		sqlite3_str_appendf(text, "times %s%s%s; ", scan->times.from ? "from" : "",
			scan->times.from && scan->times.to ? " and " : "",
			scan->times.to ? "up to" : "");
	if (scan->times.is_order)
		sqlite3_str_appendf(
			text, "in order of time%s; ", scan->times.descends ? " DESC" : "");
	describe_columns(text, table, "in groups of ", &scan->grouping);
	sqlite3_str_appendall(text, "reads ");
	for (size_t i = 0; i < table->columns.n; i++) {
		if (!reads(scan, i))
			continue;
		sqlite3_str_appendf(text, "%s%s", any ? ", " : "", table->columns.at[i].name);
		any = true;
	}
	if (!any)
		sqlite3_str_appendall(text, "no columns");
	return sqlite3_str_finish(text);
}

int sql_scan_plan(struct sql_db *db, struct sql_table *table, sqlite3_index_info *info)
{
	struct sql_scan *scan = calloc(1, sizeof(*scan));
	int n;

	if (!scan)
		return SQLITE_NOMEM;
	scan->table = table;
	scan->columns = info->colUsed;
	scan->condition = conditions_of(db, table, info, &n);
	scan->lookup = lookup_of(table, info, n);
	scan->times = times_of(table, info, n + scan->lookup.n);
	if (!scan->lookup.n && !scan->times.from && !scan->times.to && !scan->times.is_order)
		scan->grouping = grouping_of(table, info);
	scan->plan = describe(db, scan);
	info->estimatedCost = scan->lookup.n ? 1e3 : scan->condition ? 9e5 : 1e6;
	info->estimatedCost /= scan->times.from || scan->times.to ? 3 : 1;
	info->orderByConsumed = scan->grouping.n > 0 || scan->times.is_order;
	info->idxStr = scan->plan ? sqlite3_mprintf("%s", scan->plan) : NULL;
	info->needToFreeIdxStr = 1;
	if (scan->plan && !sql_scan_find(db, scan->plan)) {
		scan->next = db->scans;
		db->scans = scan;
	} else {
		free_scan(scan);
	}
	return info->idxStr ? SQLITE_OK : SQLITE_NOMEM;
}

/* ---- what all queries need ---- */

/* Adds the alternative of a scan to what is needed of its table. */
static int need(struct sql_table *table, const char *condition)
{
	char *all;
	int n;

	if (!condition)
		table->is_needed = true;
	if (table->is_needed)
		return 0;
	n = asprintf(&all, "%s%s(%s)", table->condition ? table->condition : "",
		table->condition ? " || " : "", condition);
	if (n < 0)
		return attar_fail(-ENOMEM, "out of memory");
	if (table->condition && !strcmp(table->condition, all + strlen(table->condition) + 4)) {
		free(all); /* the same again */
		return 0;
	}
	free(table->condition);
	table->condition = all;
	return 0;
}

static bool is_new(const struct sql_scan *const *seen, size_t n, const struct sql_scan *scan)
{
	for (size_t i = 0; i < n; i++)
		if (seen[i] == scan ||
			(seen[i]->table == scan->table && seen[i]->condition && scan->condition &&
				!strcmp(seen[i]->condition, scan->condition)))
			return false;
	return true;
}

enum { SCANS_MAX = 64, OPCODE = 1, P4 = 5 };

/* What the rows of the scan's table must have. */
static void note_columns(const struct sql_scan *scan)
{
	const struct sql_columns *columns = &scan->table->columns;

	for (size_t i = 0; i < columns->n; i++) {
		if (!reads(scan, i))
			continue;
		scan->table->reads_comm |= columns->at[i].source == SQL_COMM;
		scan->table->reads_fields |=
			columns->at[i].field || columns->at[i].source == SQL_LINE;
	}
}

/* Adds the scans of a program; EXPLAIN yields its operations as rows. -1: one is not known. */
static int add_scans(const struct sql_db *db, sqlite3_stmt *program,
	const struct sql_scan *seen[SCANS_MAX], size_t *n)
{
	while (sqlite3_step(program) == SQLITE_ROW) {
		const char *opcode = (const char *)sqlite3_column_text(program, OPCODE);
		const char *plan = (const char *)sqlite3_column_text(program, P4);
		struct sql_scan *scan;

		if (!opcode || strcmp(opcode, "VFilter") != 0 ||
			(plan && !strcmp(plan, SQL_METADATA)))
			continue;
		scan = plan ? sql_scan_find(db, plan) : NULL;
		if (!scan || *n == SCANS_MAX)
			return -1;
		note_columns(scan);
		if (is_new(seen, *n, scan))
			seen[(*n)++] = scan;
	}
	return 0;
}

/* Skips the word, in any case. */
static bool skip_word(const char **text, const char *word)
{
	size_t n = strlen(word);

	*text += strspn(*text, " \t\r\n");
	if (sqlite3_strnicmp(*text, word, (int)n) != 0)
		return false;
	*text += n;
	return true;
}

/* The scans of the statement at the start of the text, also if it is EXPLAIN of one. */
static int add_statement(struct sql_db *db, const char *query, size_t len,
	const struct sql_scan *seen[SCANS_MAX], size_t *n)
{
	const char *start = query;
	sqlite3_stmt *program = NULL;
	char *text;
	int r = -1;

	if (skip_word(&query, "EXPLAIN") && skip_word(&query, "QUERY"))
		skip_word(&query, "PLAN");
	text = sqlite3_mprintf("EXPLAIN %.*s", (int)(len - (size_t)(query - start)), query);
	if (text && sqlite3_prepare_v2(db->sqlite, text, -1, &program, NULL) == SQLITE_OK)
		r = add_scans(db, program, seen, n);
	sqlite3_finalize(program);
	sqlite3_free(text);
	return r;
}

/* ---- aggregates ---- */

/* Whether SQLite accepts the query on the groups: it reads nothing else. */
static bool is_complete(struct sql_db *db, struct sql_aggregate *a)
{
	sqlite3_stmt *statement = NULL;
	bool ok;

	db->candidate = a;
	sql_db_restrict(db, false);
	ok = sql_groups_create(db, a) == SQLITE_OK;
	sql_db_restrict(db, true);
	ok = ok && sqlite3_prepare_v2(db->sqlite, a->query, -1, &statement, NULL) == SQLITE_OK;
	db->candidate = NULL;
	sqlite3_finalize(statement);
	return ok;
}

/* Whether this version of SQLite adds integers for total(), see sql_sum.h. */
static bool adds_integers(struct sql_db *db)
{
	static const char two53_and_two[] = "SELECT total(n) FROM (SELECT 9007199254740992 AS n "
					    "UNION ALL SELECT 1 UNION ALL SELECT 1)";
	sqlite3_stmt *statement = NULL;
	bool is_exact = false;

	if (sqlite3_prepare_v2(db->sqlite, two53_and_two, -1, &statement, NULL) == SQLITE_OK &&
		sqlite3_step(statement) == SQLITE_ROW)
		is_exact = sqlite3_column_double(statement, 0) > 9007199254740992.0;
	sqlite3_finalize(statement);
	return is_exact;
}

static bool add_aggregate(struct sql_db *db, unsigned number, const char *query, size_t len)
{
	struct sql_aggregate *a = NULL, **last;
	char *text = NULL;

	if (sql_symbolic_expand(db, query, len, &text) == 0)
		a = sql_rewrite(db, number, text ? text : query, text ? strlen(text) : len);
	sqlite3_free(text);
	if (!a || a->table->uses_rowid || !is_complete(db, a)) {
		sql_aggregate_free(a);
		return false;
	}
	a->bytes_max = db->opts.window;
	a->adds_integers = adds_integers(db);
	for (last = &a->table->aggregates; *last; last = &(*last)->next)
		;
	*last = a;
	return true;
}

/* What the scans of a statement need; of a SELECT on one table, WHERE may say more. */
static int need_scans(struct sql_db *db, const char *query, size_t len)
{
	const struct sql_scan *seen[SCANS_MAX];
	struct sql_statement *s = malloc(sizeof(*s));
	bool is_exact;
	char *where = NULL;
	size_t n = 0;
	int r = 0;

	if (!s || add_statement(db, query, len, seen, &n) < 0) {
		free(s);
		return -1;
	}
	if (sql_statement_read(db, query, len, s))
		where = sql_where(s, &is_exact);
	for (size_t i = 0; r == 0 && i < n; i++) {
		seen[i]->table->n_queries++;
		seen[i]->table->keeps_no_rows = false;
		r = need(seen[i]->table, where ? where : seen[i]->condition);
	}
	sqlite3_free(where);
	free(s);
	return r;
}

static void need_everything(struct sql_table *table)
{
	table->reads_comm = table->reads_fields = true;
	table->is_needed = true;
	table->keeps_no_rows = false;
}

int sql_db_conditions(struct sql_db *db, const char *queries)
{
	const char *query = queries;
	sqlite3_stmt *statement;
	bool is_known = true;
	unsigned number = 1;
	int r;

	for (size_t i = 0; i < db->opts.n_tables; i++)
		db->opts.tables[i]->keeps_no_rows = true;
	for (; (r = sql_db_next(db, &queries, &statement)) > 0; number++, query = queries) {
		size_t len = (size_t)(queries - query);
		bool is_query = !sqlite3_stmt_isexplain(statement);

		sqlite3_finalize(statement);
		if (!is_query || !add_aggregate(db, number, query, len))
			is_known &= need_scans(db, query, len) == 0;
	}
	for (size_t i = 0; r == 0 && i < db->opts.n_tables; i++) {
		struct sql_table *table = db->opts.tables[i];

		for (struct sql_aggregate *a = table->aggregates; r == 0 && a; a = a->next) {
			table->n_queries++;
			r = need(table, a->condition);
		}
		if (!is_known)
			need_everything(table);
		if (table->is_needed) {
			free(table->condition);
			table->condition = NULL;
		}
	}
	return r;
}
