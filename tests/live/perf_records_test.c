/* SPDX-License-Identifier: MIT */
/*
 * The records that an option enables in the running kernel: each test causes a known event and
 * finds it in the records of its ring; without the option, the record is absent.
 */
#include "watch.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attar/sample.h"
#include "perf/kernel.h"

/*
 * Whether the kernel itself, without the library, writes such a record when act() is called: some
 * kernels accept an option but never write the record.
 */
static bool kernel_writes(const struct perf_event_attr *attr, uint32_t type, void (*act)(void))
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct perf_event_attr a = *attr;
	struct perf_event_mmap_page *ring;
	bool found = false;
	int fd;

	a.size = sizeof(a);
	/* inherited events have rings on a CPU only: use one CPU */
	fd = (int)syscall(SYS_perf_event_open, &a, 0, a.inherit ? sched_getcpu() : -1, -1, 0);
	assert_true(fd >= 0);
	ring = mmap(NULL, 17 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(ring, MAP_FAILED);
	act();
	for (uint64_t at = 0; at < ring->data_head && at < 16 * page;) {
		const struct perf_event_header *h = (void *)((char *)ring + page + at);

		found |= h->type == type;
		at += h->size;
	}
	munmap(ring, 17 * page);
	close(fd);
	return found;
}

/* ---- tasks ---- */

static void nothing(void)
{
}

static bool is_task(const struct attar_record *r, const void *pid)
{
	return r->task.pid == (uint32_t) * (const pid_t *)pid && r->task.ppid != 0;
}

static void test_task_gives_fork_and_exit(void **state)
{
	struct perf_event_attr attr = watch_silent;
	struct child c;
	struct watch w;

	attr.task = 1;
	watch_self(&w, &attr);
	c = child_new(nothing);
	child_run(&c);
	assert_int_equal(watch_count(&w, PERF_RECORD_FORK, is_task, &c.pid), 1);
	watch_done(&w);
	c = child_new(nothing);
	watch_target(&w, child_target(&c), &attr);
	child_run(&c);
	assert_int_equal(watch_count(&w, PERF_RECORD_EXIT, is_task, &c.pid), 1);
	watch_done(&w);
	watch_self(&w, &watch_silent);
	c = child_new(nothing);
	child_run(&c);
	assert_int_equal(watch_count(&w, PERF_RECORD_FORK, NULL, NULL), 0);
	watch_done(&w);
}

static void fault_23(void)
{
	live_fault(23);
}

static uint64_t faults_reported;

/* One record for each CPU: the child may have migrated. */
static bool is_of_child(const struct attar_record *r, const void *pid)
{
	if (r->read.pid != (uint32_t) * (const pid_t *)pid)
		return false;
	faults_reported += attar_read_at(&r->read.values, 0).value;
	return true;
}

static pid_t last_child;

static void run_a_child(void)
{
	struct child c = child_new(fault_23);

	last_child = c.pid;
	child_run(&c);
}

/*
 * Returns the counts that children reported, 20 at most: a child may report nothing if the kernel
 * has exchanged its counters with its parent's in a context switch between them.
 */
static size_t reads_of_children(const struct perf_event_attr *attr)
{
	struct attar_target_opts opts = {.size = sizeof(opts), .self = true};
	size_t found = 0;

	for (int i = 0; i < 20 && !found; i++) {
		struct attar_target *target;
		struct watch w;

		faults_reported = 0;
		assert_int_equal(attar_target_new(&opts, &target), 0);
		watch_target(&w, target, attr);
		run_a_child();
		found = watch_count(&w, PERF_RECORD_READ, is_of_child, &last_child);
		watch_done(&w);
	}
	return found;
}

/* A child of an inherited event reports its own count at its end. */
static void test_inherit_stat_gives_counts_of_children(void **state)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = 1 << 20,
		.sample_type = PERF_SAMPLE_TID,
		.sample_id_all = 1,
		.inherit = 1};
	bool found = false;

	attar_target_free(live_self());
	assert_int_equal(reads_of_children(&attr), 0);
	attr.inherit_stat = 1;
	if (kernel_get()->version >= KERNEL_VERSION_OF(6, 12))
		attr.sample_type |= PERF_SAMPLE_READ; /* then nothing is exchanged */
	if (reads_of_children(&attr)) {
		assert_in_range(faults_reported, 23, 2300);
		return;
	}
	for (int i = 0; i < 20 && !found; i++)
		found = kernel_writes(&attr, PERF_RECORD_READ, run_a_child);
	assert_false(found);
	live_skip("this kernel reports no counts of exiting tasks");
}

