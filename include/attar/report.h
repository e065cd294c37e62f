/* SPDX-License-Identifier: MIT */
/*
 * attar/report.h - the result of a profiler, independent of its output format.
 *
 * A report is a list of sections (tables, trees, histograms, time series, event lines) and notes:
 * numbers of samples and losses, and the overhead of the measurement. It is independent of
 * presentation: a renderer draws any report as text, JSON, CSV, folded stacks or an HTML page, and
 * everything in it can be read back.
 *
 *	struct attar_report *report = attar_report_new("profile");
 *	struct attar_section *t = attar_report_table(report, "functions");
 *	attar_section_column(t, "self", ATTAR_UNIT_PERCENT);
 *	attar_section_column(t, "symbol", ATTAR_UNIT_TEXT);
 *	attar_section_row(t);
 *	attar_cell_double(t, 70.1);
 *	attar_cell_text(t, "hot");
 *	...
 *	attar_report_free(report);
 *
 * Text is copied. Errors (out of memory, calls in the wrong order) are sticky: the report ignores
 * all later calls, and attar_renderer_draw() fails with the reason.
 */
#ifndef ATTAR_REPORT_H
#define ATTAR_REPORT_H

#include <stdio.h>

#include "attar/base.h"

#ifdef __cplusplus
extern "C" {
#endif

struct attar_report;
struct attar_section;

enum attar_unit {
	ATTAR_UNIT_TEXT,
	ATTAR_UNIT_COUNT,   /* a plain number */
	ATTAR_UNIT_PERCENT, /* 0..100 */
	ATTAR_UNIT_NS,      /* a duration */
	ATTAR_UNIT_TIME,    /* ns since 1970 */
	ATTAR_UNIT_BYTES,
	ATTAR_UNIT_HEX, /* an address */
	ATTAR_UNIT_HZ,
	ATTAR_UNIT_ID,    /* an identifier: pid, tid, cpu (never grouped, scaled or summed) */
	ATTAR_UNIT_CLOCK, /* ns of a clock that does not begin in 1970; shown in seconds */
};

enum attar_section_kind {
	ATTAR_SECTION_TABLE,
	ATTAR_SECTION_TREE,
	ATTAR_SECTION_HISTOGRAM,
	ATTAR_SECTION_EVENTS,
	ATTAR_SECTION_TIME_SERIES,
	ATTAR_SECTION_SPANS,
};

/* The kind of a frame's code, for colors, legends and suffixes. */
enum attar_frame_kind {
	ATTAR_FRAME_USER,
	ATTAR_FRAME_KERNEL,
	ATTAR_FRAME_INLINED,
	ATTAR_FRAME_JIT,
	ATTAR_FRAME_UNKNOWN, /* no name: text is an address or "[unknown]" */
	ATTAR_FRAME_TASK,    /* not code: a process or thread, the root of its stacks */
};

/* The summary at the end of a report. */
struct attar_notes {
	uint64_t seen;      /* events delivered to the profiler */
	uint64_t lost;      /* events that the kernel could not store */
	uint64_t throttled; /* times the kernel throttled an event */
	/* share of samples whose innermost frame has no symbol, 0..1; negative: unknown */
	double unresolved;
	double self_cpu;   /* attar's own CPU time as a share of one CPU, 0..1 */
	uint64_t self_rss; /* attar's peak resident memory, bytes */
	bool counting;     /* nothing was sampled: seen, lost and throttled do not apply */
	/* Omitted from this output since its previous notes because its reader was too slow. */
	uint64_t unprinted;         /* rows of single events */
	uint64_t unprinted_reports; /* reports of intervals */
	uint64_t lost_side_band;    /* side-band records that could not be stored */
	uint64_t missing; /* events that the kernel counted but neither delivered nor lost */
	const struct attar_cpu_count *missing_by_cpu; /* borrowed for the call */
	size_t n_missing_by_cpu;
	/*
	 * Rows of single events wait in a buffer until they are printed: its size, and the most of
	 * it that was used, bytes. It can be exceeded by a batch of rows. 0: no such rows.
	 */
	uint64_t buffer_size, buffer_peak;
	/*
	 * Rows that a database could not be given since the previous notes: attar_delivery.dropped.
	 */
	uint64_t unstored;
};

/* Creates an empty report of the profiler with this name. NULL if out of memory. */
ATTAR_API struct attar_report *attar_report_new(const char *profiler);

/* Frees the report. Returns NULL. report may be NULL. */
ATTAR_API struct attar_report *attar_report_free(struct attar_report *report);

/* Sets the time of the report (ns since 1970) and the interval that it covers (ns). */
ATTAR_API void attar_report_interval(
	struct attar_report *report, uint64_t time, uint64_t interval_ns);

/* Sets the notes (copied). A report without notes is drawn without a summary. */
ATTAR_API void attar_report_notes(struct attar_report *report, const struct attar_notes *notes);

/* Adds a remark, such as "cycles are not available: cpu-clock was sampled". */
ATTAR_API void attar_report_remark(struct attar_report *report, const char *fmt, ...)
	ATTAR_PRINTF(2, 3);

/*
 * Adds a section, owned by the report. Never NULL, except for report NULL: sections of a failed
 * report ignore all calls.
 */
ATTAR_API struct attar_section *attar_report_table(struct attar_report *report, const char *name);
ATTAR_API struct attar_section *attar_report_events(struct attar_report *report, const char *name);

/*
 * Columns of a table or of event lines are added before the first row. Cells fill a row from the
 * first column on; missing cells at its end are none.
 */
ATTAR_API void attar_section_column(
	struct attar_section *section, const char *name, enum attar_unit unit);
ATTAR_API void attar_section_row(struct attar_section *section);
ATTAR_API void attar_cell_u64(struct attar_section *section, uint64_t value);
ATTAR_API void attar_cell_i64(struct attar_section *section, int64_t value);
ATTAR_API void attar_cell_double(struct attar_section *section, double value);
ATTAR_API void attar_cell_text(struct attar_section *section, const char *text);
ATTAR_API void attar_cell_none(struct attar_section *section);

/*
 * The column of event lines that was added last is what they are about, such as the file that was
 * opened, or their main number. Narrow terminals hide the other columns first, the time too.
 */
ATTAR_API void attar_section_main(struct attar_section *section);

/*
 * Adds a line of text to the newest row, such as a frame of an event's stack. Drawn indented below
 * the row.
 */
ATTAR_API void attar_row_detail(struct attar_section *section, const char *line);

/*
 * Named values of the newest row, for programs: only JSON output has them, as an object in a column
 * "values". attar_row_value() begins one; the calls that follow set its number or text, or for a
 * list, append elements.
 */
ATTAR_API void attar_row_value(struct attar_section *section, const char *name, bool is_list);
ATTAR_API void attar_row_value_u64(struct attar_section *section, uint64_t value);
ATTAR_API void attar_row_value_i64(struct attar_section *section, int64_t value);
ATTAR_API void attar_row_value_double(struct attar_section *section, double value);
ATTAR_API void attar_row_value_text(struct attar_section *section, const char *text, size_t n);

/*
 * A call tree. `unit` is the unit of its weights. Add parents before their children:
 * attar_tree_node() returns the number of the node, which is passed as parent of its children; the
 * parent of roots is ATTAR_TREE_ROOT. self is the weight of samples that ended in this frame; the
 * report computes the totals. `module` is the DSO of the code, NULL for none. Children of one
 * parent with the same name, module and kind are one node: add each once.
 */
#define ATTAR_TREE_ROOT UINT32_MAX
ATTAR_API struct attar_section *attar_report_tree(
	struct attar_report *report, const char *name, enum attar_unit unit);
ATTAR_API uint32_t attar_tree_node(struct attar_section *tree, uint32_t parent,
	enum attar_frame_kind kind, const char *name, const char *module, uint64_t self);

/*
 * Sets the process and thread of an ATTAR_FRAME_TASK node, for filters. tid 0: the whole process.
 */
ATTAR_API void attar_tree_task(
	struct attar_section *tree, uint32_t node, uint32_t pid, uint32_t tid);

/*
 * Sets what exports need to know about the code of a node, once for a node: its address as in its
 * module's ELF file, or of kernel code the kernel's address (0: unknown); the build ID of its
 * module, as hexadecimal digits 0-9a-f (copied; NULL: unknown); and the time of its first sample,
 * ns since 1970 (0: unknown).
 */
ATTAR_API void attar_tree_code(struct attar_section *tree, uint32_t node, uint64_t address,
	const char *build_id, uint64_t first_time);

/*
 * A histogram: buckets [low, high) with counts, lowest first; `unit` is the unit of low and high.
 */
ATTAR_API struct attar_section *attar_report_histogram(
	struct attar_report *report, const char *name, enum attar_unit unit);
ATTAR_API void attar_histogram_bucket(
	struct attar_section *histogram, double low, double high, uint64_t count);

/*
 * What the buckets were made from, more exact than they are: number, sum, minimum and maximum of
 * all values, and quantiles: `value` is the quantile of a share (0..1) of the values, so 0.5 is the
 * median. Add quantiles in ascending order of their shares. Both are optional.
 */
ATTAR_API void attar_histogram_summary(
	struct attar_section *histogram, uint64_t count, double sum, double min, double max);
ATTAR_API void attar_histogram_quantile(
	struct attar_section *histogram, double share, double value);

/*
 * Values over time: a first column "time", and one for each label, added with
 * attar_section_column(). A point is a row: its time (ns since 1970, ascending), then a cell for
 * each label.
 *
 *	s = attar_report_time_series(report, "context switches");
 *	attar_section_column(s, "cpu 0", ATTAR_UNIT_COUNT);
 *	attar_section_column(s, "cpu 1", ATTAR_UNIT_COUNT);
 *	attar_time_series_point(s, time);
 *	attar_cell_u64(s, 17);
 *	attar_cell_u64(s, 23);
 */
ATTAR_API struct attar_section *attar_report_time_series(
	struct attar_report *report, const char *name);
ATTAR_API void attar_time_series_point(struct attar_section *series, uint64_t time);

/*
 * A time line: single pairs, states and events, in any order. Its columns, which exist already, are
 * the columns of enum attar_span_column; a row is a span of time, or an event if its duration is 0.
 */
enum attar_span_column {
	ATTAR_SPAN_TIME,     /* its begin: ns since 1970 */
	ATTAR_SPAN_DURATION, /* ns */
	ATTAR_SPAN_PID,      /* of its thread; none: the name is the name of a CPU or other track */
	ATTAR_SPAN_TID,
	ATTAR_SPAN_THREAD,   /* name of the thread */
	ATTAR_SPAN_CPU,      /* none: unknown */
	ATTAR_SPAN_CATEGORY, /* "state", "pair", "call", "event", "sample" */
	ATTAR_SPAN_NAME,
	ATTAR_SPAN_NODE,      /* where its stack ends: a node of the first tree; none: no stack */
	ATTAR_SPAN_WEIGHT,    /* its part of the weight of the node */
	ATTAR_SPAN_SAMPLE,    /* 1: only says where the thread was, as a sample of its stack does */
	ATTAR_SPAN_DETAIL,    /* text; none: no detail */
	ATTAR_SPAN_WAKER,     /* name of what ended the state; none: unknown */
	ATTAR_SPAN_WAKER_PID, /* none: the waker is not a thread, but an interrupt */
	ATTAR_SPAN_WAKER_TID,
	ATTAR_SPAN_WAKER_STACK, /* its functions, innermost first: "f < g < main" */
};

/* ---- reading a report ---- */

/*
 * Reads one report, a line of `attar --format json`, of n bytes. Fields and sections of a later
 * version are skipped; named values of rows are not read. Returns 0, -ENOMEM, or -EBADMSG with an
 * error message for any other text. The caller frees the report.
 */
ATTAR_API int attar_report_read_json(const char *text, size_t n, struct attar_report **ret_report);

/*
 * A report can be read while and after it is filled. Text is borrowed until the report changes or
 * is freed. Indexes count from 0; functions that return a pointer return NULL after the end:
 *
 *	for (size_t i = 0; (section = attar_report_get_section(report, i)); i++)
 */
ATTAR_API const char *attar_report_get_profiler(const struct attar_report *report);

/* What attar_report_interval() set, 0 by default. Either result may be NULL. */
ATTAR_API void attar_report_get_interval(
	const struct attar_report *report, uint64_t *ret_time, uint64_t *ret_interval_ns);

/* Returns 0, or -ENOENT if the report has no notes. missing_by_cpu is borrowed from the report. */
ATTAR_API int attar_report_get_notes(
	const struct attar_report *report, struct attar_notes *ret_notes);
ATTAR_API const char *attar_report_get_remark(const struct attar_report *report, size_t i);

/* The sections in the order in which they were added; the first with a name, NULL if none. */
ATTAR_API const struct attar_section *attar_report_get_section(
	const struct attar_report *report, size_t i);

/* The section with this name; NULL: there is none. */
ATTAR_API const struct attar_section *attar_report_find_section(
	const struct attar_report *report, const char *name);

/* The name and the kind of a section. */
ATTAR_API const char *attar_section_get_name(const struct attar_section *section);
ATTAR_API enum attar_section_kind attar_section_get_kind(const struct attar_section *section);

/* The unit of a tree's weights, or of a histogram's values; ATTAR_UNIT_TEXT for others. */
ATTAR_API enum attar_unit attar_section_get_unit(const struct attar_section *section);

/*
 * The columns of a section and their names; *ret_unit (may be NULL) is the unit. A histogram has
 * the columns low, high and count, a tree has none.
 */
ATTAR_API size_t attar_section_get_columns(const struct attar_section *section);
ATTAR_API const char *attar_section_get_column(
	const struct attar_section *section, size_t column, enum attar_unit *ret_unit);

enum attar_cell_kind {
	ATTAR_CELL_NONE, /* no value */
	ATTAR_CELL_U64,
	ATTAR_CELL_I64,
	ATTAR_CELL_DOUBLE,
	ATTAR_CELL_TEXT,
};

struct attar_cell {
	enum attar_cell_kind kind;
	union {
		uint64_t u64;
		int64_t i64;
		double real;
		const char *text;
	};
};

/* The number of rows, and a cell; ATTAR_CELL_NONE after the last row or column. */
ATTAR_API size_t attar_section_get_rows(const struct attar_section *section);
ATTAR_API struct attar_cell attar_section_get_cell(
	const struct attar_section *section, size_t row, size_t column);

/* A cell as a double, rounded if necessary; NaN for text and for no value. */
ATTAR_API double attar_cell_get_double(struct attar_cell cell);

/* The i-th detail line of a row. */
ATTAR_API const char *attar_section_get_detail(
	const struct attar_section *section, size_t row, size_t i);

/*
 * The name of the i-th named value of a row, and the number of its cells: of a list any number,
 * otherwise 0 or 1. ret_n and ret_is_list may be NULL.
 */
ATTAR_API const char *attar_section_get_value(const struct attar_section *section, size_t row,
	size_t i, size_t *ret_n, bool *ret_is_list);
ATTAR_API struct attar_cell attar_section_get_value_cell(
	const struct attar_section *section, size_t row, size_t i, size_t part);

struct attar_summary {
	uint64_t count;
	double sum, min, max;
};

/* Return 0, or -ENOENT if the section has no summary, or i or fewer quantiles. */
ATTAR_API int attar_histogram_get_summary(
	const struct attar_section *histogram, struct attar_summary *ret_summary);
ATTAR_API int attar_histogram_get_quantile(
	const struct attar_section *histogram, size_t i, double *ret_share, double *ret_value);

struct attar_node {
	uint32_t parent; /* ATTAR_TREE_ROOT: a root; otherwise smaller than the node's own number */
	enum attar_frame_kind kind;
	const char *name;
	const char *module; /* NULL: none */
	uint64_t self, total;
	bool has_task; /* attar_tree_task() was called for the node */
	uint32_t pid, tid;
	uint64_t address;     /* 0: unknown */
	const char *build_id; /* NULL: unknown */
	uint64_t first_time;  /* of its first sample, ns since 1970; 0: unknown */
};

/* A node of a tree. Returns 0, or -ENOENT after the last one. */
ATTAR_API int attar_tree_get_node(
	const struct attar_section *tree, uint32_t number, struct attar_node *ret_node);

/* ---- drawing a report ---- */

/* Options of a renderer. */
struct attar_render_opts {
	size_t size;      /* sizeof(struct attar_render_opts) */
	unsigned columns; /* terminal width; 0: no limit (not a terminal) */
	bool colour;
	unsigned max_rows;   /* text: maximum per table or tree; 0: all */
	bool quiet;          /* text: no remarks and notes; others: do not log them */
	bool time_frames;    /* folded: frames "YYYY-MM-DD" and "HH:MM:SS" before each stack */
	const char *title;   /* html; copied; NULL: made from the profiler's name */
	const char *command; /* html: the command line shown on the page; copied; NULL: none */
	bool ascii;          /* text: replace non-ASCII characters with ~ and ? */
	/*
	 * text, for terminals only: each report replaces the previous one on the screen; what does
	 * not fit its lines is left out.
	 */
	bool redraw;
	unsigned lines;      /* terminal height for redraw; 0: no limit */
	const char *address; /* of a sink with a scheme, "clickhouse://..."; copied */
	/*
	 * text: how to see the rows beyond max_rows, for the line that counts them, such as "--rows
	 * 0 shows all"; copied; NULL: not said.
	 */
	const char *rows_hint;
	bool time_lines; /* json: also draw time lines */
	bool trees;      /* json: also draw sections that are only for outputs made for trees */
	/* text, html: durations with nanoseconds, in place of four digits of a column's largest */
	bool exact;
};

/* An output format, and what it can show. */
struct attar_sink {
	const char *name;      /* "json" */
	const char *extension; /* of file names: "json" for "x.json"; NULL: none, see scheme */
	unsigned sections;     /* the kinds that it draws: bits 1 << enum attar_section_kind */
	bool whole_run;        /* draws one report, the report of a whole run */
	bool for_terminal;     /* for people at a terminal; others are data, not to be mixed with */
	bool is_complete;      /* shows all of a report, also named values of rows */
	bool has_notes;        /* shows remarks and notes; otherwise they are logged, see below */
	bool wants_trees;      /* is made for trees: they should be in the report */
	bool is_binary;        /* is not text: for regular files, not for terminals */
	bool replaces;         /* a report replaces the previous one: replace the whole file */
	bool wants_spans;      /* is made for time lines: they should be in the report */
	bool wants_states;     /* the same, if they have states of threads (ATTAR_GIVES_STATES) */
	bool needs_file;       /* writes to a regular file only */
	/* of its output, with parameters: "text/html; charset=utf-8" */
	const char *media_type;
	const char *scheme; /* writes to an address, "clickhouse://...", and no file; or NULL */
};

/* All sinks, NULL after the last. The first one is for terminals. */
ATTAR_API const struct attar_sink *const *attar_sinks(void);

/* The sink with this name. NULL: there is none; the error message suggests one. */
ATTAR_API const struct attar_sink *attar_sink_find(const char *name);

/*
 * Draws any number of reports one after the other (one per interval), or a single one if its sink
 * draws whole runs.
 */
struct attar_renderer;

/*
 * Creates a renderer for the sink with this name that writes to out, which is borrowed until the
 * renderer is freed, or to opts->address (out is not used). opts may be NULL. -EINVAL: no such sink
 * (the error message suggests one), or no valid address.
 */
ATTAR_API int attar_renderer_new(const char *sink, FILE *out, const struct attar_render_opts *opts,
	struct attar_renderer **ret_renderer);

/*
 * Draws and flushes. Returns 0; -EPIPE if the reader closed the pipe, or the errno of another
 * failed write; -EINVAL for a report without any section that the sink could draw, if it draws
 * trees only, and for a second report of a whole run. Remarks and notes are logged if out is stdout
 * and the sink cannot show them.
 */
ATTAR_API int attar_renderer_draw(
	struct attar_renderer *renderer, const struct attar_report *report);

/*
 * Frees the renderer, after waiting for what it delivers; out stays open. Returns NULL. renderer
 * may be NULL.
 */
ATTAR_API struct attar_renderer *attar_renderer_free(struct attar_renderer *renderer);

#ifdef __cplusplus
}
#endif

#endif
