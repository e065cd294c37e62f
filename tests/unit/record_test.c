/* SPDX-License-Identifier: MIT */
/* Parse hand-written records, word by word as described in linux/perf_event.h. */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "attar/private/record.h"
#include "attar/record.h"
#include "record/uapi.h"

#define HEADER(type, misc, words) ((uint64_t)((words)*8) << 48 | (uint64_t)(misc) << 32 | (type))
#define PAIR(low, high)           ((uint64_t)(uint32_t)(high) << 32 | (uint32_t)(low))
#define WORDS(a)                  (sizeof(a) / sizeof((a)[0]))

static const struct perf_event_attr attr = {
	.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
		       PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
		       PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW,
	.sample_id_all = 1,
};

static void test_sample(void **state)
{
	const uint64_t bytes[] = {
		HEADER(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, 16),
		77, /* identifier */
		0x401000,
		PAIR(100, 101),
		5000,
		PAIR(3, 0),
		1000003,
		5, /* call chain */
		PERF_CONTEXT_KERNEL,
		0xffffffff81000010,
		PERF_CONTEXT_USER,
		0x401000,
		0x401100,
		PAIR(20, 0x64636261), /* raw: 20 bytes, the first four "abcd" */
		1,
		2,
	};
	struct attar_layout layout;
	struct attar_record rec;

	attar_layout_init(&layout, &attr);
	assert_int_equal(attar_record_parse(&layout, bytes, sizeof(bytes), &rec), 0);
	assert_int_equal(rec.type, PERF_RECORD_SAMPLE);
	assert_int_equal(rec.id, 77);
	assert_int_equal(rec.pid, 100);
	assert_int_equal(rec.tid, 101);
	assert_int_equal(rec.time, 5000);
	assert_int_equal(rec.cpu, 3);
	assert_int_equal(rec.sample.ip, 0x401000);
	assert_int_equal(rec.sample.period, 1000003);
	assert_int_equal(rec.sample.callchain_nr, 5);
	assert_ptr_equal(rec.sample.callchain, bytes + 8);
	assert_int_equal(rec.sample.raw_size, 20);
	assert_memory_equal(rec.sample.raw, "abcd\1", 5);
	assert_int_equal(rec.sample.stack_size, 0);
	assert_int_equal(rec.sample.branch_hw_idx, UINT64_MAX);
	assert_int_equal(attar_record_identifier(rec.header), 77);
	assert_int_equal(attar_record_time(&layout, rec.header), 5000);
}

/* MMAP2, COMM, FORK, LOST and THROTTLE, each with the trailer of the same five fields. */
#define TRAILER PAIR(100, 101), 5000, PAIR(3, 0), 77

static void assert_trailer(const struct attar_layout *layout, const struct attar_record *rec)
{
	assert_int_equal(rec->pid, 100);
	assert_int_equal(rec->tid, 101);
	assert_int_equal(rec->time, 5000);
	assert_int_equal(rec->cpu, 3);
	assert_int_equal(rec->id, 77);
	assert_int_equal(attar_record_identifier(rec->header), 77);
	assert_int_equal(attar_record_time(layout, rec->header), 5000);
}

/* Parses a record that has the trailer. */
static void parse_with_trailer(const uint64_t *words, struct attar_record *ret_rec)
{
	const struct perf_event_header *header = (const void *)words;
	struct attar_layout layout;

	attar_layout_init(&layout, &attr);
	assert_int_equal(attar_record_parse(&layout, words, header->size, ret_rec), 0);
	assert_trailer(&layout, ret_rec);
}

