/* SPDX-License-Identifier: MIT */
/*
 * Each table is read once, in the order in which it was written: the rows of a report follow each
 * other. Names of tables come from the file, and must be names of ordinary tables: what a view or a
 * virtual table yields need not end.
 */
#include <sqlite3.h>

#include "attar/private/report.h"
#include "base/check_arg.h"
#include "report/sinks/clickhouse/input.h"
#include "report/diff/parts.h"
#include "report/model/model.h"
#include "report/sinks/sqlite/input.h"

struct reader {
	sqlite3 *db;
	VEC(int64_t) ids; /* of the reports, ascending */
	VEC(struct attar_report *) reports;
};

/* A table of sections, while it is read. */
struct source {
	const char *table, *section;
	enum attar_section_kind kind;
	enum attar_unit unit; /* of a call tree's weights */
	int64_t id;           /* the report of `out` */
	struct attar_section *out;
};

static int failed(const struct reader *r)
{
	int code = sqlite3_errcode(r->db) & 0xff;

	return code == SQLITE_NOMEM ? base_oom()
				    : attar_fail(-EBADMSG, "SQLite: %s", sqlite3_errmsg(r->db));
}

static const char *text_at(sqlite3_stmt *row, int i)
{
	return (const char *)sqlite3_column_text(row, i) ?: "";
}

static uint64_t whole_at(sqlite3_stmt *row, int i)
{
	int64_t value = sqlite3_column_int64(row, i);

	return value < 0 ? 0 : (uint64_t)value;
}

static int check_table(const struct reader *r, const char *name)
{
	sqlite3_stmt *row;
	int found;

	if (sqlite3_prepare_v2(r->db,
		    "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ? AND rootpage > "
		    "0",
		    -1, &row, NULL) != SQLITE_OK)
		return failed(r);
	sqlite3_bind_text(row, 1, name, -1, SQLITE_STATIC);
	found = sqlite3_step(row);
	sqlite3_finalize(row);
	if (found == SQLITE_ROW)
		return 0;
	return attar_fail(-EBADMSG,
		"the database has no table '%s': it was not written by 'attar -o', or by an older "
		"version",
		CLIP(name));
}

/* A statement on a table of the file, whose name is %w of the format. */
static int prepare(struct reader *r, const char *format, const char *table, sqlite3_stmt **ret_row)
{
	int e = check_table(r, table);
	char *sql = e == 0 ? sqlite3_mprintf(format, table) : NULL;

	if (e < 0)
		return e;
	if (!sql)
		return base_oom();
	e = sqlite3_prepare_v2(r->db, sql, -1, ret_row, NULL) == SQLITE_OK ? 0 : failed(r);
	sqlite3_free(sql);
	return e;
}

/* Calls a function for each row; the statement is finalized. */
static int each_row(struct reader *r, sqlite3_stmt *row, void *ctx,
	int (*take)(struct reader *, void *, sqlite3_stmt *))
{
	int e = 0, code;

	while ((code = sqlite3_step(row)) == SQLITE_ROW && e == 0)
		e = take(r, ctx, row);
	if (e == 0 && code != SQLITE_DONE)
		e = failed(r);
	sqlite3_finalize(row);
	return e;
}

/* ---- reports ---- */

static int take_report(struct reader *r, void *ctx, sqlite3_stmt *row)
{
	struct attar_notes notes = {.unresolved = -1};
	struct attar_report *report = attar_report_new(text_at(row, 1));

	if (!report || vec_push(&r->reports, report) < 0) {
		attar_report_free(report);
		return base_oom();
	}
	attar_report_interval(report, whole_at(row, 2), whole_at(row, 3));
	notes.seen = whole_at(row, 4);
	notes.lost = whole_at(row, 5);
	attar_report_notes(report, &notes);
	return vec_push(&r->ids, sqlite3_column_int64(row, 0)) < 0 ? base_oom() : 0;
}

static int compare_ids(const void *a, const void *b)
{
	const int64_t *left = a, *right = b;

	return *left < *right ? -1 : *left > *right;
}

/* The report of a row; NULL: there is none. */
static struct attar_report *report_of(const struct reader *r, int64_t id)
{
	const int64_t *at =
		r->ids.n ? bsearch(&id, r->ids.at, r->ids.n, sizeof(id), compare_ids) : NULL;

	return at ? r->reports.at[at - r->ids.at] : NULL;
}

/* ---- tables and call trees ---- */

