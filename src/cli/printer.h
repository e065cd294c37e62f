/* SPDX-License-Identifier: MIT */
/*
 * stdout for as long as a run lasts: a reader that stalls (a pipe into a program that is busy, a
 * terminal after Ctrl-S) must not keep attar from its rings. Text that the reader does not take
 * waits here, up to a bound; what would come on top is for the caller to leave out.
 *
 *	printer_open(&p);            stdout itself now waits for nobody
 *	printer_has_room(&p)         before each thing to print: shall it be printed?
 *	printer_push(&p);            now and then: what waits goes on
 *	printer_close(&p);           waits for the reader, however long
 *
 * Files, and what cannot be opened again, are written to as ever.
 */
#ifndef CLI_PRINTER_H
#define CLI_PRINTER_H

#include <stdio.h>

#include "base/buf.h"

struct printer {
	FILE *former; /* the true stdout; NULL: nothing was changed */
	int fd;       /* the same pipe or terminal, with O_NONBLOCK of our own */
	struct buf waiting;
	size_t sent;  /* of it */
	bool stalled; /* the reader was waited for in vain, and has taken nothing since */
	bool patient; /* writes wait for the reader again */
	int error;    /* of a write: a negative errno */
};

void printer_open(struct printer *p);

/*
 * Whether the reader is near enough; waits a moment for one who is behind, unless it has stalled.
 */
bool printer_has_room(struct printer *p);

/* Writes what the reader takes now. */
void printer_push(struct printer *p);

/* From now on every write waits for the reader. */
void printer_wait(struct printer *p);

/* Writes the rest, stdout is the former again. 0, or the errno of a write that failed. */
int printer_close(struct printer *p);

#endif