static void test_map(void **state)
{
	const uint64_t words[] = {HEADER(PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER, 14),
		PAIR(100, 101), 0x400000, 0x1000, 0x2000, PAIR(8, 1), 99, 7, PAIR(5, 2),
		0x0000006e69622f, TRAILER};
	struct attar_record rec;

	parse_with_trailer(words, &rec);
	assert_int_equal(rec.mmap.pid, 100);
	assert_int_equal(rec.mmap.addr, 0x400000);
	assert_int_equal(rec.mmap.len, 0x1000);
	assert_int_equal(rec.mmap.pgoff, 0x2000);
	assert_true(rec.mmap.has_ino);
	assert_int_equal(rec.mmap.maj, 8);
	assert_int_equal(rec.mmap.min, 1);
	assert_int_equal(rec.mmap.ino, 99);
	assert_int_equal(rec.mmap.ino_generation, 7);
	assert_int_equal(rec.mmap.prot, 5);
	assert_int_equal(rec.mmap.flags, 2);
	assert_string_equal(rec.mmap.filename, "/bin");
}

static void test_map_with_build_id(void **state)
{
	const uint64_t words[] = {HEADER(PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID, 14),
		PAIR(100, 101), 0x400000, 0x1000, 0x2000, PAIR(20, 0x04030201), 0x0c0b0a0908070605,
		0x14131211100f0e0d, PAIR(5, 2), 0x6e69622f, TRAILER};
	struct attar_record rec;

	parse_with_trailer(words, &rec);
	assert_false(rec.mmap.has_ino);
	assert_int_equal(rec.mmap.build_id_size, 20);
	for (int i = 0; i < 20; i++)
		assert_int_equal(rec.mmap.build_id[i], i + 1);
	assert_string_equal(rec.mmap.filename, "/bin");
}

/* Events without build IDs have the flag if the kernel has just written one of another event. */
static void test_map_with_the_flag_of_another_event(void **state)
{
	const uint64_t words[] = {HEADER(PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID, 14),
		PAIR(100, 101), 0x400000, 0x1000, 0x2000, PAIR(254, 0), 99, 7, PAIR(5, 2),
		0x0000006e69622f, TRAILER};
	struct attar_record rec;

	parse_with_trailer(words, &rec);
	assert_true(rec.mmap.has_ino);
	assert_int_equal(rec.mmap.maj, 254);
	assert_int_equal(rec.mmap.min, 0);
	assert_int_equal(rec.mmap.ino, 99);
	assert_int_equal(rec.mmap.ino_generation, 7);
	assert_int_equal(rec.mmap.build_id_size, 0);
}

static void test_map_with_short_build_id(void **state)
{
	const uint64_t words[] = {HEADER(PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID, 14),
		PAIR(100, 101), 0x400000, 0x1000, 0x2000, PAIR(8, 0x04030201), 0x08070605, 0,
		PAIR(5, 2), 0x6e69622f, TRAILER};
	struct perf_event_attr with_build_ids = attr;
	struct attar_layout layout;
	struct attar_record rec;

	with_build_ids.build_id = 1;
	attar_layout_init(&layout, &with_build_ids);
	assert_int_equal(attar_record_parse(&layout, words, sizeof(words), &rec), 0);
	assert_false(rec.mmap.has_ino);
	assert_int_equal(rec.mmap.build_id_size, 8);
	for (int i = 0; i < 8; i++)
		assert_int_equal(rec.mmap.build_id[i], i + 1);
}

static void test_tasks(void **state)
{
	const uint64_t comm[] = {HEADER(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, 7),
		PAIR(100, 101), 0x6873 /* "sh" */, TRAILER};
	const uint64_t fork[] = {
		HEADER(PERF_RECORD_FORK, 0, 8), PAIR(200, 100), PAIR(201, 101), 4999, TRAILER};
	struct attar_record rec;

	parse_with_trailer(comm, &rec);
	assert_int_equal(rec.comm.tid, 101);
	assert_true(rec.comm.exec);
	assert_string_equal(rec.comm.comm, "sh");

	parse_with_trailer(fork, &rec);
	assert_int_equal(rec.task.pid, 200);
	assert_int_equal(rec.task.ppid, 100);
	assert_int_equal(rec.task.tid, 201);
	assert_int_equal(rec.task.ptid, 101);
	assert_int_equal(rec.task.time, 4999);
}

