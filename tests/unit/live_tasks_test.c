/* SPDX-License-Identifier: MIT */
/* Names and mappings of tasks are followed through records in the order of their times. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "perfdata/live_tasks.h"
#include "perfdata/task_records.h"
#include "perfdata/writer_internal.h"

enum { SHELL = 100, CHILD = 200 };

static struct attar_layout layout;
static struct live_tasks tasks;

static int set_up(void **state)
{
	const struct perf_event_attr attr = {.size = sizeof(attr),
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.sample_id_all = 1};

	attar_layout_init(&layout, &attr);
	live_tasks_init(&tasks, &layout);
	return 0;
}

static int tear_down(void **state)
{
	live_tasks_done(&tasks);
	return 0;
}

/* Gives a record this time; {pid, tid, time} is its end. */
static void note(struct buf *b, uint64_t time)
{
	memcpy(b->data + b->len - sizeof(time), &time, sizeof(time));
	live_tasks_note(&tasks, (const void *)b->data);
	buf_done(b);
}

static void comm(uint64_t time, pid_t pid, pid_t tid, const char *name, bool exec)
{
	struct buf b = {0};

	task_records_put_comm(&layout, &b, pid, tid, name);
	if (exec)
		((struct perf_event_header *)b.data)->misc |= PERF_RECORD_MISC_COMM_EXEC;
	note(&b, time);
}

static void task(uint64_t time, uint32_t type, pid_t pid, pid_t ppid, pid_t tid, pid_t ptid)
{
	const struct attar_task f = {
		(uint32_t)pid, (uint32_t)ppid, (uint32_t)tid, (uint32_t)ptid, time};
	struct buf b = {0};

	task_records_put_fork(&layout, &b, &f);
	((struct perf_event_header *)b.data)->type = type;
	note(&b, time);
}

static void fork_of(uint64_t time, pid_t parent, pid_t child)
{
	task(time, PERF_RECORD_FORK, child, parent, child, parent);
}

static void exit_of(uint64_t time, pid_t pid, pid_t tid)
{
	task(time, PERF_RECORD_EXIT, pid, pid, tid, pid);
}

static void map(uint64_t time, pid_t pid, uint64_t start, uint64_t len, const char *path)
{
	struct buf b = {0};

	task_records_put_header(&layout, &b, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER, 64, path);
	writer_put_u32(&b, (uint32_t)pid);
	writer_put_u32(&b, (uint32_t)pid);
	writer_put_u64(&b, start);
	writer_put_u64(&b, len);
	for (int i = 0; i < 5; i++)
		writer_put_u64(&b, 0);
	task_records_put_text(&layout, &b, path);
	note(&b, time);
}

static void symbol(uint64_t time, uint64_t address, bool ends, const char *name)
{
	struct buf b = {0};

	task_records_put_header(&layout, &b, PERF_RECORD_KSYMBOL, 0, 16, name);
	writer_put_u64(&b, address);
	writer_put_u32(&b, 64);
	writer_put_u32(&b, PERF_RECORD_KSYMBOL_TYPE_BPF |
				   (ends ? PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER << 16 : 0));
	task_records_put_text(&layout, &b, name);
	note(&b, time);
}

static void end_round(void)
{
	assert_int_equal(live_tasks_round(&tasks), 0);
}

/* Both rounds after which all that was given is applied, and what ended is forgotten. */
static void settle(void)
{
	for (int i = 0; i < 3; i++)
		end_round();
}

static void print(const struct attar_record *rec, char *text, size_t size)
{
	char time[32] = "";

	if (rec->time)
		snprintf(time, sizeof(time), " at %llu", (unsigned long long)rec->time);
	if (rec->type == PERF_RECORD_COMM)
		snprintf(text, size, "%u/%u is %s%s", rec->comm.pid, rec->comm.tid, rec->comm.comm,
			time);
	else if (rec->type == PERF_RECORD_MMAP2)
		snprintf(text, size, "%u maps %llx+%llx %s%s", rec->mmap.pid,
			(unsigned long long)rec->mmap.addr, (unsigned long long)rec->mmap.len,
			rec->mmap.filename, time);
	else if (rec->type == PERF_RECORD_KSYMBOL)
		snprintf(text, size, "%llx is %s%s", (unsigned long long)rec->ksymbol.addr,
			rec->ksymbol.name, time);
	else
		snprintf(text, size, "%u %s %u/%u%s", rec->task.ppid,
			rec->type == PERF_RECORD_FORK ? "forks" : "ends", rec->task.pid,
			rec->task.tid, time);
}

/* What the next file begins with, in any order. */
static void assert_puts(size_t n, const char *const expected[])
{
	struct buf b = {0};
	struct attar_record rec;
	char text[128];
	size_t seen = 0;

	assert_int_equal(live_tasks_put(&tasks, &b), n);
	for (size_t at = 0; at < b.len; seen++) {
		const struct perf_event_header *header = (const void *)(b.data + at);
		size_t i = 0;

		assert_int_equal(attar_record_parse(&layout, header, b.len - at, &rec), 0);
		print(&rec, text, sizeof(text));
		while (i < n && strcmp(text, expected[i]))
			i++;
		if (i == n)
			fail_msg("unexpected: %s", text);
		at += header->size;
	}
	assert_int_equal(seen, n);
	buf_done(&b);
}

#define assert_put(...)                                                                            \
	assert_puts(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *),                        \
		(const char *[]){__VA_ARGS__})

static void test_names(void **state)
{
	comm(1, SHELL, SHELL, "sh", true);
	fork_of(2, SHELL, CHILD);
	task(3, PERF_RECORD_FORK, CHILD, CHILD, CHILD + 1, CHILD);
	comm(4, CHILD, CHILD + 1, "worker", false);
	settle();
	assert_put("0 forks 100/100", "100/100 is sh", "100 forks 200/200", "200/200 is sh",
		"200 forks 200/201", "200/201 is worker");
}

