/* SPDX-License-Identifier: MIT */
/* Which processes have a file open, or memory mapped, that others wait for. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "base/file.h"
#include "base/proc.h"
#include "wait/wait.h"

enum { PATH_BYTES = 64, PIDS_MAX = 1024 };

/* ---- open files ---- */

struct scan {
	struct attar_waits *waits;
	wait_link_fn *fn;
	void *ctx;
	uint64_t until; /* ns of CPU time; 0: for ever */
	unsigned links; /* of all processes */
	struct wait_link link;
	unsigned n; /* files of this process */
};

static uint64_t cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int scan_fd(void *ctx, int fd)
{
	struct scan *scan = ctx;
	char name[16], text[PATH_MAX];
	ssize_t n;

	if (++scan->links > WAIT_LINKS_MAX || ++scan->n > WAIT_FILES_OF_PROCESS_MAX)
		return 1;
	snprintf(name, sizeof(name), "%d", fd);
	n = readlinkat(scan->link.dir, name, text, sizeof(text) - 1);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	scan->link.fd = fd;
	scan->link.name = name;
	scan->link.text = text;
	return scan->fn(scan->ctx, &scan->link);
}

static int scan_process(void *ctx, int pid)
{
	struct scan *scan = ctx;
	char path[PATH_BYTES];
	int r;

	if (!scan_budget_begin(&scan->waits->budget, pid))
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	scan->link.pid = pid;
	scan->link.dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (scan->link.dir < 0)
		return 0;
	scan->n = 0;
	r = proc_each_fd(pid, scan_fd, scan);
	close(scan->link.dir);
	scan_budget_end(&scan->waits->budget, pid);
	if (r == -ENOMEM)
		return r;
	if (r < 0) /* it has ended */
		attar_error_clear();
	return scan->links > WAIT_LINKS_MAX || (scan->until && cpu_time() > scan->until);
}

static int scan_all(struct scan *scan)
{
	int r = proc_each_process(scan_process, scan);

	return r < 0 ? r : 0;
}

int wait_each_link(struct attar_waits *waits, wait_link_fn *fn, void *ctx)
{
	return scan_all(&(struct scan){.waits = waits, .fn = fn, .ctx = ctx});
}

int wait_read_info(pid_t pid, int fd, struct buf *text)
{
	char path[PATH_BYTES];

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", (int)pid, fd);
	return proc_read_line(path, text);
}

int64_t wait_info_number(const char *info, const char *name)
{
	const char *at = strstr(info, name);

	return at ? strtoll(at + strlen(name), NULL, 10) : -1;
}

bool wait_identify(int dir, const char *path, uint64_t *ret_device, uint64_t *ret_inode)
{
	struct statx st;

	if (statx(dir, path, AT_STATX_DONT_SYNC, STATX_INO, &st) < 0)
		return false;
	*ret_device = makedev(st.stx_dev_major, st.stx_dev_minor);
	*ret_inode = st.stx_ino;
	return true;
}

struct search {
	const struct wait_opened *opened;
	struct wait_openers *openers;
};

static int add_pid(struct wait_openers *openers, pid_t pid)
{
	/* the files of a process follow each other */
	if (openers->pids.n && openers->pids.at[openers->pids.n - 1] == pid)
		return 0;
	if (openers->pids.n == PIDS_MAX)
		return 1;
	return vec_push(&openers->pids, pid) < 0 ? base_oom() : 0;
}

static int compare_link(void *ctx, const struct wait_link *link)
{
	const struct search *search = ctx;
	const struct wait_opened *opened = search->opened;
	struct buf info _cleanup_(buf_done) = {0};
	const char *last = strrchr(link->text, '/');
	uint64_t device, inode;

	if (strcmp(last ? last + 1 : link->text, opened->name) != 0)
		return 0;
	if (opened->is_one && (!wait_identify(link->dir, link->name, &device, &inode) ||
				      device != opened->device || inode != opened->inode))
		return 0;
	if (opened->fits && (wait_read_info(link->pid, link->fd, &info) < 0 ||
				    !opened->fits(buf_text(&info), opened->arg)))
		return 0;
	return add_pid(search->openers, link->pid);
}

/* ---- who was found ---- */

/* NULL: there are too many, or there is no memory. */
static struct wait_openers *openers_get(struct attar_waits *waits, const char *key, bool *ret_new)
{
	struct wait_openers *openers;

	*ret_new = false;
	vec_each (&waits->openers, it)
		if (!strcmp((*it)->key, key))
			return *it;
	if (!waits->has_running || waits->openers.n == WAIT_OPENERS_MAX ||
		waits->openers_ns >= WAIT_OPENERS_NS)
		return NULL;
	openers = calloc(1, sizeof(*openers));
	if (!openers || vec_push(&waits->openers, openers) < 0) {
		free(openers);
		return NULL;
	}
	snprintf(openers->key, sizeof(openers->key), "%s", key);
	*ret_new = true;
	return openers;
}

