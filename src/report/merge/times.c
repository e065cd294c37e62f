/* SPDX-License-Identifier: MIT */
/* Time lines and time series: the tracks and the labels of all hosts, in the clock of one. */
#include "attar/private/report.h"
#include "report/merge/parts.h"
#include "report/model/model.h"

/* Above all pids: pids of another host are other tracks, and remain readable. */
enum { HOST_PIDS = 10000000 };

/* ---- time lines ---- */

/* The node of the merged tree. */
static struct cell node_of(
	const fleet_nodes *nodes, const struct attar_section *spans, struct cell cell)
{
	if (cell.kind == CELL_U64)
		vec_each (nodes, it)
			if (it->report == spans->report && cell.u64 < it->n)
				return (struct cell){CELL_U64, .u64 = it->of[cell.u64]};
	return (struct cell){CELL_NONE};
}

static void write_cell(struct attar_section *to, size_t column, const struct fleet_section *from,
	size_t host, struct cell cell)
{
	struct buf name _cleanup_(buf_done) = {0};

	if (cell.kind == CELL_TEXT && column == ATTAR_SPAN_THREAD) {
		buf_printf(&name, "%s: %s", from->host, section_text(from->section, cell.text));
		attar_cell_text(to, buf_text(&name));
		return;
	}
	if (cell.kind == CELL_TEXT) {
		attar_cell_text(to, section_text(from->section, cell.text));
		return;
	}
	if (cell.kind == CELL_U64 && column == ATTAR_SPAN_TIME)
		cell.u64 -= (uint64_t)from->offset;
	if (cell.kind == CELL_U64 &&
		(column == ATTAR_SPAN_PID || column == ATTAR_SPAN_TID ||
			column == ATTAR_SPAN_WAKER_PID || column == ATTAR_SPAN_WAKER_TID))
		cell.u64 += host * HOST_PIDS;
	section_fill(to, cell);
}

int fleet_merge_spans(const fleet_sections *all, const fleet_nodes *nodes, struct attar_report *out)
{
	const struct attar_section *like = all->at[0].section;
	struct attar_section *to = report_spans(out, section_text(like, like->name));

	for (size_t host = 0; host < all->n; host++) {
		const struct fleet_section *from = &all->at[host];

		for (uint32_t row = 0; row < from->section->rows; row++) {
			attar_section_row(to);
			for (size_t i = 0; i < to->columns.n; i++) {
				struct cell cell = section_cell(from->section, row, i);

				if (i == ATTAR_SPAN_NODE)
					cell = node_of(nodes, from->section, cell);
				write_cell(to, i, from, host, cell);
			}
		}
	}
	return 0;
}

/* ---- time series ---- */

static void add_labels(struct attar_section *to, const struct fleet_section *from)
{
	for (size_t i = 1; i < from->section->columns.n; i++) {
		const struct column *c = &from->section->columns.at[i];
		struct buf name _cleanup_(buf_done) = {0};

		buf_printf(&name, "%s: %s", from->host, section_text(from->section, c->name));
		attar_section_column(to, buf_text(&name), c->unit);
	}
}

/* The values of a host are in its own columns, of which the first is this one. */
static void add_points(struct attar_section *to, const struct fleet_section *from, size_t first)
{
	for (uint32_t row = 0; row < from->section->rows; row++) {
		struct cell time = section_cell(from->section, row, 0);

		attar_time_series_point(
			to, time.kind == CELL_U64 ? time.u64 - (uint64_t)from->offset : 0);
		for (size_t i = 1; i < first; i++)
			attar_cell_none(to);
		for (size_t i = 1; i < from->section->columns.n; i++) {
			struct cell cell = section_cell(from->section, row, i);

			if (cell.kind == CELL_TEXT)
				attar_cell_text(to, section_text(from->section, cell.text));
			else
				section_fill(to, cell);
		}
	}
}

int fleet_merge_series(const fleet_sections *all, struct attar_report *out)
{
	const struct attar_section *like = all->at[0].section;
	struct attar_section *to = attar_report_time_series(out, section_text(like, like->name));
	size_t first = 1;

	vec_each (all, it)
		add_labels(to, it);
	vec_each (all, it) {
		add_points(to, it, first);
		first += it->section->columns.n - 1;
	}
	section_sort(to, 0, false);
	return 0;
}
