/* SPDX-License-Identifier: MIT */
#include "report/model/model.h"

#include <stdio.h>

#include "attar/private/report.h"
#include "base/check_arg.h"

void report_set_failed(struct attar_report *report, const char *why)
{
	if (report->fault)
		return;
	report->fault = why;
	report->error = -EINVAL;
}

void report_set_out_of_memory(struct attar_report *report)
{
	if (report->fault)
		return;
	report->fault = "out of memory";
	report->error = -ENOMEM;
}

uint32_t report_keep(struct attar_report *report, const char *text)
{
	uint32_t id = 0;

	if (text && !report->fault && intern_id(&report->strings, text, &id) < 0)
		report_set_out_of_memory(report);
	return id;
}

struct attar_report *attar_report_new(const char *profiler)
{
	struct attar_report *report = calloc(1, sizeof(*report));

	if (!report)
		return NULL;
	report->discarded.report = report;
	report->profiler = report_keep(report, profiler);
	return report;
}

struct attar_report *attar_report_free(struct attar_report *report)
{
	if (!report)
		return NULL;
	report_each_section (report, it) {
		vec_done(&(*it)->columns);
		vec_done(&(*it)->kinds);
		vec_done(&(*it)->values);
		vec_done(&(*it)->details);
		vec_done(&(*it)->named);
		vec_done(&(*it)->parts);
		vec_done(&(*it)->records);
		vec_done(&(*it)->nodes);
		vec_done(&(*it)->tasks);
		vec_done(&(*it)->code);
		vec_done(&(*it)->sources);
		vec_done(&(*it)->cpu);
		vec_done(&(*it)->changes);
		vec_done(&(*it)->quantiles);
		free(*it);
	}
	vec_done(&report->sections);
	vec_done(&report->remarks);
	vec_done(&report->missing);
	intern_done(&report->strings);
	free(report);
	return NULL;
}

void attar_report_interval(struct attar_report *report, uint64_t time, uint64_t interval_ns)
{
	CHECK_ARG_OR(report, "report", );

	report->time = time;
	report->interval_ns = interval_ns;
}

void attar_report_notes(struct attar_report *report, const struct attar_notes *notes)
{
	CHECK_ARG_OR(report, "report", );
	CHECK_ARG_OR(notes, "notes", );

	report->notes = *notes;
	report->has_notes = true;
	report->missing.n = 0;
	for (size_t i = 0; i < notes->n_missing_by_cpu; i++)
		if (vec_push(&report->missing, notes->missing_by_cpu[i]) < 0)
			report_set_out_of_memory(report);
	report->notes.missing_by_cpu = report->missing.at;
}

/* `at`: its place in the list. */
static bool add_remark(struct attar_report *report, size_t at, const char *fmt, va_list args)
{
	size_t n = report->remarks.n;
	char *text = NULL;
	uint32_t id;

	if (vasprintf(&text, fmt, args) < 0) {
		report_set_out_of_memory(report);
		return false;
	}
	id = report_keep(report, text);
	free(text);
	if (vec_push(&report->remarks, id) < 0) {
		report_set_out_of_memory(report);
		return false;
	}
	memmove(report->remarks.at + at + 1, report->remarks.at + at, (n - at) * sizeof(id));
	report->remarks.at[at] = id;
	return true;
}

void attar_report_remark(struct attar_report *report, const char *fmt, ...)
{
	CHECK_ARG_OR(report, "report", );
	CHECK_ARG_OR(fmt, "fmt", );

	va_list args;

	va_start(args, fmt);
	add_remark(report, report->remarks.n - report->n_details, fmt, args);
	va_end(args);
}

void report_remark_first(struct attar_report *report, const char *fmt, ...)
{
	CHECK_ARG_OR(report, "report", );
	CHECK_ARG_OR(fmt, "fmt", );

	va_list args;

	va_start(args, fmt);
	add_remark(report, report->has_doubt, fmt, args);
	va_end(args);
}

void report_detail(struct attar_report *report, const char *fmt, ...)
{
	CHECK_ARG_OR(report, "report", );
	CHECK_ARG_OR(fmt, "fmt", );

	va_list args;

	va_start(args, fmt);
	report->n_details += add_remark(report, report->remarks.n, fmt, args);
	va_end(args);
}

void report_doubt(struct attar_report *report, const char *fmt, ...)
{
	CHECK_ARG_OR(report, "report", );
	CHECK_ARG_OR(fmt, "fmt", );

	va_list args;

	va_start(args, fmt);
	report->has_doubt |= add_remark(report, 0, fmt, args);
	va_end(args);
}

