/* SPDX-License-Identifier: MIT */
#include "run/input/pull.h"

#include "peer/receiver.h"
#include "run/input/hosts.h"
#include "run/input/replay.h"
#include "run/intervals.h"
#include "run/run.h"
#include "run/stop.h"

/* Until all senders must have answered. */
#define CONNECT_NS     UINT64_C(10000000000)
#define CONNECT_MIN_NS UINT64_C(1000000000)

int hosts_check_profiler(const struct attar_run *run, unsigned uses)
{
	if (run->profiler->uses & uses)
		return 0;
	return attar_fail(-EINVAL,
		"'%s' cannot distinguish the events of several hosts" ATTAR_FIX
		"use 'attar trace' or 'attar multi-trace', or 'attar %s --pull ADDRESS --pull "
		"ADDRESS' without pull=",
		run->profiler->name, run->profiler->name);
}

int pull_prepare(struct attar_run *run)
{
	const struct attar_texts *pulls = &run->opts.pulls;

	if (!pulls->n)
		return 0;
	if (run->opts.input)
		return attar_fail(-EINVAL, "--pull and --input are mutually exclusive");
	if (pulls->n > 1)
		return hosts_check_profiler(run, ATTAR_SHOWS_HOST);
	run->opts.input = run->opts.pull = pulls->at[0];
	return 0;
}

static ssize_t read_input(void *ctx, void *bytes, size_t room)
{
	return receiver_read(ctx, bytes, room);
}

static const char *damage(const void *ctx)
{
	return receiver_damage(ctx);
}

static uint64_t since(const void *ctx)
{
	return receiver_since(ctx);
}

/* The time limit for all senders. A run for a short time waits for them for a second. */
static uint64_t deadline(const struct attar_run *run)
{
	const uint64_t duration = run->opts.duration;
	const uint64_t wait = duration ? MIN(duration, CONNECT_NS) : CONNECT_NS;

	return (hosts_of(run)->reads_for ?: run)->notes.entered + MAX(wait, CONNECT_MIN_NS);
}

int pull_open(struct attar_run *run, struct recording **ret_recording)
{
	const struct receiver_opts opts = {.option = "--pull",
		.address = run->opts.pull,
		.tls = {run->opts.peer_psk, run->opts.peer_cert, run->opts.peer_key,
			run->opts.peer_ca},
		.stop = stop_of(run)->fd,
		.deadline = deadline(run)};
	struct recording_input input = {.read = read_input, .damage = damage, .since = since};
	int r = receiver_new(&opts, &pull_of(run)->receiver);

	if (r < 0)
		return r;
	input.ctx = pull_of(run)->receiver;
	input.fd = receiver_fd(pull_of(run)->receiver);
	r = recording_open_input(run->opts.pull, &input, ret_recording);
	if (r == 0)
		receiver_begin(pull_of(run)->receiver, run->opts.duration);
	return r;
}

/*
 * All events up to this time were delivered, ns; 0: unknown. A sender without events still reports
 * how far it has come.
 */
static uint64_t pull_reached(const struct attar_run *run)
{
	return pull_of(run)->receiver ? recording_since(run->replay->recording) : 0;
}

int pull_follow(struct attar_run *run)
{
	uint64_t time = pull_reached(run), end;

	if (!time || run_has_enough(run))
		return 0;
	pull_of(run)->reached = time;
	if (!run->clock.began) {
		clock_start_at(&run->clock, time);
		run_set_tick(run, time + run->opts.interval);
	}
	end = run_duration_end(run);
	if (end && time >= end)
		run->replay->over = run->clock.has_enough = true;
	else if (time >= run->clock.tick)
		return run_report_interval(run, time);
	return 0;
}

void pull_close(struct attar_run *run)
{
	pull_of(run)->receiver = receiver_free(pull_of(run)->receiver);
}

void pull_remark(const struct attar_run *run, struct attar_report *report)
{
	uint64_t error;

	if (!pull_of(run)->receiver || !run->clock.ended)
		return;
	error = receiver_clock_error(pull_of(run)->receiver);
	if (error == UINT64_MAX)
		attar_report_remark(
			report, "the offset of the clock of %s was not measured", run->opts.pull);
	else
		attar_report_remark(report, "the clock offset of %s at %s has an error of %.3f us",
			receiver_host(pull_of(run)->receiver), run->opts.pull, (double)error / 1e3);
}

const struct run_part part_pull = {.size = sizeof(struct run_pull)};
