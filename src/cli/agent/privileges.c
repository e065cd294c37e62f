/* SPDX-License-Identifier: MIT */
/*
 * The agent gives up all rights but the rights of its profilers. They are processes that execute
 * attar, so what they need is in the ambient set (Linux 4.3), and everything else is removed from
 * the bounding set. See capabilities(7).
 */
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/parse.h"
#include "base/rights.h"
#include "cli/agent/agent.h"

static const struct right {
	const char *name;
	unsigned number;
	bool always; /* kept without being named in the configuration */
} rights[] = {
	{"cap_perfmon", CAP_PERFMON, true},       /* events of the kernel and of all processes */
	{"cap_sys_ptrace", CAP_SYS_PTRACE, true}, /* /proc/PID/maps: symbols of processes */
	{"cap_syslog", CAP_SYSLOG, true},         /* /proc/kallsyms: symbols of the kernel */
	{"cap_dac_read_search", CAP_DAC_READ_SEARCH, true}, /* tracefs, binaries of others */
	{"cap_ipc_lock", CAP_IPC_LOCK, true}, /* rings larger than perf_event_mlock_kb */
	{"cap_bpf", CAP_BPF, false}, {"cap_sys_admin", CAP_SYS_ADMIN, false},
	{"cap_dac_override", CAP_DAC_OVERRIDE, false}, {"cap_kill", CAP_KILL, false},
	{"cap_net_bind_service", CAP_NET_BIND_SERVICE, false}, /* ports below 1024 */
};

static uint64_t bit(unsigned number)
{
	return UINT64_C(1) << number;
}

/* Before Linux 5.8, perf events require CAP_SYS_ADMIN. */
static uint64_t usual_rights(void)
{
	int64_t last = CAP_BPF;
	uint64_t set = 0;

	if (file_read_i64("/proc/sys/kernel/cap_last_cap", &last) < 0)
		attar_error_clear();
	for (size_t i = 0; i < ARRAY_SIZE(rights); i++)
		if (rights[i].always)
			set |= bit(rights[i].number);
	return last < CAP_PERFMON ? (set & ~bit(CAP_PERFMON)) | bit(CAP_SYS_ADMIN) : set;
}

static int unknown_right(const char *name)
{
	struct buf names _cleanup_(buf_done) = {0};

	for (size_t i = 0; i < ARRAY_SIZE(rights); i++)
		if (!rights[i].always)
			buf_printf(&names, "%s%s", names.len ? ", " : "", rights[i].name);
	return attar_fail(-EINVAL, "capabilities: '%s' cannot be kept" ATTAR_FIX "choose from %s",
		CLIP(name), buf_text(&names));
}

static int parse_rights(const char *list, uint64_t *set)
{
	while (list && *(list += strspn(list, ", "))) {
		size_t n = strcspn(list, ", "), i = 0;

		while (i < ARRAY_SIZE(rights) &&
			(strncmp(rights[i].name, list, n) != 0 || rights[i].name[n]))
			i++;
		if (i == ARRAY_SIZE(rights))
			return unknown_right(list);
		*set |= bit(rights[i].number);
		list += n;
	}
	return 0;
}

/*
 * Looks up a user in /etc/passwd only: the name services that getpwnam(3) uses are shared
 * libraries, which a static program does not have. A number is a uid; its gid is the gid of the
 * entry with this uid.
 */
static int find_user(const char *name, uid_t *ret_uid, gid_t *ret_gid)
{
	FILE *file = fopen("/etc/passwd", "re");
	struct passwd *entry;
	uint64_t number = 0;
	bool is_number = parse_u64(name, &number) == 0, found = false;

	attar_error_clear();
	while (file && !found && (entry = fgetpwent(file))) {
		found = is_number ? entry->pw_uid == number : !strcmp(entry->pw_name, name);
		*ret_uid = entry->pw_uid;
		*ret_gid = entry->pw_gid;
	}
	if (file)
		fclose(file);
	if (!found && is_number && number <= INT32_MAX) {
		*ret_uid = *ret_gid = (uid_t)number;
		found = true;
	}
	return found ? 0
		     : attar_fail(-ENOENT,
			       "user: '%s' is not in /etc/passwd" ATTAR_FIX
			       "create it, for example with adduser --system --no-create-home %s",
			       CLIP(name), CLIP(name));
}

int agent_rights_check(const char *user, const char *more)
{
	uint64_t set = 0;
	uid_t uid;
	gid_t gid;
	int r = parse_rights(more, &set);

	return r == 0 && user ? find_user(user, &uid, &gid) : r;
}

static int change_user(const char *name)
{
	uid_t uid;
	gid_t gid;
	int r = find_user(name, &uid, &gid);

	if (r < 0)
		return r;
	if (uid == geteuid())
		return 0;
	if (prctl(PR_SET_KEEPCAPS, 1L) < 0 || setgroups(0, NULL) < 0 ||
		setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
		return attar_fail(-EPERM,
			"user: cannot switch to '%s': %s" ATTAR_FIX
			"start the agent as root, or as that user",
			CLIP(name), strerror(errno));
	return 0;
}

static int set_rights(uint64_t keep)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {0};

	if (syscall(SYS_capget, &header, data) < 0)
		return attar_fail(-errno, "capget: %s", strerror(errno));
	for (int i = 0; i < 2; i++) {
		uint32_t set = data[i].permitted & (uint32_t)(keep >> 32 * i);

		data[i] = (struct __user_cap_data_struct){set, set, set};
	}
	if (syscall(SYS_capset, &header, data) < 0)
		return attar_fail(-errno, "capset: %s", strerror(errno));
	for (unsigned n = 0; n < 64; n++)
		if (data[n / 32].permitted >> n % 32 & 1)
			prctl(PR_CAP_AMBIENT, (long)PR_CAP_AMBIENT_RAISE, (long)n, 0L, 0L);
	return 0;
}

int agent_rights_drop(const char *user, const char *more)
{
	uint64_t keep = usual_rights();
	int r = parse_rights(more, &keep);

	/* Without CAP_SETPCAP, the process cannot gain what it lacks either: see no_new_privs. */
	for (unsigned n = 0; r == 0 && n < 64; n++)
		if (!(keep >> n & 1))
			prctl(PR_CAPBSET_DROP, (long)n, 0L, 0L, 0L);
	if (r == 0 && user)
		r = change_user(user);
	if (r == 0)
		r = set_rights(keep);
	if (r == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L) < 0)
		r = attar_fail(-errno, "no_new_privs: %s", strerror(errno));
	return r;
}
