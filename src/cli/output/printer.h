/* SPDX-License-Identifier: MIT */
/*
 * Non-blocking stdout during a run: a stalled reader (a pipe to a busy program, a terminal after
 * Ctrl-S) must not keep attar from reading its rings. Text that the reader does not accept is
 * buffered up to a limit; half way, the caller keeps lines in the run's buffer, and beyond it,
 * drops output.
 *
 *	printer_open(&p, is_live, limit);   stdout no longer blocks
 *	printer_has_room(&p)         before each report or batch of lines: print it?
 *	printer_push(&p);            regularly: writes buffered text
 *	printer_close(&p);           waits for the reader, at most up to the limit
 *
 * During a live run, a thread writes to a regular file, and nothing is dropped. Descriptors that
 * cannot be reopened are written directly.
 */
#ifndef CLI_OUTPUT_PRINTER_H
#define CLI_OUTPUT_PRINTER_H

#include <stdio.h>

#include "base/buf.h"
#include "cli/output/file_stream.h"

struct printer {
	FILE *former;               /* the original stdout; NULL: stdout is unchanged */
	struct file_writer *writer; /* of a regular file, to which nothing below applies; or NULL */
	int fd;                     /* the same pipe or terminal, reopened with O_NONBLOCK */
	struct buf waiting;
	size_t sent;  /* bytes of waiting already written */
	bool stalled; /* a wait for the reader timed out, and nothing was written since */
	bool waits;   /* writes wait for the reader */
	int error;    /* negative errno of a failed write; -ETIMEDOUT: the limit was reached */
	struct wait_limit limit; /* of waits for the reader */
	uint64_t taken_at;       /* ns: when it took something */
	size_t unwritten;        /* bytes, when the limit was reached */
};

void printer_open(struct printer *p, bool is_live, struct wait_limit limit);

/* True if the buffer has space; waits briefly for a slow reader unless it has stalled. */
bool printer_has_room(struct printer *p);

/* True if the reader has accepted most of the text: batches of lines need not wait. */
bool printer_is_ready(struct printer *p);

/* Writes as much as the reader accepts now. */
void printer_push(struct printer *p);

/* From here on, writes wait for the reader. */
void printer_wait(struct printer *p);

/* Writes the rest, stdout is the former again. 0, or the errno of a write that failed. */
int printer_close(struct printer *p);

/* After -ETIMEDOUT: bytes that the reader did not take. */
size_t printer_unwritten(const struct printer *p);

#endif
