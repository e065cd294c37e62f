/* SPDX-License-Identifier: MIT */
/* Rows of single events, which are shown after each round instead of with the next report. */
#ifndef RUN_LINES_H
#define RUN_LINES_H

#include "attar/run.h"

struct run_lines {
	struct attar_report *report;   /* rows that are not shown yet; NULL: none */
	struct attar_section *section; /* of report */
};

/* Gives the rows to the report hook. 0, or the error of the hook. */
int lines_show(struct attar_run *run);

#endif