static bool is_comm(const struct attar_record *r, const void *name)
{
	return !strcmp(r->comm.comm, name) && !r->comm.exec;
}

static bool is_exec(const struct attar_record *r, const void *name)
{
	return !strcmp(r->comm.comm, name) && r->comm.exec;
}

static void test_comm_gives_a_renamed_thread(void **state)
{
	struct perf_event_attr attr = watch_silent;
	struct watch w;

	attr.comm = 1;
	watch_self(&w, &attr);
	watch_rename();
	assert_int_equal(watch_count(&w, PERF_RECORD_COMM, is_comm, "attar renamed"), 1);
	watch_done(&w);
	watch_self(&w, &watch_silent);
	watch_rename();
	assert_int_equal(watch_count(&w, PERF_RECORD_COMM, NULL, NULL), 0);
	watch_done(&w);
}

static void exec_true(void)
{
	execlp("true", "true", (char *)NULL);
}

/* The kernel sets the mark in any case; the option only shows whether it does. */
static void test_comm_exec_marks_an_exec(void **state)
{
	struct perf_event_attr attr = watch_silent;
	struct child c = child_new(exec_true);
	struct watch w;

	attr.comm = attr.comm_exec = 1;
	watch_target(&w, child_target(&c), &attr);
	child_run(&c);
	assert_int_equal(watch_count(&w, PERF_RECORD_COMM, is_exec, "true"), 1);
	watch_done(&w);
}

/* An event that is removed at exec counts nothing of the new program. */
static void test_remove_on_exec_ends_counting(void **state)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.remove_on_exec = 1};
	struct child child = child_new(exec_true);
	struct attar_target *target = live_self();
	struct attar_counter *removed, *kept;
	struct attar_value before, whole;

	attar_target_free(target);
	target = child_target(&child);
	if (attar_counter_open(target, &attr, "removed", 0, &removed) < 0) {
		child_run(&child);
		attar_target_free(target);
		live_skip(attar_error());
	}
	attr.remove_on_exec = 0;
	assert_int_equal(attar_counter_open(target, &attr, "kept", 0, &kept), 0);
	child_run(&child);
	assert_int_equal(attar_counter_read(removed, &before), 0);
	assert_int_equal(attar_counter_read(kept, &whole), 0);
	assert_true(before.value + 20 < whole.value); /* only the new program's loader */
	attar_counter_close(removed);
	attar_counter_close(kept);
	attar_target_free(target);
}

static void *fault_in_thread(void *n)
{
	live_fault(*(size_t *)n);
	return NULL;
}

static void test_inherit_thread_excludes_processes(void **state)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.exclude_kernel = 1,
		.inherit = 1,
		.disabled = 1};
	struct attar_target *target = live_self();
	struct attar_counter *all, *threads;
	struct attar_value a, t;
	size_t n = 1000;
	pthread_t thread;
	struct child c;

	assert_int_equal(attar_counter_open(target, &attr, "all", 0, &all), 0);
	attr.inherit_thread = 1;
	if (attar_counter_open(target, &attr, "threads", 0, &threads) < 0) {
		attar_counter_close(all);
		attar_target_free(target);
		live_skip(attar_error());
	}
	attar_counter_enable(all);
	attar_counter_enable(threads);
	pthread_create(&thread, NULL, fault_in_thread, &n);
	pthread_join(thread, NULL);
	c = child_new(fault_23);
	child_run(&c);
	assert_int_equal(attar_counter_read(threads, &t), 0);
	assert_int_equal(attar_counter_read(all, &a), 0);
	assert_true(t.value >= 1000);
	assert_true(a.value >= t.value + 23);
	attar_counter_close(all);
	attar_counter_close(threads);
	attar_target_free(target);
}

