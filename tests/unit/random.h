/* SPDX-License-Identifier: MIT */
/* Numbers that look random and are the same in every run. */
#ifndef RANDOM_H
#define RANDOM_H

#include <stdint.h>

#include "base/base.h"

static inline uint64_t random_below(uint64_t n)
{
	static uint64_t seed = 23;

	return base_hash64(seed++) % n;
}

#endif
