/* SPDX-License-Identifier: MIT */
/* The process table, updated by records as the kernel would write them. */
#include "unit.h"

#include <unistd.h>

#include "base/proc.h"
#include "stream/procs.h"
#include "symbol/maps.h"

struct fixture {
	struct attar_symbols *symbols;
	struct procs procs;
};

static int start(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_int_equal(attar_symbols_new(NULL, &f->symbols), 0);
	procs_init(&f->procs, f->symbols, false);
	*state = f;
	return 0;
}

static int stop(void **state)
{
	struct fixture *f = *state;

	procs_done(&f->procs);
	attar_symbols_free(f->symbols);
	free(f);
	return 0;
}

static void comm(struct fixture *f, uint32_t pid, uint32_t tid, const char *name, bool exec)
{
	struct attar_record rec = {.type = PERF_RECORD_COMM,
		.comm = {.pid = pid, .tid = tid, .comm = name, .exec = exec}};

	assert_int_equal(procs_apply(&f->procs, &rec), 0);
}

static void task(
	struct fixture *f, uint32_t type, uint32_t pid, uint32_t tid, uint32_t ppid, uint32_t ptid)
{
	struct attar_record rec = {
		.type = type, .task = {.pid = pid, .tid = tid, .ppid = ppid, .ptid = ptid}};

	assert_int_equal(procs_apply(&f->procs, &rec), 0);
}

static void map_code(struct fixture *f, uint32_t pid, uint64_t addr, const char *path)
{
	struct attar_record rec = {.type = PERF_RECORD_MMAP2,
		.mmap = {.pid = pid,
			.tid = pid,
			.addr = addr,
			.len = 0x1000,
			.filename = path,
			.ino = 1,
			.has_ino = true}};

	assert_int_equal(procs_apply(&f->procs, &rec), 0);
}

static const char *dso_at(struct fixture *f, struct thread *t, uint64_t ip)
{
	enum attar_dso_kind kind;

	return attar_symbols_dso(f->symbols, attar_thread_locate(&t->pub, ip), &kind);
}

static void test_child_inherits_mappings(void **state)
{
	struct fixture *f = *state;
	struct thread *child;

	comm(f, 1000001, 1000001, "parent", false);
	map_code(f, 1000001, 0x400000, "/nowhere/parent");
	task(f, PERF_RECORD_FORK, 1000002, 1000002, 1000001, 1000001);
	child = procs_thread(&f->procs, 1000002, 1000002);
	assert_string_equal(child->pub.comm, "parent");
	assert_int_equal(child->pub.process->parent, 1000001);
	assert_string_equal(dso_at(f, child, 0x400010), "/nowhere/parent");
	comm(f, 1000002, 1000002, "child", true); /* exec: all mappings are new */
	assert_string_equal(child->pub.comm, "child");
	assert_string_equal(dso_at(f, child, 0x400010), "[unknown]");
	map_code(f, 1000002, 0x400000, "/nowhere/child");
	assert_string_equal(dso_at(f, child, 0x400010), "/nowhere/child");
	assert_string_equal(
		dso_at(f, procs_thread(&f->procs, 1000001, 1000001), 0x400010), "/nowhere/parent");
}