/* ---- memory ---- */

/* Maps a page of this program's file, as code or as data. */
static uint64_t map_own_file(int prot)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	void *at = mmap(NULL, 4096, prot, MAP_PRIVATE, fd, 0);

	assert_ptr_not_equal(at, MAP_FAILED);
	munmap(at, 4096);
	close(fd);
	return (uintptr_t)at;
}

static bool is_map(const struct attar_record *r, const void *at)
{
	return r->mmap.addr == *(const uint64_t *)at && r->mmap.len == 4096 &&
	       strstr(r->mmap.filename, program_invocation_short_name);
}

static bool is_data(const struct attar_record *r, const void *at)
{
	return is_map(r, at) && r->misc & PERF_RECORD_MISC_MMAP_DATA;
}

/* Returns the number of matching records of a new mapping of this program's file. */
static size_t records_of_map(
	const struct perf_event_attr *attr, int prot, uint32_t type, watch_is *is)
{
	struct watch w;
	uint64_t at;
	size_t n;

	watch_self(&w, attr);
	at = map_own_file(prot);
	n = watch_count(&w, type, is, &at);
	watch_done(&w);
	return n;
}

static void test_mmap_and_mmap_data_give_mappings(void **state)
{
	const int code = PROT_READ | PROT_EXEC, data = PROT_READ;
	struct perf_event_attr attr = watch_silent;

	attr.mmap = 1;
	assert_int_equal(records_of_map(&attr, code, PERF_RECORD_MMAP, is_map), 1);
	assert_int_equal(records_of_map(&attr, data, PERF_RECORD_MMAP, is_map), 0);
	attr.mmap = 0;
	attr.mmap_data = 1;
	assert_int_equal(records_of_map(&attr, data, PERF_RECORD_MMAP, is_data), 1);
}

static bool has_inode(const struct attar_record *r, const void *at)
{
	struct stat st;

	stat("/proc/self/exe", &st);
	return is_map(r, at) && r->mmap.has_ino && r->mmap.ino == st.st_ino &&
	       r->mmap.prot == (PROT_READ | PROT_EXEC);
}

static void test_mmap2_gives_the_inode(void **state)
{
	struct perf_event_attr attr = watch_silent;

	attr.mmap = attr.mmap2 = 1;
	assert_int_equal(
		records_of_map(&attr, PROT_READ | PROT_EXEC, PERF_RECORD_MMAP2, has_inode), 1);
}

static unsigned char own_build_id[20];

/* The first program header list is that of the program itself: find the linker's note. */
static int find_build_id(struct dl_phdr_info *info, size_t size, void *ctx)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		const char *at = (const char *)(info->dlpi_addr + p->p_vaddr),
			   *end = at + p->p_memsz;

		while (p->p_type == PT_NOTE && at + sizeof(ElfW(Nhdr)) < end) {
			const ElfW(Nhdr) *note = (const void *)at;

			if (note->n_type == NT_GNU_BUILD_ID && note->n_descsz == 20)
				memcpy(own_build_id, at + sizeof(*note) + 4, 20);
			at += sizeof(*note) + (note->n_namesz + 3) / 4 * 4 +
			      (note->n_descsz + 3) / 4 * 4;
		}
	}
	return 1;
}

static bool has_build_id(const struct attar_record *r, const void *at)
{
	return is_map(r, at) && !r->mmap.has_ino && r->mmap.build_id_size == 20 &&
	       !memcmp(r->mmap.build_id, own_build_id, 20);
}

static void test_build_id_is_that_of_the_file(void **state)
{
	static const unsigned char none[20];
	struct perf_event_attr attr = watch_silent;

	dl_iterate_phdr(find_build_id, NULL);
	if (!memcmp(own_build_id, none, 20))
		live_skip("this program was linked without a build ID");
	attr.mmap = attr.mmap2 = attr.build_id = 1;
	assert_int_equal(
		records_of_map(&attr, PROT_READ | PROT_EXEC, PERF_RECORD_MMAP2, has_build_id), 1);
}

/* ---- the kernel ---- */

