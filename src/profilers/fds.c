/* SPDX-License-Identifier: MIT */
/* fds: processes near the limit of their open files, those that open more and more, and what. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "attar/builtin.h"
#include "attar/keytable.h"
#include "overview/usage.h"

enum { ROWS = 20, TEXT = 256, LINKS_MAX = 65536, PATHS_MAX = 4096 };

#define DURATION UINT64_C(5000000000)

struct fds {
	struct usage_readings usage;
	uint64_t cut; /* processes with more descriptors than are looked at */
};

/* What a process has open: by kind, and the target that most descriptors have. */
enum kind { KIND_FILE, KIND_SOCKET, KIND_PIPE, KIND_EVENT, KIND_DEVICE, KIND_OTHER, KINDS };

struct opened {
	uint64_t kinds[KINDS];
	uint64_t most;
	char target[TEXT];
};

struct row {
	const struct usage *now;
	uint64_t limit, growth; /* 0: none, or unknown */
	double share;           /* percent of the limit */
};

/* ---- descriptors ---- */

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static enum kind kind_of(const char *target)
{
	if (begins(target, "socket:"))
		return KIND_SOCKET;
	if (begins(target, "pipe:"))
		return KIND_PIPE;
	if (begins(target, "anon_inode:"))
		return KIND_EVENT;
	if (begins(target, "/dev/") && !begins(target, "/dev/shm/"))
		return KIND_DEVICE;
	return *target == '/' ? KIND_FILE : KIND_OTHER;
}

/* Sockets and pipes have a number each: only files are compared. */
static int add_link(struct opened *opened, struct attar_keytable *paths, const char *target)
{
	size_t n = strlen(target);
	struct attar_keyrow *row;
	enum kind kind = kind_of(target);

	opened->kinds[kind]++;
	if (kind == KIND_SOCKET || kind == KIND_PIPE)
		return 0;
	row = attar_keytable_at(paths, target, n < ATTAR_KEY_MAX ? n : ATTAR_KEY_MAX);
	if (!row)
		return -ENOMEM;
	row->interval.sums[0]++;
	return 0;
}

static int read_links(struct fds *f, struct attar_run *run, pid_t pid, struct opened *opened,
	struct attar_keytable *paths)
{
	char path[32], target[TEXT];
	const struct dirent *entry;
	size_t links = 0;
	int r = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = run_scan_begin(run, pid) ? opendir(path) : NULL;
	while (dir && r == 0 && (entry = readdir(dir))) {
		ssize_t n = *entry->d_name == '.' ? -1
						  : readlinkat(dirfd(dir), entry->d_name, target,
							    sizeof(target) - 1);

		if (n < 0)
			continue;
		if (links++ == LINKS_MAX || !run_scan_goes_on(run, pid)) {
			f->cut++;
			break;
		}
		target[n] = '\0';
		r = add_link(opened, paths, target);
	}
	if (dir)
		closedir(dir);
	run_scan_end(run, pid);
	return r;
}

static int look(struct fds *f, struct attar_run *run, pid_t pid, struct opened *ret_opened)
{
	const struct attar_keytable_opts opts = {
		.size = sizeof(opts), .sums = 1, .key_max = ATTAR_KEY_MAX, .keys_max = PATHS_MAX};
	struct attar_keytable *paths = NULL;
	struct attar_keyrow *most;
	int r = attar_keytable_new(&opts, &paths);

	*ret_opened = (struct opened){0};
	if (r == 0)
		r = read_links(f, run, pid, ret_opened, paths);
	if (r == 0)
		r = attar_keytable_end_interval(paths);
	if (r == 0 && attar_keytable_top(paths, ATTAR_SCOPE_WHOLE, 0, &most, 1)) {
		ret_opened->most = most->whole.sums[0];
		snprintf(ret_opened->target, TEXT, "%.*s", (int)most->key_size,
			(const char *)most->key);
	}
	attar_keytable_free(paths);
	return r;
}

static void describe(const struct opened *opened, char text[TEXT])
{
	static const char *const names[KINDS][2] = {{"file", "files"}, {"socket", "sockets"},
		{"pipe", "pipes"}, {"epoll or event", "epolls and events"}, {"device", "devices"},
		{"other", "others"}};
	bool shown[KINDS] = {false};
	size_t len = 0;

	*text = '\0';
	for (size_t i = 0; i < KINDS; i++) {
		size_t most = KINDS;

		for (size_t k = 0; k < KINDS; k++)
			if (!shown[k] && opened->kinds[k] &&
				(most == KINDS || opened->kinds[k] > opened->kinds[most]))
				most = k;
		if (most == KINDS || len >= TEXT)
			return;
		shown[most] = true;
		len += (size_t)snprintf(text + len, TEXT - len, "%s%llu %s", len ? ", " : "",
			(unsigned long long)opened->kinds[most],
			names[most][opened->kinds[most] != 1]);
	}
}

/* ---- reports ---- */

