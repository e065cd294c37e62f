/* SPDX-License-Identifier: MIT */
/*
 * Property tests of parser and encoder: parsing returns the encoded model; truncated, modified or
 * random bytes are rejected or parsed without out-of-bounds reads. Records end at an unreadable
 * page.
 */
#include "unit.h"
#include "record_encoder.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/base.h"
#include "record/uapi.h"

enum { ROOM = MODEL_RECORD_MAX, SAMPLE_BITS = 25 };

/* ROOM bytes that end at an unreadable page. */
static char *wall;
static struct model m;
static uint64_t words[ROOM / 8];

static int build_wall(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *at =
		mmap(NULL, ROOM + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED || mprotect(at + ROOM, page, PROT_NONE) < 0)
		return -1;
	wall = at + ROOM;
	return 0;
}

/*
 * Copies the first len bytes of words as close to the unreadable page as the alignment of the start
 * permits.
 */
static char *at_wall(size_t len)
{
	char *at = wall - ROUND_UP(len, 8);

	memcpy(at, words, len);
	return at;
}

struct bounds {
	const char *start, *end;
};

static void inside(void *ctx, const void *bytes, uint64_t len)
{
	const struct bounds *b = ctx;
	const char *at = bytes;

	if (len && (at < b->start || len > (uint64_t)(b->end - at)))
		fail_msg("%llu bytes at offset %td of a record of %td", (unsigned long long)len,
			at - b->start, b->end - b->start);
}

/* Parses an arbitrary record: the result is an error or a view inside the record. */
static int parse_anything(const struct attar_layout *layout, const char *at, size_t len)
{
	struct bounds bounds = {.start = at, .end = at + len};
	struct attar_record rec;
	int rc = attar_record_parse(layout, at, len, &rec);

	if (rc == 0)
		record_ranges(&rec, inside, &bounds);
	else
		assert_int_equal(rc, -EBADMSG);
	return rc;
}

static void round_trip(uint64_t seed, uint32_t type, const struct perf_event_attr *attr)
{
	struct attar_layout layout;
	struct attar_record rec;
	size_t size;
	char *at;

	model_random(&m, seed, type, attr);
	size = model_encode(&m, words);
	at = at_wall(size);
	memset(&rec, 0xa5, sizeof(rec));
	attar_layout_init(&layout, attr);
	if (attar_record_parse(&layout, at, size, &rec) < 0)
		fail_msg("seed %#llx, sample_type %#llx: %s", (unsigned long long)seed,
			(unsigned long long)attr->sample_type, attar_error());
	model_assert_equal(&m, &rec);
	parse_anything(&layout, at, size);
	assert_int_equal(attar_record_time(&layout, rec.header), m.rec.time);
	if (layout.sample_type & PERF_SAMPLE_IDENTIFIER)
		if (type == PERF_RECORD_SAMPLE || attr->sample_id_all)
			assert_int_equal(attar_record_identifier(rec.header), m.rec.id);
}

static void sample_of(uint64_t seed, uint64_t sample_type)
{
	struct perf_event_attr attr;

	model_attr(seed, sample_type, &attr);
	round_trip(seed, PERF_RECORD_SAMPLE, &attr);
}

/* No bit, each bit, each pair, all, all but one. */
static void test_samples_of_every_pair_of_bits(void **state)
{
	uint64_t seed = 1;

	for (int repeat = 0; repeat < 8; repeat++) {
		sample_of(seed++, 0);
		sample_of(seed++, UAPI_SAMPLE_KNOWN);
		for (int i = 0; i < SAMPLE_BITS; i++) {
			sample_of(seed++, UAPI_SAMPLE_KNOWN & ~(1ULL << i));
			for (int j = 0; j <= i; j++)
				sample_of(seed++, 1ULL << i | 1ULL << j);
		}
	}
}

