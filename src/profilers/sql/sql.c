/* SPDX-License-Identifier: MIT */
/* sql: queries on events, each of which is a table. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "attar/builtin.h"
#include "attar/private/stats.h"
#include "lib/by_source.h"
#include "lib/event_name.h"
#include "sql/sql.h"

struct sql {
	struct attar_texts events, queries;
	char *query; /* all queries; NULL: none */
	const char *output2;
	uint64_t window, timeout;
	bool verify, explain, graph, prompt;
	struct attar_stack_table *stacks; /* NULL: not kept */
	struct by_source by_source;       /* of struct sql_table */
	struct sql_store store;
	struct sql_table **tables;
	size_t n;
};

/* ---- tables ---- */

static bool is_used(const struct sql *s, const char *name)
{
	for (size_t i = 0; i < s->n; i++)
		if (!strcasecmp(s->tables[i]->name, name))
			return true;
	return !strcasecmp(name, SQL_METADATA);
}

/*
 * The alias, or the name without its system and, of a probe, its file; with '_' for what a plain
 * SQL name cannot have.
 */
static char *table_name(const struct sql *s, const struct attar_event_spec *spec)
{
	const char *from = event_name_bare(spec);
	const bool has_file = !spec->alias && spec->kind == ATTAR_EVENT_PROBE;
	const int len = (int)strcspn(from, has_file ? "@" : "");
	char *name = NULL;

	for (unsigned number = 1; !name; number++) {
		int n = number == 1 ? asprintf(&name, "%.*s", len, from)
				    : asprintf(&name, "%.*s_%u", len, from, number);

		if (n < 0)
			return NULL;
		for (char *c = name; *c; c++)
			if (!isalnum((unsigned char)*c))
				*c = '_';
		if (is_used(s, name)) {
			free(name);
			name = NULL;
		}
	}
	return name;
}

static int add_table(struct sql *s, struct sql_table *table)
{
	struct sql_table **tables = reallocarray(s->tables, s->n + 1, sizeof(*tables));
	struct sql_rows **rows = reallocarray(s->store.tables, s->n + 1, sizeof(*rows));

	s->tables = tables ? tables : s->tables;
	s->store.tables = rows ? rows : s->store.tables;
	if (!tables || !rows)
		return attar_fail(-ENOMEM, "out of memory");
	tables[s->n] = table;
	rows[s->n++] = &table->rows;
	s->store.n_tables = s->n;
	return 0;
}

/* The table of an event that programs have registered replaces the table of the dummy. */
static void remove_table(struct sql *s, const struct sql_table *table)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		if (s->tables[i] == table)
			continue;
		s->tables[n] = s->tables[i];
		s->store.tables[n++] = &s->tables[i]->rows;
	}
	s->n = s->store.n_tables = n;
}

/* The name of a pattern's dummy would not be the name of any event. */
static bool is_pattern(const struct attar_event_spec *spec)
{
	return by_source_is_dummy(spec) && !spec->alias && strpbrk(spec->user_event, "*?[");
}

static int sql_learn(struct attar_run *run, void *self, uint32_t source, void *event)
{
	const struct attar_event_spec *spec = attar_run_source_spec(run, source);
	struct sql *s = self;
	const struct sql_table *asked = by_source_asked(&s->by_source, spec);
	struct sql_table *table = event;

	if (asked && by_source_is_dummy(asked->spec))
		remove_table(s, asked);
	table->spec = spec;
	if (!asked && is_pattern(spec))
		return 0;
	table->name = table_name(s, spec);
	table->event = spec->name;
	table->created = time(NULL);
	table->max_stack = run_source_max_stack(run, source);
	table->format = spec->format;
	if (sql_columns_init(&table->columns, spec->format) < 0)
		return -ENOMEM;
	return table->name ? add_table(s, table) : attar_fail(-ENOMEM, "out of memory");
}

static void forget(void *event)
{
	struct sql_table *table = event;

	free((char *)(uintptr_t)table->name);
	free(table->condition);
	sql_columns_done(&table->columns);
	attar_expr_free(table->only);
	for (struct sql_aggregate *next, *a = table->aggregates; a; a = next) {
		next = sql_aggregate_next(a);
		sql_aggregate_free(a);
	}
}

