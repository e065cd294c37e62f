/* SPDX-License-Identifier: MIT */
/*
 * Count and time operations by key: a table with a sum and a histogram for each key, and the keys
 * with the largest sums.
 */
#include <attar/stats.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { CALLS, TIME, SUMS };

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int add(struct attar_keytable *table, const char *name, uint64_t duration)
{
	struct attar_keyrow *row = attar_keytable_at(table, name, strlen(name));

	if (!row)
		return -1;
	row->interval.sums[CALLS]++;
	row->interval.sums[TIME] += duration;
	return attar_hist_add(&row->interval.hists[0], duration);
}

static int measure(struct attar_keytable *table)
{
	for (int i = 0; i < 1000; i++) {
		uint64_t begin = now(), middle, end;

		getppid();
		middle = now();
		usleep(1);
		end = now();
		if (add(table, "getppid", middle - begin) < 0 ||
			add(table, "usleep", end - middle) < 0)
			return -1;
	}
	return attar_keytable_end_interval(table);
}

int main(void)
{
	struct attar_keytable_opts opts = {
		.size = sizeof(opts), .sums = SUMS, .hists = 1, .key_max = 16, .rank = TIME};
	struct attar_keytable *table;
	struct attar_keyrow *rows[10];
	size_t n;

	if (attar_keytable_new(&opts, &table) < 0 || measure(table) < 0) {
		fprintf(stderr, "%s\n", attar_error());
		return 1;
	}
	n = attar_keytable_top(table, ATTAR_SCOPE_WHOLE, TIME, rows, 10);
	for (size_t i = 0; i < n; i++) {
		const struct attar_keysums *whole = attar_keyrow_sums(rows[i], ATTAR_SCOPE_WHOLE);

		printf("%-8.*s %llu calls, median %llu ns, p99 %llu ns\n", (int)rows[i]->key_size,
			(const char *)rows[i]->key, (unsigned long long)whole->sums[CALLS],
			(unsigned long long)attar_hist_quantile(&whole->hists[0], 0.5),
			(unsigned long long)attar_hist_quantile(&whole->hists[0], 0.99));
	}
	attar_keytable_free(table);
	return 0;
}