/* Those of BPF programs that have ended are not repeated. */
static void test_symbols(void **state)
{
	symbol(1, 0xffff1000, false, "bpf_prog_a");
	symbol(2, 0xffff2000, false, "bpf_prog_b");
	symbol(3, 0xffff1000, true, "bpf_prog_a");
	symbol(4, 0xffff3000, false, "bpf_prog_c");
	symbol(5, 0xffff3000, true, "bpf_prog_c");
	symbol(6, 0xffff3000, false, "bpf_prog_d");
	settle();
	assert_put("ffff2000 is bpf_prog_b", "ffff3000 is bpf_prog_d");
	symbol(7, 0xffff2000, true, "bpf_prog_b");
	live_tasks_reset(&tasks);
	settle();
	assert_put("ffff3000 is bpf_prog_d");
}

/* The ring of the child's CPU is read first. */
static void test_order_of_times(void **state)
{
	exit_of(4, CHILD, CHILD);
	comm(3, CHILD, CHILD, "child", true);
	comm(1, SHELL, SHELL, "sh", true);
	fork_of(2, SHELL, CHILD);
	settle();
	settle();
	assert_put("0 forks 100/100", "100/100 is sh");
}

/* A record of the next round can be older than one that was read in this round. */
static void test_newest_records_wait(void **state)
{
	comm(1, SHELL, SHELL, "sh", true);
	comm(5, SHELL, SHELL, "late", false);
	settle();
	comm(7, SHELL, SHELL, "newer", false);
	end_round();
	assert_put("0 forks 100/100", "100/100 is late", "100/100 is newer at 7");
	comm(6, SHELL, SHELL, "older", false);
	settle();
	assert_put("0 forks 100/100", "100/100 is newer");
}

/* Its last samples, such as the switch to the next task, come after the record of its end. */
static void test_end_of_a_thread(void **state)
{
	comm(1, SHELL, SHELL, "sh", true);
	exit_of(2, SHELL, SHELL);
	end_round();
	end_round();
	assert_put("0 forks 100/100", "100/100 is sh");
	end_round();
	assert_puts(0, NULL);
	assert_int_equal(tasks.processes.n, 0);
}

static void test_reused_pid(void **state)
{
	comm(1, SHELL, SHELL, "sh", true);
	map(2, SHELL, 0x1000, 0x1000, "/bin/sh");
	fork_of(3, SHELL, CHILD);
	comm(4, CHILD, CHILD, "first", true);
	map(5, CHILD, 0x5000, 0x1000, "/bin/first");
	exit_of(6, CHILD, CHILD);
	fork_of(7, SHELL, CHILD);
	settle();
	assert_put("0 forks 100/100", "100/100 is sh", "100 maps 1000+1000 /bin/sh",
		"100 forks 200/200", "200/200 is sh", "200 maps 1000+1000 /bin/sh");
}

/* A child has the mappings of its parent until its exec. */
static void test_mappings(void **state)
{
	comm(1, SHELL, SHELL, "sh", true);
	map(2, SHELL, 0x1000, 0x3000, "/bin/sh");
	map(3, SHELL, 0x8000, 0x1000, "/lib/old.so");
	fork_of(4, SHELL, CHILD);
	map(5, SHELL, 0x7000, 0x3000, "/lib/new.so"); /* covers the old one */
	map(6, SHELL, 0x3000, 0x2000, "/lib/part.so");
	settle();
	assert_put("0 forks 100/100", "100/100 is sh", "100 maps 1000+3000 /bin/sh",
		"100 maps 7000+3000 /lib/new.so", "100 maps 3000+2000 /lib/part.so",
		"100 forks 200/200", "200/200 is sh", "200 maps 1000+3000 /bin/sh",
		"200 maps 8000+1000 /lib/old.so");
	comm(7, CHILD, CHILD, "child", true);
	exit_of(8, SHELL, SHELL);
	settle();
	settle();
	assert_put("100 forks 200/200", "200/200 is child");
}

/* Mappings that are replaced, and tasks that end, need no memory. */
static void test_bounds(void **state)
{
	int rounds = (int)unit_rounds(100000);
	char name[16];

	comm(1, SHELL, SHELL, "sh", true);
	for (int i = 0; i < rounds; i++) {
		snprintf(name, sizeof(name), "child %d", i % 7);
		fork_of((uint64_t)i * 4 + 2, SHELL, CHILD + i);
		comm((uint64_t)i * 4 + 3, CHILD + i, CHILD + i, name, true);
		map((uint64_t)i * 4 + 4, SHELL, 0x1000, 0x1000, "//anon");
		exit_of((uint64_t)i * 4 + 5, CHILD + i, CHILD + i);
		end_round();
		assert_true(tasks.threads.n <= 5 && tasks.bytes.len < 2000);
	}
	settle();
	assert_put("0 forks 100/100", "100/100 is sh", "100 maps 1000+1000 //anon");
}

/* The kernel's mappings, and records that are too short, are passed over. */
static void test_other_records(void **state)
{
	const struct perf_event_header cut = {.type = PERF_RECORD_COMM, .size = sizeof(cut)};

	live_tasks_note(&tasks, &cut);
	map(1, -1, 0x1000, 0x1000, "[kernel.kallsyms]_text");
	task(2, PERF_RECORD_FORK, 0, 0, 0, 0);
	settle();
	assert_puts(0, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_names, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_symbols, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_order_of_times, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_newest_records_wait, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_end_of_a_thread, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_reused_pid, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_mappings, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_bounds, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_other_records, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
