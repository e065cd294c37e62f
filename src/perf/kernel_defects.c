/* SPDX-License-Identifier: MIT */
#include "perf/kernel_defects.h"

#include <stdio.h>

#include "base/file.h"

#if defined(__x86_64__)
enum { IS_X86 = true };
#else
enum { IS_X86 = false };
#endif

static const struct kernel_defect_info defects[DEFECT_COUNT] = {
	[DEFECT_STACKS_BESIDE_UPROBES] = {KERNEL_VERSION_OF(6, 6), KERNEL_VERSION_OF(6, 12), true,
		"can panic when user stacks are sampled while uprobes are in use",
		"--no-user-callchain"},
	[DEFECT_CLOCK_REFRESH] = {KERNEL_VERSION_OF(6, 16), KERNEL_VERSION_OF(6, 17), false,
		"can hang when a clock is disabled by its last overflow",
		"count the samples of the event instead"},
	[DEFECT_RETURN_PROBES_SECCOMP] = {KERNEL_VERSION_OF(6, 11), KERNEL_VERSION_OF(6, 13), true,
		"kills programs under a seccomp filter when a function with a return probe "
		"(uretprobe) returns",
		"probe the entry of the function (uprobe)"},
};

const struct kernel_defect_info *kernel_defect_info(enum kernel_defect defect)
{
	return &defects[defect];
}

bool kernel_may_have(const struct kernel *kernel, enum kernel_defect defect)
{
	const struct kernel_defect_info *info = &defects[defect];

	return kernel->version >= info->first && kernel->version <= info->last &&
	       (IS_X86 || !info->x86_only);
}

/* Source: sched_proxy_exec= in Documentation/admin-guide/kernel-parameters.txt; default: on. */
bool proxy_execution_is_on(const char *command_line, const char *config)
{
	static const char name[] = "sched_proxy_exec=";
	const char *set = strstr(command_line, name);

	if (set) {
		set += sizeof(name) - 1;
		return *set == '1' || *set == 'y' || *set == 'Y' || !strncmp(set, "on", 2);
	}
	return config && strstr(config, "\nCONFIG_SCHED_PROXY_EXEC=y\n");
}

bool kernel_has_proxy_execution(const struct kernel *kernel)
{
	struct buf line _cleanup_(buf_done) = {0}, config _cleanup_(buf_done) = {0};
	char path[128];
	bool has_config;

	if (kernel->version < KERNEL_VERSION_OF(6, 17))
		return false;
	snprintf(path, sizeof(path), "/boot/config-%s", kernel->release);
	file_read("/proc/cmdline", 65536, &line);
	has_config = file_read(path, 4 << 20, &config) == 0;
	attar_error_clear();
	return proxy_execution_is_on(buf_text(&line), has_config ? buf_text(&config) : NULL);
}
