/* SPDX-License-Identifier: MIT */
/* The kernel's software events, each caused a known number of times. */
#include "live.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "attar/record.h"

/*
 * Lets the counter run until its clock advances: in a guest without a precise clock it does so only
 * every few ms, and a count of 0 in no time is "idle".
 */
static void let_time_pass(struct attar_counter *c)
{
	const time_t deadline = time(NULL) + 3;
	struct attar_value v = {0};

	while (!v.raw && !v.time_enabled && time(NULL) < deadline)
		if (attar_counter_read(c, &v) < 0)
			fail_msg("%s", attar_error());
}

static uint64_t count_of(struct attar_counter *c)
{
	struct attar_value v;

	let_time_pass(c);
	attar_counter_disable(c);
	if (attar_counter_read(c, &v) < 0)
		fail_msg("%s", attar_error());
	assert_int_equal(v.quality, ATTAR_QUALITY_EXACT);
	return v.value;
}

/* ---- migrations ---- */

static void test_migrations_are_counted(void **state)
{
	struct attar_target *target = live_self();
	struct attar_counter *c = live_software(target, PERF_COUNT_SW_CPU_MIGRATIONS);
	cpu_set_t before, one;
	int cpus[2], n = 0;

	sched_getaffinity(0, sizeof(before), &before);
	for (int i = 0; i < CPU_SETSIZE && n < 2; i++)
		if (CPU_ISSET(i, &before))
			cpus[n++] = i;
	if (n < 2) {
		attar_counter_close(c);
		attar_target_free(target);
		live_skip("there is only one CPU");
	}
	for (int i = 0; i <= 23; i++) {
		CPU_ZERO(&one);
		CPU_SET(cpus[i % 2], &one);
		assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
		if (i == 0)
			attar_counter_enable(c);
	}
	assert_int_equal(count_of(c), 23);
	sched_setaffinity(0, sizeof(before), &before);
	attar_counter_close(c);
	attar_target_free(target);
}

/* ---- faults ---- */

enum { PAGES = 64 };

/* Maps a file none of whose pages is in memory; NULL if no file of a disk can be used. */
static char *map_cold(void)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char name[] = "/var/tmp/attar-cold.XXXXXX", *bytes = calloc(PAGES, page);
	unsigned char resident[PAGES];
	char *at = NULL;
	int fd = mkstemp(name);
	bool cold = true;

	if (fd >= 0) {
		unlink(name);
		if (write(fd, bytes, PAGES * page) == (ssize_t)(PAGES * page) && fsync(fd) == 0)
			posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		at = mmap(NULL, PAGES * page, PROT_READ, MAP_PRIVATE, fd, 0);
		close(fd);
	}
	free(bytes);
	if (!at || at == MAP_FAILED || mincore(at, PAGES * page, resident) < 0)
		return NULL;
	for (int i = 0; i < PAGES; i++)
		cold &= !(resident[i] & 1);
	madvise(at, PAGES * page, MADV_RANDOM); /* no readahead */
	return cold ? at : NULL;
}

static void test_major_and_minor_faults_are_counted(void **state)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct attar_target *target = live_self();
	struct attar_counter *major = live_software(target, PERF_COUNT_SW_PAGE_FAULTS_MAJ),
			     *minor = live_software(target, PERF_COUNT_SW_PAGE_FAULTS_MIN);
	struct rusage before, after;
	const char *cold = map_cold();
	volatile char sum = 0;

	live_fault(1);
	getrusage(RUSAGE_THREAD, &before);
	attar_counter_enable(major);
	attar_counter_enable(minor);
	for (size_t i = 0; cold && i < PAGES; i++)
		sum += cold[i * page];
	(void)sum;
	live_fault(100);
	attar_counter_disable(major);
	attar_counter_disable(minor);
	getrusage(RUSAGE_THREAD, &after);
	assert_int_equal(count_of(major), after.ru_majflt - before.ru_majflt);
	assert_int_equal(count_of(minor), after.ru_minflt - before.ru_minflt);
	assert_true(count_of(minor) >= 100);
	if (cold)
		assert_int_equal(count_of(major), PAGES);
	attar_counter_close(major);
	attar_counter_close(minor);
	attar_target_free(target);
	if (!cold)
		live_skip("there is no disk to read pages from, so no major faults");
}

__attribute__((no_sanitize("alignment"))) static void add_unaligned(char *bytes)
{
	for (int k = 0; k < 32; k++)
		*(volatile uint64_t *)(void *)(bytes + k) += 1;
}

/*
 * No supported CPU traps on unaligned access or emulates instructions here: the counts are 0, and
 * not those of another event.
 */
static void test_alignment_and_emulation_faults_are_zero(void **state)
{
	struct attar_target *target = live_self();
	struct attar_counter *c[2] = {live_software(target, PERF_COUNT_SW_ALIGNMENT_FAULTS),
		live_software(target, PERF_COUNT_SW_EMULATION_FAULTS)};
	char bytes[64] = "";

	for (int i = 0; i < 2; i++) {
		attar_counter_enable(c[i]);
		live_fault(23);
		live_getppid(23);
		add_unaligned(bytes);
		sched_yield();
		assert_int_equal(count_of(c[i]), 0);
		attar_counter_close(c[i]);
	}
	attar_target_free(target);
}

static void test_dummy_counts_nothing(void **state)
{
	struct attar_target *target = live_self();
	struct attar_counter *c = live_software(target, PERF_COUNT_SW_DUMMY);

	attar_counter_enable(c);
	live_fault(23);
	assert_int_equal(count_of(c), 0);
	attar_counter_close(c);
	attar_target_free(target);
}