/* The kernel's size includes the trailers of events that had the record before. */
static void parse_longer(const uint64_t *words, struct attar_record *ret_rec)
{
	const struct perf_event_header *header = (const void *)words;
	struct attar_layout layout;

	attar_layout_init(&layout, &attr);
	assert_int_equal(attar_record_parse(&layout, words, header->size, ret_rec), 0);
	assert_int_equal(ret_rec->pid, 100);
	assert_int_equal(ret_rec->time, 5000);
	assert_int_equal(ret_rec->id, 77);
	assert_int_equal(attar_record_time(&layout, header), 5000);
	assert_int_equal(attar_record_end(&layout, header), header->size - 2 * 8);
}

static void test_records_with_unused_bytes(void **state)
{
	const uint64_t ksymbol[] = {HEADER(PERF_RECORD_KSYMBOL, 0, 11), 0xffffffff81000000,
		PAIR(64, 1), 0x676f72705f667062 /* "bpf_prog" */, 0, TRAILER, 1, 2};
	const uint64_t bpf[] = {HEADER(PERF_RECORD_BPF_EVENT, 0, 9), PAIR(1, 42), 3, TRAILER, 1, 2};
	const uint64_t poke[] = {HEADER(PERF_RECORD_TEXT_POKE, 0, 10), 0xffffffff81000000,
		0x0000009000050005 /* 5 bytes become 5 others */, 0x909090, TRAILER, 1, 2};
	struct attar_record rec;

	parse_longer(ksymbol, &rec);
	assert_string_equal(rec.ksymbol.name, "bpf_prog");
	parse_longer(bpf, &rec);
	assert_int_equal(rec.bpf_event.id, 42);
	parse_longer(poke, &rec);
	assert_int_equal(rec.text_poke.new_len, 5);
}

static void test_losses(void **state)
{
	const uint64_t lost[] = {HEADER(PERF_RECORD_LOST, 0, 7), 77, 12, TRAILER};
	const uint64_t throttle[] = {HEADER(PERF_RECORD_THROTTLE, 0, 8), 4998, 77, 78, TRAILER};
	struct attar_record rec;

	parse_with_trailer(lost, &rec);
	assert_int_equal(rec.lost.id, 77);
	assert_int_equal(rec.lost.lost, 12);

	parse_with_trailer(throttle, &rec);
	assert_int_equal(rec.throttle.time, 4998);
	assert_int_equal(rec.throttle.id, 77);
	assert_int_equal(rec.throttle.stream_id, 78);
}

static void test_malformed_messages(void **state)
{
	uint64_t comm[] = {
		HEADER(PERF_RECORD_COMM, 0, 7), PAIR(100, 101), 0x6161616161616161, TRAILER};
	uint64_t unknown[] = {HEADER(200, 0, 2), 0};
	struct attar_layout layout;
	struct attar_record rec;

	attar_layout_init(&layout, &attr);
	assert_int_equal(attar_record_parse(&layout, comm, sizeof(comm), &rec), -EBADMSG);
	assert_string_equal(
		attar_error(), "malformed COMM record of 56 bytes: the comm is not terminated");
	assert_int_equal(attar_record_parse(&layout, comm, 4, &rec), -EBADMSG);
	assert_string_equal(attar_error(), "4 bytes are too short for a record");
	assert_int_equal(attar_record_parse(&layout, comm, 48, &rec), -EBADMSG);
	assert_string_equal(
		attar_error(), "malformed COMM record of 56 bytes: only 48 bytes are available");
	assert_int_equal(attar_record_parse(&layout, unknown, sizeof(unknown), &rec), 0);
	assert_int_equal(rec.type, 200);
	assert_string_equal(record_name(200), "?");
	assert_string_equal(record_name(PERF_RECORD_CALLCHAIN_DEFERRED_), "CALLCHAIN_DEFERRED");
}

