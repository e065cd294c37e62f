/* SPDX-License-Identifier: MIT */
#include "overview/pause_estimate.h"

#include <math.h>

/* Standard deviations by which numbers of turns must differ, and by how much shares of time. */
static const double sigmas = 3, different = 0.2;

/* Of the shares of time, whose weight is 1: what else runs changes the number of turns. */
static const double weight_of_turns = 0.25;

/* Of the time of sleeps that turns show, against their share of the waits. */
static const double weight_of_timed = 0.75, timed_turns_min = 10;

/* Which part of the difference between the sides, or of a thread with one side, is uncertain. */
static const double uncertain_half = 0.5, uncertain_mix = 0.1;

/* The best place between the sides, by the squares of what differs. */
struct mix {
	double all, place;
};

static void mix_add(struct mix *mix, double before, double after, double pause, double weight)
{
	mix->all += weight * (before - after) * (before - after);
	mix->place += weight * (pause - after) * (before - after);
}

/* Turns in a ns. */
static double rate_of(const struct pause_thread *thread, enum pause_side side)
{
	return thread->turns[side] / thread->watched[side];
}

static double variance_of(const struct pause_thread *thread, enum pause_side side)
{
	return rate_of(thread, side) / thread->watched[side];
}

static void add_turns(const struct pause_thread *thread, struct mix *mix)
{
	double before = rate_of(thread, PAUSE_BEFORE), after = rate_of(thread, PAUSE_AFTER),
	       pause = thread->counted_turns / thread->length,
	       most = fmax(pause, fmax(before, after)),
	       noise = sqrt(variance_of(thread, PAUSE_BEFORE) + variance_of(thread, PAUSE_AFTER));

	if (fabs(before - after) > sigmas * noise)
		mix_add(mix, before / most, after / most, pause / most, weight_of_turns);
}

static double sum_of(const double *times)
{
	return times[TIME_RUNNING] + times[TIME_READY] + times[TIME_WAITS];
}

static void add_times(
	const struct pause_thread *thread, const double (*shares)[TIMES], struct mix *mix)
{
	double before[TIMES], after[TIMES], most = 0;

	for (int i = 0; i < TIMES; i++) {
		before[i] = shares[PAUSE_BEFORE][i] / sum_of(shares[PAUSE_BEFORE]);
		after[i] = shares[PAUSE_AFTER][i] / sum_of(shares[PAUSE_AFTER]);
		most = fmax(most, fabs(before[i] - after[i]));
	}
	for (int i = 0; i < TIMES && most > different; i++)
		mix_add(mix, before[i], after[i], thread->times[i] / thread->length, 1);
}

/*
 * The part of the pause in which the thread did the same as before it; in the rest, it did what it
 * does after it. Known if the sides differ in what the kernel counts; otherwise one half.
 */
static double mix_of(
	const struct pause_thread *thread, const double (*shares)[TIMES], bool *ret_is_known)
{
	struct mix mix = {0};

	*ret_is_known = false;
	if (thread->watched[PAUSE_BEFORE] <= 0 || thread->watched[PAUSE_AFTER] <= 0)
		return thread->watched[PAUSE_BEFORE] > 0;
	if (thread->is_counted && thread->length > 0 && sum_of(shares[PAUSE_BEFORE]) > 0 &&
		sum_of(shares[PAUSE_AFTER]) > 0) {
		add_turns(thread, &mix);
		add_times(thread, shares, &mix);
	}
	*ret_is_known = mix.all > 0;
	return *ret_is_known ? fmin(fmax(mix.place / mix.all, 0), 1) : 0.5;
}

/* The share of the thread in its side. */
static double share_of(const struct pause_thread *thread, const struct pause_row *row)
{
	double watched = thread->watched[row->side];

	return watched > 0 ? row->watched / watched : 0;
}

/* How long the thread spent its time as in the row, if `share` of all was as in the row. */
static double time_of(
	const struct pause_thread *thread, const struct pause_row *row, double share, double all)
{
	if (!thread->is_counted)
		return thread->length * share;
	return all > 0 ? thread->times[row->time] * share / all : 0;
}

/*
 * Waits for a time and other waits are divided by their shares next to the pause. But the program
 * waits longer for locks while it is watched, and each sleep lasts as long as others: the number of
 * turns in the pause says how many there were. A busy machine ends turns too, so the truth is
 * between both.
 */
static void weigh_timed(
	const struct pause_thread *thread, const double *parts, struct pause_row *rows, size_t n)
{
	double timed = 0, others = 0, by_turns = 0, moved;

	if (!thread->is_counted)
		return;
	for (size_t i = 0; i < n; i++) {
		if (rows[i].time != TIME_WAITS)
			continue;
		if (!rows[i].is_timed) {
			others += rows[i].estimate;
			continue;
		}
		if (thread->turns[rows[i].side] < timed_turns_min)
			return;
		timed += rows[i].estimate;
		by_turns += parts[rows[i].side] * thread->counted_turns * rows[i].watched /
			    thread->turns[rows[i].side];
	}
	if (timed <= 0 || others <= 0)
		return;
	moved = weight_of_timed * (fmin(by_turns, timed + others) - timed);
	for (size_t i = 0; i < n; i++) {
		if (rows[i].time != TIME_WAITS)
			continue;
		rows[i].bias = rows[i].estimate / (rows[i].is_timed ? timed : -others) * moved;
		rows[i].estimate += rows[i].bias;
	}
}

void pause_estimate(const struct pause_thread *thread, struct pause_row *rows, size_t n)
{
	double shares[PAUSE_SIDES][TIMES] = {{0}}, parts[PAUSE_SIDES];
	bool is_known;

	for (size_t i = 0; i < n; i++)
		shares[rows[i].side][rows[i].time] += share_of(thread, &rows[i]);
	parts[PAUSE_BEFORE] = mix_of(thread, shares, &is_known);
	parts[PAUSE_AFTER] = 1 - parts[PAUSE_BEFORE];
	for (size_t i = 0; i < n; i++) {
		struct pause_row *row = &rows[i];
		enum pause_side other = row->side == PAUSE_BEFORE ? PAUSE_AFTER : PAUSE_BEFORE;
		double share = share_of(thread, row), mine = shares[row->side][row->time],
		       others = shares[other][row->time],
		       all = parts[row->side] * mine + parts[other] * others, part;

		/* the kernel counted time of which the side that is used more has none */
		part = thread->is_counted && all <= 0 ? 1 : parts[row->side];
		row->estimate = time_of(thread, row, part * share, all > 0 ? all : mine);
		row->doubt = row->bias = 0;
		if (thread->watched[other] <= 0)
			row->doubt = (thread->has_ended ? uncertain_half : uncertain_mix) *
				     row->estimate;
		else if (!thread->is_counted || others > 0)
			row->doubt = (is_known ? uncertain_mix : uncertain_half) *
				     (row->side == PAUSE_BEFORE ? 1 : -1) *
				     time_of(thread, row, share, mine);
	}
	weigh_timed(thread, parts, rows, n);
}
