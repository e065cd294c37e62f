/* SPDX-License-Identifier: MIT */
/* The bare peer of bench_record: a reader written for one layout and no other. */
#ifndef BARE_RECORD_H
#define BARE_RECORD_H

#include <stddef.h>
#include <stdint.h>

struct bare_sample {
	uint64_t id, ip;
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu;
	uint32_t raw_size;
	uint64_t period;
	uint64_t callchain_nr;
	const uint64_t *callchain;
	const void *raw;
};

/*
 * Reads a SAMPLE with IDENTIFIER, IP, TID, TIME, CPU, PERIOD, CALLCHAIN and RAW. Returns 0, or -1
 * if a length in it exceeds the record.
 */
int bare_record_read(const void *bytes, size_t len, struct bare_sample *ret_sample);

#endif
