/* SPDX-License-Identifier: MIT */
/*
 * Records with the names and mappings of what exists when a file begins: the kernel, its modules,
 * and processes. The first file has what /proc says about processes, the ones that follow have what
 * the records so far say. Later, what /proc says is added again when records are missing.
 */
#include <limits.h>
#include <stdio.h>
#include <sys/mman.h>

#include "base/file.h"
#include "base/proc.h"
#include "perfdata/running_kernel.h"
#include "perfdata/task_records.h"
#include "perfdata/writer_internal.h"
#include "symbol/maps.h"

enum {
	MODULES_MAX = 1 << 20,
	STATUS_MAX = 16 << 10,
	MAPPINGS_MAX = 4096,      /* of a process of a user other than root and the caller ... */
	SCAN_USER_NS = 200000000, /* ... if all processes are recorded */
	THREADS_USER_NS = 100000000,
	THREADS_AT_ONCE = 64, /* before a look at the time */
};

struct synthesis {
	struct recording_writer *w;
	struct buf *b;
	pid_t pid;
	bool data;       /* also mappings of data */
	bool file_data;  /* also mappings of data of files */
	bool is_later;   /* the recording has begun: records have a time */
	bool is_all;     /* all processes, not those that the caller has named */
	unsigned room;   /* for mappings of the process */
	size_t threads;  /* that were put */
	struct map done; /* pids */
};

static void put_header(
	const struct synthesis *s, uint32_t type, uint16_t misc, size_t fixed, const char *text)
{
	task_records_put_header(&s->w->layout, s->b, type, misc, fixed, text);
	s->w->stats.records++;
}

/* ---- the kernel ---- */

static void put_kernel_map(
	const struct synthesis *s, uint64_t start, uint64_t len, uint64_t pgoff, const char *name)
{
	put_header(s, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL, 32, name);
	writer_put_u32(s->b, UINT32_MAX); /* pid */
	writer_put_u32(s->b, 0);
	writer_put_u64(s->b, start);
	writer_put_u64(s->b, len);
	writer_put_u64(s->b, pgoff);
	task_records_put_text(&s->w->layout, s->b, name);
}

/*
 * perf moves the kernel's symbols by the difference between the address of _text in its file and
 * that in the record, which is in place of an offset. Without addresses there are no kernel
 * symbols.
 */
static void put_kernel(const struct synthesis *s)
{
	const struct kernel_code *code = running_kernel_code();

	if (code->start && code->end > code->start)
		put_kernel_map(s, code->start, code->end - code->start, code->start,
			"[kernel.kallsyms]_text");
}

