/* SPDX-License-Identifier: MIT */
/* The time that two machines spend in their states, with minimum, median and maximum. */
#include <attar/stats.h>
#include <stdio.h>

enum { IDLE, BUSY, STATES };

static const char *const names[STATES] = {"idle", "busy"};

static const struct {
	uint64_t machine, time;
	uint32_t state;
} changes[] = {{1, 1000, IDLE}, {2, 1000, IDLE}, {1, 1500, BUSY}, {1, 1700, IDLE}, {2, 1900, BUSY},
	{1, 2000, BUSY}, {1, 2600, IDLE}};

static int print(struct attar_states *states)
{
	struct attar_keytable *table = attar_states_table(states);
	struct attar_keyrow *rows[10];
	size_t n;

	if (attar_keytable_end_interval(table) < 0)
		return -1;
	n = attar_keytable_top(table, ATTAR_SCOPE_WHOLE, BUSY, rows, 10);
	for (size_t i = 0; i < n; i++)
		for (int state = 0; state < STATES; state++) {
			const struct attar_hist *hist = &rows[i]->whole.hists[state];

			printf("machine %llu %s: %llu times, %llu ns, median %llu ns\n",
				(unsigned long long)rows[i]->number, names[state],
				(unsigned long long)hist->count,
				(unsigned long long)attar_hist_sum(hist),
				(unsigned long long)attar_hist_quantile(hist, 0.5));
		}
	return 0;
}

int main(void)
{
	struct attar_states_opts opts = {.size = sizeof(opts), .states = STATES};
	struct attar_states *states;
	int r = 0;

	if (attar_states_new(&opts, &states) < 0)
		return fprintf(stderr, "%s\n", attar_error()), 1;
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct attar_stamp at = {changes[i].time, ATTAR_NO_TASK, -1};

		if (!attar_states_set_u64(states, changes[i].machine, changes[i].state, &at))
			r = -1;
	}
	if (r < 0 || attar_states_close(states, 3000) < 0 || print(states) < 0)
		fprintf(stderr, "%s\n", attar_error());
	attar_states_free(states);
	return r < 0;
}
