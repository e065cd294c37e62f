/* SPDX-License-Identifier: MIT */
/*
 * Databases for SQLite: a table for each section, a row in "reports" for each report, and a
 * separate table for the stacks of event lines. Each report is one transaction. PRAGMA user_version
 * is the version of the tables, which docs/exports.md describes.
 */
#include "report/model/number.h"
#include "report/sinks/sqlite/sqlite.h"

#include "base/escape.h"
#include "report/model/fields.h"
#include "report/model/tree.h"

/* ---- rows ---- */

/* An empty text is NULL. */
static void bind_text(sqlite3_stmt *statement, int at, const char *text)
{
	if (*text)
		database_bind_text(statement, at, text);
}

/* Unsigned numbers of more than 63 bits become negative. */
static void bind_cell(
	sqlite3_stmt *statement, int at, const struct attar_section *s, struct cell cell)
{
	struct buf valid _cleanup_(buf_done) = {0};
	char text[FIELDS_TEXT_MAX];
	struct fields fields;

	switch (cell.kind) {
	case CELL_NONE:
		break;
	case CELL_U64:
	case CELL_I64:
		sqlite3_bind_int64(statement, at, cell.i64);
		break;
	case CELL_DOUBLE:
		sqlite3_bind_double(statement, at, cell.real);
		break;
	case CELL_TEXT:
		database_bind_text(statement, at, section_text(s, cell.text));
		break;
	case CELL_FIELDS:
		fields = section_fields(s, cell);
		escape_utf8(&valid, text, fields_text(&fields, text));
		database_bind_buf(statement, at, &valid);
		break;
	}
}

static void bind_report(struct database *db, sqlite3_stmt *statement)
{
	if (db->id)
		sqlite3_bind_int64(statement, 1, db->id);
}

/* The number of the stack in the detail lines of a row; 0: there are none. */
static int64_t stack_of(
	struct database *db, const struct attar_section *s, uint32_t row, size_t *at)
{
	struct buf frames _cleanup_(buf_done) = {0};
	int64_t id = 0;

	for (; section_has_detail(s, row, *at); ++*at) {
		const char *line = section_detail(s, *at);

		if (frames.len)
			buf_char(&frames, ';');
		escape_folded(&frames, line, strlen(line));
	}
	if (!frames.len)
		return 0;
	database_bind_buf(db->add_stack, 1, &frames);
	if (database_insert(db, db->add_stack) < 0)
		return -EIO;
	database_bind_buf(db->get_stack, 1, &frames);
	if (sqlite3_step(db->get_stack) == SQLITE_ROW)
		id = sqlite3_column_int64(db->get_stack, 0);
	sqlite3_reset(db->get_stack);
	return id;
}

/* Positions in data that are stored separately from the cells. */
struct position {
	size_t detail, named;
};

static int bind_event(struct database *db, sqlite3_stmt *statement, const struct attar_section *s,
	uint32_t row, struct position *at)
{
	struct buf values _cleanup_(buf_done) = {0};
	int column = (int)s->columns.n + 2;
	int64_t stack = stack_of(db, s, row, &at->detail);

	if (stack < 0)
		return (int)stack;
	if (s->named.n || s->has_record_values) {
		render_values(&values, s, row, &at->named);
		database_bind_buf(statement, column, &values);
	}
	if (stack)
		sqlite3_bind_int64(statement, column + 1, stack);
	return 0;
}

static int add_rows(struct database *db, const struct attar_section *s)
{
	struct position at = {0};
	sqlite3_stmt *statement;
	int e = database_table(db, s, &statement);

	for (uint32_t row = 0; row < s->rows && e == 0; row++) {
		bind_report(db, statement);
		for (size_t i = 0; i < s->columns.n; i++)
			bind_cell(statement, (int)i + 2, s, section_cell(s, row, i));
		if (s->kind == ATTAR_SECTION_EVENTS)
			e = bind_event(db, statement, s, row, &at);
		if (e == 0)
			e = database_insert(db, statement);
	}
	return e;
}

static void bind_code(
	sqlite3_stmt *statement, const struct attar_section *s, const struct tree_code *code)
{
	if (code && code->address)
		sqlite3_bind_int64(statement, 11, (int64_t)code->address);
	if (code)
		bind_text(statement, 12, section_text(s, code->build_id));
}

static void bind_source(
	sqlite3_stmt *statement, const struct attar_section *s, const struct tree_source *source)
{
	if (!source)
		return;
	bind_text(statement, 13, section_text(s, source->file));
	if (source->line)
		sqlite3_bind_int64(statement, 14, source->line);
}

static int add_nodes(struct database *db, struct attar_section *s)
{
	size_t task_at = 0, code_at = 0, source_at = 0;
	sqlite3_stmt *statement;
	int e = database_table(db, s, &statement);

	tree_sum(s);
	for (uint32_t i = 0; i < s->nodes.n && e == 0; i++) {
		const struct tree_node *node = &s->nodes.at[i];
		const struct tree_task *task = tree_task_of(s, i, &task_at);

		bind_report(db, statement);
		sqlite3_bind_int64(statement, 2, i);
		if (node->parent != ATTAR_TREE_ROOT)
			sqlite3_bind_int64(statement, 3, node->parent);
		bind_text(statement, 4, frame_kind_name(node->kind));
		bind_text(statement, 5, section_text(s, node->name));
		bind_text(statement, 6, section_text(s, node->module));
		sqlite3_bind_int64(statement, 7, (int64_t)node->self);
		sqlite3_bind_int64(statement, 8, (int64_t)node->total);
		if (task)
			sqlite3_bind_int64(statement, 9, task->pid);
		if (task && task->tid)
			sqlite3_bind_int64(statement, 10, task->tid);
		bind_code(statement, s, tree_code_of(s, i, &code_at));
		bind_source(statement, s, tree_source_of(s, i, &source_at));
		e = database_insert(db, statement);
	}
	return e;
}

