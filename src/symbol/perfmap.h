/* SPDX-License-Identifier: MIT */
#ifndef SYMBOL_PERFMAP_H
#define SYMBOL_PERFMAP_H

#include "base/base.h"

struct perfmap {
	int unused;
};

static inline void perfmap_done(struct perfmap *map)
{
}

#endif