/* ---- output of BPF programs ---- */

#define OP(code_, dst, src, off_, imm_)                                                            \
	{                                                                                          \
		.code = (code_), .dst_reg = (dst), .src_reg = (src), .off = (off_), .imm = (imm_)  \
	}

static int new_map(void)
{
	union bpf_attr attr = {.map_type = BPF_MAP_TYPE_PERF_EVENT_ARRAY,
		.key_size = 4,
		.value_size = 4,
		.max_entries = 1};

	return (int)syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));
}

/*
 * Writes the eight bytes "attar!!!" to the event in slot 0 of the map, at each call of getppid(2).
 */
static int load_writer(int map)
{
	const struct bpf_insn code[] = {
		OP(BPF_ALU64 | BPF_MOV | BPF_K, 2, 0, 0, 0x61747461),
		OP(BPF_STX | BPF_MEM | BPF_W, 10, 2, -8, 0),
		OP(BPF_ALU64 | BPF_MOV | BPF_K, 2, 0, 0, 0x21212172),
		OP(BPF_STX | BPF_MEM | BPF_W, 10, 2, -4, 0),
		OP(BPF_LD | BPF_DW | BPF_IMM, 2, BPF_PSEUDO_MAP_FD, 0, map),
		OP(0, 0, 0, 0, 0),
		OP(BPF_ALU64 | BPF_MOV | BPF_K, 3, 0, 0, 0),
		OP(BPF_ALU64 | BPF_MOV | BPF_X, 4, 10, 0, 0),
		OP(BPF_ALU64 | BPF_ADD | BPF_K, 4, 0, 0, -8),
		OP(BPF_ALU64 | BPF_MOV | BPF_K, 5, 0, 0, 8),
		OP(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_perf_event_output),
		OP(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 1),
		OP(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	union bpf_attr attr = {.prog_type = BPF_PROG_TYPE_TRACEPOINT,
		.insn_cnt = sizeof(code) / sizeof(code[0]),
		.insns = (uintptr_t)code,
		.license = (uintptr_t) "GPL"};

	return (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

static struct perf_event_attr enter_getppid(void)
{
	struct perf_event_attr attr = live_sys_enter();
	char line[256];
	FILE *f = fopen("/sys/kernel/tracing/events/syscalls/sys_enter_getppid/id", "re");

	if (!f || !fgets(line, sizeof(line), f))
		live_skip("this kernel has no tracepoints of single system calls");
	fclose(f);
	attr.config = strtoull(line, NULL, 10);
	return attr;
}

static void put_in_map(int map, int event)
{
	uint32_t slot = 0, value = (uint32_t)event;
	union bpf_attr attr = {
		.map_fd = (uint32_t)map, .key = (uintptr_t)&slot, .value = (uintptr_t)&value};

	assert_int_equal(syscall(SYS_bpf, BPF_MAP_UPDATE_ELEM, &attr, sizeof(attr)), 0);
}

static size_t count_greetings(struct attar_ring *ring, const struct attar_layout *layout)
{
	const struct perf_event_header *header;
	struct attar_record r;
	size_t n = 0;

	attar_ring_begin(ring);
	while ((header = attar_ring_next(ring))) {
		assert_int_equal(attar_record_parse(layout, header, header->size, &r), 0);
		n += r.type == PERF_RECORD_SAMPLE && r.sample.raw_size >= 8 &&
		     !memcmp(r.sample.raw, "attar!!!", 8);
	}
	attar_ring_end(ring);
	return n;
}

static void test_bpf_output_is_recorded(void **state)
{
	const struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_BPF_OUTPUT,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_RAW};
	const struct perf_event_attr calls = enter_getppid();
	struct attar_counter *output = NULL, *source = NULL;
	struct attar_target *target;
	struct attar_layout layout;
	struct attar_ring **rings = NULL;
	int map = new_map(), program = map < 0 ? -1 : load_writer(map);
	size_t n = 0;

	if (program < 0)
		live_skip("this process may not load a BPF program");
	target = live_self();
	if (attar_counter_open(target, &attr, "bpf-output", 0, &output) < 0 ||
		attar_counter_open(target, &calls, "getppid", 0, &source) < 0 ||
		attar_rings_new(target, &output, 1, 65536, &rings, &n) < 0 ||
		attar_counter_attach_bpf(source, program) < 0)
		fail_msg("%s", attar_error());
	put_in_map(map, attar_counter_instance_at(output, 0).fd);
	attar_counter_enable(source);
	live_getppid(23);
	attar_counter_disable(source);
	attar_layout_init(&layout, attar_counter_attr(output));
	assert_int_equal(count_greetings(rings[0], &layout), 23);
	assert_int_equal(
		count_of(output), 0); /* it writes records; the kernel does not count them */
	attar_rings_free(rings, n);
	attar_counter_close(source);
	attar_counter_close(output);
	attar_target_free(target);
	close(program);
	close(map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_migrations_are_counted),
		cmocka_unit_test(test_major_and_minor_faults_are_counted),
		cmocka_unit_test(test_alignment_and_emulation_faults_are_zero),
		cmocka_unit_test(test_dummy_counts_nothing),
		cmocka_unit_test(test_bpf_output_is_recorded),
	};

	return cmocka_run_group_tests_name("perf_software", tests, NULL, NULL);
}