static int take_column(struct reader *r, void *ctx, sqlite3_stmt *row)
{
	int unit = unit_find(text_at(row, 1));

	attar_section_column(
		ctx, text_at(row, 0), unit < 0 ? ATTAR_UNIT_TEXT : (enum attar_unit)unit);
	return 0;
}

static int add_columns(struct reader *r, struct source *s)
{
	sqlite3_stmt *row;
	int e = prepare(r, "SELECT name, unit FROM \"%w\" WHERE section = ? ORDER BY number",
		"columns", &row);

	if (e < 0)
		return e;
	sqlite3_bind_text(row, 1, s->table, -1, SQLITE_STATIC);
	return each_row(r, row, s->out, take_column);
}

/* Sets s->out to the section of the row's report. 1: the row belongs to no report. */
static int find_section(struct reader *r, struct source *s, int64_t id)
{
	struct attar_report *report;

	if (s->out && s->id == id)
		return 0;
	report = report_of(r, id);
	if (!report)
		return 1;
	s->id = id;
	s->out = (struct attar_section *)(uintptr_t)diff_find(report, s->section, s->kind);
	if (s->out)
		return 0;
	if (s->kind == ATTAR_SECTION_TREE) {
		s->out = attar_report_tree(report, s->section, s->unit);
		return 0;
	}
	s->out = attar_report_table(report, s->section);
	return add_columns(r, s);
}

static void add_cell(struct attar_section *out, sqlite3_stmt *row, int i)
{
	switch (sqlite3_column_type(row, i)) {
	case SQLITE_INTEGER:
		if (sqlite3_column_int64(row, i) < 0)
			attar_cell_i64(out, sqlite3_column_int64(row, i));
		else
			attar_cell_u64(out, whole_at(row, i));
		break;
	case SQLITE_FLOAT:
		attar_cell_double(out, sqlite3_column_double(row, i));
		break;
	case SQLITE_NULL:
		attar_cell_none(out);
		break;
	default:
		attar_cell_text(out, text_at(row, i));
	}
}

static int take_row(struct reader *r, void *ctx, sqlite3_stmt *row)
{
	struct source *s = ctx;
	int e = find_section(r, s, sqlite3_column_int64(row, 0));

	if (e != 0)
		return MIN(e, 0);
	attar_section_row(s->out);
	for (int i = 1; i < sqlite3_column_count(row); i++)
		add_cell(s->out, row, i);
	return 0;
}

/* The columns are in the order of sqlite_table.c. */
static int take_node(struct reader *r, void *ctx, sqlite3_stmt *row)
{
	enum { PARENT = 2, KIND, NAME, MODULE, SELF, PID = 8, TID, COLUMNS };
	struct source *s = ctx;
	uint32_t parent = ATTAR_TREE_ROOT, node;
	int e = find_section(r, s, sqlite3_column_int64(row, 0));

	if (e != 0)
		return MIN(e, 0);
	if (sqlite3_column_count(row) < COLUMNS)
		return attar_fail(-EBADMSG, "its call tree '%s' lacks columns", CLIP(s->section));
	if (sqlite3_column_type(row, PARENT) != SQLITE_NULL)
		parent = (uint32_t)MIN(whole_at(row, PARENT), (uint64_t)ATTAR_TREE_ROOT - 1);
	node = attar_tree_node(s->out, parent, frame_kind_find(text_at(row, KIND)),
		text_at(row, NAME),
		sqlite3_column_type(row, MODULE) == SQLITE_NULL ? NULL : text_at(row, MODULE),
		whole_at(row, SELF));
	if (sqlite3_column_type(row, PID) != SQLITE_NULL)
		attar_tree_task(
			s->out, node, (uint32_t)whole_at(row, PID), (uint32_t)whole_at(row, TID));
	return 0;
}

static int take_section(struct reader *r, void *ctx, sqlite3_stmt *row)
{
	int unit = unit_find(text_at(row, 3)), e;
	struct source s = {.table = text_at(row, 0),
		.section = text_at(row, 1),
		.unit = unit < 0 ? ATTAR_UNIT_COUNT : (enum attar_unit)unit};
	sqlite3_stmt *rows;

	if (!strcmp(text_at(row, 2), section_kind_name(ATTAR_SECTION_TREE)))
		s.kind = ATTAR_SECTION_TREE;
	else if (!strcmp(text_at(row, 2), section_kind_name(ATTAR_SECTION_TABLE)))
		s.kind = ATTAR_SECTION_TABLE;
	else
		return 0;
	e = prepare(r, "SELECT * FROM \"%w\" ORDER BY _rowid_", s.table, &rows);
	if (e < 0)
		return e;
	return each_row(r, rows, &s, s.kind == ATTAR_SECTION_TREE ? take_node : take_row);
}

