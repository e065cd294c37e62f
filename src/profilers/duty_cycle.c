/* SPDX-License-Identifier: MIT */
#include "duty_cycle.h"

#include <time.h>

enum {
	SLACK_NS = 10000000, /* CPU time: of a single turn */
	PAUSE_MAX_NS = 1000000000,
};

static uint64_t now_of(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

void duty_add(struct duty *duty, struct attar_run *run, uint32_t first)
{
	for (uint32_t i = first; i < attar_run_sources(run) && duty->n < DUTY_SOURCES_MAX; i++)
		duty->sources[duty->n++] = i;
}

static int enable(struct duty *duty, struct attar_run *run, bool on)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < duty->n; i++)
		r = attar_run_source_enable(run, duty->sources[i], on);
	return r;
}

/* When the CPU time used so far is within the share again. */
static uint64_t within_share(const struct duty *duty, uint64_t used)
{
	return duty->began + (uint64_t)((double)used / duty->share);
}

static int pause_sources(struct duty *duty, struct attar_run *run, uint64_t now, uint64_t used)
{
	int r = enable(duty, run, false);

	duty->paused_at = now_of(CLOCK_MONOTONIC);
	duty->watched += duty->paused_at - duty->on_since;
	duty->resumes_at = within_share(duty, used);
	if (duty->resumes_at > now + PAUSE_MAX_NS)
		duty->resumes_at = now + PAUSE_MAX_NS;
	return r < 0 ? r : DUTY_PAUSED;
}

static int resume(struct duty *duty, struct attar_run *run, uint64_t *ret_from, uint64_t *ret_to)
{
	int r;

	*ret_from = duty->paused_at;
	duty->on_since = now_of(CLOCK_MONOTONIC);
	r = enable(duty, run, true);
	*ret_to = now_of(CLOCK_MONOTONIC);
	duty->paused_at = 0;
	return r < 0 ? r : DUTY_RESUMES;
}

int duty_turn(struct duty *duty, struct attar_run *run, uint64_t *ret_from, uint64_t *ret_to)
{
	uint64_t now = now_of(CLOCK_MONOTONIC), used = now_of(CLOCK_PROCESS_CPUTIME_ID);

	if (!duty->began) { /* what came before was the cost of opening */
		duty->began = now;
		duty->used_then = used;
		duty->on_since = attar_run_began(run);
	}
	used -= duty->used_then;
	if (duty->paused_at)
		return now >= duty->resumes_at ? resume(duty, run, ret_from, ret_to) : DUTY_SAME;
	if (used > SLACK_NS && within_share(duty, used - SLACK_NS) > now)
		return pause_sources(duty, run, now, used);
	return DUTY_SAME;
}

uint64_t duty_until(const struct duty *duty, uint64_t until)
{
	return duty->paused_at && duty->paused_at < until ? duty->paused_at : until;
}

uint64_t duty_watched(const struct duty *duty, uint64_t began, uint64_t until)
{
	if (!duty->began)
		return until - began;
	if (duty->paused_at || until < duty->on_since)
		return duty->watched;
	return duty->watched + until - duty->on_since;
}
