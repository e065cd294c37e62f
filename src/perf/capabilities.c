/* SPDX-License-Identifier: MIT */
#include "perf/capabilities.h"

#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "base/rights.h"
#include "perf/kernel.h"
#include "perf/open.h"

/* CAP_SYS_ADMIN is needed where the kernel refuses uprobes without it. */
static const struct capability {
	const char *name;
	int number;
	const char *gives;
} capabilities[] = {
	{"cap_perfmon", CAP_PERFMON, "kernel and other users' processes"},
	{"cap_sys_ptrace", CAP_SYS_PTRACE, "symbols of other users' processes"},
	{"cap_syslog", CAP_SYSLOG, "kernel symbols"},
	{"cap_dac_read_search", CAP_DAC_READ_SEARCH, "tracepoints"},
	{"cap_bpf", CAP_BPF, "BPF"},
	{"cap_sys_admin", CAP_SYS_ADMIN, "uprobes"},
};

bool capabilities_refuse_probes(const char *kind)
{
	/* An address that cannot be read: the kernel looks at it after the capabilities. */
	union uapi_attr attr = {.attr = {.disabled = 1, .config1 = 1}};
	char path[128];
	int64_t type;
	int fd;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", kind);
	if (file_read_i64(path, &type) < 0)
		return false;
	attr.attr.type = (uint32_t)type;
	fd = open_event(&attr, 0, -1, -1, 0);
	if (fd >= 0)
		close(fd);
	return fd == -EACCES || fd == -EPERM;
}

bool capabilities_has(int number)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {0};

	if (kernel_get()->user_namespace || syscall(SYS_capget, &header, data) < 0)
		return false;
	if (number >= CAP_PERFMON && data[0].effective >> CAP_SYS_ADMIN & 1)
		return true;
	return data[number / 32].effective >> (number % 32) & 1;
}

static bool is_missing(const struct capability *c)
{
	if (c->number == CAP_SYS_ADMIN && !capabilities_refuse_probes("uprobe"))
		return false;
	return !capabilities_has(c->number);
}

bool capabilities_list_missing(struct buf *names, struct buf *detail)
{
	for (size_t i = 0; i < ARRAY_SIZE(capabilities); i++) {
		const struct capability *c = &capabilities[i];

		if (!is_missing(c))
			continue;
		buf_printf(names, "%s%s", names->len ? "," : "", c->name);
		if (detail)
			buf_printf(detail, "%s%s (%s)", detail->len ? ", " : "without ", c->name,
				c->gives);
	}
	return names->len > 0;
}

/* What to do if it is not to give the program capabilities. Returns false if it is. */
static bool add_other_fix(struct buf *b, const struct buf *names)
{
	if (!names->len)
		buf_str(b, "run attar as root");
	else if (kernel_get()->user_namespace)
		buf_printf(b, "run it outside this user namespace, with %s", buf_text(names));
	return !names->len || kernel_get()->user_namespace;
}

/* To change the group of a program takes its capabilities away: they are given last. */
void capabilities_add_commands(struct buf *b)
{
	struct buf names _cleanup_(buf_done) = {0};
	char program[4096];

	capabilities_list_missing(&names, NULL);
	if (add_other_fix(b, &names))
		return;
	file_of_program(program, sizeof(program));
	buf_printf(b,
		"groupadd -f attar && chgrp attar %s && chmod 750 %s && setcap %s=ep %s "
		"# members of this group are then as powerful as root",
		program, program, buf_text(&names), program);
}

void capabilities_add_hint(struct buf *b)
{
	struct buf names _cleanup_(buf_done) = {0};

	capabilities_list_missing(&names, NULL);
	if (!add_other_fix(b, &names))
		buf_printf(b, "let a group run attar with %s ('attar doctor' shows the commands)",
			buf_text(&names));
}
