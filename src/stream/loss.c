/* SPDX-License-Identifier: MIT */
/* Lost records of a stream. */
#include "attar/private/perf.h"
#include "base/check_arg.h"
#include "perf/counter.h"
#include "perf/ring.h"
#include "stream/stream.h"

enum { RENEWAL_NS = 1000000000 };

/*
 * At its end a recording has what the kernel counted as lost, by event, in records without a time.
 * Losses of which LOST records were written are in them, too.
 */
static uint64_t counted_at_end(const struct attar_stream *s)
{
	return s->lost_counted + s->lost_side;
}

bool stream_take_final_loss(struct attar_stream *s, uint32_t counter)
{
	uint64_t known = MAX(s->lost_recorded, counted_at_end(s)), now;
	bool is_side_band = replay_is_side_band(s, counter);

	s->has_final_losses = true;
	*(is_side_band ? &s->lost_side : &s->lost_counted) += s->record.lost.lost;
	if (!is_side_band && s->accounts[counter].is_unused)
		s->lost_unused += s->record.lost.lost;
	now = MAX(s->lost_recorded, counted_at_end(s));
	s->record.lost.lost = now - known;
	return now > known;
}

/*
 * The counts are exact, also in a file that begins after a loss that its first LOST record reports.
 * A damaged recording may lack some. LOST records do not show which events lost records.
 */
static uint64_t lost_in_recording(const struct attar_stream *s)
{
	struct recording_stats stats;
	uint64_t lost = s->lost_counted;

	recording_get_stats(s->replay->recording, &stats);
	if (!s->has_final_losses)
		return s->lost_recorded;
	if (stats.damage)
		lost = MAX(lost, difference_or_0(s->lost_recorded, s->lost_side));
	return difference_or_0(lost, s->lost_unused);
}

/*
 * After a loss of side-band records, programs and mappings may have changed without a record. They
 * are read again at most once a second: on a system that loses records there is much to read.
 */
void stream_renew_names(struct attar_stream *s, bool is_loss, uint64_t time, uint64_t recorded)
{
	uint64_t lost;

	if (s->replay || s->side == SIZE_MAX || !(is_loss || s->renew.due))
		return;
	s->renew.due = time < s->renew.not_before;
	if (s->renew.due)
		return;
	lost = stream_counts_losses(s) ? counter_lost(s->counters[s->side]) : recorded;
	if (lost == s->renew.lost)
		return;
	s->renew.lost = lost;
	s->renew.not_before = time + RENEWAL_NS;
	procs_renew(&s->procs);
}

/*
 * A CPU that comes online runs programs before its events are open again: their side-band records
 * are missing. Records of other CPUs from before the opening, such as the FORK of such a program,
 * are in the round that begins with it, so names are read after that round.
 */
void stream_renew_names_of_cpus(struct attar_stream *s)
{
	if (s->renew.next_round)
		procs_renew(&s->procs);
	s->renew.next_round = false;
}

/*
 * PERF_FORMAT_LOST (since 6.0) counts exactly, per event, children included: they write through the
 * event that they inherited. Older kernels report losses only in LOST records. These are written
 * with the ring's next record and name its event, whichever events the lost records belonged to.
 */
bool stream_counts_losses(const struct attar_stream *s)
{
	for (size_t i = 0; s->counters && i < s->n_counters; i++)
		if (!(s->counters[i]->attr.read_format & PERF_FORMAT_LOST_))
			return false;
	return s->counters != NULL;
}

/* What the events that write to the ring lost in it: side-band records, or samples. */
static uint64_t lost_in_ring(
	const struct attar_stream *s, const struct attar_ring *ring, bool side_band)
{
	struct attar_value value;
	uint64_t lost = 0;

	for (size_t i = 0; i < s->n_counters; i++)
		vec_each (&s->counters[i]->fds, it)
			if ((i == s->side) == side_band && ring_serves(ring, s->counters[i], it) &&
				counter_read_fd(s->counters[i], it, &value) == 0)
				lost += value.lost;
	return lost;
}

/*
 * Losses that happened after the record was written may be among those that are subtracted: a later
 * loss of the ring, or its final one, has the samples that are missing here.
 */
void stream_subtract_side_band(struct attar_stream *s, struct cursor *c)
{
	uint64_t *lost = &s->record.lost.lost, side_band = 0;

	if (s->side != SIZE_MAX && stream_counts_losses(s))
		side_band = difference_or_0(lost_in_ring(s, c->ring, true), c->lost_side);
	side_band = MIN(side_band, *lost);
	c->lost_side += side_band;
	*lost -= side_band;
	c->lost += *lost;
}

bool stream_has_final_loss(const struct attar_stream *s, struct cursor *c)
{
	uint64_t lost;

	if (c->ring->overwritten || !stream_counts_losses(s))
		return false;
	lost = lost_in_ring(s, c->ring, false);
	if (lost <= c->lost)
		return false;
	c->final_loss.header =
		(struct perf_event_header){.type = PERF_RECORD_LOST, .size = sizeof(*c->header)};
	c->final_loss.lost = lost - c->lost;
	c->lost = lost;
	c->header = &c->final_loss.header;
	c->time = MAX(c->passed_time, s->start_time);
	return true;
}

uint64_t stream_lost_while_stopped(const struct attar_stream *s)
{
	uint64_t lost = 0;

	if (s->replay)
		return 0;
	if (!stream_counts_losses(s))
		return s->lost_stopped;
	for (size_t i = 0; i < s->n_counters; i++)
		if (i != s->side && s->counters[i]->attr.write_backward)
			lost += counter_lost(s->counters[i]);
	return lost;
}

static void fill_losses(
	const struct attar_stream *s, bool counted, struct attar_stream_stats *stats)
{
	stats->lost = s->lost_recorded;
	stats->lost_side_band = s->lost_side;
	if (counted) {
		stats->lost = stats->lost_side_band = 0;
		for (size_t i = 0; i < s->n_counters; i++)
			*(i == s->side ? &stats->lost_side_band : &stats->lost) +=
				counter_lost(s->counters[i]);
	}
	if (s->replay)
		stats->lost = lost_in_recording(s);
	stats->lost += s->lost_in_pmu + s->shm_source_lost;
}

void attar_stream_get_stats(struct attar_stream *s, struct attar_stream_stats *ret_stats)
{
	CHECK_ARG_OR(s, "stream", );
	CHECK_ARG_OR(ret_stats, "ret_stats", );

	bool counted = stream_counts_losses(s);

	if (s->replay)
		replay_settle(s);
	else
		missing_settle(s, counted);
	*ret_stats = s->stats;
	fill_losses(s, counted, ret_stats);
	ret_stats->unwatched = s->procs.unwatched;
	ret_stats->stitched = s->defer.stitched;
	ret_stats->unstitched = s->defer.missing;
	for (size_t i = 0; i < s->n_rings; i++)
		ret_stats->forgotten += ring_forgotten(s->rings[i]);
}
