/* SPDX-License-Identifier: MIT */
/*
 * Match start and end events by key: requests that end in another order, one that is started twice,
 * one that never ends, and a period in which events were lost.
 */
#include <attar/stats.h>
#include <stdio.h>

static struct attar_hist durations;

static void start(struct attar_pairs *pairs, uint64_t request, uint64_t time)
{
	struct attar_stamp at = {time, ATTAR_NO_TASK, -1};
	struct attar_start *opened = attar_pairs_start_u64(pairs, request, &at);

	if (opened)
		*(uint64_t *)opened->payload = 512; /* kept until the end */
}

static void end(struct attar_pairs *pairs, uint64_t request, uint64_t time)
{
	struct attar_stamp at = {time, ATTAR_NO_TASK, -1};
	const struct attar_start *started = attar_pairs_end_u64(pairs, request, &at);

	if (!started)
		return;
	printf("request %llu of %llu bytes took %llu ns\n", (unsigned long long)request,
		(unsigned long long)*(uint64_t *)started->payload,
		(unsigned long long)(time - started->time));
	attar_hist_add(&durations, time - started->time);
}

static void print_unpaired(const struct attar_pairs *pairs)
{
	struct attar_pairs_stats stats;

	attar_pairs_get_stats(pairs, &stats);
	for (int i = 0; i < ATTAR_UNPAIRED_REASONS; i++)
		if (stats.unpaired[i])
			printf("%llu %s: %s\n", (unsigned long long)stats.unpaired[i],
				i < ATTAR_UNPAIRED_END ? "start" : "end",
				attar_unpaired_text((enum attar_unpaired)i));
}

int main(void)
{
	struct attar_pairs_opts opts = {.size = sizeof(opts), .payload_size = sizeof(uint64_t)};
	struct attar_pairs *pairs;

	if (attar_pairs_new(&opts, &pairs) < 0)
		return fprintf(stderr, "%s\n", attar_error()), 1;
	start(pairs, 1, 1000);
	start(pairs, 2, 1100);
	end(pairs, 2, 1900);
	end(pairs, 1, 2000);
	start(pairs, 3, 2100);
	start(pairs, 3, 2200); /* replaces the first one */
	end(pairs, 3, 2300);
	start(pairs, 4, 2400);
	attar_pairs_lost(pairs, 0, 2500, 2600);
	end(pairs, 4, 2700); /* not of this start, perhaps */
	start(pairs, 5, 2800);
	attar_pairs_close(pairs);
	print_unpaired(pairs);
	printf("median %llu ns\n", (unsigned long long)attar_hist_quantile(&durations, 0.5));
	attar_hist_done(&durations);
	attar_pairs_free(pairs);
	return 0;
}
