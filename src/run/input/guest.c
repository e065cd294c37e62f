/* SPDX-License-Identifier: MIT */
/*
 * KVM's files in debugfs are in /sys/kernel/debug/kvm/PID-FD/vcpuN (virt/kvm/kvm_main.c, and
 * arch/x86/kvm/debugfs.c for the TSC).
 */
#include "run/input/guest.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/syscall.h>

#include "attar/builtin.h"
#include "base/file.h"
#include "base/parse.h"
#include "base/proc.h"
#include "base/scan_budget.h"

#define KVM_DIR "/sys/kernel/debug/kvm"

enum {
	ARGUMENTS_MAX = 1 << 20, /* bytes of a command line */
	VCPUS_MAX = 8192,        /* more than KVM allows */
	LINE_BYTES = 256,        /* bytes of a file about a thread */
	SCAN_USER_NS = 100000000,
};

/* ---- the process ---- */

/* The target of an open file of a process, such as "anon_inode:kvm-vm". */
static bool read_fd(pid_t pid, int fd, char *target, size_t max)
{
	char path[48];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
	n = readlink(path, target, max - 1);
	target[MAX(n, 0)] = '\0';
	return n > 0;
}

static int is_vm(void *ctx, int fd)
{
	char target[64];

	return read_fd(*(const pid_t *)ctx, fd, target, sizeof(target)) &&
	       !strcmp(target, "anon_inode:kvm-vm");
}

static int check_process(pid_t pid)
{
	int r = proc_each_fd(pid, is_vm, &pid);

	if (r == -EACCES)
		return attar_fail(r, "cannot read the open files of process %d" ATTAR_FIX "%s",
			(int)pid, proc_access_fix());
	if (r < 0)
		return r == -ENOENT ? attar_fail(-ESRCH, "there is no process %d", (int)pid) : r;
	return r ? 0 : attar_fail(-EINVAL, "process %d runs no KVM guest", (int)pid);
}

struct search {
	const char *uuid;
	pid_t found;
	struct scan_budget scans;
};

static int has_uuid(void *ctx, int pid)
{
	struct search *s = ctx;
	struct buf arguments _cleanup_(buf_done) = {0};
	const char *p, *end;
	bool follows = false;
	char path[32];

	/* reading the arguments of any process could take for ever, as its pages do */
	if (scan_budget_each_fd(&s->scans, pid, is_vm, &pid) <= 0) {
		attar_error_clear();
		return 0;
	}
	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	if (file_read(path, ARGUMENTS_MAX, &arguments) < 0) {
		attar_error_clear(); /* it has exited */
		return 0;
	}
	p = buf_text(&arguments);
	end = p + arguments.len;
	for (; p < end; p += strlen(p) + 1) {
		if (follows && !strcasecmp(p, s->uuid)) {
			s->found = pid;
			return 1;
		}
		follows = !strcmp(p, "-uuid") || !strcmp(p, "--uuid");
	}
	return 0;
}

static bool is_number(const char *text)
{
	return *text && text[strspn(text, "0123456789")] == '\0';
}

int guest_find(const char *text, pid_t *ret_pid)
{
	struct search search = {.uuid = text,
		.scans = {.what = "open files",
			.effect =
				"guests that they run may not be found: give the ID of the process",
			.user_ns = SCAN_USER_NS}};
	uint64_t number;
	int r;

	if (is_number(text)) {
		r = parse_u64(text, &number);
		if (r == 0)
			r = number && number <= INT32_MAX
				    ? check_process((pid_t)number)
				    : attar_fail(-ESRCH, "there is no process %s", text);
		*ret_pid = r == 0 ? (pid_t)number : 0;
		return r;
	}
	r = proc_each_process(has_uuid, &search);
	*ret_pid = search.found;
	if (r < 0)
		return r;
	return r ? 0
		 : attar_fail(-ESRCH,
			   "no process runs a KVM guest with -uuid %s" ATTAR_FIX
			   "give the ID of the process that runs the guest",
			   text);
}

/* ---- virtual CPUs ---- */

