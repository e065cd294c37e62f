/* SPDX-License-Identifier: MIT */
/* A queue of blocks of bytes, and of steps between them. */
#include "base/file_writer.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/base.h"
#include "base/rights.h"

enum {
	BLOCK_BYTES = 256 << 10,
	SPARE_MAX = 4, /* blocks that are kept */
};

struct block {
	struct block *next;
	file_writer_step step; /* NULL: bytes */
	void *ctx;
	size_t len;
	char bytes[];
};

struct file_writer {
	int fd; /* as the caller knows it */
	uint64_t given;
	size_t limit;
	pthread_t thread;
	bool is_tried, is_started;    /* the thread, at the first write */
	struct wait_limit wait_limit; /* for the reader of a pipe */
	uint64_t taken_at;            /* ns: when the reader of a pipe took something; atomic */
	bool gave_up;                 /* the wait limit was reached; atomic */
	pthread_mutex_t lock;         /* of all that follows */
	pthread_cond_t work, done;
	struct block *first, *last; /* NULL: the queue is empty */
	struct block *spare;
	size_t n_spare;
	size_t waiting; /* bytes in the queue, and those that are being written */
	size_t steps;
	bool is_pushed, is_busy, is_closing;
	struct file_written written;
	char *text; /* of the error; NULL: none */
};

/* ---- writing ---- */

static uint64_t stalled_ns(struct file_writer *w)
{
	return base_now() - __atomic_load_n(&w->taken_at, __ATOMIC_RELAXED);
}

/* Checks the limit, which only the caller's thread does. */
static bool gives_up(struct file_writer *w)
{
	if (wait_limit_reached(&w->wait_limit, stalled_ns(w)))
		__atomic_store_n(&w->gave_up, true, __ATOMIC_RELAXED);
	return __atomic_load_n(&w->gave_up, __ATOMIC_RELAXED);
}

/* Returns 0 if the reader may take more, or an error. */
static int await_reader(struct file_writer *w, int fd)
{
	struct pollfd pipe = {.fd = fd, .events = POLLOUT};
	bool reached = w->is_started ? __atomic_load_n(&w->gave_up, __ATOMIC_RELAXED) : gives_up(w);

	if (reached)
		return -ETIMEDOUT;
	return poll(&pipe, 1, WAIT_STEP_MS) < 0 && errno != EINTR ? -errno : 0;
}

static void reader_takes(struct file_writer *w)
{
	if (w->wait_limit.is_reached)
		__atomic_store_n(&w->taken_at, base_now(), __ATOMIC_RELAXED);
}

static void write_bytes(struct file_writer *w, const struct block *b, struct file_written *written)
{
	reader_takes(w); /* it had nothing to take before */
	for (size_t at = 0; at < b->len && !written->error;) {
		ssize_t n = write(written->fd, b->bytes + at, b->len - at);

		if (n < 0 && errno == EAGAIN)
			written->error = await_reader(w, written->fd);
		else if (n < 0 && errno != EINTR)
			written->error = -errno;
		if (n <= 0)
			continue;
		at += (size_t)n;
		written->at += (uint64_t)n;
		reader_takes(w);
	}
}

/* Returns the text of the error of a step; NULL: it had none. */
static char *run_step(const struct block *b, struct file_written *written)
{
	int before = written->error;

	b->step(b->ctx, written);
	return written->error && !before ? strdup(attar_error()) : NULL;
}

static struct block *take_first(struct file_writer *w)
{
	struct block *b = w->first;

	w->first = b->next;
	if (!w->first) {
		w->last = NULL;
		w->is_pushed = false;
	}
	return b;
}

static void give_back(struct file_writer *w, struct block *b)
{
	w->waiting -= b->len;
	w->steps -= b->step != NULL;
	if (b->step || w->n_spare == SPARE_MAX) {
		free(b);
		return;
	}
	b->next = w->spare;
	w->spare = b;
	w->n_spare++;
}

