/* SPDX-License-Identifier: MIT */
#include "perf/kernel.h"

#include <pthread.h>
#include <stdio.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include "base/file.h"

#ifndef CAP_PERFMON
#define CAP_PERFMON 38 /* 5.8 */
#endif

/* Source: PROC_USER_INIT_INO in linux/proc_ns.h, the inode of the first user namespace. */
enum { USER_NAMESPACE_FIRST = (int)0xeffffffd };

static bool in_user_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/user", &st) == 0 && st.st_ino != (uint32_t)USER_NAMESPACE_FIRST;
}

static bool has_capability(int cap)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {0};

	if (syscall(SYS_capget, &header, data) < 0)
		return false;
	return data[cap / 32].effective >> (cap % 32) & 1;
}

static int64_t sysctl_i64(const char *path, int64_t otherwise)
{
	int64_t value;

	return file_read_i64(path, &value) < 0 ? otherwise : value;
}

/* The last number of "0-3" or "0-3,8" plus one. */
static int cpus_possible(void)
{
	struct buf b _cleanup_(buf_done) = {0};
	const char *last;

	if (file_read("/sys/devices/system/cpu/possible", 4096, &b) < 0)
		return (int)sysconf(_SC_NPROCESSORS_CONF);
	last = strpbrk(buf_text(&b), "-,");
	for (const char *p = last; p; p = strpbrk(p + 1, "-,"))
		last = p;
	return atoi(last ? last + 1 : buf_text(&b)) + 1;
}

void kernel_read_settings(struct kernel *k)
{
	struct utsname name = {0};
	int major = 0, minor = 0;

	*k = (struct kernel){0};
	uname(&name);
	sscanf(name.release, "%d.%d", &major, &minor);
	k->version = KERNEL_VERSION_OF(major, minor);
	memcpy(k->release, name.release, sizeof(k->release) - 1);
	k->paranoid = sysctl_i64("/proc/sys/kernel/perf_event_paranoid", INT64_MIN);
	k->max_sample_rate = sysctl_i64("/proc/sys/kernel/perf_event_max_sample_rate", 100000);
	k->mlock_kb = sysctl_i64("/proc/sys/kernel/perf_event_mlock_kb", 516);
	k->max_stack = sysctl_i64("/proc/sys/kernel/perf_event_max_stack", 127);
	k->user_namespace = in_user_namespace();
	k->sys_admin = !k->user_namespace && has_capability(CAP_SYS_ADMIN);
	k->sys_ptrace = !k->user_namespace && has_capability(CAP_SYS_PTRACE);
	k->ipc_lock = !k->user_namespace && has_capability(CAP_IPC_LOCK);
	k->perfmon = k->sys_admin || (!k->user_namespace && has_capability(CAP_PERFMON));
	k->cpus_possible = cpus_possible();
	attar_error_clear();
}

static struct kernel cached;

static void read_settings(void)
{
	kernel_read_settings(&cached);
}

const struct kernel *kernel_get(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_settings);
	return &cached;
}
