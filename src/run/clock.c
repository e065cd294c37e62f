/* SPDX-License-Identifier: MIT */
#include "run/clock.h"

#include <time.h>

#include "base/check.h"
#include "run/run.h"
#include "stream/stream.h"

int clock_check(const struct attar_run *run)
{
	const struct common_opts *o = &run->opts;
	const char *name = o->tsc ? "tsc" : o->kvmclock ? "kvmclock" : NULL;

	if (name)
		return attar_fail(-EOPNOTSUPP,
			"--%s: times cannot be converted to this clock yet; events are timed by "
			"CLOCK_MONOTONIC and shown as wall-clock time",
			name);
	if (o->clock_offset)
		return attar_fail(-EOPNOTSUPP,
			"--clock-offset needs --tsc or --kvmclock, which are not supported yet");
	return 0;
}

void clock_start_at(struct run_clock *c, uint64_t time)
{
	c->ended = 0;
	c->began = c->interval_began = time;
	if (!c->first_began)
		c->first_began = time;
}

uint64_t run_now(const struct attar_run *run)
{
	return run->replay ? stream_time(run->stream) : base_now();
}

void clock_start(struct run_clock *c)
{
	struct timespec real;

	clock_start_at(c, base_now());
	clock_gettime(CLOCK_REALTIME, &real);
	c->realtime_offset = (uint64_t)real.tv_sec * 1000000000 + (uint64_t)real.tv_nsec - c->began;
}

uint64_t attar_run_realtime(const struct attar_run *run, uint64_t time)
{
	CHECK_ARG_OR(run, "run", 0);

	return time + run->clock.realtime_offset;
}

uint64_t attar_run_elapsed(const struct attar_run *run)
{
	CHECK_ARG_OR(run, "run", 0);

	return (run->clock.ended ? run->clock.ended : run_now(run)) - run->clock.began;
}

uint64_t attar_run_recent(const struct attar_run *run)
{
	CHECK_ARG_OR(run, "run", 0);

	return run->clock.recent;
}

bool attar_run_ended(const struct attar_run *run)
{
	CHECK_ARG_OR(run, "run", false);

	return run->clock.ended != 0;
}