/* Values that a histogram's tables have in common. */
static void bind_histogram(
	struct database *db, sqlite3_stmt *statement, const struct attar_section *s)
{
	bind_report(db, statement);
	bind_text(statement, 2, section_text(s, s->name));
	bind_text(statement, 3, unit_name(s->columns.at[0].unit));
}

static int add_histogram(struct database *db, const struct attar_section *s)
{
	int e = 0;

	for (uint32_t row = 0; row < s->rows && e == 0; row++) {
		bind_histogram(db, db->histogram, s);
		for (size_t i = 0; i < s->columns.n; i++)
			bind_cell(db->histogram, (int)i + 4, s, section_cell(s, row, i));
		e = database_insert(db, db->histogram);
	}
	for (size_t i = 0; i < s->quantiles.n && e == 0; i++) {
		bind_histogram(db, db->quantile, s);
		sqlite3_bind_double(db->quantile, 4, s->quantiles.at[i].share);
		sqlite3_bind_double(db->quantile, 5, number_value(s->quantiles.at[i].value));
		e = database_insert(db, db->quantile);
	}
	if (!s->summary.is_set || e < 0)
		return e;
	bind_histogram(db, db->summary, s);
	sqlite3_bind_int64(db->summary, 4, (int64_t)s->summary.count);
	sqlite3_bind_double(db->summary, 5, number_value(s->summary.sum));
	sqlite3_bind_double(db->summary, 6, number_value(s->summary.min));
	sqlite3_bind_double(db->summary, 7, number_value(s->summary.max));
	return database_insert(db, db->summary);
}

/* ---- reports ---- */

static void bind_notes(sqlite3_stmt *statement, const struct attar_notes *notes)
{
	const uint64_t counts[] = {
		notes->seen, notes->lost, notes->lost_side_band, notes->missing, notes->throttled};

	for (size_t i = 0; i < ARRAY_SIZE(counts) && !notes->counting; i++)
		sqlite3_bind_int64(statement, (int)i + 4, (int64_t)counts[i]);
	if (notes->unresolved >= 0 && !notes->counting)
		sqlite3_bind_double(statement, 9, notes->unresolved);
	sqlite3_bind_double(statement, 10, notes->self_cpu);
	sqlite3_bind_int64(statement, 11, (int64_t)notes->self_rss);
}

/* A batch of event lines is not a separate report. */
static bool is_batch(const struct attar_report *report)
{
	report_each_section (report, it)
		if ((*it)->kind != ATTAR_SECTION_EVENTS)
			return false;
	return !report->has_notes && !report->remarks.n;
}

static int add_report(struct database *db, const struct attar_report *report)
{
	int e;

	db->id = 0;
	if (is_batch(report))
		return 0;
	bind_text(db->report, 1, report_text(report, report->profiler));
	sqlite3_bind_int64(db->report, 2, (int64_t)report->time);
	sqlite3_bind_int64(db->report, 3, (int64_t)report->interval_ns);
	if (report->has_notes)
		bind_notes(db->report, &report->notes);
	e = database_insert(db, db->report);
	db->id = sqlite3_last_insert_rowid(db->sqlite);
	for (size_t i = 0; i < report->remarks.n && e == 0; i++) {
		bind_report(db, db->remark);
		bind_text(db->remark, 2, report_text(report, report->remarks.at[i]));
		e = database_insert(db, db->remark);
	}
	return e;
}

static int add_sections(struct database *db, const struct attar_report *report)
{
	int e = add_report(db, report);

	report_each_section (report, it) {
		if (e < 0)
			return e;
		if ((*it)->kind == ATTAR_SECTION_TREE)
			e = add_nodes(db, *it);
		else if ((*it)->kind == ATTAR_SECTION_HISTOGRAM)
			e = add_histogram(db, *it);
		else
			e = add_rows(db, *it);
	}
	return e;
}

static int sqlite_draw(struct attar_renderer *r, const struct attar_report *report)
{
	struct database *db;
	int e = r->state ? 0 : database_open(r);

	db = r->state;
	if (e == 0)
		e = database_execute(db, "BEGIN");
	if (e == 0)
		e = add_sections(db, report);
	return e == 0 ? database_execute(db, "COMMIT") : e;
}

const struct render_format render_sqlite = {
	.sink = {.name = "sqlite",
		.extension = "db",
		.media_type = "application/vnd.sqlite3",
		.sections = RENDER_ALL,
		.is_complete = true,
		.has_notes = true,
		.is_binary = true,
		.needs_file = true},
	.draws_fields = true,
	.draw = sqlite_draw,
	.close = database_close,
};