struct attar_section *report_add_section(
	struct attar_report *report, enum attar_section_kind kind, const char *name)
{
	struct attar_section *section;

	if (report->fault)
		return &report->discarded;
	section = calloc(1, sizeof(*section));
	if (!section || vec_push(&report->sections, section) < 0) {
		free(section);
		report_set_out_of_memory(report);
		return &report->discarded;
	}
	section->report = report;
	section->kind = kind;
	section->name = report_keep(report, name);
	return section;
}

struct attar_section *attar_report_table(struct attar_report *report, const char *name)
{
	CHECK_ARG_OR(report, "report", NULL);

	return report_add_section(report, ATTAR_SECTION_TABLE, name);
}

struct attar_section *attar_report_events(struct attar_report *report, const char *name)
{
	CHECK_ARG_OR(report, "report", NULL);

	return report_add_section(report, ATTAR_SECTION_EVENTS, name);
}

void report_clear_rows(struct attar_report *report)
{
	report_each_section (report, it) {
		struct attar_section *s = *it;

		s->kinds.n = s->values.n = s->details.n = s->named.n = s->parts.n = s->records.n =
			0;
		s->rows = 0;
		s->filled = 0;
		s->has_record_values = s->stacks_left_out = false;
	}
}

#define VEC_BYTES(v) ((v).size * sizeof(*(v).at))

size_t report_bytes(const struct attar_report *report)
{
	size_t bytes = sizeof(*report) + report->strings.bytes;

	report_each_section (report, it) {
		const struct attar_section *s = *it;

		bytes += sizeof(*s) + VEC_BYTES(s->columns) + VEC_BYTES(s->kinds) +
			 VEC_BYTES(s->values) + VEC_BYTES(s->details) + VEC_BYTES(s->named) +
			 VEC_BYTES(s->parts) + VEC_BYTES(s->records);
	}
	return bytes;
}

void attar_section_column(struct attar_section *section, const char *name, enum attar_unit unit)
{
	CHECK_ARG_OR(section, "section", );

	struct attar_report *report = section->report;

	if (report->fault)
		return;
	if (unit == ATTAR_UNIT_TIME && report->unit_of_times)
		unit = report->unit_of_times;
	if ((size_t)unit > ATTAR_UNIT_CLOCK)
		report_set_failed(report, "a column has an unknown unit");
	else if (section->rows)
		report_set_failed(report, "a column was added after the first row");
	else if (vec_push(&section->columns,
			 (struct column){.name = report_keep(report, name), .unit = unit}) < 0)
		report_set_out_of_memory(report);
}

void attar_section_main(struct attar_section *section)
{
	CHECK_ARG_OR(section, "section", );

	if (section->columns.n)
		section->columns.at[section->columns.n - 1].is_main = true;
}

void section_plain(struct attar_section *section)
{
	CHECK_ARG_OR(section, "section", );

	section->is_plain = true;
}

void section_secondary(struct attar_section *section)
{
	CHECK_ARG_OR(section, "section", );

	section->is_secondary = true;
}

void section_limit(struct attar_section *section, size_t lines, const char *hint)
{
	CHECK_ARG_OR(section, "section", );
	CHECK_ARG_OR(hint, "hint", );

	section->max_lines = lines;
	section->hint = report_keep(section->report, hint);
}

void attar_section_row(struct attar_section *section)
{
	CHECK_ARG_OR(section, "section", );

	struct attar_report *report = section->report;
	size_t more = section->columns.n;

	if (report->fault)
		return;
	if (section->kind == ATTAR_SECTION_TREE || !more || section->rows == UINT32_MAX) {
		report_set_failed(report, "a row was added to a section without columns");
		return;
	}
	if (vec_reserve(&section->kinds, more) < 0 || vec_reserve(&section->values, more) < 0) {
		report_set_out_of_memory(report);
		return;
	}
	memset(section->kinds.at + section->kinds.n, CELL_NONE, more);
	memset(section->values.at + section->values.n, 0, more * sizeof(*section->values.at));
	section->kinds.n += more;
	section->values.n += more;
	section->rows++;
	section->filled = 0;
}

void attar_cell_u64(struct attar_section *section, uint64_t value)
{
	CHECK_ARG_OR(section, "section", );

	section_fill(section, (struct cell){CELL_U64, .u64 = value});
}

void attar_cell_i64(struct attar_section *section, int64_t value)
{
	CHECK_ARG_OR(section, "section", );

	section_fill(section, (struct cell){CELL_I64, .i64 = value});
}

void attar_cell_double(struct attar_section *section, double value)
{
	CHECK_ARG_OR(section, "section", );

	section_fill(section, (struct cell){CELL_DOUBLE, .real = value});
}

