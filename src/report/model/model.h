/* SPDX-License-Identifier: MIT */
/*
 * Data structures of a report, for the renderers: sections of packed cells or of tree nodes (32
 * bytes each), and one table of interned strings. model.c creates sections and rows, model_tree.c
 * trees, model_chart.c histograms, time series and time lines; model_read.c reads them for
 * users.
 */
#ifndef REPORT_MODEL_MODEL_H
#define REPORT_MODEL_MODEL_H

#include "attar/report.h"
#include "base/buf.h"
#include "base/intern.h"

enum cell_kind {
	CELL_NONE,
	CELL_U64,
	CELL_I64,
	CELL_DOUBLE,
	CELL_TEXT,
	CELL_FIELDS, /* see report/model/fields.h */
};

struct cell {
	enum cell_kind kind;
	union {
		uint64_t u64;
		int64_t i64;
		double real;
		uint32_t text; /* index in report->strings */
		uint64_t bits; /* of fields: index in attar_section.records */
	};
};

struct column {
	uint32_t name;
	enum attar_unit unit;
	bool is_main;    /* see attar_section_main() */
	uint32_t newest; /* the text of its newest cell, often also the text of the next; 0: none */
};

struct detail {
	uint32_t row;
	uint32_t text;
};

/* A named value of a row; its parts follow in attar_section.parts. */
struct named {
	uint32_t row;
	uint32_t name;
	size_t first; /* index of its first part */
	uint32_t parts;
	bool is_list;
};

enum { TREE_MODULES = 1 << 29 };

struct tree_node {
	uint32_t parent; /* ATTAR_TREE_ROOT, or an index smaller than its own */
	uint32_t name;
	uint32_t module : 29; /* 0: none */
	uint32_t kind : 3;    /* enum attar_frame_kind */
	uint64_t self;
	uint64_t total; /* valid after tree_sum() */
};

struct tree_task {
	uint32_t node;
	uint32_t pid;
	uint32_t tid; /* 0: the whole process */
};

/* See tree_set_cpu(). */
struct tree_cpu {
	uint32_t node;
	double ns;
};

/* The code of a node, see attar_tree_code(). */
struct tree_code {
	uint32_t node;
	uint32_t build_id; /* 0: unknown */
	uint64_t address;
	uint64_t first_time;
};

/* The source of a node's code, see tree_set_source() in report/model/tree.h. */
struct tree_source {
	uint32_t node;
	uint32_t function; /* its name without line and marks */
	uint32_t file;     /* 0: unknown */
	uint32_t line;
	bool inlined; /* into the node's parent */
};

struct quantile {
	double share; /* 0..1 */
	struct cell value;
};

/* All values of a histogram, see attar_histogram_summary(). */
struct summary {
	bool is_set;
	uint64_t count;
	struct cell sum, min, max;
};

struct attar_section {
	struct attar_report *report;
	enum attar_section_kind kind;
	uint32_t name;
	bool is_plain;     /* event lines: see section_plain() */
	bool is_for_trees; /* see section_for_trees() */
	bool is_secondary; /* see section_secondary() */
	size_t max_lines;  /* see section_limit(); 0: no limit */
	uint32_t hint;     /* text */

	/*
	 * Tables, event lines, histograms (columns low, high, count), time series (columns time and
	 * one for each label).
	 */
	VEC(struct column) columns;
	VEC(uint8_t) kinds;   /* enum cell_kind, row after row */
	VEC(uint64_t) values; /* parallel to kinds */
	uint32_t rows;
	size_t filled;              /* filled cells of the newest row */
	VEC(struct detail) details; /* in the order of their rows */
	VEC(struct named) named;    /* in the order of their rows */
	VEC(struct cell) parts;     /* of all named values, consecutively */
	VEC(uint64_t) records;      /* of cells of kind CELL_FIELDS; empty: there are none */
	bool has_record_values;     /* one of them has named values, too */
	bool stacks_left_out;       /* see attar_row_stack() */

	/* Histograms. */
	struct summary summary;
	VEC(struct quantile) quantiles; /* lowest share first */

	/* Trees. */
	enum attar_unit unit;
	double cutoff;
	VEC(struct tree_node) nodes;
	VEC(struct tree_task) tasks;     /* in the order of their nodes after tree_sum() */
	VEC(struct tree_code) code;      /* the same */
	VEC(struct tree_source) sources; /* in the order of their nodes */
	VEC(struct tree_cpu) cpu;        /* in the order in which they were set */
	VEC(int8_t) changes;             /* of each node, -100..100; empty: no difference */
	uint32_t weight;                 /* the name of what is counted: "samples"; 0: none */
	size_t sorted_tasks, sorted_code;
	size_t summed;  /* nodes whose totals are valid */
	uint64_t whole; /* the weight of all roots; valid after tree_sum() */
};