static uint64_t limit_of(pid_t pid)
{
	struct rlimit limit;

	return prlimit(pid, RLIMIT_NOFILE, NULL, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY
		       ? limit.rlim_cur
		       : 0;
}

static int by_share(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return (x->share < y->share) - (x->share > y->share);
}

static int by_growth(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return (x->growth < y->growth) - (x->growth > y->growth);
}

static int add_row(struct fds *f, struct attar_run *run, struct attar_section *table,
	const struct row *row, double seconds)
{
	struct opened opened;
	char text[TEXT + 32];
	int r = look(f, run, row->now->pid, &opened);

	if (r < 0)
		return r;
	attar_section_row(table);
	attar_cell_text(table, row->now->comm);
	attar_cell_u64(table, (uint64_t)row->now->pid);
	attar_cell_u64(table, row->now->descriptors);
	if (row->limit)
		attar_cell_u64(table, row->limit);
	else
		attar_cell_none(table);
	attar_cell_double(table, row->share);
	attar_cell_u64(table, row->growth);
	attar_cell_double(table, seconds > 0 ? (double)row->growth / seconds : 0);
	describe(&opened, text);
	attar_cell_text(table, text);
	*text = '\0';
	if (opened.most > 1)
		snprintf(text, sizeof(text), "%s (%llu)", opened.target,
			(unsigned long long)opened.most);
	attar_cell_text(table, text);
	return 0;
}

static int add_table(struct fds *f, struct attar_run *run, struct attar_report *report,
	const char *name, const struct row *rows, size_t n, double seconds)
{
	struct attar_section *table = attar_report_table(report, name);
	int r = 0;

	attar_section_column(table, "comm", ATTAR_UNIT_TEXT);
	attar_section_column(table, "pid", ATTAR_UNIT_ID);
	attar_section_column(table, "open", ATTAR_UNIT_COUNT);
	attar_section_column(table, "limit", ATTAR_UNIT_COUNT);
	attar_section_column(table, "used", ATTAR_UNIT_PERCENT);
	attar_section_column(table, "growth", ATTAR_UNIT_COUNT);
	attar_section_column(table, "per second", ATTAR_UNIT_COUNT);
	attar_section_column(table, "what", ATTAR_UNIT_TEXT);
	attar_section_main(table);
	attar_section_column(table, "most often", ATTAR_UNIT_TEXT);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = add_row(f, run, table, &rows[i], seconds);
	return r;
}

static const struct usages *reading_before(const struct fds *f, enum attar_scope scope)
{
	return scope == ATTAR_SCOPE_WHOLE || !f->usage.last.time ? &f->usage.began : &f->usage.last;
}

static size_t make_rows(const struct fds *f, const struct usages *before, struct row *rows)
{
	const struct usages *now = &f->usage.now;
	size_t n = 0;

	for (size_t i = 0; i < now->n; i++) {
		const struct usage *usage = &now->at[i], *same = usages_same(before, usage);
		struct row row = {.now = usage};

		if (!usage->is_selected || !usage->descriptors)
			continue;
		row.limit = limit_of(usage->pid);
		row.share = row.limit ? (double)usage->descriptors / (double)row.limit * 100 : 0;
		if (same && usage->descriptors > same->descriptors)
			row.growth = usage->descriptors - same->descriptors;
		rows[n++] = row;
	}
	return n;
}

static int fds_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct fds *f = self;
	const struct usages *before;
	struct row *rows;
	double seconds;
	size_t n, growing = 0;
	int r = usage_report(run, &f->usage);

	if (r < 0)
		return r;
	before = reading_before(f, scope);
	seconds = (double)(f->usage.now.time - before->time) / 1e9;
	rows = calloc(f->usage.now.n + 1, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	n = make_rows(f, before, rows);
	qsort(rows, n, sizeof(*rows), by_growth);
	while (growing < n && growing < ROWS && rows[growing].growth)
		growing++;
	r = add_table(f, run, report, "growing", rows, growing, seconds);
	qsort(rows, n, sizeof(*rows), by_share);
	if (r == 0)
		r = add_table(f, run, report, "nearest to their limit", rows, n < ROWS ? n : ROWS,
			seconds);
	if (f->cut)
		attar_report_remark(report,
			"only a part of the descriptors of %llu process%s was looked at, to limit "
			"the time: more of each kind may be open",
			(unsigned long long)f->cut, f->cut == 1 ? "" : "es");
	f->cut = 0;
	free(rows);
	return r;
}

/* ---- life ---- */

static int fds_turn(struct attar_run *run, void *self)
{
	struct fds *f = self;

	return f->usage.began.time ? 0 : usage_turn(run, &f->usage);
}

/*
 * The processes are the ones in /proc. The event makes the run know which tasks the options select.
 */
static int ignore(struct attar_run *run, void *self, const struct attar_event *ev)
{
	(void)run, (void)self, (void)ev;
	return 0;
}

static int fds_open(struct attar_run *run, void *self)
{
	int r = attar_run_select_tasks(run);

	(void)self;
	if (r == 0)
		r = attar_run_events(run, "sched:sched_process_exit", false, ignore);
	return r == 0 ? run_default_duration(run, DURATION) : r;
}

static void fds_close(void *self)
{
	usage_done(&((struct fds *)self)->usage);
}

static const struct attar_option options[] = {{0}};

static const struct attar_example examples[] = {{"fds", "all processes, for five seconds"},
	{"fds -p 1234 -i 10s", "how many a process opens more, every ten seconds"}, {0}};

const struct attar_profiler profiler_fds = {
	.name = "fds",
	.group = "Processes",
	.summary = "open files and sockets: processes near their limit, and those that open more",
	.needs = "perf events, whole system, tracefs!",
	.self_size = sizeof(struct fds),
	.options = options,
	.examples = examples,
	.open = fds_open,
	.turn = fds_turn,
	.report = fds_report,
	.close = fds_close,
};