static bool is_needed(const struct sql_table *table, const struct attar_event *ev)
{
	struct attar_expr_record record;

	attar_event_get_expr_record(ev, &record);
	return attar_expr_is_true(table->only, &record);
}

static void sql_count(struct sql_table *table, uint64_t time)
{
	table->last = time;
	if (!table->n_events++)
		table->first = time;
}

static int on_event(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct sql_table *table;
	struct sql *s = self;
	int r = by_source_get(&s->by_source, run, self, ev->counter, &table);

	if (r < 0)
		return r;
	sql_count(table, ev->time);
	if (table->only && !s->verify && !is_needed(table, ev))
		return r;
	for (struct sql_aggregate *a = table->aggregates; r >= 0 && a; a = sql_aggregate_next(a))
		r = sql_aggregate_add(a, ev);
	return r < 0 || table->keeps_no_rows ? r : sql_rows_add(&s->store, &table->rows, ev);
}

/* ---- databases ---- */

/* Without a query, the file has the events of all intervals. */
static bool appends(const struct sql *s)
{
	return s->output2 && !s->query;
}

/* What the samples of an event have is known when the run has begun: a recording decides. */
static void find_stacks(const struct attar_run *run, struct sql *s)
{
	const struct attar_event_spec *spec;

	for (uint32_t i = 0; (spec = attar_run_source_spec(run, i)); i++)
		for (size_t j = 0; j < s->n; j++)
			if (s->tables[j]->spec == spec)
				s->tables[j]->has_stack =
					attar_run_source_attr(run, i)->sample_type &
						PERF_SAMPLE_CALLCHAIN ||
					(spec->stack && attar_run_is_live(run));
}

static int open_db(struct attar_run *run, struct sql *s, const char *path, bool is_stored,
	struct sql_db **ret_db)
{
	struct sql_db_opts opts = {.path = path,
		.is_stored = is_stored,
		.is_appended = path && appends(s),
		.is_prompt = s->prompt,
		.is_input = run_has_database(run),
		.is_compared = is_stored && !path,
		.is_filtered = s->verify && !is_stored,
		.timeout = s->timeout,
		.window = s->window,
		.tables = s->tables,
		.n_tables = s->n,
		.stacks = s->stacks};

	find_stacks(run, s);
	return sql_db_new(run, &opts, ret_db);
}

/* Events of programs may have no fields yet. */
static bool all_known(struct attar_run *run)
{
	for (uint32_t i = 0; i < attar_run_sources(run); i++)
		if (attar_run_source_spec(run, i)->kind == ATTAR_EVENT_USER)
			return false;
	return true;
}

/*
 * An aggregate selects events itself unless its condition is the condition of the table, which is
 * applied.
 */
static int select_for_aggregates(struct attar_run *run, const struct sql *s, uint32_t source)
{
	struct attar_expr_opts opts = {.size = sizeof(opts), .flags = ATTAR_EXPR_CONDITION};
	const struct sql_table *table = s->tables[source];
	struct sql_aggregate *a = table->aggregates;
	int r = 0;

	for (; r >= 0 && a; a = sql_aggregate_next(a)) {
		struct attar_expr *only;

		if (!sql_aggregate_condition(a) ||
			(table->condition && table->n_queries == 1 && !s->verify))
			continue;
		r = attar_run_expr(run, source, sql_aggregate_condition(a), &opts, &only);
		if (r >= 0)
			sql_aggregate_set_only(a, only);
	}
	return r;
}

/*
 * Events that the queries do not need are dropped by the kernel, or else by attar before it stores
 * them. To verify that, attar stores them and leaves them out when it queries. Source i is table i.
 */
static int drop_unneeded(struct attar_run *run, struct sql *s)
{
	struct attar_expr_opts opts = {.size = sizeof(opts), .flags = ATTAR_EXPR_CONDITION};
	int r = 0;

	for (uint32_t i = 0; r >= 0 && i < s->n; i++) {
		struct sql_table *table = s->tables[i];

		r = select_for_aggregates(run, s, i);
		if (r < 0 || !table->condition)
			continue;
		r = s->verify ? 0 : run_source_filter(run, i, table->condition);
		table->in_kernel = r > 0;
		if (r == 0)
			r = attar_run_expr(run, i, table->condition, &opts, &table->only);
	}
	return r < 0 ? r : 0;
}

