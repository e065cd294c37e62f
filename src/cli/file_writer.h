/* SPDX-License-Identifier: MIT */
/*
 * A file that a thread writes: a stalled disk, or the reader of a FIFO, must not keep attar from
 * reading its rings. Text that has not been written waits up to a limit; half way, the caller keeps
 * lines in the run's buffer, and beyond it, writes wait.
 *
 *	file = file_writer_open(fd, &writer);
 *	fwrite(..., file);             an error is that of an earlier write
 *	file_writer_is_ready(writer)   before each batch of lines: write it?
 *	fclose(file);                  waits until all is written; frees the writer, closes fd
 */
#ifndef CLI_FILE_WRITER_H
#define CLI_FILE_WRITER_H

#include <stdbool.h>
#include <stdio.h>

struct file_writer;

/* A stream that takes over the descriptor. NULL with errno: there is none, fd remains open. */
FILE *file_writer_open(int fd, struct file_writer **ret_writer);

int file_writer_fd(const struct file_writer *w);

bool file_writer_is_ready(struct file_writer *w);

#endif
