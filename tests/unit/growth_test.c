/* SPDX-License-Identifier: MIT */
/*
 * Many short-lived processes, record by record, through a stream and into the tables and reports of
 * a profiler: no sample is lost or attributed to another task, and memory does not depend on their
 * number.
 */
#include "record_encoder.h"
#include "unit.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attar/private/symbol.h"
#include "perf/counter.h"
#include "perf/ring.h"
#include "perf/target.h"
#include "sections/stack_report.h"
#include "stream/stream.h"
#include "symbol/dso.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#endif
#ifdef SANITIZED
enum { EARLY = 20000, LATE = 40000 }; /* mallinfo2() counts nothing there */
#else
enum { EARLY = 40000, LATE = 400000 };
#endif

enum {
	RING_BYTES = 1 << 18,
	ROUND = 200,    /* processes whose records fit the ring */
	PIDS = 30000,   /* before they are reused */
	SHELL = 900000, /* the process that starts all others */
	CODE = 0x400000,
	ADDRESSES = 3000, /* that are sampled */
	REPORT_EACH = 5000,
};

struct storm {
	struct attar_symbols *symbols;
	struct attar_target target;
	struct attar_counter counter, *counters[1];
	struct attar_layout layout;
	uint32_t number;
	struct perf_event_mmap_page page;
	struct attar_ring ring, *rings[1];
	struct cursor cursor, *heap[1];
	struct attar_stream stream;
	struct model model;
	uint64_t words[MODEL_RECORD_MAX / sizeof(uint64_t)];
	uint64_t time;
	/* the tables of a profiler */
	struct stack_space space;
	struct account account;
	struct functions functions;
	struct samples interval, whole;
	uint64_t sent;
};

static void open_storm(struct storm *s)
{
	struct perf_event_attr attr = {.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN};

	assert_int_equal(attar_symbols_new(NULL, &s->symbols), 0);
	attar_stream_attr(&attr, true);
	s->model.attr = s->counter.attr = attr;
	attar_layout_init(&s->layout, &attr);
	s->counters[0] = &s->counter;
	s->ring = (struct attar_ring){
		.page = &s->page, .size = RING_BYTES, .data = malloc(RING_BYTES)};
	assert_non_null(s->ring.data);
	s->rings[0] = &s->ring;
	s->cursor.ring = &s->ring;
	s->stream = (struct attar_stream){.target = &s->target,
		.counters = s->counters,
		.layouts = &s->layout,
		.numbers = &s->number,
		.accounts = &s->account,
		.n_counters = 1,
		.side = SIZE_MAX,
		.rings = s->rings,
		.cursors = &s->cursor,
		.n_rings = 1,
		.n_cursors = 1,
		.merge.heap = s->heap,
		.has_clock = true,
		.skipped_pid = -2,
		.epoll_fd = -1,
		.caller_fd = -1,
		.next = stream_next_record};
	assert_int_equal(missing_grow(&s->stream, 0, 1), 0);
	procs_init(&s->stream.procs, s->symbols, false);
	deferred_callchain_init(&s->stream.defer);
	assert_int_equal(stack_space_init(&s->space), 0);
	functions_init(&s->functions, s->symbols);
}

static void close_storm(struct storm *s)
{
	samples_done(&s->interval);
	samples_done(&s->whole);
	functions_done(&s->functions);
	stack_space_done(&s->space);
	procs_done(&s->stream.procs);
	deferred_callchain_done(&s->stream.defer);
	map_done(&s->stream.ids);
	free(s->cursor.counts);
	free((void *)(uintptr_t)s->ring.data);
	free(s->ring.bounce);
	attar_symbols_free(s->symbols);
}

/* ---- the records of the kernel ---- */

static struct attar_record *begin(struct storm *s, uint32_t type, uint32_t pid)
{
	s->model.rec = (struct attar_record){.type = type,
		.pid = pid,
		.tid = pid,
		.time = ++s->time,
		.misc = PERF_RECORD_MISC_USER};
	return &s->model.rec;
}

static void write_record(struct storm *s)
{
	size_t size = model_encode(&s->model, s->words);
	uint64_t head = s->page.data_head;

	assert_true(head + size - s->page.data_tail <= RING_BYTES);
	for (size_t i = 0; i < size; i += 8)
		memcpy((char *)(uintptr_t)s->ring.data + ((head + i) & (RING_BYTES - 1)),
			&s->words[i / 8], 8);
	s->page.data_head = head + size;
}

static void write_comm(struct storm *s, uint32_t pid, const char *comm)
{
	struct attar_record *rec = begin(s, PERF_RECORD_COMM, pid);

	rec->misc |= PERF_RECORD_MISC_COMM_EXEC;
	rec->comm = (struct attar_comm){.pid = pid, .tid = pid, .comm = comm, .exec = true};
	write_record(s);
}

static void write_task(struct storm *s, uint32_t type, uint32_t pid)
{
	begin(s, type, pid)->task =
		(struct attar_task){.pid = pid, .tid = pid, .ppid = SHELL, .ptid = SHELL};
	write_record(s);
}