/* The input has the tables: there are no events to be chosen. */
static int check_database(struct attar_run *run, struct sql *s)
{
	const struct {
		const char *name;
		bool is_set;
	} all[] = {{"--event", s->events.n}, {"--call-graph", s->graph}, {"--output2", s->output2},
		{"--verify", s->verify}};
	struct sql_db *db;
	int r;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].is_set)
			return attar_fail(
				-EINVAL, "--input with a database conflicts with %s", all[i].name);
	r = open_db(run, s, NULL, false, &db);
	if (r == 0) {
		r = s->query ? sql_db_check(db, s->query) : 0;
		sql_db_free(db);
	}
	return r;
}

static int check_queries(struct attar_run *run, struct sql *s)
{
	struct sql_db *db;
	int r = open_db(run, s, NULL, false, &db);

	if (r < 0)
		return r;
	r = sql_db_check(db, s->query);
	if (r == 0 && !s->output2)
		r = sql_db_conditions(db, s->query);
	for (size_t i = 0; r == 0 && !s->output2 && !s->verify && i < s->n; i++) {
		s->tables[i]->rows.no_comm = !s->tables[i]->reads_comm;
		s->tables[i]->rows.no_fields = !s->tables[i]->reads_fields;
	}
	for (size_t i = 0; s->verify && i < s->n; i++)
		s->tables[i]->keeps_no_rows = false;
	sql_db_free(db);
	return r == 0 ? drop_unneeded(run, s) : r;
}

static int store_tables(struct attar_run *run, struct sql *s, struct attar_report *report)
{
	struct sql_db *db;
	int r = open_db(run, s, s->output2, true, &db);

	if (r < 0)
		return r;
	sql_db_free(db);
	attar_report_remark(report, "the tables are in %s", s->output2);
	return 0;
}

static int verify(
	struct attar_run *run, struct sql *s, struct sql_db *db, struct attar_report *report)
{
	struct sql_db *stored;
	unsigned unordered;
	int r;

	if (s->output2) {
		attar_report_remark(report,
			"not verified: with --output2, SQLite alone computes the results, from all "
			"events");
		return 0;
	}
	r = open_db(run, s, NULL, true, &stored);
	if (r < 0)
		return r;
	r = sql_db_compare(db, stored, s->query, &unordered);
	sql_db_free(stored);
	if (r == 0 && unordered)
		attar_report_remark(report,
			"verified: the results equal those of ordinary tables, but the order of "
			"the "
			"rows of query %u was not compared",
			unordered);
	else if (r == 0)
		attar_report_remark(report, "verified: the results equal those of ordinary tables");
	return r;
}

/* Which events are kept, and how SQLite reads them. */
static int explain(const struct sql *s, struct sql_db *db, struct attar_report *report)
{
	struct attar_section *events;

	if (!s->n)
		return sql_db_explain(db, s->query, report);
	events = attar_report_table(report, "events");
	attar_section_column(events, "table", ATTAR_UNIT_TEXT);
	attar_section_column(events, "filtered by", ATTAR_UNIT_TEXT);
	attar_section_column(events, "kept", ATTAR_UNIT_TEXT);
	for (size_t i = 0; i < s->n; i++) {
		const struct sql_table *table = s->tables[i];

		attar_section_row(events);
		attar_cell_text(events, table->name);
		attar_cell_text(events, table->in_kernel ? "kernel" : table->only ? "attar" : "-");
		attar_cell_text(events, table->condition ? table->condition : "all");
	}
	return sql_db_explain(db, s->query, report);
}

/* ---- the profiler ---- */

static void sql_defaults(void *self)
{
	struct sql *s = self;

	s->window = 256 << 20;
	s->timeout = 10000000000;
}