/* Lines of /proc/modules: "ext4 1048576 2 mbcache,jbd2, Live 0xffffffffc0000000". */
static void put_modules(const struct synthesis *s)
{
	struct buf text _cleanup_(buf_done) = {0};
	char *line, *rest;

	if (file_read("/proc/modules", MODULES_MAX, &text) < 0 || !text.len)
		return;
	for (line = strtok_r(text.data, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		unsigned long long size, start;
		char name[64], bracketed[72];

		if (sscanf(line, "%63s %llu %*s %*s %*s %llx", name, &size, &start) != 3 || !start)
			continue;
		snprintf(bracketed, sizeof(bracketed), "[%s]", name);
		put_kernel_map(s, start, size, 0, bracketed);
	}
}

/* ---- processes ---- */

static int put_mapping(void *ctx, const struct attar_mapping *m, bool executable)
{
	struct synthesis *s = ctx;
	const char *path = *m->path ? m->path : "//anon";
	uint16_t misc = PERF_RECORD_MISC_USER;

	if (!executable && !s->data && !(s->file_data && *path == '/' && m->ino))
		return 0;
	if (!s->room)
		return -E2BIG;
	s->room--;
	if (!executable)
		misc |= PERF_RECORD_MISC_MMAP_DATA;
	put_header(s, PERF_RECORD_MMAP2, misc, 64, path);
	writer_put_u32(s->b, (uint32_t)s->pid);
	writer_put_u32(s->b, (uint32_t)s->pid);
	writer_put_u64(s->b, m->start);
	writer_put_u64(s->b, m->len);
	writer_put_u64(s->b, m->pgoff);
	writer_put_u32(s->b, m->maj);
	writer_put_u32(s->b, m->min);
	writer_put_u64(s->b, m->ino);
	writer_put_u64(s->b, 0); /* generation */
	writer_put_u32(s->b, executable ? PROT_READ | PROT_EXEC : PROT_READ | PROT_WRITE);
	writer_put_u32(s->b, MAP_PRIVATE);
	task_records_put_text(&s->w->layout, s->b, path);
	if (executable)
		writer_add_file(s->w, m);
	return 0;
}

static void put_fork(const struct synthesis *s, pid_t parent, pid_t tid, pid_t parent_tid)
{
	const struct attar_task fork = {.pid = (uint32_t)s->pid,
		.ppid = (uint32_t)parent,
		.tid = (uint32_t)tid,
		.ptid = (uint32_t)parent_tid};

	task_records_put_fork(&s->w->layout, s->b, &fork);
	s->w->stats.records++;
}

static void put_comm(const struct synthesis *s, pid_t tid)
{
	struct buf comm _cleanup_(buf_done) = {0};
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", s->pid, tid);
	if (proc_read_line(path, &comm) < 0 || !comm.len)
		return;
	if (comm.data[comm.len - 1] == '\n')
		comm.data[comm.len - 1] = '\0';
	task_records_put_comm(&s->w->layout, s->b, s->pid, tid, comm.data);
	s->w->stats.records++;
}

/* A thread without a name has the name of its process. */
static int put_thread(void *ctx, int tid)
{
	struct synthesis *s = ctx;

	if (s->is_all && ++s->threads % THREADS_AT_ONCE == 0 &&
		!scan_budget_goes_on(&s->w->thread_scans, s->pid))
		return 1;
	if (tid != s->pid && !s->is_later)
		put_fork(s, s->pid, tid, s->pid);
	put_comm(s, tid);
	return buf_failed(s->b) ? base_oom() : 0;
}

/* The value of a line such as "PPid:\t1" of /proc/PID/status; 0 if the process has ended. */
static pid_t status_number(pid_t pid, const char *key)
{
	struct buf text _cleanup_(buf_done) = {0};
	char path[64], *at;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (file_read(path, STATUS_MAX, &text) < 0 || !text.len)
		return 0;
	at = strstr(text.data, key);
	return at ? (pid_t)strtol(at + strlen(key), NULL, 10) : 0;
}

/* Without a clock that attar can read, the time of the newest sample. */
static uint64_t time_now(const struct recording_writer *w)
{
	vec_each (&w->events, event)
		if (!event->attr.attr.use_clockid)
			return w->last_time;
	return base_now();
}

/* Sets the time of the records from this position on. */
static void set_time(const struct synthesis *s, size_t from, uint64_t time)
{
	size_t back = (size_t)s->w->layout.back_time;
	const struct perf_event_header *header;

	for (size_t at = from; !buf_failed(s->b) && at < s->b->len; at += header->size) {
		header = (const void *)(s->b->data + at);
		memcpy(s->b->data + at + header->size - back, &time, sizeof(time));
	}
}

/* Other users can have any number of threads. */
static int put_threads(struct synthesis *s)
{
	struct scan_budget *scans = &s->w->thread_scans;
	int r;

	if (!s->is_all)
		return proc_each_thread(s->pid, put_thread, s);
	scans->user_ns = THREADS_USER_NS;
	scans->what = "names of threads";
	scans->effect = "some have the name of their process in the recording";
	if (!scan_budget_begin(scans, s->pid)) {
		put_comm(s, s->pid);
		return 0;
	}
	r = proc_each_thread(s->pid, put_thread, s);
	scan_budget_end(scans, s->pid);
	return MIN(r, 0);
}

/* Other users can have any number of processes with 65,000 mappings. */
static void put_mappings(struct synthesis *s)
{
	struct scan_budget *scans = &s->w->scans;
	uid_t uid;

	s->room = UINT_MAX;
	if (!s->is_all) {
		(void)maps_read(s->pid, put_mapping, s);
		return;
	}
	scans->user_ns = SCAN_USER_NS;
	scans->what = "mappings";
	scans->effect = "code in some of them has no names in the recording";
	if (proc_user(s->pid, &uid) && uid && uid != geteuid())
		s->room = MAPPINGS_MAX;
	if (!scan_budget_begin(scans, s->pid))
		return;
	if (maps_read(s->pid, put_mapping, s) == -E2BIG && !s->w->many_mappings) {
		log_note("process %d of the user with uid %u has more than %d mappings: code in "
			 "the others has no names in the recording, also of other such processes",
			s->pid, (unsigned)uid, MAPPINGS_MAX);
		s->w->many_mappings = true;
	}
	scan_budget_end(scans, s->pid);
}

/*
 * Later, a FORK record would make readers forget what they know of the threads. What happens while
 * the process is read has records that are newer than the time.
 */
static int put_process(void *ctx, int pid)
{
	struct synthesis *s = ctx;
	pid_t parent = s->is_later ? 0 : status_number(pid, "\nPPid:\t");
	uint64_t time = s->is_later ? time_now(s->w) : 0;
	size_t from = s->b->len;
	int r;

	s->pid = pid;
	if (!s->is_later)
		put_fork(s, parent, pid, parent);
	r = put_threads(s);
	/* Kernel threads have no mappings; others may end meanwhile. */
	if (r == 0)
		put_mappings(s);
	if (s->is_later)
		set_time(s, from, time);
	return buf_failed(s->b) ? base_oom() : 0;
}

static int put_listed(struct synthesis *s, pid_t tid)
{
	pid_t pid = status_number(tid, "\nTgid:\t");
	int r;

	if (!pid || map_get(&s->done, (uint64_t)pid))
		return 0;
	r = map_put(&s->done, (uint64_t)pid, 1);
	return r == 0 ? put_process(s, pid) : r;
}

/* What the system says. known: also these processes, whose records were followed. */
static int put_running(struct synthesis *s, const struct map *known)
{
	const struct recording_writer_opts *opts = &s->w->opts;
	int r = 0;

	s->is_all = opts->all_processes && !opts->n_pids;
	if (s->is_all)
		return proc_each_process(put_process, s);
	for (size_t i = 0; r == 0 && i < opts->n_pids; i++)
		r = put_listed(s, opts->pids[i]);
	map_each (known, it)
		if (r == 0)
			r = put_listed(s, (pid_t)it->key);
	return r;
}

/* After a loss of records, what was followed may be wrong. */
static int follow_running(struct synthesis *s, struct live_tasks *tasks)
{
	size_t from = s->b->len;
	int r = put_running(s, &tasks->processes);

	live_tasks_reset(tasks);
	if (!buf_failed(s->b) && writer_follows(s->w))
		live_tasks_apply(tasks, s->b->data + from, s->b->len - from);
	return r;
}

/* The event of side-band records has data for perf's unwinding, which reads files only. */
static void choose_data(struct synthesis *s, const struct perf_event_attr *attr)
{
	bool is_dummy = attr->type == PERF_TYPE_SOFTWARE && attr->config == PERF_COUNT_SW_DUMMY;

	s->data |= attr->mmap_data && !is_dummy;
	s->file_data |= attr->mmap_data && is_dummy;
}

static struct synthesis begin(struct recording_writer *w, struct buf *b)
{
	struct synthesis s = {.w = w, .b = b};

	vec_each (&w->events, event)
		choose_data(&s, &event->attr.attr);
	return s;
}

/* The tasks are known; their files have build IDs. */
static void put_followed(struct recording_writer *w, const struct live_tasks *tasks, struct buf *b)
{
	const struct perf_event_header *header;
	size_t at = b->len;

	w->stats.records += live_tasks_put(tasks, b);
	for (; !buf_failed(b) && at < b->len; at += header->size) {
		header = (const void *)(b->data + at);
		if (header->type == PERF_RECORD_MMAP || header->type == PERF_RECORD_MMAP2)
			writer_note_map(w, header);
	}
}

int writer_follow_tasks(struct recording_writer *w)
{
	struct buf records _cleanup_(buf_done) = {0};
	struct synthesis s = begin(w, &records);
	int r = follow_running(&s, &w->tasks);

	map_done(&s.done);
	return r == -ENOMEM || buf_failed(&records) ? -ENOMEM : w->tasks.failed;
}

int writer_put_tasks(struct recording_writer *w, struct buf *b)
{
	struct synthesis s = begin(w, b);
	int r = 0;

	put_kernel(&s);
	put_modules(&s);
	if (w->opts.tasks)
		put_followed(w, w->opts.tasks, b);
	else if (w->stats.files == 1 || w->tasks.is_stale)
		r = follow_running(&s, &w->tasks);
	else
		w->stats.records += live_tasks_put(&w->tasks, b);
	map_done(&s.done);
	return r == -ENOMEM || buf_failed(b) ? -ENOMEM : 0;
}

int writer_put_running(struct recording_writer *w, const pid_t *tids, size_t n, struct buf *b)
{
	struct synthesis s = begin(w, b);
	int r;

	s.is_later = true;
	r = put_running(&s, &w->tasks.processes);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = put_listed(&s, tids[i]);
	map_done(&s.done);
	return r == -ENOMEM || buf_failed(b) ? -ENOMEM : 0;
}
