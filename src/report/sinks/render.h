/* SPDX-License-Identifier: MIT */
/* Interface of the renderers, and their shared output stream. */
#ifndef REPORT_SINKS_RENDER_H
#define REPORT_SINKS_RENDER_H

#include "attar/private/report.h"
#include "base/buf.h"
#include "report/model/model.h"
#include "report/model/number.h"

enum {
	RENDER_TREES = 1 << ATTAR_SECTION_TREE,
	RENDER_SPANS = 1 << ATTAR_SECTION_SPANS,
	RENDER_ALL = RENDER_TREES | 1 << ATTAR_SECTION_TABLE | 1 << ATTAR_SECTION_HISTOGRAM |
		     1 << ATTAR_SECTION_EVENTS | 1 << ATTAR_SECTION_TIME_SERIES,
};

struct render_format {
	struct attar_sink sink;
	const char *also;  /* a second extension; NULL: none */
	bool draws_fields; /* cells of kind CELL_FIELDS; otherwise they are expanded before */

	/*
	 * For sinks with a scheme: connects to r->address; logs its messages; and finishes at the
	 * end, see renderer_turn() and renderer_get_delivery(). NULL: nothing to do.
	 */
	int (*open)(struct attar_renderer *r);
	int (*check)(const char *address); /* without connecting */
	void (*turn)(struct attar_renderer *r);
	void (*deliver)(struct attar_renderer *r, bool wait, struct attar_delivery *ret_delivery);

	/*
	 * Appends the report to r->out and calls render_spill() regularly. 0 or a negative errno.
	 */
	int (*draw)(struct attar_renderer *r, const struct attar_report *report);
	void (*close)(struct attar_renderer *r); /* frees r->state; NULL: there is none */
};

struct attar_renderer {
	const struct render_format *format;
	FILE *file; /* borrowed */
	struct attar_render_opts opts;
	char *title;
	char *command;
	char *rows_hint;      /* NULL: none */
	char *address;        /* of a sink with a scheme; NULL: none */
	struct buf out;       /* drawn, not yet written */
	int error;            /* of the first failed write: negative errno */
	uint64_t drawn;       /* reports */
	struct buf open;      /* the heading last drawn, which the next report may continue */
	VEC(unsigned) widths; /* text: widths of the current columns of event lines */
	VEC(bool) hidden;     /* text: whether the terminal has no room for the column */
	void *state;          /* of the format */
	size_t sort_column;   /* see renderer_sort() */
	bool sort_reversed;
	unsigned max_remarks; /* see renderer_limit_remarks() */
	struct number_seconds seconds; /* the second of the last time that was drawn */
};

/* Writes the text that was drawn so far. */
void render_write_out(struct attar_renderer *r);

/* Writes the buffered output once it is large enough. */
void render_spill(struct attar_renderer *r);

/*
 * When the report was made, if that is known: "2026-11-21 06:28:31" with this character between
 * date and time, or the seconds of a clock without a date.
 */
void render_time(struct buf *b, const struct attar_report *report, char between);

/* True if the footer is a warning: something was lost, missing or not printed. */
bool render_notes_warn(const struct attar_notes *notes);

/*
 * The summary of a histogram, empty if there is none: "84,000 values, min 1.50 us, mean 41.7 us,
 * p50 16.0 us, p99 240 us, max 255 us".
 */
void render_summary(struct buf *b, const struct attar_section *s);

/* The footer of a report: "12,345 samples seen, 0 lost, ...". Clauses are separated by "; ". */
void render_notes(struct buf *b, const struct attar_notes *notes);

/* Logs remarks and footer, for formats that cannot contain them, if the report goes to stdout. */
void render_log_notes(const struct attar_renderer *r, const struct attar_report *report);

/*
 * Appends the named values of a row as a JSON object. *at is the index of its first one in
 * section->named, initially 0, and moves to the values of the next row.
 */
void render_values(struct buf *b, const struct attar_section *s, uint32_t row, size_t *at);

/* The error of a sink that draws trees only. Returns -EINVAL. */
int render_no_stacks(const struct attar_renderer *r, const struct attar_report *report);

/* The format with this name; NULL with an error message if there is none. */
const struct render_format *render_format_find(const char *name);

extern const struct render_format render_text, render_json, render_csv, render_folded, render_html,
	render_pprof, render_firefox, render_speedscope, render_sqlite, render_prometheus,
	render_openmetrics, render_chrome, render_clickhouse;

#endif