/* "return 0;" as a socket filter: JIT-compiled, so it is a kernel symbol while it is loaded. */
static int load_program(uint32_t *ret_id)
{
	struct bpf_insn code[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	union bpf_attr load = {.prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
		.insn_cnt = 2,
		.insns = (uintptr_t)code,
		.license = (uintptr_t) "GPL",
		.prog_name = "attar_test"};
	struct bpf_prog_info info = {0};
	union bpf_attr ask = {.info = {.info_len = sizeof(info), .info = (uintptr_t)&info}};
	int fd = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &load, sizeof(load));

	if (fd < 0)
		live_skip("this process may not load a BPF program");
	ask.info.bpf_fd = (uint32_t)fd;
	assert_int_equal(syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &ask, sizeof(ask)), 0);
	*ret_id = info.id;
	return fd;
}

static bool is_symbol(const struct attar_record *r, const void *unused)
{
	return strstr(r->ksymbol.name, "attar_test") && r->ksymbol.ksym_type == 1 &&
	       r->ksymbol.addr && !(r->ksymbol.flags & 1);
}

static bool is_loaded(const struct attar_record *r, const void *id)
{
	return r->bpf_event.bpf_type == 1 && r->bpf_event.id == *(const uint32_t *)id;
}

/* Returns the number of matching records of a BPF program that is loaded. */
static size_t records_of_program(const struct perf_event_attr *attr, uint32_t type, watch_is *is)
{
	struct watch w;
	uint32_t id;
	size_t n;

	close(load_program(&id)); /* skips the test if it cannot be loaded */
	watch_self(&w, attr);
	close(load_program(&id));
	n = watch_count(&w, type, is, &id);
	watch_done(&w);
	return n;
}

static void test_ksymbol_gives_a_bpf_program(void **state)
{
	struct perf_event_attr attr = watch_silent;

	attr.ksymbol = 1;
	if (!records_of_program(&attr, PERF_RECORD_KSYMBOL, is_symbol))
		live_skip("the kernel interprets BPF: programs have no symbol"); /* no JIT */
}

static void test_bpf_event_gives_a_loaded_program(void **state)
{
	struct perf_event_attr attr = watch_silent;

	attr.bpf_event = 1;
	assert_int_equal(records_of_program(&attr, PERF_RECORD_BPF_EVENT, is_loaded), 1);
}

static bool is_poke(const struct attar_record *r, const void *unused)
{
	return r->text_poke.addr && r->text_poke.new_len &&
	       (r->text_poke.old_len != r->text_poke.new_len ||
		       memcmp(r->text_poke.old_bytes, r->text_poke.new_bytes,
			       r->text_poke.old_len));
}

/* Opening an unused tracepoint patches the kernel's code. */
static void patch_the_kernel(void)
{
	struct perf_event_attr calls = live_sys_enter();
	struct attar_target *target = live_self();
	struct attar_counter *c;

	if (attar_counter_open(target, &calls, "sys_enter", 0, &c) < 0)
		fail_msg("%s", attar_error());
	attar_counter_close(c);
	attar_target_free(target);
}

static void test_text_poke_gives_patched_code(void **state)
{
	struct perf_event_attr attr = watch_silent;
	struct watch w;
	size_t found;

	live_need_root("see the kernel's code change");
	live_sys_enter();
	attr.text_poke = 1;
	watch_self(&w, &attr);
	patch_the_kernel();
	found = watch_count(&w, PERF_RECORD_TEXT_POKE, is_poke, NULL);
	watch_done(&w);
	if (!found && !kernel_writes(&attr, PERF_RECORD_TEXT_POKE, patch_the_kernel))
		live_skip("this kernel reports no changes of its code");
	assert_true(found > 0);
}

static bool is_switch(const struct attar_record *r, const void *out)
{
	return r->context_switch.out == *(const bool *)out && r->tid == (uint32_t)gettid();
}

static void test_context_switch_gives_a_switch(void **state)
{
	struct perf_event_attr attr = watch_silent;
	bool in = false, out = true;
	struct watch w;

	for (int both = 0; both < 2; both++) {
		attr.context_switch = 1;
		watch_self(&w, &attr);
		for (int i = 0; i < 23; i++)
			watch_doze();
		assert_true(
			watch_count(&w, PERF_RECORD_SWITCH, is_switch, both ? &in : &out) >= 23);
		watch_done(&w);
	}
}

