/* SPDX-License-Identifier: MIT */
/* Functions that wait for a stream's events: poll, epoll and blocking reads. */
#include "stream/stream.h"

#include <poll.h>
#include <sys/epoll.h>

#include "base/check_arg.h"
#include "perf/ring.h"

/* The data of a watched file: its fd, and above it the number of the ring from 1 on; 0: none. */
enum { RING_SHIFT = 32 };

static int watch(const struct attar_stream *s, int fd, uint32_t events, uint64_t ring)
{
	struct epoll_event event = {
		.events = events, .data.u64 = ring << RING_SHIFT | (uint32_t)fd};

	if (epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 && errno != EEXIST)
		return attar_fail(-errno, "cannot poll for events: %s", strerror(errno));
	return 0;
}

int stream_watch(struct attar_stream *s, int fd)
{
	return watch(s, fd, EPOLLIN, 0);
}

int stream_watch_ring(struct attar_stream *s, size_t ring)
{
	return watch(s, attar_ring_fd(s->rings[ring]), EPOLLIN, ring + 1);
}

/* Edge-triggered: exited processes stay readable; attar_target_ended() has the state. */
int stream_watch_target(struct attar_stream *s)
{
	int fd = attar_target_fd(s->target);

	return fd < 0 ? 0 : watch(s, fd, EPOLLIN | EPOLLET, 0);
}

/* Whether it is a ring of which most was read since the kernel last woke its reader. */
static bool is_shallow(const struct attar_stream *s, const struct epoll_event *event)
{
	uint64_t number = event->data.u64 >> RING_SHIFT;
	const struct attar_ring *ring;

	if (!number || event->events != EPOLLIN)
		return false;
	ring = s->rings[number - 1];
	return ring_unread(ring) < ring->watermark / 2;
}

/*
 * A ring whose task has exited reports EPOLLHUP forever: remove it; timeouts read it from then on.
 */
static int poll_files(struct attar_stream *s, int fd, int timeout_ms, bool *ret_all_shallow)
{
	struct epoll_event events[64];
	bool caller_ready = false;
	int n, result = 0;

	if (s->shm_source)
		timeout_ms = shm_source_nap_ms(s->shm_source, timeout_ms);
	n = epoll_wait(s->epoll_fd, events, ARRAY_SIZE(events), timeout_ms);
	if (n < 0)
		return -errno;
	*ret_all_shallow = n > 0;
	for (int i = 0; i < n; i++) {
		int ready = (int)(uint32_t)events[i].data.u64;

		*ret_all_shallow &= is_shallow(s, &events[i]);
		if (ready == fd) {
			caller_ready = true;
			continue;
		}
		if (events[i].events & (EPOLLHUP | EPOLLERR))
			epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, ready, NULL);
		result = 1;
	}
	s->stats.wakeups += result;
	return caller_ready ? 2 : result;
}

int stream_poll(struct attar_stream *s, int fd, int timeout_ms)
{
	bool all_shallow;

	return poll_files(s, fd, timeout_ms, &all_shallow);
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

/* The rest of a timeout that began at `start`. */
static int ms_left(uint64_t start, int timeout_ms)
{
	int64_t passed = (int64_t)((base_now() - start) / 1000000);

	return (int)(passed >= timeout_ms ? 0 : timeout_ms - passed);
}

/*
 * The kernel wakes us for each ring after the same number of bytes, but all rings are read each
 * time. Reading few records takes nearly as long as reading many, whose code and tables have to be
 * loaded into the caches once: rings that were read for another one meanwhile are left until
 * the next one is due, or to the end of the wait.
 */
static int wait_rings(struct attar_stream *s, int fd, int timeout_ms)
{
	uint64_t start = timeout_ms > 0 ? base_now() : 0;
	bool all_shallow;
	int left = timeout_ms, r;

	for (;;) {
		r = poll_files(s, fd, left, &all_shallow);
		if (r != 1 || !all_shallow || timeout_ms <= 0)
			return r == -EINTR ? 0 : r;
		s->stats.wakeups--;
		left = ms_left(start, timeout_ms);
		if (!left)
			return 0;
	}
}

int attar_stream_wait(struct attar_stream *s, int fd, int timeout_ms)
{
	CHECK_OWN(s, "stream");

	int r;

	if (s->replay)
		return wait_replay(s, fd, timeout_ms);
	r = watch_caller(s, fd);
	return r < 0 ? r : wait_rings(s, fd, timeout_ms);
}

int attar_stream_fd(struct attar_stream *s)
{
	CHECK_OWN(s, "stream");

	if (s->replay)
		return recording_fd(s->replay->recording);
	s->fd_given = true;
	return s->epoll_fd;
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
		left = timeout_ms < 0 ? POLL_MS : MIN(ms_left(start, timeout_ms), (int)POLL_MS);
		r = left ? stream_poll(s, -1, left) : 0;
		if (r < 0)
			return attar_fail(r, "cannot wait for events: %s", strerror(-r));
		ended = r == 0 && left && attar_target_ended(s->target);
	}
}