/* Like report_keep(), for the next cell. */
static uint32_t keep_for_column(struct attar_section *section, const char *text)
{
	struct attar_report *report = section->report;
	struct column *column;

	if (report->fault || section->filled >= section->columns.n)
		return 0;
	column = &section->columns.at[section->filled];
	if (!column->newest || strcmp(report_text(report, column->newest), text) != 0)
		column->newest = report_keep(report, text);
	return column->newest;
}

void attar_cell_text(struct attar_section *section, const char *text)
{
	CHECK_ARG_OR(section, "section", );

	struct cell cell = {CELL_TEXT, .bits = 0};

	if (text)
		cell.text = keep_for_column(section, text);
	section_fill(section, text ? cell : (struct cell){CELL_NONE});
}

void attar_cell_none(struct attar_section *section)
{
	CHECK_ARG_OR(section, "section", );

	section_fill(section, (struct cell){CELL_NONE});
}

void attar_row_value(struct attar_section *section, const char *name, bool is_list)
{
	CHECK_ARG_OR(section, "section", );

	struct attar_report *report = section->report;
	struct named value = {
		.row = section->rows - 1, .first = section->parts.n, .is_list = is_list};

	if (report->fault)
		return;
	value.name = report_keep(report, name);
	if (!section->rows)
		report_set_failed(report, "a value was added before the first row");
	else if (vec_push(&section->named, value) < 0)
		report_set_out_of_memory(report);
}

static void add_part(struct attar_section *section, struct cell cell)
{
	struct attar_report *report = section->report;
	struct named *value = section->named.n ? &section->named.at[section->named.n - 1] : NULL;

	if (report->fault)
		return;
	if (!value || (value->parts && !value->is_list))
		report_set_failed(report, "a value was given without a name");
	else if (vec_push(&section->parts, cell) < 0)
		report_set_out_of_memory(report);
	else
		value->parts++;
}

void attar_row_value_u64(struct attar_section *section, uint64_t value)
{
	CHECK_ARG_OR(section, "section", );

	add_part(section, (struct cell){CELL_U64, .u64 = value});
}

void attar_row_value_i64(struct attar_section *section, int64_t value)
{
	CHECK_ARG_OR(section, "section", );

	add_part(section, (struct cell){CELL_I64, .i64 = value});
}

void attar_row_value_double(struct attar_section *section, double value)
{
	CHECK_ARG_OR(section, "section", );

	add_part(section, (struct cell){CELL_DOUBLE, .real = value});
}

void attar_row_value_text(struct attar_section *section, const char *text, size_t n)
{
	CHECK_ARG_OR(section, "section", );
	CHECK_ARG_OR(text || !n, "text", );

	struct cell cell = {CELL_TEXT, .bits = 0};
	char *copy = strndup(text, n);

	if (!copy)
		report_set_out_of_memory(section->report);
	cell.text = report_keep(section->report, copy);
	free(copy);
	add_part(section, cell);
}

void attar_row_detail(struct attar_section *section, const char *line)
{
	CHECK_ARG_OR(section, "section", );

	struct attar_report *report = section->report;

	if (report->fault)
		return;
	if (!section->rows)
		report_set_failed(report, "a detail line was added before the first row");
	else if (vec_push(&section->details,
			 (struct detail){section->rows - 1, report_keep(report, line)}) < 0)
		report_set_out_of_memory(report);
}

const char *report_text(const struct attar_report *report, uint32_t id)
{
	return intern_get(&report->strings, id);
}

const char *section_text(const struct attar_section *section, uint32_t id)
{
	return intern_get(&section->report->strings, id);
}

const char *section_detail(const struct attar_section *section, size_t at)
{
	const char *text = section_text(section, section->details.at[at].text);

	return text + strspn(text, " ");
}

/* The first of n sorted items of `size` bytes, each beginning with its row, not before this row. */
static size_t first_of(const void *items, size_t n, size_t size, uint32_t row)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		uint32_t at;

		memcpy(&at, (const char *)items + middle * size, sizeof(at));
		if (at < row)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

size_t section_first_detail(const struct attar_section *section, uint32_t row)
{
	_Static_assert(offsetof(struct detail, row) == 0, "the row is first");
	return first_of(section->details.at, section->details.n, sizeof(struct detail), row);
}

size_t section_first_named(const struct attar_section *section, uint32_t row)
{
	_Static_assert(offsetof(struct named, row) == 0, "the row is first");
	return first_of(section->named.at, section->named.n, sizeof(struct named), row);
}

bool section_has_detail(const struct attar_section *section, uint32_t row, size_t from)
{
	return from < section->details.n && section->details.at[from].row == row;
}
