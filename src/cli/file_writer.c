/* SPDX-License-Identifier: MIT */
#include "cli/file_writer.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/buf.h"

enum { WAITING_MAX = 4 << 20 }; /* bytes */

struct file_writer {
	int fd;
	pthread_t thread;
	bool is_started, is_tried; /* at the first write */
	pthread_mutex_t lock;      /* of all that follows */
	pthread_cond_t work, room;
	struct buf waiting;
	bool is_closing;
	int error; /* errno of a failed write; what follows is dropped */
};

/* ---- the thread ---- */

/* Returns 0 or the errno. */
static int write_all(int fd, const char *bytes, size_t n)
{
	while (n) {
		ssize_t written = write(fd, bytes, n);

		if (written < 0 && errno != EINTR)
			return errno;
		if (written > 0) {
			bytes += written;
			n -= (size_t)written;
		}
	}
	return 0;
}

static void *write_texts(void *arg)
{
	struct file_writer *w = arg;
	struct buf text = {0}, written;

	prctl(PR_SET_NAME, "attar-writer");
	pthread_mutex_lock(&w->lock);
	for (;;) {
		int error;

		while (!w->waiting.len && !w->is_closing)
			pthread_cond_wait(&w->work, &w->lock);
		if (!w->waiting.len)
			break;
		written = w->waiting;
		w->waiting = text;
		text = written;
		pthread_cond_signal(&w->room);
		pthread_mutex_unlock(&w->lock);
		error = write_all(w->fd, text.data, text.len);
		buf_reset(&text);
		pthread_mutex_lock(&w->lock);
		if (!w->error)
			w->error = error;
	}
	pthread_mutex_unlock(&w->lock);
	buf_done(&text);
	return NULL;
}

/* Signals are those of the main thread. */
static bool start(struct file_writer *w)
{
	sigset_t all, former;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &former);
	w->is_started = pthread_create(&w->thread, NULL, write_texts, w) == 0;
	pthread_sigmask(SIG_SETMASK, &former, NULL);
	w->is_tried = true;
	return w->is_started;
}

/* ---- the stream ---- */

/* Returns 0 or the errno of an earlier write. */
static int add(struct file_writer *w, const char *text, size_t n)
{
	int error;

	pthread_mutex_lock(&w->lock);
	while (w->waiting.len && w->waiting.len + n > WAITING_MAX)
		pthread_cond_wait(&w->room, &w->lock);
	if (!w->error)
		buf_add(&w->waiting, text, n);
	if (buf_failed(&w->waiting))
		w->error = ENOMEM;
	error = w->error;
	pthread_cond_signal(&w->work);
	pthread_mutex_unlock(&w->lock);
	return error;
}

static ssize_t take(void *cookie, const char *text, size_t n)
{
	struct file_writer *w = cookie;
	bool has_thread = w->is_tried ? w->is_started : start(w);

	errno = has_thread ? add(w, text, n) : write_all(w->fd, text, n);
	return errno ? 0 : (ssize_t)n;
}

static void finish(struct file_writer *w)
{
	pthread_mutex_lock(&w->lock);
	w->is_closing = true;
	pthread_cond_signal(&w->work);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
}

static int end(void *cookie)
{
	struct file_writer *w = cookie;
	int error;

	if (w->is_started)
		finish(w);
	error = w->error;
	if (close(w->fd) < 0 && !error)
		error = errno;
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->work);
	pthread_cond_destroy(&w->room);
	buf_done(&w->waiting);
	free(w);
	errno = error;
	return error ? EOF : 0;
}

FILE *file_writer_open(int fd, struct file_writer **ret_writer)
{
	const cookie_io_functions_t functions = {.write = take, .close = end};
	struct file_writer *w = calloc(1, sizeof(*w));
	FILE *file = w ? fopencookie(w, "w", functions) : NULL;

	if (!file) {
		free(w);
		return NULL;
	}
	w->fd = fd;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->work, NULL);
	pthread_cond_init(&w->room, NULL);
	setvbuf(file, NULL, _IONBF, 0);
	*ret_writer = w;
	return file;
}

int file_writer_fd(const struct file_writer *w)
{
	return w->fd;
}

bool file_writer_is_ready(struct file_writer *w)
{
	bool is_ready;

	pthread_mutex_lock(&w->lock);
	is_ready = w->waiting.len <= WAITING_MAX / 2;
	pthread_mutex_unlock(&w->lock);
	return is_ready;
}
