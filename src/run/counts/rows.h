/* SPDX-License-Identifier: MIT */
/* The counts of a run as rows: by CPU, thread, socket or control group; of all runs. */
#ifndef RUN_COUNTS_ROWS_H
#define RUN_COUNTS_ROWS_H

#include "attar/run.h"
#include "base/vec.h"
#include "sections/count_table.h"

struct count_rows {
	enum attar_count_by by;
	struct count_table whole;         /* of each finished run of the command */
	struct count_table recent;        /* of the current interval */
	VEC(struct attar_count_row) rows; /* of attar_run_count_rows(), borrowing from a table */
};

/* Adds the counts of a run of the command that has ended. 0 or -ENOMEM. */
int count_rows_add_run(struct attar_run *run);
void count_rows_done(struct count_rows *rows);

#endif
