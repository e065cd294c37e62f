/* SPDX-License-Identifier: MIT */
/*
 * Records made from a model, for tests of whatever reads records: the kernel's side of the format,
 * written from the kernel's sources and apart from the parser. A model is seeded, so a failing case
 * is named by its number.
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
	MODEL_RECORD_MAX = 16384, /* bytes that model_encode() needs at most */
};

struct model {
	struct perf_event_attr attr;
	struct attar_record rec; /* what parsing must give; its pointers are into storage */
	struct attar_read_value values[MODEL_VALUES];
	uint64_t time_enabled, time_running;
	uint64_t stack_room; /* as asked for; rec.sample.stack_size of it were copied */
	bool without_hw_idx; /* no branch stack was there to be given */
	bool with_counters;  /* counters are written, asked for or not */
	uint64_t rng;
	size_t used; /* words of storage */
	uint64_t storage[MODEL_WORDS];
};

/* The next random number of the model, or one below n. */
uint64_t model_next(struct model *m);
uint64_t model_below(struct model *m, uint64_t n);

/* Fills m with a random record of that type that an event with attr could have written. */
void model_random(
	struct model *m, uint64_t seed, uint32_t type, const struct perf_event_attr *attr);

/*
 * A random attr with exactly these sample_type bits; read format, branch type and masks are random.
 */
void model_attr(uint64_t seed, uint64_t sample_type, struct perf_event_attr *ret_attr);

/* Writes the record; its size in bytes. words have room for MODEL_RECORD_MAX bytes. */
size_t model_encode(const struct model *m, uint64_t *words);

/* cmocka assertions: every field of rec is the model's. */
void model_assert_equal(const struct model *m, const struct attar_record *rec);

/*
 * Calls visit for every range of bytes that rec borrows from its record, so that a test can see
 * whether they lie inside, or touch them.
 */
void record_ranges(const struct attar_record *rec,
	void (*visit)(void *ctx, const void *bytes, uint64_t len), void *ctx);

#endif
