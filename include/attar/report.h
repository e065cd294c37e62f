/* SPDX-License-Identifier: MIT */
/*
 * attar/report.h - what a profiler found, ready to be drawn.
 *
 * A report is a list of sections (tables, trees, histograms, event lines) and notes: what was seen,
 * what was lost, what the measuring itself cost. It knows nothing of how it will look. A renderer
 * draws any report to a stream: text, JSON, CSV, folded stacks, a flame graph page.
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
 * Text is copied. What goes wrong is sticky (memory that ran out, calls in the wrong order): the
 * report then ignores what follows, and attar_renderer_draw() refuses it with the reason.
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
	ATTAR_UNIT_PERCENT, /* of 100 */
	ATTAR_UNIT_NS,      /* a duration */
	ATTAR_UNIT_TIME,    /* ns since 1970 */
	ATTAR_UNIT_BYTES,
	ATTAR_UNIT_HEX, /* an address */
	ATTAR_UNIT_HZ,
	ATTAR_UNIT_ID, /* a number that is a name: pid, tid, cpu (never grouped, scaled or summed) */
};

enum attar_section_kind {
	ATTAR_SECTION_TABLE,
	ATTAR_SECTION_TREE,
	ATTAR_SECTION_HISTOGRAM,
	ATTAR_SECTION_EVENTS,
};

/* The part of a run that a report covers. */
enum attar_scope {
	ATTAR_SCOPE_INTERVAL, /* since the previous report; the profiler then begins anew */
	ATTAR_SCOPE_WHOLE,    /* since the start */
};

/* Of whose code a frame is: chosen for colours, legends and suffixes. */
enum attar_frame_kind {
	ATTAR_FRAME_USER,
	ATTAR_FRAME_KERNEL,
	ATTAR_FRAME_INLINED,
	ATTAR_FRAME_JIT,
	ATTAR_FRAME_UNKNOWN, /* no name: text is an address or "[unknown]" */
	ATTAR_FRAME_TASK,    /* not code: a process or thread, the root of its stacks */
};

/* What every report ends with. */
struct attar_notes {
	uint64_t seen;      /* events that reached the profiler */
	uint64_t lost;      /* events that the kernel could not store */
	uint64_t throttled; /* times the kernel stopped an event for its rate */
	/* share of samples whose innermost frame has no name, 0..1; below 0: not known */
	double unresolved;
	double self_cpu;   /* attar's own CPU time as a share of one CPU, 0..1 */
	uint64_t self_rss; /* attar's peak resident memory, bytes */
	bool counting;     /* nothing was sampled: seen, lost and throttled say nothing */
	/* Left out of this output since its previous notes, because its reader was too slow. */
	uint64_t unprinted;         /* rows of single events */
	uint64_t unprinted_reports; /* reports of intervals */
	uint64_t lost_side_band;    /* records of names, mappings, forks and exits, likewise */
	uint64_t missing; /* events that the kernel counted, and neither delivered nor lost */
	const struct attar_cpu_count *missing_by_cpu; /* borrowed for the call */
	size_t n_missing_by_cpu;
};

/* A new, empty report; NULL when out of memory. profiler is its name. */
ATTAR_API struct attar_report *attar_report_new(const char *profiler);

/* NULL, for the caller's variable. Takes NULL. */
ATTAR_API struct attar_report *attar_report_free(struct attar_report *report);

/* When it was made (ns since 1970) and over how long (ns). */
ATTAR_API void attar_report_span(struct attar_report *report, uint64_t time, uint64_t interval_ns);

/* Copies them. A report without notes is drawn without them. */
ATTAR_API void attar_report_notes(struct attar_report *report, const struct attar_notes *notes);

/* Adds a remark in plain words: "cycles are not available: cpu-clock was sampled". */
ATTAR_API void attar_report_remark(struct attar_report *report, const char *fmt, ...)
	ATTAR_PRINTF(2, 3);

/*
 * Each gives a new section, owned by the report. Never NULL: that of a failed report ignores all.
 */
ATTAR_API struct attar_section *attar_report_table(struct attar_report *report, const char *name);
ATTAR_API struct attar_section *attar_report_events(struct attar_report *report, const char *name);

/*
 * Columns of a table or of event lines, before the first row. A row is filled from the first column
 * on; cells that are not given are none.
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
 * A line of text that belongs under the newest row, as a stack's frames under its event. Drawn
 * indented.
 */