/* Mappings are read with the first address, and copied to a child from then on. */
static void test_mappings_are_read_late(void **state)
{
	struct fixture *f = *state;
	uint32_t pid = (uint32_t)getpid();
	uint64_t code = (uintptr_t)test_mappings_are_read_late;
	char path[4096] = "";
	struct thread *self, *child;

	f->procs.live = f->procs.lazy_maps = true;
	assert_true(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	self = procs_thread(&f->procs, (pid_t)pid, (pid_t)pid);
	assert_false(self->pub.process->scanned);
	task(f, PERF_RECORD_FORK, 2000000001, 2000000001, pid, pid); /* has exited */
	child = procs_thread(&f->procs, 2000000001, 2000000001);
	assert_string_equal(dso_at(f, child, code), "[unknown]");
	assert_string_equal(dso_at(f, self, code), path);
	assert_true(self->pub.process->scanned);
	task(f, PERF_RECORD_FORK, 2000000002, 2000000002, pid, pid);
	child = procs_thread(&f->procs, 2000000002, 2000000002);
	assert_string_equal(dso_at(f, child, code), path);
}

static void test_threads_share_a_process(void **state)
{
	struct fixture *f = *state;
	struct thread *thread;

	comm(f, 1000001, 1000001, "main", false);
	task(f, PERF_RECORD_FORK, 1000001, 1000005, 1000001, 1000001);
	comm(f, 1000001, 1000005, "worker", false);
	map_code(f, 1000001, 0x400000, "/nowhere/late"); /* mapped after the thread started */
	thread = procs_thread(&f->procs, 1000001, 1000005);
	assert_string_equal(thread->pub.comm, "worker");
	assert_string_equal(thread->pub.process->comm, "main");
	assert_string_equal(dso_at(f, thread, 0x400010), "/nowhere/late");
}

/* A reused PID is another task, with another serial number. */
static void test_reused_pid_is_another_task(void **state)
{
	struct fixture *f = *state;
	uint64_t first;

	comm(f, 1000001, 1000001, "parent", false);
	task(f, PERF_RECORD_FORK, 1000002, 1000002, 1000001, 1000001);
	comm(f, 1000002, 1000002, "first", false);
	first = procs_thread(&f->procs, 1000002, 1000002)->pub.serial;
	task(f, PERF_RECORD_EXIT, 1000002, 1000002, 1000001, 1000001);
	task(f, PERF_RECORD_FORK, 1000002, 1000002, 1000001, 1000001);
	assert_int_not_equal(procs_thread(&f->procs, 1000002, 1000002)->pub.serial, first);
	assert_string_equal(procs_thread(&f->procs, 1000002, 1000002)->pub.comm, "parent");
}

/* The EXIT record of the thread, which had the tid before, was lost. */
static void test_thread_of_another_process(void **state)
{
	struct fixture *f = *state;
	struct thread *before, *after;

	comm(f, 1000001, 1000001, "first", false);
	task(f, PERF_RECORD_FORK, 1000001, 1000005, 1000001, 1000001);
	comm(f, 1000002, 1000002, "second", false);
	before = procs_thread(&f->procs, 1000001, 1000005);
	after = procs_thread(&f->procs, 1000002, 1000005);
	assert_ptr_not_equal(after, before);
	assert_int_equal(after->pub.process->pid, 1000002);
	assert_string_equal(after->pub.comm, "second");
	assert_true(before->pub.exited);
	assert_ptr_equal(procs_known(&f->procs, 1000005), after);
}

static void test_exit_of_another_process(void **state)
{
	struct fixture *f = *state;

	comm(f, 1000001, 1000001, "first", false);
	task(f, PERF_RECORD_FORK, 1000001, 1000005, 1000001, 1000001);
	task(f, PERF_RECORD_EXIT, 1000005, 1000005, 1000002, 1000002);
	assert_null(procs_known(&f->procs, 1000005));
	assert_false(procs_process(&f->procs, 1000001)->pub.exited);
}

/* The thread of the newest sample has exited, and is forgotten when others exit. */
static void test_forgotten_thread_of_the_newest_sample(void **state)
{
	struct fixture *f = *state;

	comm(f, 1000001, 1000001, "parent", false);
	for (uint32_t i = 0; i <= PROCS_DEAD_MAX; i++)
		task(f, PERF_RECORD_FORK, 2000000 + i, 2000000 + i, 1000001, 1000001);
	for (uint32_t i = 0; i < PROCS_DEAD_MAX; i++)
		task(f, PERF_RECORD_EXIT, 2000000 + i, 2000000 + i, 1000001, 1000001);
	f->procs.of_task = procs_thread(&f->procs, 2000000, 2000000);
	task(f, PERF_RECORD_EXIT, 2000000 + PROCS_DEAD_MAX, 2000000 + PROCS_DEAD_MAX, 1000001,
		1000001);
	assert_null(f->procs.of_task);
	assert_null(procs_get(&f->procs, 2000000));
}

/* Many short processes leave no more behind than the limit. */
static void test_exited_tasks_are_forgotten(void **state)
{
	struct fixture *f = *state;

	comm(f, 1000001, 1000001, "parent", false);
	for (uint32_t i = 0; i < 3 * PROCS_DEAD_MAX; i++) {
		task(f, PERF_RECORD_FORK, 2000000 + i, 2000000 + i, 1000001, 1000001);
		task(f, PERF_RECORD_EXIT, 2000000 + i, 2000000 + i, 1000001, 1000001);
	}
	assert_int_equal(f->procs.n_dead, PROCS_DEAD_MAX);
	assert_int_equal(f->procs.threads.n, PROCS_DEAD_MAX + 1);
	assert_int_equal(f->procs.processes.n, PROCS_DEAD_MAX + 1);
}

/* Between its EXIT record and its last instruction a task is still sampled: under its own name. */
static void test_samples_after_exit(void **state)
{
	struct fixture *f = *state;
	struct thread *t;

	comm(f, 1000001, 1000001, "parent", false);
	map_code(f, 1000001, 0x400000, "/nowhere/parent");
	task(f, PERF_RECORD_FORK, 1000002, 1000002, 1000001, 1000001);
	comm(f, 1000002, 1000002, "child", false);
	t = procs_thread(&f->procs, 1000002, 1000002);
	task(f, PERF_RECORD_EXIT, 1000002, 1000002, 1000001, 1000001);
	assert_ptr_equal(procs_thread(&f->procs, 1000002, 1000002), t);
	assert_string_equal(t->pub.comm, "child");
	assert_true(t->pub.exited);
	assert_null(procs_known(&f->procs, 1000002));
	assert_string_equal(dso_at(f, t, 0x400010), "/nowhere/parent");
	for (uint32_t i = 0; i < PROCS_DEAD_MAX; i++) {
		task(f, PERF_RECORD_FORK, 2000000 + i, 2000000 + i, 1000001, 1000001);
		task(f, PERF_RECORD_EXIT, 2000000 + i, 2000000 + i, 1000001, 1000001);
	}
	t = procs_thread(&f->procs, 1000002, 1000002); /* by now it was removed */
	assert_string_equal(t->pub.comm, "[unknown]");
	assert_int_equal(f->procs.n_dead, PROCS_DEAD_MAX);
}

/* Only a placeholder for an unknown name is replaced, not a real name with the same text. */
static void test_names_of_unknown_threads(void **state)
{
	struct fixture *f = *state;
	struct thread *t = procs_thread(&f->procs, 1000001, 1000001);

	assert_string_equal(t->pub.comm, "[unknown]");
	procs_name(&f->procs, t, "[unknown]");
	procs_name(&f->procs, t, "other");
	assert_string_equal(t->pub.comm, "[unknown]");
	comm(f, 1000002, 1000002, "[unknown]", false);
	t = procs_thread(&f->procs, 1000002, 1000002);
	procs_name(&f->procs, t, "other");
	assert_string_equal(t->pub.comm, "[unknown]");
	t = procs_thread(&f->procs, 1000003, 1000003);
	procs_name(&f->procs, t, "third");
	assert_string_equal(t->pub.comm, "third");
}

/*
 * A thread that calls exec takes over the TID of its process' first thread, which has exited by
 * then.
 */
static void test_exec_by_another_thread(void **state)
{
	struct fixture *f = *state;
	struct thread *t;

	comm(f, 1000001, 1000001, "before", false);
	task(f, PERF_RECORD_FORK, 1000001, 1000005, 1000001, 1000001);
	task(f, PERF_RECORD_EXIT, 1000001, 1000001, 1000001, 1000001);
	comm(f, 1000001, 1000001, "after", true);
	map_code(f, 1000001, 0x400000, "/nowhere/after");
	t = procs_known(&f->procs, 1000001);
	assert_non_null(t);
	assert_string_equal(t->pub.comm, "after");
	assert_false(t->pub.process->exited);
	assert_string_equal(dso_at(f, t, 0x400010), "/nowhere/after");
}

/* TIDs that no task can have: the kernel reports no end for them. */
static void test_lost_exits_are_found(void **state)
{
	struct fixture *f = *state;

	f->procs.live = true;
	for (uint32_t i = 0; i < 20 * PROCS_SWEEP; i++)
		task(f, PERF_RECORD_FORK, 0x40000000 + i, 0x40000000 + i, (uint32_t)getpid(),
			(uint32_t)getpid());
	assert_true(f->procs.threads.n <= 3 * PROCS_SWEEP + PROCS_DEAD_MAX);
	assert_non_null(procs_known(&f->procs, getpid()));
}

static void test_idle_and_exiting(void **state)
{
	struct fixture *f = *state;

	assert_string_equal(procs_thread(&f->procs, 0, 0)->pub.comm, "swapper");
	assert_string_equal(procs_thread(&f->procs, -1, -1)->pub.comm, "[exiting]");
}

/* Every task outside our PID namespace has PID 0 and itself as parent: it is not a new task. */
static void test_tasks_without_pid(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 10; i++)
		task(f, PERF_RECORD_FORK, 0, 0, 0, 0);
	task(f, PERF_RECORD_FORK, 1000001, 1000001, 1000001, 1000001);
	task(f, PERF_RECORD_FORK, 1000002, 1000002, 0, 0);
	task(f, PERF_RECORD_EXIT, 0, 0, 0, 0);
	assert_null(procs_known(&f->procs, 0));
	assert_int_equal(f->procs.threads.n, 2);
	assert_int_equal(f->procs.n_dead, 1);
}

