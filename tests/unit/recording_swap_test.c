/* SPDX-License-Identifier: MIT */
/*
 * Conversion of records from the other byte order: a record that is encoded in it and converted is
 * the record that was encoded.
 */
#include "unit.h"
#include "record_encoder.h"

#include <string.h>

#include "attar/format.h"
#include "base/base.h"
#include "record/uapi.h"
#include "perfdata/swap.h"

static struct model m;
static uint64_t words[MODEL_RECORD_MAX / 8];

static void swap_round_trip(uint64_t seed, uint32_t type, const struct perf_event_attr *attr)
{
	struct attar_layout layout;
	struct attar_record rec;
	size_t size;

	model_random(&m, seed, type, attr);
	m.swapped = true;
	size = model_encode(&m, words);
	attar_layout_init(&layout, attr);
	if (!swap_record(&layout, NULL, words))
		fail_msg("type %u, seed %#llx, sample_type %#llx: %s", type,
			(unsigned long long)seed, (unsigned long long)attr->sample_type,
			attar_error());
	if (attar_record_parse(&layout, words, size, &rec) < 0)
		fail_msg("type %u, seed %#llx: %s", type, (unsigned long long)seed, attar_error());
	model_assert_equal(&m, &rec);
}

static void test_samples_of_random_bits(void **state)
{
	for (uint64_t seed = 1; seed < 1 + unit_rounds(20000); seed++) {
		struct perf_event_attr attr;

		model_attr(seed, base_hash64(seed) & UAPI_SAMPLE_KNOWN, &attr);
		swap_round_trip(seed, PERF_RECORD_SAMPLE, &attr);
	}
}

static void test_all_kinds(void **state)
{
	for (uint32_t type = 1; type <= UAPI_RECORD_NEWEST; type++) {
		for (uint64_t seed = 0; seed < unit_rounds(300); seed++) {
			struct perf_event_attr attr;

			model_attr(seed, base_hash64(seed) & UAPI_SAMPLE_KNOWN, &attr);
			attr.sample_id_all = seed & 1;
			swap_round_trip(seed, type, &attr);
		}
	}
}

/* Random bytes and truncated records are converted or rejected; a sanitizer checks the bounds. */
static void test_arbitrary_records(void **state)
{
	for (uint64_t seed = 1; seed < 1 + unit_rounds(20000); seed++) {
		struct perf_event_header *header;
		struct perf_event_attr attr;
		struct attar_layout layout;
		uint64_t *copy;
		size_t size;

		model_attr(seed, base_hash64(seed) & UAPI_SAMPLE_KNOWN, &attr);
		model_random(&m, seed, 1 + (uint32_t)(seed % UAPI_RECORD_NEWEST), &attr);
		m.swapped = seed & 1;
		size = model_encode(&m, words);
		size = ROUND_UP(1 + model_below(&m, size), 8);
		words[1 + model_below(&m, size / 8)] = model_next(&m);
		copy = malloc(size);
		assert_non_null(copy);
		header = memcpy(copy, words, size);
		header->size = (uint16_t)size;
		attar_layout_init(&layout, &attr);
		swap_record(&layout, NULL, copy);
		free(copy);
	}
}

static const char format_text[] =
	"name: swapped\n"
	"ID: 7\n"
	"format:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:char comm[4];\toffset:4;\tsize:4;\tsigned:0;\n"
	"\tfield:long value;\toffset:8;\tsize:8;\tsigned:1;\n"
	"\tfield:u32 list[2];\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:__data_loc char[] name;\toffset:24;\tsize:4;\tsigned:0;\n"
	"\tfield:__data_loc u16[] tail;\toffset:28;\tsize:4;\tsigned:0;\n"
	"\n"
	"print fmt: \"\"\n";

static void test_raw_fields(void **state)
{
	unsigned char raw[] = {0x01, 0x02, 0, 0, 'a', 'b', 'c', 'd', 1, 2, 3, 4, 5, 6, 7, 8, 1, 2,
		3, 4, 5, 6, 7, 8, 0, 4, 0, 32, 0, 4, 0, 36, 'n', 'm', 'e', 0, 1, 2, 3, 4};
	static const unsigned char native[] = {0x02, 0x01, 0, 0, 'a', 'b', 'c', 'd', 8, 7, 6, 5, 4,
		3, 2, 1, 4, 3, 2, 1, 8, 7, 6, 5, 32, 0, 4, 0, 36, 0, 4, 0, 'n', 'm', 'e', 0, 2, 1,
		4, 3};
	struct attar_format *format;

	assert_int_equal(attar_format_parse("test", format_text, strlen(format_text), &format), 0);
	swap_raw(format, raw, sizeof(raw));
	assert_memory_equal(raw, native, sizeof(raw));
	/* Fields beyond the end are left. */
	swap_raw(format, raw, 12);
	assert_memory_equal(raw + 8, native + 8, sizeof(raw) - 8);
	attar_format_free(format);
}

/* The flags as a big-endian compiler lays them out: first member, highest bit. */
static void test_attributes(void **state)
{
	for (unsigned precise = 0; precise < 4; precise++) {
		struct perf_event_attr attr = {
			.type = PERF_TYPE_TRACEPOINT,
			.size = sizeof(attr),
			.config = 0x123456789abcdef0,
			.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_IDENTIFIER,
			.disabled = 1,
			.freq = 1,
			.precise_ip = precise,
			.sample_id_all = 1,
			.use_clockid = 1,
			.clockid = 4,
			.sample_max_stack = 127,
			.sig_data = 0x1122334455667788,
		};
		struct perf_event_attr other = attr;
		uint64_t flags = 1ULL << 63 | 1ULL << 53 | (uint64_t)precise << 47 |
				 1ULL << (63 - 18) | 1ULL << (63 - 25);

		other.type = __builtin_bswap32(attr.type);
		other.size = __builtin_bswap32(attr.size);
		other.config = __builtin_bswap64(attr.config);
		other.sample_type = __builtin_bswap64(attr.sample_type);
		flags = __builtin_bswap64(flags);
		memcpy((char *)&other + 40, &flags, sizeof(flags));
		other.clockid = (int)__builtin_bswap32((uint32_t)attr.clockid);
		other.sample_max_stack = __builtin_bswap16(attr.sample_max_stack);
		other.sig_data = __builtin_bswap64(attr.sig_data);
		swap_attr(&other, sizeof(other));
		assert_memory_equal(&other, &attr, sizeof(attr));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_samples_of_random_bits),
		cmocka_unit_test(test_all_kinds),
		cmocka_unit_test(test_arbitrary_records),
		cmocka_unit_test(test_raw_fields),
		cmocka_unit_test(test_attributes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
