/* SPDX-License-Identifier: MIT */
/* Waiting for a stream's events, in as many ways as callers have loops. */
#include "stream/live.h"

int attar_stream_wait(struct attar_stream *s, int fd, int timeout_ms)
{
	int r = fd >= 0 ? stream_watch(s, fd) : 0;

	if (r < 0)
		return r;
	r = stream_poll(s, fd, timeout_ms);
	return r == -EINTR ? 0 : r;
}

int attar_stream_fd(struct attar_stream *s)
{
	s->fd_given = true;
	return s->epoll_fd;
}

/* Of a timeout that began at `start`; LOOK_MS at most. */
static int ms_left(uint64_t start, int timeout_ms)
{
	int64_t passed = (int64_t)((stream_now() - start) / 1000000);

	return timeout_ms < 0 ? LOOK_MS
			      : (int)(passed >= timeout_ms ? 0 : MIN(timeout_ms - passed, LOOK_MS));
}

int attar_stream_read(struct attar_stream *s, int timeout_ms, struct attar_event *ret_event)
{
	uint64_t start = stream_now();
	bool deserted = false;

	for (int left = 1, r;;) {
		r = attar_stream_next(s, ret_event);
		if (r || !left || s->stopped)
			return r;
		if (deserted)
			return attar_fail(-ENOTCONN, "there will be no more events: everybody who "
						     "was watched has ended");
		left = ms_left(start, timeout_ms);
		r = left ? stream_poll(s, -1, left) : 0;
		if (r < 0)
			return attar_fail(r, "no event was waited for: %s", strerror(-r));
		deserted = r == 0 && left && attar_target_ended(s->target);
	}
}
