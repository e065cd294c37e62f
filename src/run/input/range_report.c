/* SPDX-License-Identifier: MIT */
/* What reports need of the range of a recording, once it is known. */
#include "base/escape.h"
#include "run/input/range.h"
#include "run/input/replay.h"
#include "run/options.h"
#include "stream/stream.h"

void range_words(const struct common_opts *o, struct buf *words)
{
	const struct {
		const char *option, *value;
	} all[] = {{"--from", o->from ?: o->at}, {"--to", o->to}};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		if (!all[i].value)
			continue;
		buf_printf(words, " %s ", all[i].option);
		escape_shell(words, all[i].value);
	}
	if (o->for_ns)
		buf_printf(words, " --for %gs", (double)o->for_ns / 1e9);
}

/* What the end of the recording has is known when it has been read. */
static void read_rest(struct recording *recording)
{
	struct recording_part part;

	while (recording_next(recording, &part) > 0)
		recording_release(recording, &part);
}

int range_read_waits(struct run_replay *replay, const struct recording_waits *at_end)
{
	struct run_range *range = &replay->range;

	if (range->has_waits || recording_fd(replay->recording) >= 0)
		return 0;
	range->has_waits = true;
	read_rest(replay->recording);
	vec_each (&at_end->threads, thread)
		if (thread->since && thread->since < range->to &&
			vec_push(&range->waits, *thread) < 0)
			return base_oom();
	return 0;
}

void range_subtract(const struct run_range *range, struct attar_stream_stats *stats)
{
	const struct attar_stream_stats *before = &range->before;

	stats->lost = difference_or_0(stats->lost, before->lost);
	stats->lost_side_band = difference_or_0(stats->lost_side_band, before->lost_side_band);
	stats->throttled = difference_or_0(stats->throttled, before->throttled);
	stats->disordered = difference_or_0(stats->disordered, before->disordered);
	stats->late_losses = difference_or_0(stats->late_losses, before->late_losses);
}

void range_done(struct run_range *range)
{
	vec_done(&range->losses);
	vec_done(&range->waits);
}
