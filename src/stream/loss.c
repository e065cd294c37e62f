/* SPDX-License-Identifier: MIT */
/* Lost records of a stream. */
#include "base/check.h"
#include "perf/counter.h"
#include "stream/stream.h"

/*
 * PERF_FORMAT_LOST (since 6.0) counts exactly, per event, children included: they write through the
 * event that they inherited. Older kernels report losses only in LOST records. These are written
 * with the ring's next record and name its event, whichever events the lost records belonged to.
 */
static bool counts_losses(const struct attar_stream *s)
{
	for (size_t i = 0; s->counters && i < s->n_counters; i++)
		if (!(s->counters[i]->attr.read_format & PERF_FORMAT_LOST_))
			return false;
	return s->counters != NULL;
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
				attar_counter_lost(s->counters[i]);
	}
	/* at its end perf record writes what the kernel counted as lost, a second time */
	if (s->replay)
		stats->lost = MAX(s->lost_recorded, s->lost_in_pmu);
	else
		stats->lost += s->lost_in_pmu + s->shm_source_lost;
}

void attar_stream_get_stats(struct attar_stream *s, struct attar_stream_stats *ret_stats)
{
	CHECK_ARG_OR(s, "stream", );
	CHECK_ARG_OR(ret_stats, "ret_stats", );

	bool counted = counts_losses(s);

	if (!s->replay)
		missing_settle(s, counted);
	*ret_stats = s->stats;
	fill_losses(s, counted, ret_stats);
	ret_stats->unwatched = s->procs.unwatched;
	ret_stats->stitched = s->defer.stitched;
	ret_stats->unstitched = s->defer.missing;
	for (size_t i = 0; i < s->n_rings; i++)
		ret_stats->forgotten += attar_ring_forgotten(s->rings[i]);
}