/* Works on the first block, without the lock. */
static void work_on_first(struct file_writer *w)
{
	struct block *b = take_first(w);
	struct file_written written = w->written;
	char *text = NULL;

	w->is_busy = true;
	pthread_mutex_unlock(&w->lock);
	if (b->step)
		text = run_step(b, &written);
	else
		write_bytes(w, b, &written);
	pthread_mutex_lock(&w->lock);
	w->is_busy = false;
	written.error = w->written.error ?: written.error;
	w->written = written;
	if (text)
		w->text = text;
	give_back(w, b);
	pthread_cond_signal(&w->done);
}

/* The last block is left to be filled, unless it was pushed. */
static bool has_work(const struct file_writer *w)
{
	return w->first && (w->first->next || w->is_pushed);
}

static void *work(void *arg)
{
	struct file_writer *w = arg;

	prctl(PR_SET_NAME, "attar-writer");
	rights_drop(~RIGHTS_FOR_FILES, true);
	pthread_mutex_lock(&w->lock);
	while (has_work(w) || !w->is_closing) {
		if (has_work(w))
			work_on_first(w);
		else
			pthread_cond_wait(&w->work, &w->lock);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

/* ---- the caller ---- */

/* The signals of the calling thread. */
static void file_writer_start(struct file_writer *w)
{
	sigset_t all, former;

	w->is_tried = true;
	if (!w->limit)
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &former);
	w->is_started = pthread_create(&w->thread, NULL, work, w) == 0;
	pthread_sigmask(SIG_SETMASK, &former, NULL);
}

/* Lets the thread do what it can; without one, does it here. */
static void wake(struct file_writer *w)
{
	if (!w->is_tried)
		file_writer_start(w);
	if (w->is_started)
		pthread_cond_signal(&w->work);
	else
		while (has_work(w))
			work_on_first(w);
}

static void push(struct file_writer *w)
{
	if (!w->first)
		return;
	w->is_pushed = true;
	wake(w);
}

static void file_writer_append(struct file_writer *w, struct block *b)
{
	b->next = NULL;
	if (w->last)
		w->last->next = b;
	else
		w->first = b;
	w->last = b;
}

static struct block *new_block(struct file_writer *w)
{
	struct block *b = w->spare;

	if (b) {
		w->spare = b->next;
		w->n_spare--;
	} else {
		b = malloc(sizeof(*b) + BLOCK_BYTES);
	}
	if (!b) {
		w->written.error = w->written.error ?: -ENOMEM;
		return NULL;
	}
	b->step = NULL;
	b->len = 0;
	file_writer_append(w, b);
	return b;
}

/* Waits for something that the thread has done, or until the limit is reached. */
static void await_thread(struct file_writer *w)
{
	struct timespec until;

	if (!w->wait_limit.is_reached) {
		pthread_cond_wait(&w->done, &w->lock);
		return;
	}
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += WAIT_STEP_MS * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_cond_timedwait(&w->done, &w->lock, &until);
	(void)gives_up(w);
}

/* Waits until n further bytes are within the limit; a block is always accepted. */
static void await_room(struct file_writer *w, size_t n)
{
	while (w->is_started && w->waiting && w->waiting + n > w->limit) {
		push(w);
		await_thread(w);
	}
}

/* Copies what fits in the last block. Returns the bytes; 0: out of memory. */
static size_t fill_block(struct file_writer *w, const char *bytes, size_t n)
{
	struct block *b = w->last;

	if (!b || b->step || b->len == BLOCK_BYTES)
		b = new_block(w);
	if (!b)
		return 0;
	n = MIN(n, BLOCK_BYTES - b->len);
	memcpy(b->bytes + b->len, bytes, n);
	b->len += n;
	w->waiting += n;
	if (b->len == BLOCK_BYTES)
		push(w);
	return n;
}

int file_writer_add(struct file_writer *w, const void *bytes, size_t n)
{
	const char *at = bytes, *end = at + n;
	int error;

	pthread_mutex_lock(&w->lock);
	while (at < end && !w->written.error) {
		await_room(w, MIN((size_t)(end - at), (size_t)BLOCK_BYTES));
		at += fill_block(w, at, (size_t)(end - at));
	}
	error = w->written.error;
	pthread_mutex_unlock(&w->lock);
	w->given += n;
	return error;
}

int file_writer_push(struct file_writer *w)
{
	int error;

	pthread_mutex_lock(&w->lock);
	push(w);
	error = w->written.error;
	pthread_mutex_unlock(&w->lock);
	return error;
}

int file_writer_wait(struct file_writer *w)
{
	int error;

	pthread_mutex_lock(&w->lock);
	push(w);
	while (w->first || w->is_busy)
		await_thread(w);
	error = w->written.error;
	pthread_mutex_unlock(&w->lock);
	return error;
}

/* Out of memory: the thread has nothing to do meanwhile. */
static int step_at_once(struct file_writer *w, file_writer_step step, void *ctx)
{
	int error;

	file_writer_wait(w);
	pthread_mutex_lock(&w->lock);
	step(ctx, &w->written);
	error = w->written.error;
	pthread_mutex_unlock(&w->lock);
	return error;
}

int file_writer_then(struct file_writer *w, file_writer_step step, void *ctx)
{
	struct block *b = malloc(sizeof(*b));
	int error;

	if (!b)
		return step_at_once(w, step, ctx);
	*b = (struct block){.step = step, .ctx = ctx};
	pthread_mutex_lock(&w->lock);
	file_writer_append(w, b);
	w->steps++;
	push(w);
	error = w->written.error;
	pthread_mutex_unlock(&w->lock);
	return error;
}

static void replace_file(void *ctx, struct file_written *written)
{
	int fd = (int)(intptr_t)ctx;

	if (written->fd >= 0 && close(written->fd) < 0 && !written->error)
		written->error = attar_fail(-errno, "%s", strerror(errno));
	written->fd = fd;
	written->at = 0;
}

int file_writer_continue(struct file_writer *w, int fd)
{
	w->fd = fd;
	w->given = 0;
	return file_writer_then(w, replace_file, (void *)(intptr_t)fd);
}

static void file_writer_stop(struct file_writer *w)
{
	pthread_mutex_lock(&w->lock);
	w->is_closing = true;
	pthread_cond_signal(&w->work);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
}

/* ---- life and questions ---- */

static void init_done(struct file_writer *w)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->done, &attr);
	pthread_condattr_destroy(&attr);
}