ATTAR_API void attar_row_detail(struct attar_section *section, const char *line);

/*
 * Named values that belong to the newest row, for programs to read: JSON has them as an object in a
 * column "values". attar_row_value() begins one; the calls that follow it give its number or text,
 * of a list as many as there are. Nothing else draws them.
 */
ATTAR_API void attar_row_value(struct attar_section *section, const char *name, bool is_list);
ATTAR_API void attar_value_u64(struct attar_section *section, uint64_t value);
ATTAR_API void attar_value_i64(struct attar_section *section, int64_t value);
ATTAR_API void attar_value_double(struct attar_section *section, double value);
ATTAR_API void attar_value_text(struct attar_section *section, const char *text, size_t n);

/*
 * A call tree. `unit` is what its weights count. Nodes are entered parents first: attar_tree_node()
 * returns the node's number, to be given as parent of its children; the parent of roots is
 * ATTAR_TREE_ROOT. self is the weight of samples that ended exactly there; totals are summed by the
 * report. `module` is where the code lives (a DSO), NULL for none. Children of one parent with the
 * same name, module and kind are one node: enter each once.
 */
#define ATTAR_TREE_ROOT UINT32_MAX
ATTAR_API struct attar_section *attar_report_tree(
	struct attar_report *report, const char *name, enum attar_unit unit);
ATTAR_API uint32_t attar_tree_node(struct attar_section *tree, uint32_t parent,
	enum attar_frame_kind kind, const char *name, const char *module, uint64_t self);

/*
 * For an ATTAR_FRAME_TASK node: whose it is, for filters by process and thread. tid 0: the whole
 * process.
 */
ATTAR_API void attar_tree_task(
	struct attar_section *tree, uint32_t node, uint32_t pid, uint32_t tid);

/* Text draws the nodes with at least this share (0..1) of the whole; without this call 0.005. */
ATTAR_API void attar_tree_cutoff(struct attar_section *tree, double share);

/* A histogram: buckets [low, high) with counts, lowest first; unit of low and high. */
ATTAR_API struct attar_section *attar_report_histogram(
	struct attar_report *report, const char *name, enum attar_unit unit);
ATTAR_API void attar_histogram_bucket(
	struct attar_section *histogram, double low, double high, uint64_t count);

/* How to draw. */
struct attar_render_opts {
	size_t size;      /* sizeof(struct attar_render_opts) */
	unsigned columns; /* width of the terminal; 0: no limit (not a terminal) */
	bool colour;
	unsigned max_rows;   /* text: of a table or a tree; 0: all */
	bool quiet;          /* text: no remarks, no notes; csv, folded: none to the log */
	bool time_frames;    /* folded: frames "YYYY-MM-DD" and "HH:MM:SS" before each stack */
	const char *title;   /* html; copied; NULL: made from the profiler's name */
	const char *command; /* html: the command line shown on the page; copied; NULL: none */
	bool ascii;          /* text: ~ and ? stand for what is not ASCII */
};

/*
 * A renderer in use. Several reports may follow each other (one per interval), unless
 * attar_renderer_whole_run() says that it draws but one, of everything: a page.
 */
struct attar_renderer;

/*
 * A renderer of one of attar_formats() that writes to out, which is borrowed for its life; opts may
 * be NULL.
 * -EINVAL: there is no such format (the error text suggests one).
 */
ATTAR_API int attar_renderer_new(const char *format, FILE *out,
	const struct attar_render_opts *opts, struct attar_renderer **ret_renderer);
ATTAR_API bool attar_renderer_whole_run(const struct attar_renderer *renderer);

/*
 * Draws and flushes. 0; -EPIPE when the reader went away, or else the errno of the failed write;
 * -EINVAL for a report that the format cannot show: folded needs a tree, html is drawn once.
 * Formats without a place for them (csv, folded) tell remarks and notes to the log where out is
 * stdout.
 */
ATTAR_API int attar_renderer_draw(
	struct attar_renderer *renderer, const struct attar_report *report);

/* out stays open. NULL, for the caller's variable. Takes NULL. */
ATTAR_API struct attar_renderer *attar_renderer_free(struct attar_renderer *renderer);

/* The format that a file name's extension asks for: "html" for "x.html"; NULL when none does. */
ATTAR_API const char *attar_format_of(const char *path);
/* The formats in order, NULL after the last: for help and completion. */
ATTAR_API const char *const *attar_formats(void);

#ifdef __cplusplus
}
#endif

#endif