static bool is_letter(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Whether the text has this word, in any case, or with "_" before it. */
static bool has_word(const char *text, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = text; (at = strcasestr(at, word)); at++) {
		const char *start = at > text && at[-1] == '_' ? at - 1 : at;

		if ((start == text || !is_letter(start[-1])) && !is_letter(at[n]))
			return true;
	}
	return false;
}

static int join_queries(struct sql *s)
{
	static const char between[] = "\n;\n"; /* a query can end with a comment */
	size_t size = 1;
	char *at;

	for (size_t i = 0; i < s->queries.n; i++)
		size += strlen(s->queries.at[i]) + sizeof(between);
	at = s->query = s->queries.n ? malloc(size) : NULL;
	if (s->queries.n && !at)
		return attar_fail(-ENOMEM, "out of memory");
	for (size_t i = 0; i < s->queries.n; i++) {
		at = stpcpy(at, i ? between : "");
		at = stpcpy(at, s->queries.at[i]);
	}
	return 0;
}

/* Whether a query may read what threads are in; a database has it for later ones. */
static bool reads_groups(const struct sql *s)
{
	static const char *const names[] = {"_cgroup", "_unit", "_container", "_pod"};
	bool reads = s->prompt || s->output2;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && s->query; i++)
		reads |= has_word(s->query, names[i]);
	return reads;
}

static int sql_open(struct attar_run *run, void *self)
{
	struct sql *s = self;
	int r = join_queries(s);

	if (r < 0)
		return r;
	if (!s->query && !s->output2 && !attar_run_is_live(run))
		s->prompt |= isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	if (s->prompt && (s->query || attar_run_is_live(run)))
		return attar_fail(-EINVAL, "--prompt needs a recording and no --query" ATTAR_FIX
					   "give --input FILE without --query");
	if (s->prompt)
		run_expect_queries(run);
	if (!s->query && !s->output2 && !s->prompt)
		return attar_fail(-EINVAL,
			"sql needs a query" ATTAR_FIX
			"attar sql -e sched:sched_wakeup --query 'SELECT comm, count(*) FROM "
			"sched_wakeup GROUP BY comm'");
	if (run_has_database(run))
		return check_database(run, s);
	s->store.bytes_max = s->window;
	s->by_source = (struct by_source){
		.size = sizeof(struct sql_table), .learn = sql_learn, .forget = forget};
	s->graph |= s->prompt;
	s->graph |= s->query && has_word(s->query, "stack");
	r = s->graph ? attar_stack_table_new(0, &s->stacks) : 0;
	s->store.stacks = s->stacks;
	if (r == 0 && reads_groups(s)) {
		s->store.run = run;
		r = run_want_names(run);
	}
	if (r == 0)
		r = attar_run_event_list(run, &s->events, s->graph, on_event);
	if (r == 0)
		r = by_source_learn(&s->by_source, run, self, 0);
	return r == 0 && s->query && all_known(run) ? check_queries(run, s) : r;
}

static void forget_events(struct sql *s, struct sql_table *table)
{
	sql_rows_clear(&s->store, &table->rows);
	if (!appends(s))
		table->n_events = 0;
	for (struct sql_aggregate *a = table->aggregates; a; a = sql_aggregate_next(a))
		sql_aggregate_clear(a);
}

static int sql_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct sql *s = self;
	struct sql_db *db = NULL;
	uint64_t refused;
	int r = 0;

	if (scope == ATTAR_SCOPE_WHOLE && run_has_intervals(run)) {
		attar_report_remark(report, "the queries were executed for each interval");
		return 0;
	}
	if (s->query)
		r = open_db(run, s, NULL, false, &db);
	if (r == 0 && s->query)
		r = sql_db_run(db, s->query, report);
	if (r == 0 && s->query && s->explain)
		r = explain(s, db, report);
	if (r == 0 && (s->query || s->output2) && s->verify)
		r = verify(run, s, db, report);
	if (r == 0 && s->output2)
		r = store_tables(run, s, report);
	sql_db_free(db);
	refused = s->stacks ? stack_table_refused(s->stacks) : 0;
	if (r == 0 && s->store.dropped)
		attar_report_remark(report,
			"%" PRIu64 " of the oldest events %s dropped: --window is %" PRIu64
			" bytes",
			s->store.dropped, s->store.dropped == 1 ? "was" : "were", s->window);
	if (r == 0 && refused)
		attar_report_remark(report,
			"%" PRIu64 " stack%s missing: the table of stacks is full", refused,
			refused == 1 ? " is" : "s are");
	for (size_t i = 0; scope == ATTAR_SCOPE_INTERVAL && i < s->n; i++)
		forget_events(s, s->tables[i]);
	return r;
}