static void test_alignment_and_size(void **state)
{
	uint64_t bytes[] = {0, HEADER(PERF_RECORD_SWITCH, 0, 1), HEADER(PERF_RECORD_SWITCH, 0, 1)};
	struct perf_event_header *header = (struct perf_event_header *)&bytes[1];
	struct attar_layout layout;
	struct attar_record rec;

	attar_layout_init(&layout, &(struct perf_event_attr){0});
	assert_int_equal(attar_record_parse(&layout, header, 16, &rec), 0);
	assert_int_equal(rec.size, 8);
	assert_int_equal(attar_record_parse(&layout, (char *)header + 4, 8, &rec), -EBADMSG);
	assert_string_equal(
		attar_error(), "misaligned record: it must start at a multiple of 8 bytes");
	header->size = 12;
	assert_int_equal(attar_record_parse(&layout, header, 16, &rec), -EBADMSG);
	assert_string_equal(attar_error(),
		"malformed SWITCH record of 12 bytes: its size is not a multiple of 8");
	header->type = 81; /* perf's COMPRESSED records have such sizes */
	assert_int_equal(attar_record_parse(&layout, header, 12, &rec), 0);
	assert_int_equal(rec.size, 12);
	header->size = 7;
	assert_int_equal(attar_record_parse(&layout, header, 16, &rec), -EBADMSG);
	assert_string_equal(
		attar_error(), "malformed ? record of 7 bytes: smaller than its header");
}

static int parse_as(
	uint64_t sample_type, const uint64_t *bytes, size_t size, struct attar_record *ret_record)
{
	struct perf_event_attr asked = {.sample_type = sample_type, .sample_regs_user = 1};
	struct attar_layout layout;

	attar_layout_init(&layout, &asked);
	return attar_record_parse(&layout, bytes, size, ret_record);
}

/* The kernel copies whole words, so other sizes are invalid. */
static void test_data_sizes_are_whole_words(void **state)
{
	const uint64_t stack[] = {HEADER(PERF_RECORD_SAMPLE, 0, 4), 12, 1, 2};
	const uint64_t used[] = {HEADER(PERF_RECORD_SAMPLE, 0, 4), 8, 1, 9};
	const uint64_t aux[] = {HEADER(PERF_RECORD_SAMPLE, 0, 4), 12, 1, 2};
	const uint64_t raw[] = {HEADER(PERF_RECORD_SAMPLE, 0, 4), PAIR(8, 0), 1, 2};
	struct attar_record rec;

	assert_int_equal(parse_as(PERF_SAMPLE_STACK_USER, stack, 32, &rec), -EBADMSG);
	assert_string_equal(attar_error(), "malformed SAMPLE record of 32 bytes: "
					   "a stack of 12 bytes does not fit");
	assert_int_equal(parse_as(PERF_SAMPLE_STACK_USER, used, 32, &rec), -EBADMSG);
	assert_int_equal(parse_as(PERF_SAMPLE_AUX, aux, 32, &rec), -EBADMSG);
	assert_int_equal(parse_as(PERF_SAMPLE_RAW, raw, 32, &rec), -EBADMSG);
	assert_int_equal(parse_as(PERF_SAMPLE_RAW | PERF_SAMPLE_CGROUP, raw, 32, &rec), -EBADMSG);
}

/*
 * Raw data in samples with two words behind the one with its size: 4, 12 and 20 bytes fit. The size
 * is followed by data.
 */
static void check_raw_sizes(uint64_t sample_type)
{
	const int at = 1 + __builtin_popcountll(sample_type & ~(uint64_t)PERF_SAMPLE_RAW);
	uint64_t bytes[11] = {HEADER(PERF_RECORD_SAMPLE, 0, at + 3)};
	const size_t len = (size_t)(at + 3) * 8;
	struct attar_record rec;

	for (uint32_t i = 0; i < 128; i++) {
		uint32_t size = i < 64 ? i : UINT32_MAX - (i - 64);
		bool fits = size == 4 || size == 12 || size == 20;

		bytes[at] = PAIR(size, UINT32_MAX);
		assert_int_equal(parse_as(sample_type, bytes, len, &rec), fits ? 0 : -EBADMSG);
		if (fits) {
			assert_int_equal(rec.sample.raw_size, size);
			assert_ptr_equal(rec.sample.raw, (char *)&bytes[at] + 4);
			assert_int_equal(rec.sample.callchain_nr, 0);
		}
	}
}

