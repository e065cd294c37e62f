/* SPDX-License-Identifier: MIT */
/* One descriptor for a run that is driven by the caller's loop. */
#include "run/poll.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>

#include "base/check_arg.h"
#include "base/file_limit.h"
#include "run/input/replay.h"
#include "run/run.h"
#include "run/stop.h"

struct run_poll {
	int epoll; /* -1, as the next one, until attar_run_fd() is called */
	int timer; /* expires at least as often as the run must be driven; always for a file */
	bool always;
};

PART_STATE(poll_of, struct run_poll, PART_POLL)

enum { TURN_NS = 100000000 }; /* how long a ring below its watermark may wait */

static int fail_open(void)
{
	return file_limit_fail(errno, "cannot open a descriptor for the run");
}

static int poll_add(int epoll, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	if (fd >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0)
		return attar_fail(-errno, "cannot poll for the run: %s", strerror(errno));
	return 0;
}

static int open_timer(struct run_poll *p)
{
	const struct itimerspec turns = {
		.it_interval.tv_nsec = TURN_NS, .it_value.tv_nsec = p->always ? 1 : TURN_NS};

	p->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	return p->timer < 0 || timerfd_settime(p->timer, 0, &turns, NULL) < 0 ? fail_open() : 0;
}

static int poll_create(struct attar_run *run, void *self)
{
	*(struct run_poll *)self = (struct run_poll){.epoll = -1, .timer = -1};
	return 0;
}

static void poll_free(struct attar_run *run, void *self)
{
	struct run_poll *p = self;

	if (p->epoll >= 0)
		close(p->epoll);
	if (p->timer >= 0)
		close(p->timer);
	p->epoll = p->timer = -1;
}

bool run_poll_is_used(const struct attar_run *run)
{
	return poll_of(run)->epoll >= 0;
}

void run_poll_clear(struct attar_run *run)
{
	const struct run_poll *p = poll_of(run);
	uint64_t turns;

	if (p->timer >= 0 && !p->always && read(p->timer, &turns, sizeof(turns)) < 0)
		errno = 0; /* the timer has not expired: another descriptor woke the caller */
}

int attar_run_fd(struct attar_run *run)
{
	CHECK_OWN(run, "run");

	struct run_poll *p = poll_of(run);
	int r;

	if (p->epoll >= 0)
		return p->epoll;
	if (run->phase != RUN_STARTED)
		return attar_fail(-EINVAL, "attar_run_fd(): the run was not started" ATTAR_FIX
					   "call attar_run_start() first");
	if (run->command.rounds > 1)
		return attar_fail(
			-EINVAL, "attar_run_fd(): a run that repeats a command has no descriptor");
	p->always = run->replay && recording_fd(run->replay->recording) < 0;
	p->epoll = epoll_create1(EPOLL_CLOEXEC);
	r = p->epoll < 0 ? fail_open() : open_timer(p);
	if (r == 0)
		r = poll_add(p->epoll, p->timer);
	if (r == 0)
		r = poll_add(p->epoll, stop_of(run)->fd);
	if (r == 0 && run->stream)
		r = poll_add(p->epoll, attar_stream_fd(run->stream));
	else if (r == 0)
		r = poll_add(p->epoll, attar_target_fd(run->target));
	if (r < 0) {
		poll_free(run, p);
		return r;
	}
	return p->epoll;
}

const struct run_part part_poll = {
	.size = sizeof(struct run_poll), .create = poll_create, .free = poll_free};