/* ---- histograms ---- */

static struct attar_section *histogram_of(struct reader *r, sqlite3_stmt *row)
{
	struct attar_report *report = report_of(r, sqlite3_column_int64(row, 0));
	const char *name = text_at(row, 1);
	const struct attar_section *found;
	int unit = unit_find(text_at(row, 2));

	if (!report)
		return NULL;
	found = diff_find(report, name, ATTAR_SECTION_HISTOGRAM);
	if (found)
		return (struct attar_section *)(uintptr_t)found;
	return attar_report_histogram(
		report, name, unit < 0 ? ATTAR_UNIT_COUNT : (enum attar_unit)unit);
}

static int take_bucket(struct reader *r, void *ctx, sqlite3_stmt *row)
{
	struct attar_section *s = histogram_of(r, row);

	if (s)
		attar_histogram_bucket(s, sqlite3_column_double(row, 3),
			sqlite3_column_double(row, 4), whole_at(row, 5));
	return 0;
}

static int take_quantile(struct reader *r, void *ctx, sqlite3_stmt *row)
{
	struct attar_section *s = histogram_of(r, row);

	if (s)
		attar_histogram_quantile(
			s, sqlite3_column_double(row, 3), sqlite3_column_double(row, 4));
	return 0;
}

static int take_summary(struct reader *r, void *ctx, sqlite3_stmt *row)
{
	struct attar_section *s = histogram_of(r, row);

	if (s)
		attar_histogram_summary(s, whole_at(row, 3), sqlite3_column_double(row, 4),
			sqlite3_column_double(row, 5), sqlite3_column_double(row, 6));
	return 0;
}

/* ---- databases ---- */

static int read_all(struct reader *r)
{
	static const struct {
		const char *table, *format;
		int (*take)(struct reader *, void *, sqlite3_stmt *);
	} all[] = {
		{"reports",
			"SELECT id, profiler, time, interval_ns, seen, lost FROM \"%w\" ORDER BY "
			"id",
			take_report},
		{"sections", "SELECT name, section, kind, unit FROM \"%w\" ORDER BY _rowid_",
			take_section},
		{"histograms",
			"SELECT report, name, unit, low, high, count FROM \"%w\" ORDER BY _rowid_",
			take_bucket},
		{"quantiles",
			"SELECT report, name, unit, share, value FROM \"%w\" ORDER BY _rowid_",
			take_quantile},
		{"summaries",
			"SELECT report, name, unit, count, sum, min, max FROM \"%w\" ORDER BY "
			"_rowid_",
			take_summary},
	};
	int e = 0;

	for (size_t i = 0; e == 0 && i < ARRAY_SIZE(all); i++) {
		sqlite3_stmt *row;

		e = prepare(r, all[i].format, all[i].table, &row);
		if (e == 0)
			e = each_row(r, row, NULL, all[i].take);
	}
	return e;
}

/* Passes the reports to the caller, or frees them after a failure. */
static int give(struct reader *r, int e, int (*take)(void *, struct attar_report *), void *ctx)
{
	vec_each (&r->reports, it) {
		struct attar_report *report = *it;

		if (e == 0 && report->error == -ENOMEM)
			e = base_oom();
		else if (e == 0 && report->fault)
			e = attar_fail(-EBADMSG, "it is corrupted: %s", report->fault);
		if (e == 0)
			e = MIN(take(ctx, report), 0);
		else
			attar_report_free(report);
	}
	return e;
}

int report_read_database(
	const char *path, int (*take)(void *ctx, struct attar_report *report), void *ctx)
{
	CHECK_ARG(path, "path");
	CHECK_ARG(take, "take");

	struct reader r = {0};
	int e;

	if (clickhouse_is_address(path))
		return clickhouse_read(path, take, ctx);
	if (!sqlite_is_database(path))
		return 0;
	e = sqlite_open_input(path, &r.db);
	if (e < 0)
		return e;
	e = give(&r, read_all(&r), take, ctx);
	vec_done(&r.reports);
	vec_done(&r.ids);
	sqlite3_close(r.db);
	return e < 0 ? e : 1;
}
