/* SPDX-License-Identifier: MIT */
#include "run/parts/target_names.h"

#include <fnmatch.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attar/builtin.h"
#include "base/file.h"
#include "base/proc.h"
#include "base/map.h"
#include "base/proc_tree.h"
#include "base/scan_budget.h"
#include "expr/expr.h"
#include "names/group_names.h"
#include "run/parts/names.h"
#include "run/run.h"
#include "stream/procs.h"

enum {
	LINK_BYTES = 64,
	TABLE_MAX = 16 << 20,
	PORT_MAX = 65536,
	COMM_BYTES = 64,
	SCAN_USER_NS = 100000000
};

/* Whether one of the patterns, separated by commas, matches. */
static bool is_named(const char *patterns, const char *text)
{
	for (const char *end; patterns && *text; patterns = *end ? end + 1 : NULL) {
		end = strchrnul(patterns, ',');
		if (expr_glob(patterns, (size_t)(end - patterns), text, strlen(text)))
			return true;
	}
	return false;
}

/* The first option that names a target, such as "--comm"; NULL: none. */
static const char *option_of(const struct common_opts *opts)
{
	return opts->comms              ? "--comm"
	       : opts->containers       ? "--container"
	       : opts->pods             ? "--pod"
	       : opts->units            ? "--unit"
	       : opts->recorded_cgroups ? "--cgroups"
	       : opts->ports            ? "--port"
					: NULL;
}

static bool has_groups(const struct common_opts *opts)
{
	return opts->containers || opts->pods || opts->units || opts->recorded_cgroups;
}

/* ---- who listens to a port ---- */

struct listeners {
	parse_ints ports;
	struct map spaces, inodes; /* network namespaces that were read; sockets */
	struct scan_budget scans;
};

