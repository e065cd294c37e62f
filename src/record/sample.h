/* SPDX-License-Identifier: MIT */
/*
 * Fast path for samples without rare fields, inlined into hot loops. Every length is compared with
 * the record's size before it is used.
 */
#ifndef RECORD_SAMPLE_H
#define RECORD_SAMPLE_H

#include "record/record.h"

/* Fields that all of attar's own events request; always in this order, one word each. */
#define SAMPLE_USUAL                                                                               \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |            \
		PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD)
#define SAMPLE_COMMON                                                                              \
	(SAMPLE_USUAL | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |                \
		PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW)

/*
 * Bytes behind the last field of a sample, which the kernel never writes. 0: none, or the sample
 * does not fit, or has other fields than SAMPLE_COMMON.
 */
uint64_t sample_rest(const struct attar_layout *layout, const struct perf_event_header *header);

/* The fixed-size fields. */
static inline __attribute__((always_inline)) const record_word *sample_fixed(
	uint64_t type, const record_word *at, struct attar_record *rec)
{
	struct attar_sample *sample = &rec->sample;

	rec->id = type & PERF_SAMPLE_IDENTIFIER ? *at++ : 0;
	sample->ip = type & PERF_SAMPLE_IP ? *at++ : 0;
	if (type & PERF_SAMPLE_TID)
		memcpy(&rec->pid, at++, 8); /* and tid */
	else
		memset(&rec->pid, 0xff, 8);
	rec->time = type & PERF_SAMPLE_TIME ? *at++ : 0;
	if (type & PERF_SAMPLE_ADDR)
		sample->addr = *at++;
	if (type & PERF_SAMPLE_ID)
		rec->id = *at++;
	if (type & PERF_SAMPLE_STREAM_ID)
		rec->stream_id = *at++;
	rec->cpu = type & PERF_SAMPLE_CPU ? (uint32_t)*at++ : UINT32_MAX;
	sample->period = type & PERF_SAMPLE_PERIOD ? *at++ : 0;
	return at;
}

/*
 * The words of raw data of this size, beyond the word that holds the size. Valid sizes are 4 more
 * than a multiple of 8. Of any other, the result is more than a record has: the lower three bits of
 * the difference are its upper ones.
 */
static inline uint32_t sample_raw_words(uint32_t size)
{
	uint32_t beyond = size - 4;

	return beyond >> 3 | beyond << 29;
}

/*
 * The call chain and the raw data, which start at `at`. The minimum size of a sample includes the
 * words that hold lengths; spare is the number of words beyond it. Returns false if call chain or
 * raw data exceed spare.
 */
static inline __attribute__((always_inline)) bool sample_variable(
	uint64_t type, const record_word *at, uint64_t spare, struct attar_record *rec)
{
	struct attar_sample *sample = &rec->sample;
	uint64_t nr = 0, raw = 0;

	if (type & PERF_SAMPLE_CALLCHAIN) {
		nr = *at++;
		if (unlikely(nr > spare))
			return false;
	}
	sample->callchain = type & PERF_SAMPLE_CALLCHAIN ? (const uint64_t *)at : NULL;
	at += nr;
	if (type & PERF_SAMPLE_RAW) {
		raw = *at;
		if (unlikely(sample_raw_words((uint32_t)raw) > spare - nr))
			return false;
	}
	sample->raw = type & PERF_SAMPLE_RAW ? (const char *)at + 4 : NULL;
	nr |= raw << 32; /* the size alone: the bytes above it are shifted out */
	memcpy(&sample->callchain_nr, &nr, 8); /* and raw_size */
	return true;
}

/*
 * Parses a sample whose fields are all in SAMPLE_COMMON; rare fields are not written. Returns false
 * as sample_variable() does.
 */
static inline __attribute__((always_inline)) bool sample_common(uint64_t type,
	const struct perf_event_header *header, uint64_t spare, struct attar_record *rec)
{
	const record_word *at = sample_fixed(type, (const record_word *)(header + 1), rec);

	return sample_variable(type, at, spare, rec);
}

/* Other sets of fields, besides call chain and raw data: of recordings. */
enum {
	SAMPLE_BASE = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
	SAMPLE_ONE = SAMPLE_BASE | PERF_SAMPLE_PERIOD,      /* perf record with one event */
	SAMPLE_MORE = SAMPLE_ONE | PERF_SAMPLE_ID,          /* ... with several */
	SAMPLE_SELF = SAMPLE_BASE | PERF_SAMPLE_IDENTIFIER, /* attar record */
};

#endif