/* Any bits; every other time a set of common fields, for which the parser has a fast path. */
static uint64_t random_bits(uint64_t seed)
{
	static const uint64_t usual = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
				      PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD;
	static const uint64_t more[] = {
		PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW, PERF_SAMPLE_CALLCHAIN, PERF_SAMPLE_RAW, 0};
	uint64_t dice = base_hash64(seed);

	if (dice >> 60 < 4)
		return usual | more[dice % ARRAY_SIZE(more)];
	if (dice >> 60 < 8)
		return dice & (usual | more[0] | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID |
				      PERF_SAMPLE_STREAM_ID);
	return dice & UAPI_SAMPLE_KNOWN;
}

static void test_samples_of_random_bits(void **state)
{
	for (uint64_t seed = 10000; seed < 10000 + unit_rounds(100000); seed++)
		sample_of(seed, random_bits(seed));
}

/* Every record kind, every combination of the trailer's six bits, with and without the trailer. */
static void test_all_kinds_with_all_trailers(void **state)
{
	static const uint64_t bits[] = {PERF_SAMPLE_TID, PERF_SAMPLE_TIME, PERF_SAMPLE_ID,
		PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU, PERF_SAMPLE_IDENTIFIER};
	uint64_t seed = 100000;

	for (uint32_t type = 1; type <= UAPI_RECORD_NEWEST; type++) {
		for (unsigned set = 0; set < 64 * 2 * 4; set++) {
			struct perf_event_attr attr;
			uint64_t sample_type = 0;

			for (unsigned i = 0; i < ARRAY_SIZE(bits); i++)
				if (set >> i & 1)
					sample_type |= bits[i];
			model_attr(seed, sample_type, &attr);
			attr.sample_id_all = set >> 6 & 1;
			round_trip(seed++, type, &attr);
		}
	}
}

/* Every read format, single and group, alone and in records. */
static void test_all_read_formats(void **state)
{
	uint64_t seed = 200000;

	for (unsigned format = 0; format < 32 * 16; format++) {
		struct perf_event_attr attr;

		model_attr(seed, PERF_SAMPLE_READ | PERF_SAMPLE_TID, &attr);
		attr.read_format = format % 32;
		round_trip(seed++, PERF_RECORD_SAMPLE, &attr);
		round_trip(seed++, PERF_RECORD_READ, &attr);
	}
}

/* Writes a random record of any type to words and returns its size. */
static size_t random_record(uint64_t seed, struct attar_layout *ret_layout)
{
	uint32_t type = seed % 2 ? PERF_RECORD_SAMPLE
				 : 1 + (uint32_t)(base_hash64(seed) % UAPI_RECORD_NEWEST);
	struct perf_event_attr attr;

	model_attr(seed, random_bits(seed + 1), &attr);
	attar_layout_init(ret_layout, &attr);
	model_random(&m, seed, type, &attr);
	return model_encode(&m, words);
}

/*
 * Fewer bytes than the header's size are rejected; a smaller size in the header is rejected or
 * respected.
 */
static void test_every_truncation(void **state)
{
	for (uint64_t seed = 300000; seed < 301000; seed++) {
		struct perf_event_header *header = (struct perf_event_header *)words;
		struct attar_layout layout;
		size_t size = random_record(seed, &layout);

		for (size_t len = 0; len < size; len++) {
			struct attar_record rec;

			assert_int_equal(
				attar_record_parse(&layout, at_wall(len), len, &rec), -EBADMSG);
		}
		for (size_t len = 0; len < size; len++) {
			header->size = (uint16_t)len;
			parse_anything(&layout, at_wall(len), len);
		}
	}
}

