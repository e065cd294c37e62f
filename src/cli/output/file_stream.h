/* SPDX-License-Identifier: MIT */
/*
 * A stream whose bytes a thread writes, see base/file_writer.h. Half way to the limit, the caller
 * keeps lines in the run's buffer, and beyond it, writes wait.
 *
 *	file = file_stream_open(fd, &writer);
 *	fwrite(..., file);             an error may be of an earlier write
 *	file_writer_is_ready(writer)   before each batch of lines: write it?
 *	fclose(file);                  waits until all is written; frees the writer, closes fd
 */
#ifndef CLI_OUTPUT_FILE_STREAM_H
#define CLI_OUTPUT_FILE_STREAM_H

#include <stdio.h>

#include "base/file_writer.h"

/* Takes over the descriptor. NULL with errno: there is none, and fd is closed. */
FILE *file_stream_open(int fd, struct file_writer **ret_writer);

/* The same for a pipe that the caller has opened, see file_writer_set_wait_limit(). */
FILE *file_stream_open_pipe(int fd, struct wait_limit limit, struct file_writer **ret_writer);

#endif
