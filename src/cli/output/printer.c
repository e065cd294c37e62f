/* SPDX-License-Identifier: MIT */
#include "cli/output/printer.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include "base/base.h"

enum {
	WAITING_MAX = 4 << 20, /* bytes buffered, before the last report */
	WRITE_TIMEOUT_MS = 20, /* rings are large enough to be left unread for 100 ms */
};

static int64_t now_ms(void)
{
	return (int64_t)(base_now() / 1000000);
}

static size_t unsent(const struct printer *p)
{
	return p->waiting.len - p->sent;
}

/* Waits until the reader accepts data, or the limit is reached, which is an error. */
static bool await_with_limit(struct printer *p, struct pollfd *fd)
{
	while (poll(fd, 1, WAIT_STEP_MS) == 0) {
		if (!wait_limit_reached(&p->limit, base_now() - p->taken_at))
			continue;
		p->error = -ETIMEDOUT;
		p->unwritten = unsent(p);
		return false;
	}
	return true;
}

/* Waits until the reader accepts data. False: timeout. */
static bool await_reader(struct printer *p, int64_t until_ms)
{
	struct pollfd fd = {.fd = p->fd, .events = POLLOUT};
	int64_t left = until_ms - now_ms();

	if (p->waits)
		return await_with_limit(p, &fd);
	return left > 0 && poll(&fd, 1, (int)left) != 0;
}

/* Writes until at most `rest` bytes are left, or until the timeout. */
static void push(struct printer *p, size_t rest, int timeout_ms)
{
	int64_t until = now_ms() + timeout_ms;

	p->taken_at = base_now();
	while (!p->error && unsent(p) > rest) {
		ssize_t n = write(p->fd, p->waiting.data + p->sent, unsent(p));

		if (n > 0) {
			p->sent += (size_t)n;
			p->taken_at = base_now();
			p->stalled = false;
		} else if (n < 0 && errno != EAGAIN && errno != EINTR) {
			p->error = -errno;
		} else if (n < 0 && errno == EAGAIN && !await_reader(p, until)) {
			p->stalled |= timeout_ms > 0;
			break;
		}
	}
	if (p->error || !unsent(p)) {
		buf_reset(&p->waiting);
		p->sent = 0;
	}
}

/* Removes written bytes once they are half of the buffer. */
static void compact(struct printer *p)
{
	if (p->sent < p->waiting.len / 2 || !p->sent)
		return;
	p->waiting.len -= p->sent;
	memmove(p->waiting.data, p->waiting.data + p->sent, p->waiting.len);
	p->sent = 0;
}

static ssize_t printer_take(void *cookie, const char *text, size_t n)
{
	struct printer *p = cookie;

	push(p, 0, 0);
	compact(p);
	if (!p->error)
		buf_add(&p->waiting, text, n);
	if (buf_failed(&p->waiting))
		p->error = -ENOMEM;
	push(p, 0, p->waits ? -1 : 0);
	if (!p->error)
		return (ssize_t)n;
	errno = -p->error;
	return 0;
}

/*
 * Reopens the file: O_NONBLOCK is a flag of the open file description, which other processes may
 * share.
 */
static int reopen(int fd)
{
	struct stat st;
	char path[32];

	if (fstat(fd, &st) < 0 || (!S_ISFIFO(st.st_mode) && !isatty(fd)))
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

static bool is_regular(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

static FILE *open_by_thread(struct printer *p)
{
	int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);

	return fd < 0 ? NULL : file_stream_open(fd, &p->writer);
}

static FILE *open_without_blocking(struct printer *p)
{
	cookie_io_functions_t functions = {.write = printer_take};
	FILE *file = fopencookie(p, "w", functions);

	if (file)
		setvbuf(file, NULL, _IONBF, 0);
	else
		close(p->fd);
	return file;
}

void printer_open(struct printer *p, bool is_live, struct wait_limit limit)
{
	FILE *file = NULL;

	*p = (struct printer){.fd = reopen(STDOUT_FILENO), .limit = limit};
	if (p->fd >= 0)
		file = open_without_blocking(p);
	else if (is_live && is_regular(STDOUT_FILENO))
		file = open_by_thread(p);
	if (!file)
		return;
	p->former = stdout;
	stdout = file;
}

/* Whether output to a pipe or terminal is buffered here. */
static bool has_text(const struct printer *p)
{
	return p->former && !p->writer;
}

bool printer_has_room(struct printer *p)
{
	if (has_text(p) && unsent(p) > WAITING_MAX)
		push(p, WAITING_MAX, p->stalled ? 0 : WRITE_TIMEOUT_MS);
	return !has_text(p) || unsent(p) <= WAITING_MAX;
}

bool printer_is_ready(struct printer *p)
{
	if (p->writer)
		return file_writer_is_ready(p->writer);
	if (has_text(p) && unsent(p) > WAITING_MAX / 2)
		push(p, 0, 0);
	return !has_text(p) || unsent(p) <= WAITING_MAX / 2;
}

void printer_push(struct printer *p)
{
	if (has_text(p))
		push(p, 0, 0);
}

void printer_wait(struct printer *p)
{
	p->waits = true;
}

int printer_close(struct printer *p)
{
	if (!p->former)
		return 0;
	printer_wait(p);
	if (!p->writer)
		push(p, 0, 0);
	if (fclose(stdout) != 0 && p->writer)
		p->error = -errno;
	p->writer = NULL;
	stdout = p->former;
	p->former = NULL;
	if (p->fd >= 0)
		close(p->fd);
	buf_done(&p->waiting);
	return p->error;
}

size_t printer_unwritten(const struct printer *p)
{
	return p->unwritten;
}
