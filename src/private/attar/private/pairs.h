/* SPDX-License-Identifier: MIT */
/*
 * What attar/pairs.h has for attar itself only. It may change with each version, and is not
 * installed.
 */
#ifndef ATTAR_PRIVATE_PAIRS_H
#define ATTAR_PRIVATE_PAIRS_H

#include "attar/pairs.h"

/*
 * The newest open start of the key, which stays open; NULL: there is none. Called per event: does
 * not check its arguments.
 */
const struct attar_start *pairs_find_open(
	const struct attar_pairs *pairs, const void *key, size_t key_size);

/* Adds statistics, such as the statistics of several steps or CPUs. */
void pairs_stats_add(struct attar_pairs_stats *to, const struct attar_pairs_stats *from);

#endif
