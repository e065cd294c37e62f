/* SPDX-License-Identifier: MIT */
/* Functions that wait for a stream's events: poll, epoll and blocking reads. */
#include "stream/stream.h"

#include <poll.h>
#include <sys/epoll.h>

#include "base/check.h"

static int watch(const struct attar_stream *s, int fd, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.fd = fd};

	if (epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 && errno != EEXIST)
		return attar_fail(-errno, "cannot poll for events: %s", strerror(errno));
	return 0;
}

int stream_watch(struct attar_stream *s, int fd)
{
	return watch(s, fd, EPOLLIN);
}

/* Edge-triggered: exited processes stay readable; attar_target_ended() has the state. */
int stream_watch_target(struct attar_stream *s)
{
	int fd = attar_target_fd(s->target);

	return fd < 0 ? 0 : watch(s, fd, EPOLLIN | EPOLLET);
}

/*
 * A ring whose task has exited reports EPOLLHUP forever: remove it; timeouts read it from then on.
 */
int stream_poll(struct attar_stream *s, int fd, int timeout_ms)
{
	struct epoll_event events[64];
	bool caller_ready = false;
	int n, result = 0;

	if (s->shm_source)
		timeout_ms = shm_source_nap_ms(s->shm_source, timeout_ms);
	n = epoll_wait(s->epoll_fd, events, ARRAY_SIZE(events), timeout_ms);
	if (n < 0)
		return -errno;
	for (int i = 0; i < n; i++) {
		if (events[i].data.fd == fd) {
			caller_ready = true;
			continue;
		}
		if (events[i].events & (EPOLLHUP | EPOLLERR))
			epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, events[i].data.fd, NULL);
		result = 1;
	}
	s->stats.wakeups += result;
	return caller_ready ? 2 : result;
}

/* Polls the fd of the caller's last call; -1 removes it. */
static int watch_caller(struct attar_stream *s, int fd)
{
	if (s->caller_fd != fd && s->caller_fd >= 0)
		epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, s->caller_fd, NULL);
	s->caller_fd = fd;
	return fd >= 0 ? stream_watch(s, fd)
		       : 0; /* add it again: the number may be another file now */
}

/* Only a pipe makes its reader wait. */
static int wait_replay(const struct attar_stream *s, int fd, int timeout_ms)
{
	struct pollfd fds[] = {{.fd = fd, .events = POLLIN},
		{.fd = recording_fd(s->replay->recording), .events = POLLIN}};
	bool waits = fds[1].fd >= 0 && recording_is_starved(s->replay->recording);
	int n = poll(fds, ARRAY_SIZE(fds), waits ? timeout_ms : 0);

	if (fds[0].revents)
		return 2;
	return !waits || n > 0;
}

int attar_stream_wait(struct attar_stream *s, int fd, int timeout_ms)
{
	CHECK_OWN(s, "stream");

	int r;

	if (s->replay)
		return wait_replay(s, fd, timeout_ms);
	r = watch_caller(s, fd);
	if (r < 0)
		return r;
	r = stream_poll(s, fd, timeout_ms);
	return r == -EINTR ? 0 : r;
}

int attar_stream_fd(struct attar_stream *s)
{
	CHECK_OWN(s, "stream");

	if (s->replay)
		return recording_fd(s->replay->recording);
	s->fd_given = true;
	return s->epoll_fd;
}

/* The rest of a timeout that began at `start`, at most POLL_MS. */
static int ms_left(uint64_t start, int timeout_ms)
{
	int64_t passed = (int64_t)((base_now() - start) / 1000000);

	return timeout_ms < 0 ? POLL_MS
			      : (int)(passed >= timeout_ms ? 0 : MIN(timeout_ms - passed, POLL_MS));
}

static int read_replay(struct attar_stream *s, int timeout_ms, struct attar_event *ret_event)
{
	int r;

	while ((r = attar_stream_next(s, ret_event)) == 0) {
		if (s->drained)
			return attar_fail(-ENOTCONN, "no more events: the recording is over");
		r = attar_stream_wait(s, -1, timeout_ms);
		if (r <= 0)
			return r;
	}
	return r;
}

int attar_stream_read(struct attar_stream *s, int timeout_ms, struct attar_event *ret_event)
{
	CHECK_OWN(s, "stream");
	CHECK_ARG(ret_event, "ret_event");

	uint64_t start = base_now();
	bool ended = false;

	if (s->replay)
		return read_replay(s, timeout_ms, ret_event);
	watch_caller(s, -1);
	for (int left = 1, r;;) {
		r = attar_stream_next(s, ret_event);
		if (r || !left || s->stopped)
			return r;
		if (ended)
			return attar_fail(
				-ENOTCONN, "no more events: all watched tasks have exited");
		left = ms_left(start, timeout_ms);
		r = left ? stream_poll(s, -1, left) : 0;
		if (r < 0)
			return attar_fail(r, "cannot wait for events: %s", strerror(-r));
		ended = r == 0 && left && attar_target_ended(s->target);
	}
}