/* Lines of /proc/PID/net/tcp: "0: ADDRESS:PORT REMOTE:PORT STATE ... INODE" */
static int read_table(struct listeners *l, pid_t pid, const char *name, unsigned listens)
{
	struct buf text _cleanup_(buf_done) = {0};
	char path[LINK_BYTES], *line, *rest;

	snprintf(path, sizeof(path), "/proc/%d/net/%s", pid, name);
	if (file_read(path, TABLE_MAX, &text) < 0 || !text.len) {
		attar_error_clear();
		return 0;
	}
	for (line = strtok_r(text.data, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		unsigned long long inode;
		unsigned port, state;

		if (sscanf(line, "%*d: %*[0-9A-F]:%x %*[0-9A-F]:%*x %x %*s %*s %*s %*d %*d %llu",
			    &port, &state, &inode) == 3 &&
			state == listens && parse_ints_have(&l->ports, (int)port) &&
			map_put(&l->inodes, inode, 1) < 0)
			return base_oom();
	}
	return 0;
}

static int read_space(struct listeners *l, pid_t pid)
{
	enum { LISTENS = 0x0a, UNCONNECTED = 0x07 };
	char path[LINK_BYTES];
	struct stat st;
	int r;

	snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
	if (stat(path, &st) < 0 || map_get(&l->spaces, st.st_ino))
		return 0;
	if (map_put(&l->spaces, st.st_ino, 1) < 0)
		return base_oom();
	r = read_table(l, pid, "tcp", LISTENS);
	if (r == 0)
		r = read_table(l, pid, "tcp6", LISTENS);
	if (r == 0)
		r = read_table(l, pid, "udp", UNCONNECTED);
	return r == 0 ? read_table(l, pid, "udp6", UNCONNECTED) : r;
}

static int read_space_of(void *ctx, int pid)
{
	struct listeners *l = ctx;
	int r;

	if (!scan_budget_begin(&l->scans, pid))
		return 0;
	r = read_space(l, pid);
	scan_budget_end(&l->scans, pid);
	return r;
}

struct socket_search {
	struct listeners *listeners;
	pid_t pid;
	bool is_found;
};

static int look_at_fd(void *ctx, int fd)
{
	struct socket_search *search = ctx;
	char path[LINK_BYTES], link[LINK_BYTES] = "";
	unsigned long long inode;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", search->pid, fd);
	search->is_found |= readlink(path, link, sizeof(link) - 1) > 0 &&
			    sscanf(link, "socket:[%llu]", &inode) == 1 &&
			    map_get(&search->listeners->inodes, inode);
	return search->is_found;
}

static bool is_listening(struct listeners *l, pid_t pid)
{
	struct socket_search search = {l, pid, false};

	if (!l->inodes.n)
		return false;
	scan_budget_each_fd(&l->scans, pid, look_at_fd, &search);
	attar_error_clear();
	return search.is_found;
}

/* ---- at the start ---- */

struct finding {
	struct attar_run *run;
	struct listeners listeners;
	parse_ints pids;
};

static bool has_comm(const char *patterns, pid_t pid)
{
	struct buf text _cleanup_(buf_done) = {0};
	char path[LINK_BYTES];

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	if (!patterns || proc_read_line(path, &text) < 0 || !text.len)
		return false;
	text.data[text.len - 1] = '\0'; /* the newline */
	return is_named(patterns, buf_text(&text));
}

/* A name without a namespace is the name of a pod in any namespace. */
static bool is_pod(const char *patterns, const char *text)
{
	const char *slash = strchr(text, '/');

	return is_named(patterns, text) || (slash && is_named(patterns, slash + 1));
}

static bool is_in(
	const struct attar_run *run, const char *patterns, enum run_name kind, uint32_t group)
{
	const char *plain = patterns ? names_plain(run, kind, group) : "";

	if (kind == RUN_NAME_POD)
		return is_pod(patterns, plain);
	return is_named(patterns, plain) ||
	       (patterns && is_named(patterns, run_group_text(run, kind, group)));
}

/* Whether the pattern, with the wildcards of glob(7), matches the path or a group above it. */
static bool is_below(const char *pattern, const char *path)
{
	char group[GROUP_PATH_MAX];

	for (size_t n = strcspn(path + 1, "/") + 1;; n += strcspn(path + n + 1, "/") + 1) {
		snprintf(group, sizeof(group), "%.*s", (int)n, path);
		if (fnmatch(pattern, group, FNM_PATHNAME | FNM_PERIOD) == 0)
			return true;
		if (!path[n])
			break;
	}
	return false;
}

/* Of the list of --cgroups, whose names may begin and end with a slash, or not. */
static bool is_in_groups(const char *list, const char *path)
{
	char pattern[GROUP_PATH_MAX];

	for (const char *end; list && *path; list = *end ? end + 1 : NULL) {
		int n;

		list += strspn(list, "/");
		end = strchrnul(list, ',');
		for (n = (int)(end - list); n > 0 && list[n - 1] == '/';)
			n--;
		snprintf(pattern, sizeof(pattern), "/%.*s", n, list);
		if (!n || is_below(pattern, path))
			return true;
	}
	return false;
}

/* Of one of the options. */
static bool is_in_named(const struct attar_run *run, uint32_t group)
{
	const struct common_opts *o = &run->opts;

	return is_in(run, o->containers, RUN_NAME_CONTAINER, group) ||
	       is_in(run, o->pods, RUN_NAME_POD, group) ||
	       is_in(run, o->units, RUN_NAME_UNIT, group) ||
	       is_in_groups(o->recorded_cgroups, run_group_text(run, RUN_NAME_CGROUP, group));
}

static int look_at(void *ctx, int pid)
{
	struct finding *finding = ctx;
	const struct common_opts *o = &finding->run->opts;

	if (pid == getpid())
		return 0;
	if (!has_comm(o->comms, pid) &&
		!(has_groups(o) &&
			is_in_named(finding->run, names_group_of_process(finding->run, pid))) &&
		!is_listening(&finding->listeners, pid))
		return 0;
	return vec_push(&finding->pids, pid) < 0 ? base_oom() : 0;
}

static int keep_pids(struct attar_run *run, const parse_ints *pids)
{
	struct buf list _cleanup_(buf_done) = {0};

	if (run->opts.pids)
		buf_printf(&list, "%s%s", run->opts.pids, pids->n ? "," : "");
	buf_list(&list, pids->at, pids->n);
	if (!list.len && !buf_failed(&list))
		return 0;
	run->opts.pids = buf_failed(&list) ? NULL : intern_text(&run->texts, buf_text(&list));
	return run->opts.pids ? 0 : base_oom();
}

static int check_conflicts(const struct attar_run *run, const char *option)
{
	const struct common_opts *o = &run->opts;
	const char *other = run->command.argv       ? "a command"
			    : o->all_cpus           ? "--all-cpus"
			    : o->cgroups            ? "--cgroups"
			    : o->ports && o->input  ? "--input"
			    : o->pull || o->pulls.n ? "--pull"
						    : NULL;

	return other ? attar_fail(-EINVAL, "%s conflicts with %s", option, other) : 0;
}

/* A recording has paths, which are compared as other names are. */
static int take_recorded_cgroups(struct common_opts *o)
{
	if (!o->input || o->pull || !o->cgroups)
		return 0;
	if (o->pids || o->tids)
		return attar_fail(-EINVAL, "--cgroups conflicts with --pids and --tids");
	o->recorded_cgroups = o->cgroups;
	o->cgroups = NULL;
	return 0;
}

int target_names_find(struct attar_run *run)
{
	int r = take_recorded_cgroups(&run->opts);
	const char *option = option_of(&run->opts);
	struct finding finding = {.run = run,
		.listeners.scans = {.what = "open files and connections",
			.effect = "some that listen may be left out",
			.user_ns = SCAN_USER_NS}};

	if (r == 0 && option)
		r = check_conflicts(run, option);
	if (r < 0 || !option)
		return r;
	run->select.has_names = true;
	names_begin(run);
	if (run->opts.input)
		return 0;
	if (run->opts.ports)
		r = parse_list(run->opts.ports, PORT_MAX, &finding.listeners.ports);
	if (r < 0)
		return attar_context(r, "--port");
	if (run->opts.ports)
		r = proc_each_process(read_space_of, &finding.listeners);
	if (r == 0 && has_groups(&run->opts))
		r = names_read_all(run);
	if (r == 0)
		r = proc_each_process(look_at, &finding);
	if (r == 0)
		r = keep_pids(run, &finding.pids);
	vec_done(&finding.listeners.ports);
	map_done(&finding.listeners.spaces);
	map_done(&finding.listeners.inodes);
	vec_done(&finding.pids);
	return r;
}

int target_names_check(const struct attar_run *run)
{
	const struct common_opts *o = &run->opts;
	const char *option = option_of(o);
	const char *value = o->comms ?: o->containers ?: o->pods ?: o->units;

	if (!run->select.has_names || run->replay || o->pids || o->tids ||
		(run->select.is_on && value))
		return 0;
	return attar_fail(-ESRCH, "%s: no process matches '%s'" ATTAR_FIX "start it first", option,
		value ?: o->ports);
}

/* ---- later ---- */

/* That a process is in none is decided again when something has changed. */
bool target_names_have(const struct attar_run *run, struct attar_process *process)
{
	const struct common_opts *o = &run->opts;
	const struct attar_thread *thread = attar_run_thread(run, process->pid);
	struct process *p = (struct process *)process;
	uint64_t state;

	if (is_named(o->comms, process->comm ?: ""))
		return true;
	if (!thread || !has_groups(o))
		return false;
	state = names_state(run, thread);
	if (p->unnamed == state)
		return false;
	if (is_in_named(run, run_group_of(run, thread)))
		return true;
	p->unnamed = state;
	return false;
}