static void lost(struct fixture *f)
{
	struct attar_record rec = {.type = PERF_RECORD_LOST, .lost = {.lost = 1}};

	assert_int_equal(procs_apply(&f->procs, &rec), 0);
}

static void test_exec_that_ends_events(void **state)
{
	struct fixture *f = *state;

	f->procs.maps = f->procs.by_task = true;
	comm(f, 50, 50, "sudo", true);
	task(f, PERF_RECORD_EXIT, 50, 50, 1, 1);
	assert_int_equal(f->procs.unwatched, 1);
	assert_null(procs_known(&f->procs, 50));

	comm(f, 51, 51, "plain", true); /* a program that exits has mapped its code */
	map_code(f, 51, 0x1000, "/bin/plain");
	task(f, PERF_RECORD_EXIT, 51, 51, 1, 1);
	comm(f, 52, 52, "named", false); /* by prctl(2) */
	task(f, PERF_RECORD_EXIT, 52, 52, 1, 1);
	comm(f, 53, 53, "lost", true); /* the records of its mappings may be among the lost ones */
	lost(f);
	task(f, PERF_RECORD_EXIT, 53, 53, 1, 1);
	assert_int_equal(f->procs.unwatched, 1);
}

static void test_exec_that_ends_events_of_tasks_only(void **state)
{
	struct fixture *f = *state;

	f->procs.maps = true;
	comm(f, 50, 50, "sudo", true);
	task(f, PERF_RECORD_EXIT, 50, 50, 1, 1);
	assert_int_equal(f->procs.unwatched, 0);
	assert_non_null(procs_known(&f->procs, 50));
	map_code(f, 50, 0x1000, "/usr/bin/sudo");
	task(f, PERF_RECORD_EXIT, 50, 50, 1, 1);
	assert_null(procs_known(&f->procs, 50));
}