/* One word of a valid record replaced by an invalid length. */
static void test_invalid_lengths(void **state)
{
	static const uint64_t invalid[] = {0, 1, 2, 7, 8, 9, 0x7f, 0xff, 0xffff, 0x10000,
		0x7fffffff, 0x80000000, 0xffffffff, 0x1000000000000000, 0x1fffffffffffffff,
		0x2000000000000000, 0x2000000000000001, 0x5555555555555556, 0x7fffffffffffffff,
		0x8000000000000000, UINT64_MAX / 24 + 1, UINT64_MAX - 7, UINT64_MAX};

	for (uint64_t seed = 400000; seed < 400600; seed++) {
		struct attar_layout layout;
		size_t size = random_record(seed, &layout);

		for (size_t i = 1; i < size / 8; i++) {
			uint64_t true_word = words[i];

			for (size_t j = 0; j < ARRAY_SIZE(invalid); j++) {
				words[i] = invalid[j];
				parse_anything(&layout, at_wall(size), size);
				words[i] = true_word + invalid[j];
				parse_anything(&layout, at_wall(size), size);
			}
			words[i] = true_word;
		}
	}
}

static void test_random_bytes(void **state)
{
	int parsed = 0;

	for (uint64_t seed = 500000; seed < 600000; seed++) {
		struct perf_event_header *header = (struct perf_event_header *)words;
		struct perf_event_attr attr;
		struct attar_layout layout;
		struct model dice = {.rng = seed};
		size_t size = model_below(&dice, 40) * 8 + (seed % 16 ? 0 : model_below(&dice, 8));

		for (size_t i = 0; i < size / 8 + 1; i++)
			words[i] =
				model_below(&dice, 2) ? model_next(&dice) : model_below(&dice, 10);
		header->type = (uint32_t)model_below(&dice, UAPI_RECORD_NEWEST + 2);
		if (model_below(&dice, 16))
			header->size = (uint16_t)size;
		model_attr(seed, random_bits(seed) & model_next(&dice), &attr);
		attar_layout_init(&layout, &attr);
		parsed += parse_anything(&layout, at_wall(size), size) == 0;
	}
	assert_true(parsed > 1000); /* otherwise the test would not check any ranges */
}

/* Registers of an unknown, newer ABI: the rest of the sample is not decoded. */
static void test_unknown_register_abi(void **state)
{
	for (uint64_t seed = 700000; seed < 701000; seed++) {
		bool user = seed % 2;
		struct perf_event_attr attr;
		struct attar_layout layout;
		struct attar_record rec;
		size_t size;
		char *at;

		model_attr(seed,
			PERF_SAMPLE_TID | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_PHYS_ADDR |
				PERF_SAMPLE_AUX |
				(user ? PERF_SAMPLE_REGS_USER : PERF_SAMPLE_REGS_INTR),
			&attr);
		attar_layout_init(&layout, &attr);
		model_random(&m, seed, PERF_RECORD_SAMPLE, &attr);
		size = model_encode(&m, words);
		words[user ? 2 : 3] = 10; /* the ABI: 64 bits, and a bit that no kernel has */
		at = at_wall(size);
		assert_int_equal(attar_record_parse(&layout, at, size, &rec), 0);
		assert_int_equal(rec.tid, m.rec.tid);
		assert_int_equal(rec.sample.data_src, user ? 0 : m.rec.sample.data_src);
		assert_int_equal((user ? rec.sample.regs_user : rec.sample.regs_intr).abi, 10);
		assert_int_equal((user ? rec.sample.regs_user : rec.sample.regs_intr).nr, 0);
		assert_int_equal(rec.sample.rest_size, size - (user ? 24 : 32));
		assert_int_equal(rec.sample.aux_size, 0);
		parse_anything(&layout, at, size);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_samples_of_every_pair_of_bits),
		cmocka_unit_test(test_samples_of_random_bits),
		cmocka_unit_test(test_all_kinds_with_all_trailers),
		cmocka_unit_test(test_all_read_formats),
		cmocka_unit_test(test_every_truncation),
		cmocka_unit_test(test_invalid_lengths),
		cmocka_unit_test(test_random_bytes),
		cmocka_unit_test(test_unknown_register_abi),
	};

	return cmocka_run_group_tests_name("record_property", tests, build_wall, NULL);
}