static void test_raw_sizes(void **state)
{
	check_raw_sizes(attr.sample_type); /* the call chain has no entries */
	check_raw_sizes(attr.sample_type & ~(uint64_t)PERF_SAMPLE_CALLCHAIN);
	check_raw_sizes(PERF_SAMPLE_IP | PERF_SAMPLE_RAW);
}

/* The ABI word has 64 bits; a value that does not fit our field is unknown, never "none". */
static void test_wide_register_abi(void **state)
{
	const uint64_t bytes[] = {HEADER(PERF_RECORD_SAMPLE, 0, 4), 1ULL << 32, 5, 6};
	struct attar_record rec;

	assert_int_equal(parse_as(PERF_SAMPLE_REGS_USER, bytes, 32, &rec), 0);
	assert_int_equal(rec.sample.regs_user.abi, UINT32_MAX);
	assert_int_equal(rec.sample.regs_user.nr, 0);
	assert_int_equal(rec.sample.rest_size, 16);
}

/* Two vector registers of two words and a predicate register of one follow the user register. */
static void test_vector_registers_are_skipped(void **state)
{
	const uint64_t sizes = 2 | 2 << 16 | 1ULL << 32 | 1ULL << 48;
	const uint64_t bytes[] = {
		HEADER(PERF_RECORD_SAMPLE, 0, 10), 6, 77, sizes, 1, 2, 3, 4, 5, 0x1234};
	const uint64_t alone[] = {HEADER(PERF_RECORD_SAMPLE, 0, 5), 4, 1 | 1 << 16, 9, 0x1234};
	const uint64_t large[] = {HEADER(PERF_RECORD_SAMPLE, 0, 5), 6, 77, 3 | 1 << 16, 1};
	const uint64_t type = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_PHYS_ADDR;
	struct attar_record rec;

	assert_int_equal(parse_as(type, bytes, sizeof(bytes), &rec), 0);
	assert_int_equal(rec.sample.regs_user.abi, PERF_SAMPLE_REGS_ABI_64);
	assert_int_equal(rec.sample.regs_user.nr, 1);
	assert_int_equal(rec.sample.regs_user.values[0], 77);
	assert_int_equal(rec.sample.phys_addr, 0x1234);
	assert_int_equal(parse_as(type, alone, sizeof(alone), &rec), 0);
	assert_int_equal(rec.sample.regs_user.nr, 0);
	assert_int_equal(rec.sample.phys_addr, 0x1234);
	assert_int_equal(parse_as(type, large, sizeof(large), &rec), -EBADMSG);
	assert_string_equal(attar_error(), "malformed SAMPLE record of 40 bytes: "
					   "3 words of user vector registers do not fit");
	assert_int_equal(parse_as(type, large, 24, &rec), -EBADMSG);
}

/* As returned by read(2): a single counter, then a group of two. */
static void test_read_blocks(void **state)
{
	const uint64_t lone[] = {1000, 20, 10, 77, 3};
	const uint64_t group[] = {2, 20, 10, 1000, 77, 2000, 78};
	uint64_t times = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	struct attar_read read;

	assert_int_equal(attar_read_parse(times | PERF_FORMAT_ID | PERF_FORMAT_LOST_, lone,
				 sizeof(lone), &read),
		40);
	assert_int_equal(read.nr, 1);
	assert_int_equal(attar_read_time_enabled(&read), 20);
	assert_int_equal(attar_read_time_running(&read), 10);
	assert_int_equal(attar_read_at(&read, 0).value, 1000);
	assert_int_equal(attar_read_at(&read, 0).id, 77);
	assert_int_equal(attar_read_at(&read, 0).lost, 3);
	assert_int_equal(attar_read_at(&read, 1).value, 0);

	times |= PERF_FORMAT_GROUP | PERF_FORMAT_ID;
	assert_int_equal(attar_read_parse(times, group, sizeof(group), &read), 56);
	assert_int_equal(read.nr, 2);
	assert_int_equal(attar_read_time_running(&read), 10);
	assert_int_equal(attar_read_at(&read, 1).value, 2000);
	assert_int_equal(attar_read_at(&read, 1).id, 78);
	assert_int_equal(attar_read_at(&read, 1).lost, 0);

	/* read(2) of a pinned event in error state returns 0 bytes. */
	assert_int_equal(attar_read_parse(times, group, 0, &read), -EBADMSG);
	assert_int_equal(attar_read_parse(times, group, sizeof(group) - 8, &read), -EBADMSG);
	assert_string_equal(
		attar_error(), "48 bytes are too short for counter values with read_format 0xf");
}