static unsigned maps_reads;

int __real_maps_read_code(pid_t pid, maps_fn *fn, void *ctx);
int __wrap_maps_read_code(pid_t pid, maps_fn *fn, void *ctx);

int __wrap_maps_read_code(pid_t pid, maps_fn *fn, void *ctx)
{
	maps_reads++;
	return __real_maps_read_code(pid, fn, ctx);
}

/* Thread 2 creates all others of the kernel; a PID namespace does not have it. */
static void test_kernel_threads_have_no_mappings(void **state)
{
	struct fixture *f = *state;
	struct thread *t;

	if (!proc_is_kernel_thread(2))
		skip();
	for (int lazy = 0; lazy < 2; lazy++) {
		procs_done(&f->procs);
		procs_init(&f->procs, f->symbols, true);
		f->procs.lazy_maps = lazy;
		maps_reads = 0;
		t = procs_thread(&f->procs, 2, 2);
		assert_string_equal(t->pub.comm, "kthreadd");
		assert_true(t->pub.process->scanned);
		assert_false(((struct process *)t->pub.process)->is_unread);
		assert_int_equal(maps_reads, 0);
		t = procs_thread(&f->procs, getpid(), getpid());
		assert_int_equal(((struct process *)t->pub.process)->is_unread, lazy);
		assert_int_equal(maps_reads, !lazy);
	}
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_child_inherits_mappings),
		CASE(test_mappings_are_read_late),
		CASE(test_threads_share_a_process),
		CASE(test_reused_pid_is_another_task),
		CASE(test_thread_of_another_process),
		CASE(test_exit_of_another_process),
		CASE(test_forgotten_thread_of_the_newest_sample),
		CASE(test_exited_tasks_are_forgotten),
		CASE(test_samples_after_exit),
		CASE(test_names_of_unknown_threads),
		CASE(test_exec_by_another_thread),
		CASE(test_lost_exits_are_found),
		CASE(test_idle_and_exiting),
		CASE(test_tasks_without_pid),
		CASE(test_exec_that_ends_events),
		CASE(test_exec_that_ends_events_of_tasks_only),
		CASE(test_kernel_threads_have_no_mappings),
	};

	return cmocka_run_group_tests_name("procs", tests, NULL, NULL);
}
