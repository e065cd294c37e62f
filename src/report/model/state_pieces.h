/* SPDX-License-Identifier: MIT */
/*
 * The states of threads as a page shows them: a bounded number of pieces of the rows of a time
 * line. A piece is one state, or several short ones that follow each other and are drawn as one.
 *
 *	struct state_pieces pieces _cleanup_(state_pieces_done) = {0};
 *	if (state_pieces_init(&pieces, section, 500, 50000) < 0) return -ENOMEM;
 *	for (size_t i = 0; i < pieces.all.n; i++) ... pieces.rows.at[pieces.all.at[i].first] ...
 */
#ifndef REPORT_MODEL_STATE_PIECES_H
#define REPORT_MODEL_STATE_PIECES_H

#include "report/model/spans.h"

struct state_piece {
	size_t first; /* in rows: joined, and of category "state" */
	size_t n;     /* rows; all of one thread */
};

struct state_pieces {
	struct span_rows rows; /* of the threads that are shown */
	VEC(struct state_piece) all;
	uint64_t begin, end;     /* ns since 1970: of all rows */
	uint64_t resolution;     /* ns: shorter states may be in a piece with others; 0: none is */
	size_t merged;           /* states that are in a piece with others */
	size_t threads;          /* shown */
	size_t threads_left_out; /* those with the fewest states */
	size_t states_left_out;  /* of these threads */
};

/*
 * At most as many threads, and pieces; but a thread may have two pieces in any case. Returns 0 or
 * -ENOMEM.
 */
int state_pieces_init(struct state_pieces *pieces, const struct attar_section *section,
	size_t threads_max, size_t pieces_max);
void state_pieces_done(struct state_pieces *pieces);

#endif