struct attar_report {
	const char *fault; /* why it cannot be drawn; NULL: no error */
	int error;         /* -EINVAL or -ENOMEM, if there is a fault */
	uint32_t profiler;
	uint64_t time;
	bool has_no_date; /* time is of a clock that does not begin in 1970 */
	uint64_t interval_ns;
	enum attar_unit unit_of_times; /* of columns of ATTAR_UNIT_TIME; 0: that */
	bool has_notes;
	bool is_dump; /* of a flight recorder: as text, only the last report of the run has notes */
	struct attar_notes notes;
	VEC(struct attar_cpu_count) missing; /* for notes.missing_by_cpu */
	struct intern strings;
	VEC(uint32_t) remarks; /* those about details are the last ones */
	size_t n_details;
	bool has_doubt; /* the first remark is about all of the report */
	VEC(struct attar_section *) sections;
	struct attar_section discarded; /* returned for new sections of a failed report */
};

#define report_each_section(report, it)                                                            \
	for (struct attar_section **it = (report)->sections.at;                                    \
		it && it < (report)->sections.at + (report)->sections.n; it++)

/* Sticky errors of a report: the first one is kept, because it causes later ones. */
void report_set_failed(struct attar_report *report, const char *why);
void report_set_out_of_memory(struct attar_report *report);

/* The index of the interned text; 0 for NULL. */
uint32_t report_keep(struct attar_report *report, const char *text);

struct attar_section *report_add_section(
	struct attar_report *report, enum attar_section_kind kind, const char *name);

/* The string with this index, borrowed until the report changes. */
const char *report_text(const struct attar_report *report, uint32_t id);
const char *section_text(const struct attar_section *section, uint32_t id);

/* Removes all rows, and keeps sections, columns, strings and the memory for the next rows. */
void report_clear_rows(struct attar_report *report);

/* The memory of a report of tables and event lines, in bytes. */
size_t report_bytes(const struct attar_report *report);

/* Sets the next cell of the newest row. */
static inline void section_fill(struct attar_section *section, struct cell cell)
{
	size_t at = section->kinds.n - section->columns.n + section->filled;

	if (unlikely(section->report->fault != NULL))
		return;
	if (unlikely(!section->rows || section->filled == section->columns.n)) {
		report_set_failed(section->report, "a cell was added after the last column");
		return;
	}
	section->kinds.at[at] = (uint8_t)cell.kind;
	section->values.at[at] = cell.bits;
	section->filled++;
}

static inline struct cell cell_u64(uint64_t value)
{
	return (struct cell){CELL_U64, .u64 = value};
}

static inline struct cell cell_double(double value)
{
	return (struct cell){CELL_DOUBLE, .real = value};
}

/* As the functions of attar/report.h; integers are exact. */
void histogram_set_summary(struct attar_section *histogram, const struct summary *summary);
void histogram_add_quantile(struct attar_section *histogram, double share, struct cell value);

static inline struct cell section_cell(
	const struct attar_section *section, uint32_t row, size_t column)
{
	size_t at = row * section->columns.n + column;

	return (struct cell){(enum cell_kind)section->kinds.at[at], .bits = section->values.at[at]};
}

/* A detail line without its indentation. */
const char *section_detail(const struct attar_section *section, size_t at);
/* True if detail line `from` belongs to row: iterate over rows and details in parallel. */
bool section_has_detail(const struct attar_section *section, uint32_t row, size_t from);

/* The index of the first detail line, or named value, of this row or of a later one. */
size_t section_first_detail(const struct attar_section *section, uint32_t row);
size_t section_first_named(const struct attar_section *section, uint32_t row);

/* The quantile as the name of a column or label, without its "p": 0.5 "50", 0.999 "99.9". */
void quantile_name(struct buf *b, double share);

/* Names used in JSON and CSV. */
const char *unit_name(enum attar_unit unit);
const char *section_kind_name(enum attar_section_kind kind);
const char *frame_kind_name(unsigned kind);

/* The unit of this name; -1: there is none. The kind of a frame, or ATTAR_FRAME_UNKNOWN. */
int unit_find(const char *name);
enum attar_frame_kind frame_kind_find(const char *name);

#endif