static void write_mmap(struct storm *s, uint32_t pid, uint64_t addr, const char *path, uint64_t ino)
{
	begin(s, PERF_RECORD_MMAP2, pid)->mmap = (struct attar_mmap){.pid = pid,
		.tid = pid,
		.addr = addr,
		.len = 0x100000,
		.filename = path,
		.maj = 8,
		.ino = ino,
		.has_ino = true};
	write_record(s);
}

static void write_sample(struct storm *s, uint32_t pid, uint64_t ip)
{
	const uint64_t chain[] = {PERF_CONTEXT_USER, ip, CODE + 1 + ip % 512, CODE + 1 + ip % 7};
	struct attar_record *rec = begin(s, PERF_RECORD_SAMPLE, pid);

	rec->sample.ip = ip;
	rec->sample.callchain = chain;
	rec->sample.callchain_nr = ARRAY_SIZE(chain);
	write_record(s);
	s->sent++;
}

/* Its EXIT record is sometimes lost; its last sample follows its EXIT, as in the kernel. */
static void write_process(struct storm *s, unsigned i)
{
	uint32_t pid = 1000 + i % PIDS;
	char comm[16], path[64];

	snprintf(comm, sizeof(comm), "storm%u", i);
	snprintf(path, sizeof(path), "/nowhere/bin/storm%u", i);
	write_task(s, PERF_RECORD_FORK, pid);
	write_comm(s, pid, comm);
	write_mmap(s, pid, CODE, "/nowhere/lib/common.so", 1);
	write_mmap(s, pid, CODE + 0x1000000, path, 1000 + i); /* never sampled */
	write_mmap(s, pid, CODE + 0x2000000, "//anon", 0);    /* nor this */
	write_sample(s, pid, CODE + i % ADDRESSES);
	if (i % 10)
		write_task(s, PERF_RECORD_EXIT, pid);
	write_sample(s, pid, CODE + 1);
}

/* ---- the work of a profiler ---- */

static void take(struct storm *s, const struct attar_event *ev)
{
	attar_location locations[16];
	size_t n;

	if (ev->record->type != PERF_RECORD_SAMPLE)
		return;
	n = attar_event_stack(ev, locations, ARRAY_SIZE(locations));
	assert_int_equal(n, 3);
	assert_int_equal(samples_add(&s->interval, stack_space_task(&s->space, ev->thread),
				 stacks_intern(&s->space.stacks, locations, n), 1),
		0);
}

static void draw(struct storm *s)
{
	struct stack_report sr = {.space = &s->space,
		.functions = &s->functions,
		.samples = &s->interval,
		.weight = "samples"};
	struct attar_report *report = attar_report_new("storm");

	assert_int_equal(samples_merge(&s->whole, &s->interval), 0);
	assert_int_equal(stack_report_table(&sr, report), 0);
	assert_int_equal(stack_report_tree(&sr, report), 0);
	stack_report_done(&sr);
	attar_report_free(report);
	samples_reset(&s->interval);
}

/* Processes [from, to). Each name is that of its own process, and still known. */
static void run(struct storm *s, unsigned from, unsigned to)
{
	struct attar_event ev;
	char comm[16];

	for (unsigned i = from; i < to; i++) {
		write_process(s, i);
		if ((i + 1) % ROUND)
			continue;
		for (unsigned sample = 0; attar_stream_next(&s->stream, &ev) > 0;) {
			take(s, &ev);
			if (ev.record->type != PERF_RECORD_SAMPLE)
				continue;
			snprintf(comm, sizeof(comm), "storm%u", i + 1 - ROUND + sample++ / 2);
			assert_string_equal(ev.thread->comm, comm);
		}
		if ((i + 1) % REPORT_EACH == 0)
			draw(s);
	}
}

static size_t memory(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

static void test_memory_does_not_grow_with_tasks(void **state)
{
	struct storm *s = calloc(1, sizeof(*s));
	struct attar_symbols_stats symbols;
	unsigned end = EARLY + (unsigned)unit_rounds(LATE - EARLY);
	size_t early, late;

	end -= end % REPORT_EACH; /* all samples are in a report */
	open_storm(s);
	write_comm(s, SHELL, "shell");
	run(s, 0, EARLY);
	early = memory();
	run(s, EARLY, end);
	late = memory();
	print_message("%zu bytes after %d processes, %zu after %u\n", early, EARLY, late, end);
	assert_true(late <= early + early / 20);
	assert_int_equal(s->sent, 2 * end);
	assert_int_equal(s->whole.total, s->sent);
	assert_int_equal(s->stream.stats.malformed, 0);
	symbols_get_stats(s->symbols, &symbols);
	assert_true(symbols.dsos <= DSO_FIXED + 1 + 2 * (PROCS_DEAD_MAX + PIDS / 10 + 2));
	assert_int_equal(symbols.dsos_refused, 0);
	close_storm(s);
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory_does_not_grow_with_tasks),
	};

	return cmocka_run_group_tests_name("growth", tests, NULL, NULL);
}
