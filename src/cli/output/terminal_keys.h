/* SPDX-License-Identifier: MIT */
/*
 * Keys that sort the reports on a terminal, for profilers whose reports replace each other:
 *
 *	1 to 9	sort by this column; again: in the other direction
 *	< >	sort by the column to the left or right
 *	q	quit
 *
 * Without a terminal on stdin, or in the background, there are no keys.
 */
#ifndef CLI_OUTPUT_TERMINAL_KEYS_H
#define CLI_OUTPUT_TERMINAL_KEYS_H

#include <termios.h>

#include "attar/report.h"

struct terminal_keys {
	bool active;
	struct termios former; /* the mode of the terminal, to be restored */
	size_t column;         /* the column to sort by, from 1; 0: as the profiler sorted */
	bool reversed;
	size_t columns; /* of the widest table so far */
};

/* Takes single keys from the terminal, without echo; Ctrl-C still interrupts. */
void terminal_keys_open(struct terminal_keys *k);

/* Reads the keys that were pressed. Returns true if one was q. */
bool terminal_keys_read(struct terminal_keys *k);

/* Makes the renderer sort by the chosen column. The report lists the columns. */
void terminal_keys_sort(struct terminal_keys *k, const struct attar_report *report,
	struct attar_renderer *renderer);

/* Restores the terminal. */
void terminal_keys_close(struct terminal_keys *k);

#endif
