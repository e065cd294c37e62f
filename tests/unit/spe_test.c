/* SPDX-License-Identifier: MIT */
/*
 * Samples of Arm SPE: packets assembled according to the Arm Architecture Reference Manual (DDI
 * 0487), in one or two parts, cut at every offset, and with invalid packets between them.
 */
#include <string.h>

#include "attar/spe.h"
#include "base/base.h"
#include "unit.h"

/* A load of user code: header, then payload, one packet on each line. */
static const uint8_t load[] = {
	0xb0, 0x08, 0x04, 0x40, 0x00, 0x00, 0x00, 0x00, 0x80, /* PC 0x400408, level 0, non-secure */
	0x65, 0xd2, 0x04, 0x00, 0x00,                         /* context of EL2: 1234 */
	0x49, 0x1e,                                           /* a load, AT, EXCL and AR */
	0x52, 0x36, 0x04, /* retired, L1D access, TLB access and walk, remote access */
	0x99, 0x05, 0x00, /* issued after 5 cycles */
	0x98, 0x9c, 0x01, /* completed after 412 */
	0xb2, 0x40, 0x10, 0xfe, 0xff, 0xff, 0x7f, 0x00, 0xb4, /* data 0x7ffffffe1040, tag 0xb4 */
	0x9a, 0x07, 0x00,                                     /* translated in 7 cycles */
	0xb3, 0x40, 0xe0, 0x5c, 0x12, 0x08, 0x00, 0x00, 0x80, /* at 0x8125ce040 in memory */
	0x43, 0x0e,                                           /* data source 14 */
	0x71, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, /* the time */
};

/* A conditional branch of the kernel that was mispredicted, without a time stamp. */
static const uint8_t branch[] = {
	0xb0, 0x10, 0x32, 0x54, 0x08, 0x00, 0x80, 0xff, 0xa0, /* PC, level 1 */
	0x4a, 0x01,                                           /* a branch, conditional */
	0x42, 0x82,                                           /* retired, mispredicted */
	0xb1, 0x20, 0x32, 0x54, 0x08, 0x00, 0x80, 0xff, 0xa0, /* target */
	0xb4, 0x30, 0x32, 0x54, 0x08, 0x00, 0x80, 0xff, 0xa0, /* target of the branch before */
	0x01,                                                 /* end */
};

static bool decode_all(const void *bytes, size_t n, size_t first, struct attar_spe *ret,
	struct attar_spe_sample *ret_last)
{
	const char *at = bytes;
	bool any = false;

	attar_spe_init(ret, at, first, at + first, n - first, 0);
	while (attar_spe_next(ret, ret_last))
		any = true;
	return any;
}

static void assert_load(const struct attar_spe_sample *s)
{
	assert_int_equal(s->has, 0x1fff & ~(ATTAR_SPE_TARGET | ATTAR_SPE_PREVIOUS_TARGET));
	assert_int_equal(s->pc, 0x400408);
	assert_int_equal(s->level, 0);
	assert_int_equal(s->context, 1234);
	assert_int_equal(s->op_class, ATTAR_SPE_LOAD_STORE);
	assert_int_equal(s->operation, 0x1e);
	assert_int_equal(s->access, ATTAR_SPE_LOAD | ATTAR_SPE_ATOMIC | ATTAR_SPE_EXCLUSIVE |
					    ATTAR_SPE_ACQUIRE_RELEASE);
	assert_int_equal(s->events, ATTAR_SPE_EV_RETIRED | ATTAR_SPE_EV_L1D_ACCESS |
					    ATTAR_SPE_EV_TLB_ACCESS | ATTAR_SPE_EV_TLB_WALK |
					    ATTAR_SPE_EV_REMOTE_ACCESS);
	assert_int_equal(s->latency, 412);
	assert_int_equal(s->issue, 5);
	assert_int_equal(s->translation, 7);
	assert_int_equal(s->va, 0x7ffffffe1040);
	assert_int_equal(s->pa, 0x8125ce040);
	assert_int_equal(s->source, 14);
	assert_int_equal(s->time, 0x1122334455667788);
}

/* Whole, and at every position split into the two parts of an area that wraps around. */
static void a_load(void **state)
{
	struct attar_spe_sample sample;
	struct attar_spe spe;

	for (size_t first = 0; first <= sizeof(load); first++) {
		assert_true(decode_all(load, sizeof(load), first, &spe, &sample));
		assert_load(&sample);
		assert_int_equal(spe.samples, 1);
		assert_int_equal(spe.malformed, 0);
	}
}

static void a_branch(void **state)
{
	struct attar_spe_sample s;
	struct attar_spe spe;

	assert_true(decode_all(branch, sizeof(branch), sizeof(branch), &spe, &s));
	assert_int_equal(s.has, ATTAR_SPE_PC | ATTAR_SPE_TARGET | ATTAR_SPE_PREVIOUS_TARGET |
					ATTAR_SPE_OPERATION | ATTAR_SPE_EVENTS);
	assert_int_equal(s.pc, 0xffff800008543210);
	assert_int_equal(s.target, 0xffff800008543220);
	assert_int_equal(s.previous_target, 0xffff800008543230);
	assert_int_equal(s.level, 1);
	assert_int_equal(s.op_class, ATTAR_SPE_BRANCH);
	assert_int_equal(s.access, 0);
	assert_int_equal(s.events, ATTAR_SPE_EV_RETIRED | ATTAR_SPE_EV_MISPREDICTED);
}