int guest_read_vcpu(pid_t pid, int vcpu, const char *file, int64_t *ret_value)
{
	DIR *dir = opendir(KVM_DIR);
	struct dirent *entry;
	char path[sizeof(KVM_DIR) + NAME_MAX + 64];
	int r = -ENOENT, of;

	if (!dir)
		return attar_fail(-errno,
			"cannot open " KVM_DIR ": %s" ATTAR_FIX
			"mount debugfs: mount -t debugfs nodev /sys/kernel/debug",
			strerror(errno));
	while (r < 0 && (entry = readdir(dir))) {
		if (sscanf(entry->d_name, "%d-", &of) != 1 || of != pid)
			continue;
		snprintf(path, sizeof(path), KVM_DIR "/%s/vcpu%d/%s", entry->d_name, vcpu, file);
		r = file_read_i64(path, ret_value);
	}
	closedir(dir);
	return r == -ENOENT ? attar_fail(r, KVM_DIR "/%d-*/vcpu%d/%s does not exist", (int)pid,
				      vcpu, file)
			    : r;
}

struct listing {
	pid_t pid;
	guest_vcpus *vcpus;
};

/* The CPU that a thread is bound to; -1: several. */
static int bound_cpu(pid_t tid)
{
	cpu_set_t set;

	if (sched_getaffinity(tid, sizeof(set), &set) < 0 || CPU_COUNT(&set) != 1)
		return -1;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set))
			return cpu;
	return -1;
}

static int add_vcpu(struct listing *l, int number, pid_t tid)
{
	if (number < 0 || number >= VCPUS_MAX)
		return 0;
	while (l->vcpus->n <= (size_t)number)
		if (vec_push(l->vcpus, ((struct attar_vcpu){.pid = l->pid, .cpu = -1})) < 0)
			return base_oom();
	l->vcpus->at[number].tid = tid;
	l->vcpus->at[number].cpu = bound_cpu(tid);
	return 0;
}

/* The virtual CPU that a thread runs at this moment, with ioctl(fd, KVM_RUN); -1: unknown. */
static int running_vcpu(pid_t pid, pid_t tid)
{
	struct buf text _cleanup_(buf_done) = {0};
	unsigned long call, fd, request;
	char path[64], target[64];
	int number;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", (int)pid, (int)tid);
	if (file_read(path, LINE_BYTES, &text) < 0 ||
		sscanf(buf_text(&text), "%lu %lx %lx", &call, &fd, &request) != 3 ||
		call != SYS_ioctl || request != KVM_RUN || fd > INT32_MAX ||
		!read_fd(pid, (int)fd, target, sizeof(target)) ||
		sscanf(target, "anon_inode:kvm-vcpu:%d", &number) != 1)
		return -1;
	return number;
}

/* By the names that QEMU, Firecracker and Cloud Hypervisor give these threads. */
static int named_vcpu(pid_t pid, pid_t tid)
{
	static const char *const names[] = {"CPU %d/KVM", "fc_vcpu %d", "vcpu%d"};
	struct buf text _cleanup_(buf_done) = {0};
	char path[64];
	int number;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", (int)pid, (int)tid);
	if (file_read(path, LINE_BYTES, &text) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (sscanf(buf_text(&text), names[i], &number) == 1)
			return number;
	return -1;
}

static int list_thread(void *ctx, int tid)
{
	struct listing *l = ctx;
	int number = running_vcpu(l->pid, tid);

	if (number < 0)
		number = named_vcpu(l->pid, tid);
	attar_error_clear();
	return number < 0 ? 0 : add_vcpu(l, number, tid);
}

/* Since Linux 6.1, KVM has a file with the thread. */
static int ask_kvm(struct listing *l)
{
	int64_t tid;
	int r = 0;

	for (int vcpu = 0; r == 0 && guest_read_vcpu(l->pid, vcpu, "pid", &tid) == 0; vcpu++)
		r = add_vcpu(l, vcpu, (pid_t)tid);
	if (r == 0)
		attar_error_clear();
	return r;
}

int guest_list_vcpus(pid_t pid, guest_vcpus *vcpus)
{
	struct listing l = {.pid = pid, .vcpus = vcpus};
	int r = ask_kvm(&l);

	if (r == 0 && !vcpus->n)
		r = proc_each_thread(pid, list_thread, &l);
	if (r < 0 || vcpus->n)
		return r;
	return attar_fail(-ESRCH,
		"cannot determine which threads of process %d run its virtual CPUs" ATTAR_FIX
		"mount debugfs: mount -t debugfs nodev /sys/kernel/debug",
		(int)pid);
}
