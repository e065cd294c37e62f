/* SPDX-License-Identifier: MIT */
#include "report/model/state_pieces.h"

enum { RESOLUTIONS = 65536 /* in the time line: the finest one at which states are merged */ };

struct track {
	uint32_t number;
	size_t rows;
	bool is_shown;
};

/* ---- which rows ---- */

static void keep_states(struct span_rows *rows)
{
	size_t n = 0;

	for (size_t i = 0; i < rows->n; i++)
		if (!strcmp(rows->at[i].category, "state"))
			rows->at[n++] = rows->at[i];
	rows->n = n;
}

static int by_rows(const void *x, const void *y)
{
	const struct track *a = x, *b = y;

	if (a->rows != b->rows)
		return a->rows > b->rows ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static int by_number(const void *x, const void *y)
{
	const struct track *a = x, *b = y;

	return a->number < b->number ? -1 : a->number > b->number;
}

static void remove_tracks(struct state_pieces *p, const struct track *tracks)
{
	size_t n = 0, track = 0;

	for (size_t i = 0; i < p->rows.n; i++) {
		const struct span_row *row = &p->rows.at[i];

		track += tracks[track].number != row->track;
		if (tracks[track].is_shown)
			p->rows.at[n++] = *row;
	}
	p->states_left_out = p->rows.n - n;
	p->rows.n = n;
}

/* Shows the tracks with most rows, in the order that they have. */
static int choose_tracks(struct state_pieces *p, size_t max)
{
	VEC(struct track) tracks = {0};
	int r = 0;

	for (size_t i = 0; i < p->rows.n && r == 0; i++) {
		uint32_t number = p->rows.at[i].track;

		if (!tracks.n || tracks.at[tracks.n - 1].number != number)
			r = vec_push(&tracks, (struct track){.number = number});
		if (r == 0)
			tracks.at[tracks.n - 1].rows++;
	}
	p->threads = MIN(tracks.n, max);
	p->threads_left_out = tracks.n - p->threads;
	if (r == 0 && p->threads_left_out) {
		qsort(tracks.at, tracks.n, sizeof(*tracks.at), by_rows);
		for (size_t i = 0; i < max; i++)
			tracks.at[i].is_shown = true;
		qsort(tracks.at, tracks.n, sizeof(*tracks.at), by_number);
		remove_tracks(p, tracks.at);
	}
	vec_done(&tracks);
	return r;
}

/* ---- pieces ---- */

static bool is_merged(const struct state_pieces *p, const struct span_row *before,
	const struct span_row *row, uint64_t resolution)
{
	return before->track == row->track && before->duration < resolution &&
	       row->duration < resolution &&
	       (before->time - p->begin) / resolution == (row->time - p->begin) / resolution;
}

/* Makes the pieces, or only counts them if `make` is false. Returns their number. */
static size_t divide(struct state_pieces *p, uint64_t resolution, bool make)
{
	size_t n = 0;

	for (size_t i = 0; i < p->rows.n; i++) {
		const struct span_row *row = &p->rows.at[i];
		bool merge = i && resolution && is_merged(p, row - 1, row, resolution);

		if (make && merge) {
			struct state_piece *piece = &p->all.at[n - 1];

			p->merged += piece->n == 1 ? 2 : 1;
			piece->n++;
		} else if (make) {
			p->all.at[n] = (struct state_piece){.first = i, .n = 1};
		}
		n += !merge;
	}
	return n;
}

static int make_pieces(struct state_pieces *p, size_t max)
{
	uint64_t length = p->end - p->begin;
	size_t n = divide(p, 0, false);

	for (uint64_t step = length / RESOLUTIONS + 1; n > max; step *= 2) {
		p->resolution = step;
		n = divide(p, step, false);
		if (step > length || step > UINT64_MAX / 2)
			break;
	}
	if (vec_reserve(&p->all, n) < 0)
		return -ENOMEM;
	p->all.n = divide(p, p->resolution, true);
	return 0;
}

int state_pieces_init(struct state_pieces *p, const struct attar_section *section,
	size_t threads_max, size_t pieces_max)
{
	int r = span_rows_init(&p->rows, section);

	if (r < 0)
		return r;
	span_rows_join(&p->rows);
	keep_states(&p->rows);
	p->begin = UINT64_MAX;
	for (size_t i = 0; i < p->rows.n; i++) {
		const struct span_row *row = &p->rows.at[i];

		p->begin = MIN(p->begin, row->time);
		p->end = MAX(p->end, row->time + row->duration);
	}
	if (!p->rows.n)
		p->begin = 0;
	r = choose_tracks(p, threads_max);
	return r == 0 ? make_pieces(p, pieces_max) : r;
}

void state_pieces_done(struct state_pieces *p)
{
	span_rows_done(&p->rows);
	vec_done(&p->all);
}
