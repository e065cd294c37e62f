/* SPDX-License-Identifier: MIT */
/* cmocka with the headers that it requires. */
#ifndef UNIT_H
#define UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

/* How many of n rounds with random input to run: emulated guests run one of ATTAR_TEST_SHARE. */
static inline size_t unit_rounds(size_t n)
{
	const char *share = getenv("ATTAR_TEST_SHARE");

	return share ? n / strtoul(share, NULL, 10) : n;
}

#endif
