/* SPDX-License-Identifier: MIT */
/* The layout of the file or pipe that a writer fills. */
#ifndef PERFDATA_WRITE_FILE_H
#define PERFDATA_WRITE_FILE_H

#include "perfdata/writer_internal.h"

/* Creates the file of the options and resets what belongs to one file. */
int writer_create(struct recording_writer *w);

/*
 * Shortens the attributes of all events to the oldest size that holds them, so that older versions
 * of perf read them.
 */
void writer_trim_attrs(struct recording_writer *w);

/* Writes what is in front of the data. */
int writer_begin_file(struct recording_writer *w);
int writer_begin_pipe(struct recording_writer *w);

/*
 * Completes the file; the full file becomes PATH.1, and so on, the oldest one is dropped, and what
 * follows is written to a new file. Returns 0 or a negative errno with an error message.
 */
int writer_rotate(struct recording_writer *w);

/*
 * PATH becomes PATH.1, and so on; the oldest one is dropped. Files that do not exist are no error.
 * 0 or a negative errno.
 */
int writer_rename_files(const char *path, unsigned rotate);

/* Completes and closes the file. Returns the first error of writing, if there was one. */
int writer_finish(struct recording_writer *w);

/* Writes bytes after the bytes of earlier calls, and after the bytes in w->out. */
int writer_give(struct recording_writer *w, const void *bytes, size_t len);

#endif
