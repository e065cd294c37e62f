/* SPDX-License-Identifier: MIT */
/*
 * What attar/report.h has for attar itself only. It may change with each version, and is not
 * installed.
 */
#ifndef ATTAR_PRIVATE_REPORT_H
#define ATTAR_PRIVATE_REPORT_H

#include "attar/report.h"

struct attar_format;

/*
 * Says why all of the report is in doubt, such as "unreliable: 60 % of the events were lost": the
 * first remark, which outputs for people show before everything else. Call it once.
 */
void report_doubt(struct attar_report *report, const char *fmt, ...) ATTAR_PRINTF(2, 3);

/* A remark before the others, such as one of the user. */
void report_remark_first(struct attar_report *report, const char *fmt, ...) ATTAR_PRINTF(2, 3);

/*
 * A remark that asks for no action, such as one about attar itself: it is behind the remarks of
 * attar_report_remark(), and text output with a maximum of remarks leaves it out.
 */
void report_detail(struct attar_report *report, const char *fmt, ...) ATTAR_PRINTF(2, 3);

/* Text output leaves this section out; others, such as JSON and pages, have it. */
void section_secondary(struct attar_section *section);

/*
 * Text output shows the first row of this table, and others as long as all rows have at most this
 * number of lines; hint says how to see the rest.
 */
void section_limit(struct attar_section *section, size_t lines, const char *hint);

/* Text output shows the last cell of these event lines only, without a heading. */
void section_plain(struct attar_section *section);

/*
 * A cell of text with the fields of a tracepoint's record, as attar_format_print() writes them, at
 * most 4095 bytes. They are formatted when the report is drawn or read. raw (size bytes) is copied;
 * format is borrowed until the report is freed. values: each field that is not common is also a
 * named value of the row, see attar_row_value().
 */
void cell_fields(struct attar_section *section, const struct attar_format *format, const void *raw,
	size_t size, bool values);

/*
 * Sorts the rows by a column: numbers, then text; rows without a value are last in both directions,
 * equal rows keep their order.
 */
void section_sort(struct attar_section *section, size_t column, bool descending);

/*
 * Outputs that are not made for trees (struct attar_sink) leave this section out: it was added for
 * the others only. JSON leaves it out without opts.trees.
 */
void section_for_trees(struct attar_section *section);

/*
 * The time on a CPU, in ns, that a weight of 1 of a node and of its descendants stands for;
 * ATTAR_TREE_ROOT: of all nodes. Call it before nodes are added to the node. Outputs with a column
 * of CPU time need it.
 */
void tree_set_cpu(struct attar_section *tree, uint32_t node, double ns);

/* Text output shows nodes with at least this share (0..1) of the whole; default 0.005. */
void tree_cutoff(struct attar_section *tree, double share);

/* Adds a time line. */
struct attar_section *report_spans(struct attar_report *report, const char *name);

/* The sink for a file name's extension, or an address's scheme; NULL: there is none. */
const struct attar_sink *sink_of_path(const char *path);

/*
 * Checks an address for the sink of its scheme, without connecting. Returns 0 or a negative errno
 * with an error message.
 */
int sink_check_address(const char *address);

/* The sink of a renderer. */
const struct attar_sink *renderer_get_sink(const struct attar_renderer *renderer);

/*
 * Like attar_renderer_draw(), but with these notes instead of the notes of the report: each output
 * has its own rows that its reader did not accept.
 */
int renderer_draw_noted(struct attar_renderer *renderer, const struct attar_report *report,
	const struct attar_notes *notes);

/*
 * Sorts the tables of the reports that follow by this column, from 1; 0: as they are. Numbers are
 * sorted from the largest, text from A; reversed: in the other direction. Tables with fewer columns
 * stay as they are. The rows of the report itself are sorted when it is drawn.
 */
void renderer_sort(struct attar_renderer *renderer, size_t column, bool reversed);

/*
 * Text: shows at most this number of remarks of the reports that follow, without those that ask for
 * no action; a line says how many others there are. 0: all.
 */
void renderer_limit_remarks(struct attar_renderer *renderer, unsigned most);

/* Sets the size of the terminal (0: no limit) for the reports that follow. */
void renderer_resize(struct attar_renderer *renderer, unsigned columns, unsigned lines);

/* What became of the rows of a sink that sends them to a server. */
struct attar_delivery {
	uint64_t rows;    /* of the reports so far; the sum of the next three after waiting */
	uint64_t stored;  /* by the server */
	uint64_t waiting; /* on the disk: a later run sends them */
	uint64_t dropped; /* neither, because the disk's quota was reached, for example */
	uint64_t drained; /* of earlier runs, stored during this one */
	uint64_t damaged; /* files of earlier runs that could not be read; their rows are unknown */
};

/*
 * Logs what happened since the last call to a sink that sends rows from a separate thread: call
 * it from time to time. Sinks never log from that thread.
 */
void renderer_turn(struct attar_renderer *renderer);

/*
 * wait: first waits until all rows are stored, or the sink's timeout is over, and what is left is
 * on the disk; reports can be drawn afterwards, too. All zero for sinks that write files.
 */
void renderer_get_delivery(
	struct attar_renderer *renderer, bool wait, struct attar_delivery *ret_delivery);

/*
 * Reads the reports of a database that `-o FILE.db` wrote, or of a time range that `-o
 * clickhouse://...` stored (clickhouse://HOST/DATABASE?from=TIME&to=TIME, see docs/fleet.md); event
 * lines and time series are not read. take() is called for each in the order in which they were
 * written: it frees the report, and a negative errno ends the reading. Returns 1; 0 if the file is
 * not a database; or a negative errno with an error message: the error of take(), -ENOMEM, -EBADMSG
 * for a database that is damaged or that attar did not write, -EOPNOTSUPP if attar was built
 * without SQLite or libcurl, -ECONNREFUSED, -EIO or -EPROTO if the server does not answer.
 */
int report_read_database(
	const char *path, int (*take)(void *ctx, struct attar_report *report), void *ctx);

/* The number of nodes of a tree. */
size_t tree_get_nodes(const struct attar_section *tree);

#endif