static void new_uts(void)
{
	if (unshare(CLONE_NEWUTS) == 0)
		watch_rename();
}

/* The kernel numbers namespaces: 0 is the network's, 1 the host name's. */
static bool is_new_uts(const struct attar_record *r, const void *before)
{
	struct stat own;

	return r->namespaces.nr >= 6 && r->namespaces.links[1].inode != *(const ino_t *)before &&
	       stat("/proc/self/ns/net", &own) == 0 && r->namespaces.links[0].inode == own.st_ino;
}

static void test_namespaces_gives_a_new_namespace(void **state)
{
	struct perf_event_attr attr = watch_silent;
	struct child c;
	struct stat uts;
	struct watch w;

	live_need_root("make namespaces");
	assert_int_equal(stat("/proc/self/ns/uts", &uts), 0);
	c = child_new(new_uts);
	attr.namespaces = 1;
	watch_target(&w, child_target(&c), &attr);
	child_run(&c);
	assert_int_equal(watch_count(&w, PERF_RECORD_NAMESPACES, is_new_uts, &uts.st_ino), 1);
	watch_done(&w);
}

/* Finds a cgroup hierarchy with perf's controller; false if there is none. */
static bool find_hierarchy(char *path)
{
	char line[512], type[32], options[256], where[256];
	FILE *mounts = fopen("/proc/self/mounts", "re");
	bool found = false;

	while (mounts && !found && fgets(line, sizeof(line), mounts))
		found = sscanf(line, "%*s %255s %31s %255s", where, type, options) == 3 &&
			((!strcmp(type, "cgroup") && strstr(options, "perf_event")) ||
				!strcmp(type, "cgroup2"));
	if (mounts)
		fclose(mounts);
	strcpy(path, where);
	return found;
}

static bool is_cgroup(const struct attar_record *r, const void *name)
{
	return strstr(r->cgroup.path, name) && r->cgroup.id;
}

static char group[320];

static void make_group(void)
{
	if (mkdir(group, 0755) == 0)
		rmdir(group);
}

static void test_cgroup_gives_a_new_cgroup(void **state)
{
	struct perf_event_attr attr = watch_silent;
	struct watch w;
	char name[32];
	size_t found;

	live_need_root("make control groups");
	if (!find_hierarchy(group))
		live_skip("no hierarchy of control groups is mounted");
	snprintf(name, sizeof(name), "/attar-records-%d", getpid());
	strcat(group, name);
	attr.cgroup = 1;
	watch_self(&w, &attr);
	make_group();
	found = watch_count(&w, PERF_RECORD_CGROUP, is_cgroup, name);
	watch_done(&w);
	if (!found && !kernel_writes(&attr, PERF_RECORD_CGROUP, make_group))
		live_skip("this kernel reports no new control groups");
	assert_int_equal(found, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_task_gives_fork_and_exit),
		cmocka_unit_test(test_inherit_stat_gives_counts_of_children),
		cmocka_unit_test(test_comm_gives_a_renamed_thread),
		cmocka_unit_test(test_comm_exec_marks_an_exec),
		cmocka_unit_test(test_remove_on_exec_ends_counting),
		cmocka_unit_test(test_inherit_thread_excludes_processes),
		cmocka_unit_test(test_mmap_and_mmap_data_give_mappings),
		cmocka_unit_test(test_mmap2_gives_the_inode),
		cmocka_unit_test(test_build_id_is_that_of_the_file),
		cmocka_unit_test(test_ksymbol_gives_a_bpf_program),
		cmocka_unit_test(test_bpf_event_gives_a_loaded_program),
		cmocka_unit_test(test_text_poke_gives_patched_code),
		cmocka_unit_test(test_context_switch_gives_a_switch),
		cmocka_unit_test(test_namespaces_gives_a_new_namespace),
		cmocka_unit_test(test_cgroup_gives_a_new_cgroup),
	};

	return cmocka_run_group_tests_name("perf_records", tests, NULL, NULL);
}