struct file_writer *file_writer_new(int fd, size_t limit)
{
	struct file_writer *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->fd = w->written.fd = fd;
	w->limit = limit;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->work, NULL);
	init_done(w);
	return w;
}

void file_writer_set_wait_limit(struct file_writer *w, struct wait_limit limit)
{
	int flags = fcntl(w->fd, F_GETFL);

	if (flags < 0 || fcntl(w->fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return;
	w->wait_limit = limit;
	w->taken_at = base_now();
}

int file_writer_free(struct file_writer *w)
{
	int error = file_writer_wait(w);
	struct block *next;

	if (w->is_started)
		file_writer_stop(w);
	if (w->written.fd >= 0 && close(w->written.fd) < 0 && !error)
		error = -errno;
	for (struct block *b = w->spare; b; b = next) {
		next = b->next;
		free(b);
	}
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->work);
	pthread_cond_destroy(&w->done);
	free(w->text);
	free(w);
	return error;
}

int file_writer_fd(const struct file_writer *w)
{
	return w->fd;
}

uint64_t file_writer_given(const struct file_writer *w)
{
	return w->given;
}

uint64_t file_writer_unwritten(struct file_writer *w)
{
	uint64_t unwritten;

	pthread_mutex_lock(&w->lock);
	unwritten = w->given - w->written.at;
	pthread_mutex_unlock(&w->lock);
	return unwritten;
}

bool file_writer_is_ready(struct file_writer *w)
{
	bool is_ready;

	pthread_mutex_lock(&w->lock);
	is_ready = w->waiting <= w->limit / 2;
	pthread_mutex_unlock(&w->lock);
	return is_ready;
}

bool file_writer_has_steps(struct file_writer *w)
{
	bool has_steps;

	pthread_mutex_lock(&w->lock);
	has_steps = w->steps > 0;
	pthread_mutex_unlock(&w->lock);
	return has_steps;
}

struct file_written file_writer_done(struct file_writer *w, const char **ret_text)
{
	struct file_written written;

	pthread_mutex_lock(&w->lock);
	written = w->written;
	*ret_text = w->text;
	pthread_mutex_unlock(&w->lock);
	return written;
}