/* A dot command, or queries. */
static int sql_query(
	struct attar_run *run, void *self, const char *text, struct attar_report *report)
{
	struct sql *s = self;
	struct sql_db *db;
	int r = open_db(run, s, NULL, false, &db);

	if (r < 0)
		return r;
	if (!strcmp(text, ".tables") || !strcmp(text, ".schema"))
		sql_db_tables(db, text[1] == 's', report);
	else if (!strncmp(text, ".tables ", 8) || !strncmp(text, ".schema ", 8))
		r = attar_fail(-EINVAL,
			"'%.64s': %.7s takes no argument and shows all tables" ATTAR_FIX "%.7s",
			text, text, text);
	else if (*text == '.')
		r = attar_fail(-EINVAL,
			"unknown command '%.32s': the commands are .tables, .schema and .quit",
			text);
	else
		r = sql_db_run(db, text, report);
	sql_db_free(db);
	return r;
}

static void sql_close(void *self)
{
	struct sql *s = self;

	for (size_t i = 0; i < s->n; i++)
		sql_rows_clear(&s->store, &s->tables[i]->rows);
	free(s->query);
	free(s->tables);
	free(s->store.tables);
	sql_store_done(&s->store);
	by_source_done(&s->by_source);
	attar_stack_table_free(s->stacks);
}

#define T struct sql

static const struct attar_option options[] = {
	ATTAR_LIST(
		T, events, 'e', "event", "EVENTS", "events to use as tables", .complete = "event"),
	ATTAR_FLAG(T, graph, 'g', "call-graph",
		"store the stack of each event (implied by 'stack' in a query)"),
	ATTAR_LIST(T, queries, 0, "query", "SQL",
		"SQL statements, separated by semicolons; may be repeated"),
	ATTAR_SIZE(T, window, 0, "window", "SIZE",
		"memory for events; beyond that, the oldest are dropped", .min = 1 << 20),
	ATTAR_TIME(T, timeout, 0, "timeout", "TIME", "interrupt queries after this time",
		.bare = 1000000000, .min = 1),
	ATTAR_TEXT(T, output2, 0, "output2", "FILE", "also write the tables to a database file",
		.complete = "file"),
	ATTAR_FLAG(T, prompt, 0, "prompt",
		"read queries from standard input; implied on a terminal without a query"),
	ATTAR_FLAG(T, explain, 0, "explain",
		"also show filters of the kernel and query plans of SQLite"),
	ATTAR_FLAG(T, verify, 0, "verify", "verify the results with ordinary tables"), {0}};

static const struct attar_example examples[] = {
	{"sql -e sched:sched_wakeup --query 'SELECT comm, count(*) FROM sched_wakeup GROUP BY 1'",
		"wakeups by name of the woken thread"},
	{"sql -i 1s -e raw_syscalls:sys_enter --query 'SELECT syscall_name(id) AS call, count(*) "
	 "AS "
	 "calls FROM sys_enter GROUP BY id ORDER BY calls DESC LIMIT 10'",
		"the most frequent system calls of each second"},
	{"sql --input perf.data --output2 events.db",
		"the events of a recording as a database for sqlite3"},
	{"sql --input delay.db --query 'SELECT * FROM reports'", "results stored with -o delay.db"},
	{0}};

const struct attar_profiler profiler_sql = {
	.name = "sql",
	.group = "Events",
	.summary = "query events with SQL",
	.uses = ATTAR_USES_RINGS | ATTAR_USES_DATABASE,
	.needs = "perf events, whole system, tracefs",
	.self_size = sizeof(struct sql),
	.options = options,
	.examples = examples,
	.defaults = sql_defaults,
	.open = sql_open,
	.report = sql_report,
	.close = sql_close,
	.query = sql_query,
};
