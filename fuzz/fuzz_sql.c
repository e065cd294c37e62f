/* SPDX-License-Identifier: MIT */
/*
 * A statement on a table of events: its result must be that of an ordinary table with the same
 * rows, whatever attar does in place of SQLite: it drops events by WHERE, computes groups while
 * events arrive, and orders them. Statements whose result SQL does not define are left out.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attar/builtin.h"
#include "profilers/sql/aggregate.h"
#include "profilers/sql/token.h"

enum { EVENTS = 24, STATEMENT_MAX = 400, STEPS = 1000, STEPS_MAX = 200 };

static const char format_text[] = "name: e\nID: 1\nformat:\n"
				  "\tfield:u8 k;\toffset:0;\tsize:1;\tsigned:0;\n"
				  "\tfield:s16 a;\toffset:2;\tsize:2;\tsigned:1;\n"
				  "\tfield:int pid;\toffset:4;\tsize:4;\tsigned:1;\n"
				  "\tfield:u64 u;\toffset:8;\tsize:8;\tsigned:0;\n"
				  "\tfield:s64 n;\toffset:16;\tsize:8;\tsigned:1;\n"
				  "\tfield:char s[4];\toffset:24;\tsize:4;\tsigned:0;\n\n"
				  "print fmt: \"%s %ps\", __print_symbolic(REC->k, { 0, \"zero\" "
				  "}, { 1, \"one\" }), REC->u\n";

struct raw {
	uint8_t k;
	int16_t a;
	int32_t pid;
	uint64_t u;
	int64_t n;
	char s[4];
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
uint64_t __wrap_attar_run_realtime(const struct attar_run *run, uint64_t time);
bool __wrap_run_is_stopped(const struct attar_run *run);
const char *__wrap_run_group_text(const struct attar_run *run, enum run_name kind, uint32_t group);

/* There is no run. */
uint64_t __wrap_attar_run_realtime(const struct attar_run *run, uint64_t time)
{
	return time;
}

bool __wrap_run_is_stopped(const struct attar_run *run)
{
	return false;
}

const char *__wrap_run_group_text(const struct attar_run *run, enum run_name kind, uint32_t group)
{
	return "group";
}

static struct sql_table table = {.name = "e", .event = "t:e"};
static struct sql_table *tables[] = {&table};
static struct sql_rows *all_rows[] = {&table.rows};
static struct sql_store store = {.bytes_max = 16 << 20, .tables = all_rows, .n_tables = 1};
static struct attar_event_spec spec = {.name = "t:e"};
static struct sql_db db = {.opts = {.window = 1 << 20,
				   .timeout = 10000000000,
				   .is_filtered = true,
				   .tables = tables,
				   .n_tables = 1}},
		     plain;
static int steps;

static int on_progress(void *ctx)
{
	return ++steps > STEPS_MAX;
}

static void must(bool ok)
{
	if (!ok)
		abort();
}

/* ---- events ---- */

static void each_event(void (*fn)(const struct attar_event *event))
{
	static const uint64_t us[] = {0, 5, 1ULL << 53, INT64_MAX, 1ULL << 63, UINT64_MAX};
	static const int64_t ns[] = {INT64_MIN, -5, 0, 5, 1LL << 53, INT64_MAX};
	static const char *const texts[] = {"", "a", "A", "5", "ab%", "abcd"};
	static struct attar_thread thread = {.comm = "sh"};

	for (uint32_t i = 0; i < EVENTS; i++) {
		struct raw raw = {.k = i % 3,
			.a = (int16_t)((int)(i * 7 % 5) - 2),
			.pid = (int32_t)(i % 4),
			.u = us[i * 5 % 6],
			.n = ns[(i * 7 + i / 6) % 6]};
		struct attar_record record = {.pid = i % 5 ? 100 : UINT32_MAX, .tid = 100 + i % 2};
		struct attar_event event = {
			.record = &record, .time = 1000 + i, .cpu = i % 2, .thread = &thread};

		memcpy(raw.s, texts[i % 6], strlen(texts[i % 6]));
		record.sample.raw = &raw;
		record.sample.raw_size = sizeof(raw);
		record.sample.period = 1 + i % 2;
		fn(&event);
	}
}

static bool fulfils(struct attar_expr *only, const struct attar_event *event)
{
	struct attar_expr_record record;

	attar_event_get_expr_record(event, &record);
	return !only || attar_expr_is_true(only, &record);
}

static void add_all(const struct attar_event *event)
{
	must(sql_rows_add(&store, &table.rows, event) == 0);
}

static void add_needed(const struct attar_event *event)
{
	if (!fulfils(table.only, event))
		return;
	for (struct sql_aggregate *a = table.aggregates; a; a = a->next)
		must(sql_aggregate_add(a, event) == 0);
	if (!table.keeps_no_rows)
		add_all(event);
}

/* ---- tables ---- */

static void execute(sqlite3 *sqlite, const char *text)
{
	must(sqlite3_exec(sqlite, text, NULL, NULL, NULL) == SQLITE_OK);
}