/* Until which CPU time a search may go on. */
static uint64_t search_begin(const struct attar_waits *waits)
{
	return cpu_time() + WAIT_OPENERS_NS - waits->openers_ns;
}

static void search_end(struct attar_waits *waits, uint64_t until)
{
	const uint64_t now = cpu_time();

	waits->openers_ns = now < until ? WAIT_OPENERS_NS - (until - now) : WAIT_OPENERS_NS;
}

/* Others rather than the process itself, and of these the newest. */
static void openers_set(struct attar_waits *waits, const struct wait_thread *thread,
	struct attar_wait *wait, const struct wait_openers *openers, bool own)
{
	const pid_t self = wait_process(thread);
	pid_t found = 0;
	bool is_own = false;

	vec_each (&openers->pids, pid) {
		if (*pid == self) {
			is_own = own;
			continue;
		}
		wait->others += found != 0;
		found = MAX(found, *pid);
	}
	if (!found && is_own)
		found = self;
	if (found)
		wait_set_other(waits, wait, found, 0);
}

int wait_open_by(struct attar_waits *waits, const struct wait_thread *thread,
	struct attar_wait *wait, const char *key, const struct wait_opened *opened, bool own)
{
	bool is_new;
	struct wait_openers *openers = openers_get(waits, key, &is_new);
	struct search search = {.opened = opened, .openers = openers};
	struct scan scan = {.waits = waits, .fn = compare_link, .ctx = &search};
	int r = 0;

	if (openers && is_new) {
		scan.until = search_begin(waits);
		r = scan_all(&scan);
		search_end(waits, scan.until);
	}
	if (openers && r == 0)
		openers_set(waits, thread, wait, openers, own);
	return r;
}

/* ---- memory ---- */

struct mapping {
	struct attar_waits *waits;
	struct wait_openers *openers;
	char file[PATH_BYTES]; /* "08:01 1234": the device and the inode */
	uint64_t until;        /* ns of CPU time */
};

/* "7f00-7f10 rw-s 00000000 08:01 1234   /path": of shared memory. */
static bool parse_mapping(
	const char *line, uint64_t *ret_start, uint64_t *ret_end, char file[PATH_BYTES])
{
	char rights[8], device[16];
	unsigned long long start, end, inode;

	if (sscanf(line, "%llx-%llx %7s %*s %15s %llu", &start, &end, rights, device, &inode) !=
			5 ||
		!strchr(rights, 's') || !inode)
		return false;
	*ret_start = start;
	*ret_end = end;
	snprintf(file, PATH_BYTES, "%s %llu", device, inode);
	return true;
}

int wait_read_mappings(struct attar_waits *waits, pid_t pid, struct buf *text)
{
	char path[PATH_BYTES];
	int r;

	if (!scan_budget_begin(&waits->budget, pid))
		return -EAGAIN;
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	r = file_read(path, WAIT_MAPPINGS_MAX, text);
	scan_budget_end(&waits->budget, pid);
	if (r < 0)
		attar_error_clear();
	return r;
}

static int compare_mappings(void *ctx, int pid)
{
	struct mapping *wanted = ctx;
	struct buf text _cleanup_(buf_done) = {0};
	char file[PATH_BYTES], *save = NULL;
	uint64_t start, end;

	if (cpu_time() > wanted->until)
		return 1;
	if (wait_read_mappings(wanted->waits, pid, &text) < 0 || !text.len)
		return 0;
	for (char *line = strtok_r(text.data, "\n", &save); line;
		line = strtok_r(NULL, "\n", &save))
		if (parse_mapping(line, &start, &end, file) && !strcmp(file, wanted->file))
			return add_pid(wanted->openers, pid);
	return 0;
}

/* The file that is mapped at the address. */
static bool find_mapping(const struct wait_thread *thread, uint64_t address, char file[PATH_BYTES])
{
	struct buf text _cleanup_(buf_done) = {0};
	char *save = NULL;
	uint64_t start, end;

	if (wait_read_mappings(thread->waits, thread->tid, &text) < 0 || !text.len)
		return false;
	for (char *line = strtok_r(text.data, "\n", &save); line;
		line = strtok_r(NULL, "\n", &save))
		if (parse_mapping(line, &start, &end, file) && address >= start && address < end)
			return true;
	return false;
}

int wait_mapped_by(
	struct attar_waits *waits, const struct wait_thread *thread, struct attar_wait *wait)
{
	struct mapping wanted = {.waits = waits};
	char key[WAIT_OPENERS_KEY_BYTES];
	bool is_new;
	int r = 0;

	if (!waits->has_running || !find_mapping(thread, wait->address, wanted.file))
		return 0;
	snprintf(key, sizeof(key), "memory %s", wanted.file);
	wanted.openers = openers_get(waits, key, &is_new);
	if (!wanted.openers)
		return 0;
	if (is_new) {
		wanted.until = search_begin(waits);
		r = proc_each_process(compare_mappings, &wanted);
		search_end(waits, wanted.until);
	}
	if (r >= 0)
		openers_set(waits, thread, wait, wanted.openers, false);
	return r < 0 ? r : 0;
}