/* A sample that is cut off is counted, and one without its end is not returned. */
static void cut_off(void **state)
{
	struct attar_spe_sample sample;
	struct attar_spe spe;

	for (size_t n = 1; n < sizeof(load); n++) {
		uint8_t *copy = malloc(n); /* of that size, so that the sanitizer sees more */

		memcpy(copy, load, n);
		assert_false(decode_all(copy, n, n, &spe, &sample));
		assert_int_equal(spe.malformed, 1);
		free(copy);
	}
}

static size_t append(uint8_t *to, size_t at, const void *bytes, size_t n)
{
	memcpy(to + at, bytes, n);
	return at + n;
}

/* Padding, and packets that align to 2, 4, 8 or 16 bytes from the start of the trace. */
static void between_samples(void **state)
{
	for (uint8_t log = 0; log < 4; log++) {
		uint8_t bytes[256] = {0}, header = 0x20 | log;
		size_t n = append(bytes, 3, branch, sizeof(branch)), to = 2U << log, at = n;
		struct attar_spe_sample sample;
		struct attar_spe spe;

		bytes[at] = header; /* its second byte is 0; the skipped bytes may hold anything */
		n = (at + 2 + to - 1) / to * to;
		memset(bytes + at + 2, 0xff, n - at - 2);
		n = append(bytes, n, load, sizeof(load));
		assert_true(decode_all(bytes, n, n, &spe, &sample));
		assert_load(&sample);
		assert_int_equal(spe.samples, 2);
		assert_int_equal(spe.malformed, 0);
	}
}

/* An invalid header, reserved indexes, and an extended header of another packet. */
static void invalid_packets(void **state)
{
	static const struct {
		uint8_t bytes[12], n;
		unsigned malformed;
	} cases[] = {
		{{0xff}, 1, 1}, {{0x80, 0x80, 0x80}, 3, 1},
		{{0x20, 0x42, 0}, 3, 1}, /* events have no extended header */
		{{0xb7, 1, 2, 3, 4, 5, 6, 7, 8}, 9,
			0}, /* addresses and counters of later versions */
		{{0x9f, 1, 2}, 3, 0}, {{0x23, 0xb0, 1, 2, 3, 4, 5, 6, 7, 8}, 10, 0}, /* index 24 */
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint8_t bytes[256];
		size_t n = append(bytes, 0, cases[i].bytes, cases[i].n);
		struct attar_spe_sample sample;
		struct attar_spe spe;

		n = append(bytes, n, branch, sizeof(branch));
		n = append(bytes, n, load, sizeof(load));
		assert_true(decode_all(bytes, n, n, &spe, &sample));
		assert_load(&sample);
		assert_int_equal(spe.malformed, cases[i].malformed);
		assert_int_equal(spe.samples, 2 - cases[i].malformed);
	}
}

/* ---- samples at random ---- */

static size_t put(uint8_t *to, size_t at, uint8_t header, uint64_t payload, size_t size)
{
	to[at++] = header;
	for (size_t i = 0; i < size; i++)
		to[at++] = (uint8_t)(payload >> 8 * i);
	return at;
}

static uint64_t random64(uint64_t *seed)
{
	return base_hash64((*seed)++);
}

/* A sample with some packets, in any size of those that have several. Returns its end. */
static size_t put_random(uint8_t *to, size_t at, uint64_t *seed, struct attar_spe_sample *ret)
{
	uint64_t bits = random64(seed);
	struct attar_spe_sample s = {.has = ATTAR_SPE_PC | ATTAR_SPE_TIME};
	unsigned log = bits >> 60 & 3, bytes = 1U << log;

	s.pc = random64(seed) >> 9;
	s.level = bits >> 58 & 3;
	at = put(to, at, 0xb0, s.pc | (uint64_t)s.level << 61, 8);
	if (bits & 1) {
		s.has |= ATTAR_SPE_EVENTS;
		s.events = random64(seed) >> (64 - 8 * bytes);
		at = put(to, at, (uint8_t)(0x42 | log << 4), s.events, bytes);
	}
	if (bits & 2) {
		s.has |= ATTAR_SPE_LATENCY;
		s.latency = (uint16_t)random64(seed);
		at = put(to, at, 0x98, s.latency, 2);
	}
	if (bits & 4) {
		s.has |= ATTAR_SPE_CONTEXT;
		s.context = (uint32_t)random64(seed);
		at = put(to, at, 0x64, s.context, 4);
	}
	s.time = random64(seed);
	*ret = s;
	return put(to, at, 0x71, s.time, 8);
}

static void random_samples(void **state)
{
	enum { SAMPLES = 64 };
	uint8_t bytes[SAMPLES * 64];
	struct attar_spe_sample samples[SAMPLES], sample;
	uint64_t seed = 1;

	for (size_t round = 0; round < unit_rounds(1000); round++) {
		struct attar_spe spe;
		size_t n = 0, first;

		for (size_t i = 0; i < SAMPLES; i++)
			n = put_random(bytes, n, &seed, &samples[i]);
		first = random64(&seed) % (n + 1);
		attar_spe_init(&spe, bytes, first, bytes + first, n - first, 0);
		for (size_t i = 0; i < SAMPLES; i++) {
			assert_true(attar_spe_next(&spe, &sample));
			assert_memory_equal(&sample, &samples[i], sizeof(sample));
		}
		assert_false(attar_spe_next(&spe, &sample));
		assert_int_equal(spe.malformed, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_load),
		cmocka_unit_test(a_branch),
		cmocka_unit_test(cut_off),
		cmocka_unit_test(between_samples),
		cmocka_unit_test(invalid_packets),
		cmocka_unit_test(random_samples),
	};

	return cmocka_run_group_tests_name("spe", tests, NULL, NULL);
}
