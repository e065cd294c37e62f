/* SPDX-License-Identifier: MIT */
#include "report/model.h"

#include <stdio.h>

#include "base/check.h"

/* Keeps the first error, which causes later ones. */
static void set_failed(struct attar_report *report, const char *why)
{
	if (report->fault)
		return;
	report->fault = why;
	report->error = -EINVAL;
}

static void set_out_of_memory(struct attar_report *report)
{
	if (report->fault)
		return;
	report->fault = "out of memory";
	report->error = -ENOMEM;
}

static uint32_t keep(struct attar_report *report, const char *text)
{
	uint32_t id = 0;

	if (text && !report->fault && intern_id(&report->strings, text, &id) < 0)
		set_out_of_memory(report);
	return id;
}

struct attar_report *attar_report_new(const char *profiler)
{
	struct attar_report *report = calloc(1, sizeof(*report));

	if (!report)
		return NULL;
	report->discarded.report = report;
	report->profiler = keep(report, profiler);
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
		vec_done(&(*it)->nodes);
		vec_done(&(*it)->tasks);
		free(*it);
	}
	vec_done(&report->sections);
	vec_done(&report->remarks);
	vec_done(&report->missing);
	intern_done(&report->strings);
	free(report);
	return NULL;
}

void attar_report_span(struct attar_report *report, uint64_t time, uint64_t interval_ns)
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
			set_out_of_memory(report);
	report->notes.missing_by_cpu = report->missing.at;
}

void attar_report_remark(struct attar_report *report, const char *fmt, ...)
{
	CHECK_ARG_OR(report, "report", );
	CHECK_ARG_OR(fmt, "fmt", );

	char *text = NULL;
	va_list args;
	int n;

	va_start(args, fmt);
	n = vasprintf(&text, fmt, args);
	va_end(args);
	if (n < 0) {
		set_out_of_memory(report);
		return;
	}
	if (vec_push(&report->remarks, keep(report, text)) < 0)
		set_out_of_memory(report);
	free(text);
}

static struct attar_section *add_section(
	struct attar_report *report, enum attar_section_kind kind, const char *name)
{
	struct attar_section *section;

	if (report->fault)
		return &report->discarded;
	section = calloc(1, sizeof(*section));
	if (!section || vec_push(&report->sections, section) < 0) {
		free(section);
		set_out_of_memory(report);
		return &report->discarded;
	}
	section->report = report;
	section->kind = kind;
	section->name = keep(report, name);
	return section;
}

struct attar_section *attar_report_table(struct attar_report *report, const char *name)
{
	CHECK_ARG_OR(report, "report", NULL);

	return add_section(report, ATTAR_SECTION_TABLE, name);
}

struct attar_section *attar_report_events(struct attar_report *report, const char *name)
{
	CHECK_ARG_OR(report, "report", NULL);

	return add_section(report, ATTAR_SECTION_EVENTS, name);
}

struct attar_section *attar_report_histogram(
	struct attar_report *report, const char *name, enum attar_unit unit)
{
	CHECK_ARG_OR(report, "report", NULL);

	struct attar_section *section = add_section(report, ATTAR_SECTION_HISTOGRAM, name);

	attar_section_column(section, "low", unit);
	attar_section_column(section, "high", unit);
	attar_section_column(section, "count", ATTAR_UNIT_COUNT);
	return section;
}

struct attar_section *attar_report_tree(
	struct attar_report *report, const char *name, enum attar_unit unit)
{
	CHECK_ARG_OR(report, "report", NULL);

	struct attar_section *section = add_section(report, ATTAR_SECTION_TREE, name);

	if ((size_t)unit > ATTAR_UNIT_ID)
		set_failed(report, "a tree has an unknown unit");
	section->unit = unit;
	section->cutoff = 0.005;
	return section;
}

void attar_section_column(struct attar_section *section, const char *name, enum attar_unit unit)
{
	CHECK_ARG_OR(section, "section", );

	struct attar_report *report = section->report;

	if (report->fault)
		return;
	if ((size_t)unit > ATTAR_UNIT_ID)
		set_failed(report, "a column has an unknown unit");
	else if (section->rows)
		set_failed(report, "a column was added after the first row");
	else if (vec_push(&section->columns, (struct column){keep(report, name), unit}) < 0)
		set_out_of_memory(report);
}

