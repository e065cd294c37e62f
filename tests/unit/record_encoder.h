/* SPDX-License-Identifier: MIT */
/*
 * Generate records from a random model to test record readers: the kernel side of the format,
 * written from the kernel sources independently of the parser. A model has a seed, which identifies
 * a failing case.
 *
 *	struct model m;
 *	model_random(&m, seed, PERF_RECORD_SAMPLE, &attr);
 *	size_t size = model_encode(&m, words);
 *	...
 *	model_assert_equal(&m, &parsed);
 */
#ifndef RECORD_ENCODER_H
#define RECORD_ENCODER_H

#include "attar/record.h"

enum {
	MODEL_VALUES = 6,
	MODEL_WORDS = 1024,       /* storage of one model's arrays */
	MODEL_RECORD_MAX = 16384, /* maximum bytes written by model_encode() */
};

struct model {
	struct perf_event_attr attr;
	struct attar_record rec; /* expected result of parsing; its pointers refer to storage */
	struct attar_read_value values[MODEL_VALUES];
	uint64_t time_enabled, time_running;
	uint64_t stack_room; /* requested size; rec.sample.stack_size bytes were copied */
	bool without_hw_idx; /* no branch stack was available */
	bool with_counters;  /* counters are written even if not requested */
	/*
	 * Set after model_random(): encode as a machine of the other byte order does, except for
	 * the record's header. Raw data, stacks and AUX data are bytes.
	 */
	bool swapped;
	uint64_t rng;
	size_t used; /* words used in storage */
	uint64_t storage[MODEL_WORDS];
};

/* Returns the next random number of the model, or one less than n. */
uint64_t model_next(struct model *m);
uint64_t model_below(struct model *m, uint64_t n);

/* Fills m with a random record of that type that an event with attr could have written. */
void model_random(
	struct model *m, uint64_t seed, uint32_t type, const struct perf_event_attr *attr);

/*
 * Returns an attr with exactly these sample_type bits; read format, branch type and masks are
 * random.
 */
void model_attr(uint64_t seed, uint64_t sample_type, struct perf_event_attr *ret_attr);

/*
 * Writes the record and returns its size in bytes. words must have room for MODEL_RECORD_MAX bytes.
 */
size_t model_encode(const struct model *m, uint64_t *words);

/* Asserts that every field of rec equals the model's. */
void model_assert_equal(const struct model *m, const struct attar_record *rec);

/*
 * Calls visit for every range of bytes that rec borrows from its record, so that a test can check
 * their bounds or access them.
 */
void record_ranges(const struct attar_record *rec,
	void (*visit)(void *ctx, const void *bytes, uint64_t len), void *ctx);

#endif
