/* SPDX-License-Identifier: MIT */
#include "run/clock.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "attar/builtin.h"
#include "base/check_arg.h"
#include "base/parse.h"
#include "event/user_event.h"
#include "report/model/model.h"
#include "run/input/kvmclock.h"
#include "run/input/replay_names.h"
#include "run/run.h"
#include "run/stop.h"
#include "stream/stream.h"

enum {
	PAIR_NS = 1000000,  /* between two pairs */
	STEP_NS = 10000000, /* less is the error of reading both clocks */
};

/* ---- the TSC ---- */

#if defined(__x86_64__) || defined(__i386__)
enum { HAS_TSC = 1 };

static bool is_constant(void)
{
	unsigned a, b, c, d;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1 << 8);
}
#else
enum { HAS_TSC = 0 };

static bool is_constant(void)
{
	return false;
}
#endif

static struct clock_pair *pair_at(struct run_clock *c, size_t i)
{
	return &c->pairs[i % CLOCK_PAIRS];
}

/* The newest pair is replaced as long as it is close to the one before. */
static void add_pair(struct run_clock *c)
{
	struct perfume_clock_pair new = perfume_clock_pair();

	if (c->n_pairs < 2 ||
		pair_at(c, c->n_pairs - 1)->time - pair_at(c, c->n_pairs - 2)->time >= PAIR_NS)
		c->n_pairs++;
	*pair_at(c, c->n_pairs - 1) = (struct clock_pair){new.ns, new.ticks};
}

/*
 * CLOCK_MONOTONIC is adjusted, so that its rate differs from the rate of the TSC: the time is
 * between two pairs, or before the oldest one that is kept.
 */
static uint64_t tsc_of(struct run_clock *c, uint64_t time)
{
	const struct clock_pair *from, *to;
	size_t i, oldest;

	if (!c->n_pairs)
		add_pair(c);
	while (c->n_pairs < 2 || time > pair_at(c, c->n_pairs - 1)->time) {
		size_t n = c->n_pairs;

		add_pair(c);
		if (n >= 2)
			break; /* later than now: the time of a report to come */
	}
	oldest = c->n_pairs > CLOCK_PAIRS ? c->n_pairs - CLOCK_PAIRS : 0;
	for (i = c->n_pairs - 2; i > oldest && pair_at(c, i)->time > time;)
		i--;
	from = pair_at(c, i);
	to = pair_at(c, i + 1);
	if (to->time == from->time)
		return from->tsc;
	return from->tsc + (uint64_t)(int64_t)((__int128)(int64_t)(time - from->time) *
					       (int64_t)(to->tsc - from->tsc) /
					       (int64_t)(to->time - from->time));
}

/* ---- options ---- */

static int check_offset(struct attar_run *run)
{
	const char *text = run->opts.clock_offset;
	bool is_negative = text && *text == '-';
	uint64_t offset = 0;
	int r = text ? parse_u64(text + is_negative, &offset) : 0;

	if (r < 0)
		return attar_context(r, "--clock-offset");
	run->clock.offset = is_negative ? -offset : offset;
	return 0;
}

/* The options for the clock: at most one, and only where its times can be computed. */
static int check_options(const struct common_opts *o)
{
	const char *tsc = o->kvmclock ? "--kvmclock" : "--tsc";

	if ((o->tsc != 0) + (o->monotonic != 0) + (o->kvmclock != NULL) > 1)
		return attar_fail(
			-EINVAL, "--tsc, --monotonic and --kvmclock are mutually exclusive");
	if (!o->tsc && !o->kvmclock)
		return 0;
	if (o->input)
		return attar_fail(-EINVAL,
			"%s conflicts with %s: how its clock followed the TSC is unknown", tsc,
			o->pull ? "--pull" : "--input");
	/* if the rate is not constant, KVM updates the clock each time that it enters the guest */
	if (!HAS_TSC || (o->tsc && !is_constant()))
		return attar_fail(-EOPNOTSUPP, "%s: this CPU has no %stime stamp counter", tsc,
			HAS_TSC ? "invariant " : "");
	return 0;
}

int clock_check(struct attar_run *run)
{
	const struct common_opts *o = &run->opts;
	int r = check_options(o);

	if (r == 0)
		r = check_offset(run);
	if (r < 0)
		return r;
	if (o->tsc || o->kvmclock)
		add_pair(&run->clock);
	return o->kvmclock ? kvmclock_new(o->kvmclock, &stop_of(run)->asked, stop_of(run)->fd,
				     &run->clock.kvmclock)
			   : 0;
}

void clock_done(struct run_clock *c)
{
	c->kvmclock = kvmclock_free(c->kvmclock);
}

static enum attar_unit clock_unit(const struct attar_run *run)
{
	return run->opts.tsc ? ATTAR_UNIT_ID
	       : run->opts.monotonic || run->opts.kvmclock || !replay_has_date(run)
		       ? ATTAR_UNIT_CLOCK
		       : ATTAR_UNIT_TIME;
}

struct attar_report *clock_new_report(const struct attar_run *run)
{
	struct attar_report *report = attar_report_new(run->profiler->name);

	if (!report)
		return NULL;
	report->unit_of_times = clock_unit(run);
	report->has_no_date = !replay_has_date(run);
	return report;
}

/* ---- times of the run ---- */

void clock_start_at(struct run_clock *c, uint64_t time)
{
	c->ended = c->cut = 0;
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
	clock_start_at(c, base_now());
	c->realtime_offset = base_realtime() - c->began;
}

void clock_follow(struct run_clock *c)
{
	uint64_t before = base_now(), offset = base_realtime() - before;
	int64_t step = (int64_t)(offset - c->realtime_offset);

	if ((step > STEP_NS || step < -STEP_NS) && base_now() - before < STEP_NS / 10)
		c->realtime_offset = offset;
}

uint64_t run_wall_time(const struct attar_run *run, uint64_t time)
{
	return time + run->clock.realtime_offset;
}

uint64_t attar_run_realtime(const struct attar_run *run, uint64_t time)
{
	CHECK_ARG_OR(run, "run", 0);

	struct run_clock *c = &((struct attar_run *)(uintptr_t)run)->clock;

	if (run->opts.tsc)
		return tsc_of(c, time) + c->offset;
	if (c->kvmclock)
		return kvmclock_time(c->kvmclock, time, tsc_of(c, time)) + c->offset;
	return (run->opts.monotonic ? time : run_wall_time(run, time)) + c->offset;
}

uint64_t run_elapsed(const struct attar_run *run)
{
	CHECK_ARG_OR(run, "run", 0);

	if (!run->clock.began) /* a recording, before its first sample */
		return 0;
	return (run->clock.ended ? run->clock.ended : run_now(run)) - run->clock.began;
}

uint64_t run_recent(const struct attar_run *run)
{
	CHECK_ARG_OR(run, "run", 0);

	return run->clock.recent;
}

uint64_t attar_run_began(const struct attar_run *run)
{
	CHECK_ARG_OR(run, "run", 0);

	return run->clock.began;
}

uint64_t attar_run_until(const struct attar_run *run)
{
	CHECK_ARG_OR(run, "run", 0);

	return run->clock.until;
}

bool attar_run_ended(const struct attar_run *run)
{
	CHECK_ARG_OR(run, "run", false);

	return run->clock.ended != 0;
}