void attar_section_row(struct attar_section *section)
{
	CHECK_ARG_OR(section, "section", );

	struct attar_report *report = section->report;
	size_t more = section->columns.n;

	if (report->fault)
		return;
	if (section->kind == ATTAR_SECTION_TREE || !more || section->rows == UINT32_MAX) {
		set_failed(report, "a row was added to a section without columns");
		return;
	}
	if (vec_reserve(&section->kinds, more) < 0 || vec_reserve(&section->values, more) < 0) {
		set_out_of_memory(report);
		return;
	}
	memset(section->kinds.at + section->kinds.n, CELL_NONE, more);
	memset(section->values.at + section->values.n, 0, more * sizeof(*section->values.at));
	section->kinds.n += more;
	section->values.n += more;
	section->rows++;
	section->filled = 0;
}

static void fill(struct attar_section *section, struct cell cell)
{
	size_t at = section->kinds.n - section->columns.n + section->filled;

	if (section->report->fault)
		return;
	if (!section->rows || section->filled == section->columns.n) {
		set_failed(section->report, "a cell was added after the last column");
		return;
	}
	section->kinds.at[at] = (uint8_t)cell.kind;
	section->values.at[at] = cell.bits;
	section->filled++;
}

void attar_cell_u64(struct attar_section *section, uint64_t value)
{
	CHECK_ARG_OR(section, "section", );

	fill(section, (struct cell){CELL_U64, .u64 = value});
}

void attar_cell_i64(struct attar_section *section, int64_t value)
{
	CHECK_ARG_OR(section, "section", );

	fill(section, (struct cell){CELL_I64, .i64 = value});
}

void attar_cell_double(struct attar_section *section, double value)
{
	CHECK_ARG_OR(section, "section", );

	fill(section, (struct cell){CELL_DOUBLE, .real = value});
}

void attar_cell_text(struct attar_section *section, const char *text)
{
	CHECK_ARG_OR(section, "section", );

	struct cell cell = {CELL_TEXT, .bits = 0};

	cell.text = keep(section->report, text);
	fill(section, text ? cell : (struct cell){CELL_NONE});
}

void attar_cell_none(struct attar_section *section)
{
	CHECK_ARG_OR(section, "section", );

	fill(section, (struct cell){CELL_NONE});
}

void attar_row_value(struct attar_section *section, const char *name, bool is_list)
{
	CHECK_ARG_OR(section, "section", );

	struct attar_report *report = section->report;
	struct named value = {.row = section->rows - 1, .is_list = is_list};

	if (report->fault)
		return;
	value.name = keep(report, name);
	if (!section->rows)
		set_failed(report, "a value was added before the first row");
	else if (vec_push(&section->named, value) < 0)
		set_out_of_memory(report);
}

static void add_part(struct attar_section *section, struct cell cell)
{
	struct attar_report *report = section->report;
	struct named *value = section->named.n ? &section->named.at[section->named.n - 1] : NULL;

	if (report->fault)
		return;
	if (!value || (value->parts && !value->is_list))
		set_failed(report, "a value was given without a name");
	else if (vec_push(&section->parts, cell) < 0)
		set_out_of_memory(report);
	else
		value->parts++;
}

void attar_value_u64(struct attar_section *section, uint64_t value)
{
	CHECK_ARG_OR(section, "section", );

	add_part(section, (struct cell){CELL_U64, .u64 = value});
}

void attar_value_i64(struct attar_section *section, int64_t value)
{
	CHECK_ARG_OR(section, "section", );

	add_part(section, (struct cell){CELL_I64, .i64 = value});
}

void attar_value_double(struct attar_section *section, double value)
{
	CHECK_ARG_OR(section, "section", );

	add_part(section, (struct cell){CELL_DOUBLE, .real = value});
}

void attar_value_text(struct attar_section *section, const char *text, size_t n)
{
	CHECK_ARG_OR(section, "section", );
	CHECK_ARG_OR(text || !n, "text", );

	struct cell cell = {CELL_TEXT, .bits = 0};
	char *copy = strndup(text, n);

	if (!copy)
		set_out_of_memory(section->report);
	cell.text = keep(section->report, copy);
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
		set_failed(report, "a detail line was added before the first row");
	else if (vec_push(&section->details,
			 (struct detail){section->rows - 1, keep(report, line)}) < 0)
		set_out_of_memory(report);
}

