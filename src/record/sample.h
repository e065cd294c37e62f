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
 * Parses a sample whose fields are all in SAMPLE_COMMON; rare fields are not written. The minimum
 * size of a sample includes the words that hold lengths; spare is the number of words beyond it.
 * Returns false if call chain or raw data exceed spare.
 */
static inline __attribute__((always_inline)) bool sample_common(uint64_t type,
	const struct perf_event_header *header, uint64_t spare, struct attar_record *rec)
{
	const record_word *at = sample_fixed(type, (const record_word *)(header + 1), rec);
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
		if (unlikely(raw % 8 != 4 || (uint32_t)raw / 8 > spare - nr))
			return false;
	}
	sample->raw = type & PERF_SAMPLE_RAW ? (const char *)at + 4 : NULL;
	nr |= raw << 32; /* the size alone: the bytes above it are shifted out */
	memcpy(&sample->callchain_nr, &nr, 8); /* and raw_size */
	return true;
}

/*
 * Whether the fields are a set that attar's own events request: the usual ones, optionally with a
 * call chain or raw data.
 */
static inline bool sample_is_own(uint64_t type)
{
	return (type & ~(uint64_t)(PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW)) == SAMPLE_USUAL;
}

/* Fixed positions of the fields in samples of attar's own events, in words after the header. */
enum { SAMPLE_OWN_ID = 1, SAMPLE_OWN_TASK = 3, SAMPLE_OWN_TIME = 4 };

/*
 * sample_common() for a set of fields that is a constant, and optionally a call chain and raw data:
 * all bit tests are folded at compile time.
 */
static inline __attribute__((always_inline)) bool sample_of(uint64_t fixed, uint64_t type,
	const struct perf_event_header *header, uint64_t spare, struct attar_record *rec)
{
	enum { STACK = PERF_SAMPLE_CALLCHAIN, DATA = PERF_SAMPLE_RAW };

	switch (type & (STACK | DATA)) {
	case STACK | DATA:
		return sample_common(fixed | STACK | DATA, header, spare, rec);
	case STACK:
		return sample_common(fixed | STACK, header, spare, rec);
	case DATA:
		return sample_common(fixed | DATA, header, spare, rec);
	default:
		return sample_common(fixed, header, spare, rec);
	}
}

/* The same for a set that attar's own events request. */
static inline __attribute__((always_inline)) bool sample_own(uint64_t type,
	const struct perf_event_header *header, uint64_t spare, struct attar_record *rec)
{
	return sample_of(SAMPLE_USUAL, type, header, spare, rec);
}

/* Other sets of fields, beside call chain and raw data: of recordings. */
enum {
	SAMPLE_BASE = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
	SAMPLE_ONE = SAMPLE_BASE | PERF_SAMPLE_PERIOD,      /* perf record with one event */
	SAMPLE_MORE = SAMPLE_ONE | PERF_SAMPLE_ID,          /* ... with several */
	SAMPLE_SELF = SAMPLE_BASE | PERF_SAMPLE_IDENTIFIER, /* attar record */
};

#endif
