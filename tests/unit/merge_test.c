/* SPDX-License-Identifier: MIT */
#include "unit.h"
#include "stream/merge.h"

enum { CURSORS = 64, PER_CURSOR = 500 };

/*
 * Cursors whose times grow by random steps are merged in ascending order, every time exactly once.
 */
static void test_global_order(void **state)
{
	static struct cursor cursors[CURSORS];
	static int left[CURSORS];
	struct cursor *heap[CURSORS], *c;
	struct merge m = {.heap = heap};
	uint64_t last = 0, sum_in = 0, sum_out = 0, seed = 1;
	size_t n = 0;

	for (size_t i = 0; i < CURSORS; i++) {
		cursors[i].time = base_hash64(i) % 1000;
		sum_in += cursors[i].time;
		left[i] = PER_CURSOR;
		merge_push(&m, &cursors[i]);
	}
	while ((c = merge_first(&m))) {
		assert_true(c->time >= last);
		last = c->time;
		sum_out += last;
		n++;
		if (--left[c - cursors] == 0) {
			merge_drop_first(&m);
			continue;
		}
		c->time += base_hash64(seed++) % 1000;
		sum_in += c->time;
		merge_sink_first(&m);
	}
	assert_int_equal(n, CURSORS * PER_CURSOR);
	assert_int_equal(sum_in, sum_out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_global_order)};

	return cmocka_run_group_tests_name("merge", tests, NULL, NULL);
}
