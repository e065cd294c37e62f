/* SPDX-License-Identifier: MIT */
/*
 * A file that a thread writes: a stalled disk, or the reader of a FIFO, must not keep attar from
 * reading its rings. Bytes that have not been written wait up to a limit; beyond it, adding waits.
 *
 *	w = file_writer_new(fd, limit);
 *	file_writer_add(w, bytes, n);   an error may be of an earlier write
 *	file_writer_push(w);            the thread writes what was added
 *	file_writer_then(w, step, ctx); in the thread, when that is written
 *	file_writer_wait(w);            until all is written
 *	file_writer_free(w);
 *
 * After an error, what follows is dropped. Only one thread may call these functions.
 */
#ifndef BASE_FILE_WRITER_H
#define BASE_FILE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/wait_limit.h"

struct file_writer;

/* What the thread has done. */
struct file_written {
	int fd;      /* of the current file, owned; -1: none */
	uint64_t at; /* bytes in it */
	int error;   /* the negative errno of the first failure; 0: none */
};

/* Takes over fd. limit: bytes that wait at most; 0: no thread. NULL: out of memory; fd remains. */
struct file_writer *file_writer_new(int fd, size_t limit);

/*
 * For a pipe: limits the waits for its reader, which then fail with -ETIMEDOUT. Sets O_NONBLOCK, so
 * the caller must have opened fd itself. Call it before anything is written.
 */
void file_writer_set_wait_limit(struct file_writer *w, struct wait_limit limit);

/* Copies the bytes. Returns 0 or the negative errno of the first failure. */
int file_writer_add(struct file_writer *w, const void *bytes, size_t n);

/* Lets the thread write also what does not fill a block. Returns 0 or an error as above. */
int file_writer_push(struct file_writer *w);

/*
 * Calls step() when everything added before has been written or, after an error, dropped. It can
 * replace the file, and sets the error if it fails, with an error message. It is called exactly
 * once. Returns 0 or an error as above.
 */
typedef void (*file_writer_step)(void *ctx, struct file_written *written);
int file_writer_then(struct file_writer *w, file_writer_step step, void *ctx);

/* Further bytes go to the file fd, which is taken over; the former one is closed. */
int file_writer_continue(struct file_writer *w, int fd);

/* Waits until everything is written. Returns 0 or an error as above. */
int file_writer_wait(struct file_writer *w);

/* The file that receives further bytes, unless steps replaced it, and how many it was given. */
int file_writer_fd(const struct file_writer *w);
uint64_t file_writer_given(const struct file_writer *w);

/* Bytes that were given to a pipe and are not written. */
uint64_t file_writer_unwritten(struct file_writer *w);

/* Whether at most half of the limit waits. */
bool file_writer_is_ready(struct file_writer *w);

/* Whether steps wait: a former file has not been closed. */
bool file_writer_has_steps(struct file_writer *w);

/* What has been done up to now. ret_text: the text of a step's error; NULL: none. */
struct file_written file_writer_done(struct file_writer *w, const char **ret_text);

/* Waits until everything is written; closes the file. Returns 0 or an error as above. */
int file_writer_free(struct file_writer *w);

#endif
