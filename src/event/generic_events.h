/* SPDX-License-Identifier: MIT */
/* Event names that are the same on every kernel: generic hardware, cache and software events. */
#ifndef EVENT_GENERIC_EVENTS_H
#define EVENT_GENERIC_EVENTS_H

#include <linux/perf_event.h>

#include "base/base.h"

struct name {
	const char *name;
	const char *alias; /* NULL: none */
	uint64_t config;
	const char *about;
	const char *unit; /* NULL: a plain count */
	double scale;
};

const struct name *names_hardware(size_t *ret_n); /* PERF_TYPE_HARDWARE */
const struct name *names_software(size_t *ret_n); /* PERF_TYPE_SOFTWARE */

/* The entry whose name or alias equals the n bytes at word; NULL: none. */
const struct name *names_find(const struct name *list, size_t list_n, const char *word, size_t n);

/*
 * The config of PERF_TYPE_HW_CACHE for a word such as "L1-dcache-load-misses": TYPE, TYPE-OP,
 * TYPE-RESULT, TYPE-OP-RESULT or TYPE-RESULT-OP in any of perf's spellings. False if it is not a
 * cache event, or one that no kernel supports (a store to the instruction cache).
 */
bool names_cache(const char *word, size_t n, uint64_t *ret_config);

enum { NAMES_CACHE_MAX = 64, NAMES_CACHE_LEN = 32 };

/* The usual spelling of the i-th cache event and what it counts; false after the last. */
bool names_cache_at(unsigned i, char name[NAMES_CACHE_LEN], char about[64], uint64_t *ret_config);

#endif