/* The same rows in an ordinary table, with columns in the same order. */
static void fill_plain(void)
{
	sqlite3_str *columns = sqlite3_str_new(NULL), *values = sqlite3_str_new(NULL);
	char *names, *text, *marks;
	sqlite3_stmt *from, *to;

	for (size_t i = 0; i < table.columns.n; i++) {
		sqlite3_str_appendf(columns, "%s\"%w\" %s", i ? ", " : "", table.columns.at[i].name,
			table.columns.at[i].type);
		sqlite3_str_appendall(values, i ? ", ?" : "?");
	}
	names = sqlite3_str_finish(columns);
	marks = sqlite3_str_finish(values);
	text = sqlite3_mprintf("CREATE TABLE e(%s)", names);
	execute(plain.sqlite, text);
	sqlite3_free(text);
	text = sqlite3_mprintf("INSERT INTO e VALUES (%s)", marks);
	must(sqlite3_prepare_v2(plain.sqlite, text, -1, &to, NULL) == SQLITE_OK);
	sqlite3_free(text);
	for (size_t i = 0; i < table.columns.n; i++) /* names only */
		sqlite3_str_appendf(columns = i ? columns : sqlite3_str_new(NULL), "%s\"%w\"",
			i ? ", " : "SELECT ", table.columns.at[i].name);
	sqlite3_str_appendall(columns, " FROM e");
	text = sqlite3_str_finish(columns);
	must(sqlite3_prepare_v2(db.sqlite, text, -1, &from, NULL) == SQLITE_OK);
	while (sqlite3_step(from) == SQLITE_ROW) {
		for (int i = 0; i < (int)table.columns.n; i++)
			sqlite3_bind_value(to, i + 1, sqlite3_column_value(from, i));
		must(sqlite3_step(to) == SQLITE_DONE);
		sqlite3_reset(to);
	}
	sqlite3_finalize(from);
	sqlite3_finalize(to);
	sqlite3_free(text);
	sqlite3_free(names);
	sqlite3_free(marks);
}

static void init(void)
{
	struct attar_format *format;

	must(attar_format_parse("t", format_text, strlen(format_text), &format) == 0);
	table.format = spec.format = format;
	table.spec = &spec;
	must(sql_columns_init(&table.columns, format) == 0);
	plain.opts = db.opts;
	plain.opts.is_stored = true;
	must(sqlite3_open(":memory:", &db.sqlite) == SQLITE_OK);
	must(sqlite3_open(":memory:", &plain.sqlite) == SQLITE_OK);
	must(sql_table_register(&db) == SQLITE_OK && sql_groups_register(&db) == SQLITE_OK);
	execute(db.sqlite, "CREATE VIRTUAL TABLE temp.e USING attar(0)");
	each_event(add_all);
	fill_plain();
	sql_rows_clear(&store, &table.rows);
	for (struct sql_db *each = &db;; each = &plain) {
		must(sql_symbolic_add(each) == 0);
		sqlite3_limit(each->sqlite, SQLITE_LIMIT_LENGTH, 1 << 20);
		sqlite3_progress_handler(each->sqlite, STEPS, on_progress, NULL);
		sql_db_restrict(each, true);
		if (each == &plain)
			break;
	}
}

/* ---- statements ---- */

/* Whether the result is defined, and the same each time. */
static bool is_defined(const char *text)
{
	static const char *const words[] = {"random", "randomblob", "changes", "total_changes",
		"last_insert_rowid", "group_concat", "string_agg", "current_time", "current_date",
		"current_timestamp", "date", "time", "datetime", "julianday", "unixepoch",
		"strftime", "timediff", "sqlite_offset", "json_group_array", "json_group_object",
		"join", "over", "explain", "sqlite_master", "sqlite_schema", "event_metadata",
		"subtype", NULL};
	const char *at = text, *end = text + strlen(text);
	struct sql_token token;
	int selects = 0, froms = 0, limits = 0;

	while (sql_token_next(&at, end, &token)) {
		selects += sql_token_is(&token, "SELECT");
		froms += sql_token_is(&token, "FROM");
		limits += sql_token_is(&token, "LIMIT");
		if (sql_token_is_any(&token, words) || token.kind == SQL_TOKEN_NAME ||
			sql_token_is(&token, ";"))
			return false;
	}
	return selects == froms && (selects == 1 || !limits);
}

static struct attar_expr *compile(const char *condition)
{
	struct attar_expr_opts opts = {.size = sizeof(opts), .flags = ATTAR_EXPR_CONDITION};
	struct attar_expr *expr = NULL;

	if (condition)
		must(attar_expr_new(condition, table.format, &opts, &expr) == 0);
	return expr;
}

/* What the profiler does before and while events arrive. */
static void take_events(const char *text)
{
	if (sql_db_conditions(&db, text) < 0)
		return;
	table.only = compile(table.condition);
	for (struct sql_aggregate *a = table.aggregates; a; a = a->next)
		sql_aggregate_set_only(a, compile(a->condition));
	each_event(add_needed);
}

static void forget(void)
{
	struct sql_aggregate *next, *a = table.aggregates;

	sql_rows_clear(&store, &table.rows);
	for (; a; a = next) {
		char *drop = sqlite3_mprintf("DROP TABLE temp.\"groups %u\"", a->number);

		next = a->next;
		sql_db_restrict(&db, false);
		execute(db.sqlite, drop);
		sql_db_restrict(&db, true);
		sqlite3_free(drop);
		sql_aggregate_free(a);
	}
	free(table.condition);
	table.only = attar_expr_free(table.only);
	sql_scans_free(&db);
	table.aggregates = NULL;
	table.condition = NULL;
	table.is_needed = table.uses_rowid = table.keeps_no_rows = false;
	table.n_queries = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[STATEMENT_MAX + 1];
	unsigned unordered;

	if (!table.format)
		init();
	if (size > STATEMENT_MAX || memchr(data, 0, size))
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	steps = 0;
	if (is_defined(text) && sql_db_check(&db, text) == 0 && sql_db_check(&plain, text) == 0) {
		take_events(text);
		/* other errors are those of a statement, such as an overflow */
		if (sql_db_compare(&db, &plain, text, &unordered) == -EBADMSG &&
			steps <= STEPS_MAX) {
			fprintf(stderr, "%s\n%s\n", text, attar_error());
			abort();
		}
		forget();
	}
	attar_error_clear();
	return 0;
}
