/* SPDX-License-Identifier: MIT */
#include "overview/duty_cycle.h"

#include "attar/builtin.h"

#include <math.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum {
	NICE = -20,
	SLACK_NS = 10000000, /* CPU time: of a single turn */
	PAUSE_MAX_NS = 1000000000,
	EVENTS_MIN = 1000, /* a second */
};

/* Share of a CPU, while the sources are enabled, above which they flood. */
static const double flood = 0.1;

static uint64_t now_of(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/*
 * Beside hundreds of threads that want to run, this one would wait so long for a CPU that the rings
 * overflow, or that it could not pause the sources in time. The share limits what it takes from
 * others. A command that is run must not inherit the priority: it exists at the first turn.
 */
static void raise_priority(struct duty *duty)
{
	if (duty->is_raised)
		return;
	duty->nice = getpriority(PRIO_PROCESS, 0);
	duty->is_raised = duty->nice > NICE && setpriority(PRIO_PROCESS, 0, NICE) == 0;
}

void duty_done(struct duty *duty)
{
	if (duty->is_raised)
		setpriority(PRIO_PROCESS, 0, duty->nice);
	duty->is_raised = false;
}

void duty_add(struct duty *duty, struct attar_run *run, uint32_t first)
{
	const char *words = run_target_words(run);

	duty->is_live = attar_run_is_live(run);
	for (uint32_t i = first; i < attar_run_sources(run) && duty->n < DUTY_SOURCES_MAX; i++)
		duty->sources[duty->n++] = i;
	if (duty->is_live && words && !strstr(words, " -- "))
		raise_priority(duty);
}

static int enable(struct duty *duty, struct attar_run *run, bool on)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < duty->n; i++)
		r = run_source_enable(run, duty->sources[i], on);
	return r;
}

/*
 * The CPU time that the sources have cost: what attar used while they were enabled, less what it
 * uses in the same time while they are paused.
 */
static double cost(const struct duty *duty, uint64_t now, uint64_t used)
{
	double on = (double)duty->used_on, watched = (double)duty->watched,
	       off = (double)duty->used_off, paused = (double)duty->paused;

	if (duty->is_read) {
		off += (double)(used - duty->used_then);
		paused += (double)(now - duty->paused_at);
	} else {
		on += (double)(used - duty->used_then);
		watched += duty->paused_at ? 0 : (double)(now - duty->on_since);
	}
	return paused > 0 ? fmax(on - watched * off / paused, 0) : on;
}

static bool is_within_share(const struct duty *duty, uint64_t now, double costs)
{
	return costs <= duty->share * (double)(now - duty->began);
}

int duty_pause(struct duty *duty, struct attar_run *run)
{
	int r = enable(duty, run, false);

	duty->is_flooded = false;
	if (!duty->began) /* before the first turn */
		duty->on_since = attar_run_began(run);
	duty->paused_at = now_of(CLOCK_MONOTONIC);
	duty->watched += duty->paused_at - duty->on_since;
	return r;
}

/* The events before the pause have been read. */
static void end_reading(struct duty *duty, uint64_t used)
{
	uint64_t on = used - duty->used_then;

	duty->is_heavy = (double)on > flood * (double)(duty->paused_at - duty->on_since);
	duty->used_on += on;
	duty->used_then = used;
	duty->is_read = true;
}

static int resume(struct duty *duty, struct attar_run *run, uint64_t used, uint64_t events,
	uint64_t *ret_from, uint64_t *ret_to)
{
	int r;

	*ret_from = duty->paused_at;
	duty->on_since = now_of(CLOCK_MONOTONIC);
	duty->paused += duty->on_since - duty->paused_at;
	duty->used_off += used - duty->used_then;
	duty->used_then = used;
	duty->events_then = events;
	r = enable(duty, run, true);
	*ret_to = now_of(CLOCK_MONOTONIC);
	duty->paused_at = 0;
	duty->is_read = false;
	return r < 0 ? r : DUTY_RESUMES;
}

/* Whether events since the last pause can cost something; on a slow machine, the rest does. */
static bool has_events(const struct duty *duty, uint64_t now, uint64_t events)
{
	return (double)(events - duty->events_then) >
	       EVENTS_MIN * ((double)(now - duty->on_since) / 1e9);
}

int duty_turn(struct duty *duty, struct attar_run *run, uint64_t events, uint64_t *ret_from,
	uint64_t *ret_to)
{
	uint64_t now = now_of(CLOCK_MONOTONIC), used = now_of(CLOCK_PROCESS_CPUTIME_ID);
	double costs;
	int r;

	duty->in_turn = 0;
	if (!duty->began) { /* what came before was the cost of opening */
		raise_priority(duty);
		duty->began = now;
		duty->used_then = used;
		duty->on_since = attar_run_began(run);
	}
	if (duty->paused_at && !duty->is_read) { /* by duty_event() */
		end_reading(duty, used);
		return DUTY_PAUSED;
	}
	costs = cost(duty, now, used);
	if (duty->paused_at &&
		(is_within_share(duty, now, costs) || now >= duty->paused_at + PAUSE_MAX_NS))
		return resume(duty, run, used, events, ret_from, ret_to);
	if (duty->paused_at || is_within_share(duty, now, costs - SLACK_NS) ||
		!has_events(duty, now, events))
		return DUTY_SAME;
	r = duty_pause(duty, run);
	end_reading(duty, used);
	return r < 0 ? r : DUTY_PAUSED;
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
