/* SPDX-License-Identifier: MIT */
/* What the renderers share: the output stream, and what each must bring. */
#ifndef REPORT_RENDER_H
#define REPORT_RENDER_H

#include "base/buf.h"
#include "report/model.h"

struct render_format {
	const char *name; /* also the file name's extension */
	bool whole_run;

	/*
	 * Appends the report to r->out, with a render_spill() now and then. 0 or a negative errno.
	 */
	int (*draw)(struct attar_renderer *r, const struct attar_report *report);
};

struct attar_renderer {
	const struct render_format *format;
	FILE *file; /* borrowed */
	struct attar_render_opts opts;
	char *title;
	char *command;
	struct buf out;       /* drawn but not yet written */
	int error;            /* of the first failed write: negative errno */
	uint64_t drawn;       /* reports */
	struct buf open;      /* what the next report may continue: the heading last drawn */
	VEC(unsigned) widths; /* text: of the columns of the open event lines */
};

/* Writes out what has gathered, once it is enough to be worth a system call. */
void render_spill(struct attar_renderer *r);

/* The footer is a warning: something did not come. */
bool render_notes_warn(const struct attar_notes *notes);

/* The footer of a report: "12,345 samples seen, 0 lost, ...". Clauses divided by "; ". */
void render_notes(struct buf *b, const struct attar_notes *notes);

/*
 * For formats that have no place for them: remarks and footer go to the log, when the report goes
 * to stdout. Beside a file there is another output, or a wish for silence.
 */
void render_log_notes(const struct attar_renderer *r, const struct attar_report *report);

extern const struct render_format render_text, render_json, render_csv, render_folded, render_html;

#endif