static void test_callchain_contexts(void **state)
{
	const uint64_t entries[] = {0x10, PERF_CONTEXT_HV, 0x20, PERF_CONTEXT_KERNEL, 0x30, 0x31,
		PERF_CONTEXT_GUEST_KERNEL, PERF_CONTEXT_GUEST_USER, 0x40,
		(uint64_t)-4000 /* unknown type */, 0x50, PERF_CONTEXT_USER, 0x60,
		PERF_CONTEXT_USER_DEFERRED_, 0xfffffffffffffff0 /* the cookie */};
	const struct {
		uint64_t ip;
		enum attar_code_context context;
		bool caller;
	} expected[] = {
		{0x10, ATTAR_CONTEXT_GUEST_USER},
		{0x20, ATTAR_CONTEXT_HV},
		{0x30, ATTAR_CONTEXT_KERNEL},
		{0x31, ATTAR_CONTEXT_KERNEL, true},
		{0x40, ATTAR_CONTEXT_GUEST_USER},
		{0x50, ATTAR_CONTEXT_UNKNOWN},
		{0x60, ATTAR_CONTEXT_USER},
	};
	struct attar_callchain chain;
	uint64_t ip;

	attar_callchain_init(&chain, entries, WORDS(entries), PERF_RECORD_MISC_GUEST_USER);
	for (size_t i = 0; i < WORDS(expected); i++) {
		assert_true(attar_callchain_next(&chain, &ip));
		assert_int_equal(ip, expected[i].ip);
		assert_int_equal(chain.context, expected[i].context);
		assert_int_equal(chain.caller, expected[i].caller);
		assert_false(chain.deferred);
	}
	assert_false(attar_callchain_next(&chain, &ip));
	assert_true(chain.deferred);
	assert_int_equal(chain.cookie, 0xfffffffffffffff0);

	assert_int_equal(attar_callchain_context(PERF_CONTEXT_KERNEL), ATTAR_CONTEXT_KERNEL);
	assert_int_equal(attar_callchain_context(PERF_CONTEXT_USER), ATTAR_CONTEXT_USER);
	assert_int_equal(attar_callchain_context(PERF_CONTEXT_GUEST), ATTAR_CONTEXT_GUEST);

	/* A chain truncated right after the marker has no cookie. */
	attar_callchain_init(&chain, entries, WORDS(entries) - 1, 0);
	while (attar_callchain_next(&chain, &ip))
		;
	assert_false(chain.deferred);
	attar_callchain_init(&chain, NULL, 0, 7);
	assert_false(attar_callchain_next(&chain, &ip));
	assert_int_equal(chain.context, ATTAR_CONTEXT_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sample),
		cmocka_unit_test(test_map),
		cmocka_unit_test(test_map_with_build_id),
		cmocka_unit_test(test_map_with_the_flag_of_another_event),
		cmocka_unit_test(test_map_with_short_build_id),
		cmocka_unit_test(test_tasks),
		cmocka_unit_test(test_records_with_unused_bytes),
		cmocka_unit_test(test_losses),
		cmocka_unit_test(test_malformed_messages),
		cmocka_unit_test(test_callchain_contexts),
		cmocka_unit_test(test_data_sizes_are_whole_words),
		cmocka_unit_test(test_raw_sizes),
		cmocka_unit_test(test_wide_register_abi),
		cmocka_unit_test(test_vector_registers_are_skipped),
		cmocka_unit_test(test_read_blocks),
		cmocka_unit_test(test_alignment_and_size),
	};

	return cmocka_run_group_tests_name("record", tests, NULL, NULL);
}
