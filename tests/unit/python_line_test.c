/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "lang/python_line.h"

#define LINE(table, first, at) python_line(table, sizeof(table), first, at)

/* The first byte of an entry: its kind and the number of units of two bytes. */
#define ENTRY(kind, units) (uint8_t)(0x80 | (kind) << 3 | ((units)-1))

static void test_kinds(void **state)
{
	const uint8_t table[] = {ENTRY(15, 1), /* no place */
		ENTRY(14, 2), 2 << 1, 0, 1, 2, /* 2 lines further down */
		ENTRY(3, 8), 0x15,             /* the same line */
		ENTRY(11, 1), 4, 9,            /* the next line */
		ENTRY(12, 1), 4, 9,            /* 2 further down */
		ENTRY(10, 1), 4, 9,            /* the same */
		ENTRY(13, 1), 3 << 1 | 1,      /* 3 further up */
		ENTRY(13, 1), 0x40 | 0x20, 1}; /* 48 further down: two bytes */

	(void)state;
	assert_int_equal(LINE(table, 10, 0), 0);
	assert_int_equal(LINE(table, 10, 1), 0);
	assert_int_equal(LINE(table, 10, 2), 12);
	assert_int_equal(LINE(table, 10, 5), 12);
	assert_int_equal(LINE(table, 10, 6), 12);
	assert_int_equal(LINE(table, 10, 21), 12);
	assert_int_equal(LINE(table, 10, 22), 13);
	assert_int_equal(LINE(table, 10, 24), 15);
	assert_int_equal(LINE(table, 10, 26), 15);
	assert_int_equal(LINE(table, 10, 28), 12);
	assert_int_equal(LINE(table, 10, 30), 60);
	assert_int_equal(LINE(table, 10, 32), 0); /* beyond the code */
}

static void test_invalid_tables(void **state)
{
	const uint8_t no_entry[] = {0x01}, cut[] = {ENTRY(13, 1), 0x41},
		      endless[] = {ENTRY(13, 1), 0x41, 0x41, 0x41, 0x41, 0x41, 0x41, 0x41, 1},
		      above[] = {ENTRY(13, 1), 20 << 1 | 1};

	(void)state;
	assert_int_equal(python_line(NULL, 0, 1, 0), 0);
	assert_int_equal(LINE(no_entry, 1, 0), 0);
	assert_int_equal(LINE(cut, 1, 0), 0);
	assert_int_equal(LINE(endless, 1, 0), 0);
	assert_int_equal(LINE(above, 10, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_invalid_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