uint32_t attar_tree_node(struct attar_section *tree, uint32_t parent, enum attar_frame_kind kind,
	const char *name, const char *module, uint64_t self)
{
	CHECK_ARG_OR(tree, "tree", 0);

	struct attar_report *report = tree->report;
	struct tree_node node = {.parent = parent, .kind = kind, .self = self};
	uint32_t id;

	if (report->fault)
		return 0;
	if (tree->kind != ATTAR_SECTION_TREE || tree->nodes.n >= ATTAR_TREE_ROOT ||
		(parent != ATTAR_TREE_ROOT && parent >= tree->nodes.n)) {
		set_failed(report, "a tree node was added before its parent");
		return 0;
	}
	if ((size_t)kind > ATTAR_FRAME_TASK) {
		set_failed(report, "a tree node has an unknown kind");
		return 0;
	}
	node.name = keep(report, name);
	id = keep(report, module);
	node.module = id & (TREE_MODULES - 1);
	if (id >= TREE_MODULES || vec_push(&tree->nodes, node) < 0)
		set_out_of_memory(report);
	return (uint32_t)tree->nodes.n - 1;
}

void attar_tree_task(struct attar_section *tree, uint32_t node, uint32_t pid, uint32_t tid)
{
	CHECK_ARG_OR(tree, "tree", );

	struct attar_report *report = tree->report;

	if (report->fault)
		return;
	if (node >= tree->nodes.n)
		set_failed(report, "a task was set for a tree node that does not exist");
	else if (vec_push(&tree->tasks, (struct tree_task){node, pid, tid}) < 0)
		set_out_of_memory(report);
}

void attar_tree_cutoff(struct attar_section *tree, double share)
{
	CHECK_ARG_OR(tree, "tree", );

	tree->cutoff = share;
}

void attar_histogram_bucket(
	struct attar_section *histogram, double low, double high, uint64_t count)
{
	CHECK_ARG_OR(histogram, "histogram", );

	attar_section_row(histogram);
	attar_cell_double(histogram, low);
	attar_cell_double(histogram, high);
	attar_cell_u64(histogram, count);
}

const char *report_text(const struct attar_report *report, uint32_t id)
{
	return intern_get(&report->strings, id);
}

const char *section_text(const struct attar_section *section, uint32_t id)
{
	return intern_get(&section->report->strings, id);
}

struct cell section_cell(const struct attar_section *section, uint32_t row, size_t column)
{
	size_t at = (size_t)row * section->columns.n + column;

	return (struct cell){section->kinds.at[at], .bits = section->values.at[at]};
}

const char *section_detail(const struct attar_section *section, size_t at)
{
	const char *text = section_text(section, section->details.at[at].text);

	return text + strspn(text, " ");
}

bool section_has_detail(const struct attar_section *section, uint32_t row, size_t from)
{
	return from < section->details.n && section->details.at[from].row == row;
}

const char *unit_name(enum attar_unit unit)
{
	static const char *const names[] = {
		[ATTAR_UNIT_TEXT] = "text",
		[ATTAR_UNIT_COUNT] = "count",
		[ATTAR_UNIT_PERCENT] = "percent",
		[ATTAR_UNIT_NS] = "ns",
		[ATTAR_UNIT_TIME] = "time",
		[ATTAR_UNIT_BYTES] = "bytes",
		[ATTAR_UNIT_HEX] = "hex",
		[ATTAR_UNIT_HZ] = "hz",
		[ATTAR_UNIT_ID] = "id",
	};

	return (size_t)unit < ARRAY_SIZE(names) ? names[unit] : "count";
}

const char *section_kind_name(enum attar_section_kind kind)
{
	static const char *const names[] = {
		[ATTAR_SECTION_TABLE] = "table",
		[ATTAR_SECTION_TREE] = "tree",
		[ATTAR_SECTION_HISTOGRAM] = "histogram",
		[ATTAR_SECTION_EVENTS] = "events",
	};

	return names[kind];
}

const char *frame_kind_name(unsigned kind)
{
	static const char *const names[] = {
		[ATTAR_FRAME_USER] = "user",
		[ATTAR_FRAME_KERNEL] = "kernel",
		[ATTAR_FRAME_INLINED] = "inlined",
		[ATTAR_FRAME_JIT] = "jit",
		[ATTAR_FRAME_UNKNOWN] = "unknown",
		[ATTAR_FRAME_TASK] = "task",
	};

	return kind < ARRAY_SIZE(names) ? names[kind] : "unknown";
}
