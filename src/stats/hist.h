/* SPDX-License-Identifier: MIT */
/* The counts of a histogram's buckets, see attar/hist.h. */
#ifndef STATS_HIST_H
#define STATS_HIST_H

#include "attar/hist.h"
#include "stats/bucket.h"

struct attar_hist_buckets {
	uint8_t page_at[BUCKET_PAGES]; /* index in counts + 1; 0: the page has no values */
	uint8_t n, size;               /* pages in counts, allocated and used */
	uint32_t *high; /* BUCKETS counts divided by 2^32; NULL: all are less than 2^32 */
	uint32_t counts[][BUCKETS_PER_PAGE];
};

/* The number of values in a bucket. */
static inline uint64_t hist_count(const struct attar_hist *hist, uint32_t bucket)
{
	const struct attar_hist_buckets *b = hist->buckets;
	uint32_t at = b ? b->page_at[bucket / BUCKETS_PER_PAGE] : 0;

	if (!at)
		return 0;
	return b->counts[at - 1][bucket % BUCKETS_PER_PAGE] |
	       (b->high ? (uint64_t)b->high[bucket] << 32 : 0);
}

#endif
