/* SPDX-License-Identifier: MIT */
/* What is read of a thread and of those that it waits for, and kept for the next one. */
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>

#include "attar/private/wait.h"
#include "base/check_arg.h"
#include "base/escape.h"
#include "base/proc.h"
#include "base/proc_memory.h"
#include "wait/wait.h"

enum { PATH_BYTES = 64 };

/* The one that has it, or a free one of two, so that two addresses do not displace each other. */
static struct wait_memory *memory_at(struct attar_waits *waits, pid_t pid, uint64_t address)
{
	struct wait_memory *free = NULL;

	for (uint64_t i = 0; i < 2; i++) {
		struct wait_memory *at = &waits->memory[(base_hash64(address) + i) % WAIT_MEMORIES];

		if (at->pid == pid && at->address == address)
			return at;
		if (at->pid != pid && !free)
			free = at;
	}
	return free ?: &waits->memory[base_hash64(address) % WAIT_MEMORIES];
}

bool wait_read(const struct wait_thread *thread, uint64_t address, void *bytes, size_t n)
{
	const pid_t pid = wait_process(thread);
	struct wait_memory *last = memory_at(thread->waits, pid, address);

	if (pid && last->pid == pid && last->address == address && last->n == n) {
		memcpy(bytes, last->bytes, n);
		return true;
	}
	if (proc_memory_read(thread->tid, address, bytes, n) != (ssize_t)n)
		return false;
	if (pid && n <= sizeof(last->bytes)) {
		*last = (struct wait_memory){.pid = pid, .address = address, .n = n};
		memcpy(last->bytes, bytes, n);
	}
	return true;
}

pid_t wait_process_of(pid_t tid)
{
	struct buf text _cleanup_(buf_done) = {0};
	const char *line;
	char path[PATH_BYTES];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	if (proc_read_line(path, &text) < 0)
		return 0;
	line = strstr(buf_text(&text), "\nTgid:");
	return line ? (pid_t)atoi(line + strlen("\nTgid:")) : 0;
}

/* Whether it is a thread of the process that was looked at last. */
static bool is_of_last(struct attar_waits *waits, pid_t tid)
{
	struct wait_process *last = &waits->last_process;
	char path[PATH_BYTES];

	if (!last->pid || last->tid == tid || last->known == tid)
		return last->pid;
	snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)last->pid, (int)tid);
	if (access(path, F_OK) < 0)
		return false;
	last->tid = tid;
	return true;
}

void waits_set_thread(struct attar_waits *waits, pid_t pid, pid_t tid)
{
	CHECK_ARG_OR(waits, "waits", );
	if (waits->last_process.pid != pid)
		waits->last_process = (struct wait_process){.pid = pid};
	waits->last_process.known = tid;
}

pid_t wait_process(const struct wait_thread *thread)
{
	if (!is_of_last(thread->waits, thread->tid))
		waits_set_thread(thread->waits, wait_process_of(thread->tid), 0);
	return thread->waits->last_process.pid;
}

void wait_path(struct attar_waits *waits, pid_t tid, const char *name, char path[PATH_BYTES])
{
	const pid_t pid = is_of_last(waits, tid) ? waits->last_process.pid : tid;

	snprintf(path, PATH_BYTES, "/proc/%d/task/%d/%s", (int)pid, (int)tid, name);
}

int wait_read_line(struct attar_waits *waits, pid_t tid, const char *name, struct buf *text)
{
	char path[PATH_BYTES];

	if (is_of_last(waits, tid))
		return proc_tasks_read_line(
			&waits->tasks, waits->last_process.pid, tid, name, text);
	wait_path(waits, tid, name, path);
	return proc_read_line(path, text);
}

/* The file of the process has sums of all its threads. */
struct wait_stat wait_stat_of(struct attar_waits *waits, pid_t pid, pid_t tid)
{
	enum { FIELDS_UP_TO_CPU = 37 };
	struct buf text _cleanup_(buf_done) = {0};
	struct wait_stat stat = {.tid = tid, .cpu = -1};
	const char *end, *field;
	int r = proc_tasks_read_line(&waits->tasks, pid, tid, "stat", &text);

	field = end = r == 0 ? strrchr(buf_text(&text), ')') : NULL;
	for (int i = 0; field && i < FIELDS_UP_TO_CPU; i++)
		field = strchr(field + 1, ' ');
	stat.state = end && end[1] ? end[2] : 0;
	stat.cpu = field ? atoi(field + 1) : -1;
	return stat;
}

int wait_keep_stat(struct attar_waits *waits, const struct wait_stat *stat)
{
	return map_put(&waits->stats, (uint64_t)stat->tid,
		(uint64_t)(uint8_t)stat->state << 32 | (uint32_t)stat->cpu);
}

/* For one use: the thread may be asked for again later. */
static bool take_kept_stat(struct attar_waits *waits, pid_t tid)
{
	const uint64_t *kept = map_get(&waits->stats, (uint64_t)tid);

	if (!kept)
		return false;
	waits->last_stat = (struct wait_stat){
		.tid = tid, .state = (char)(*kept >> 32), .cpu = (int)(uint32_t)*kept};
	return map_remove(&waits->stats, (uint64_t)tid);
}

const struct wait_stat *wait_read_stat(struct attar_waits *waits, pid_t tid)
{
	if (waits->last_stat.tid != tid && !take_kept_stat(waits, tid))
		waits->last_stat = wait_stat_of(
			waits, is_of_last(waits, tid) ? waits->last_process.pid : tid, tid);
	return &waits->last_stat;
}

/* Without its end. */
static char *take_line(int r, struct buf *line)
{
	if (r < 0)
		attar_error_clear();
	if (line->len && line->data[line->len - 1] == '\n')
		line->data[--line->len] = '\0';
	if (!line->len)
		buf_done(line);
	return buf_take(line);
}

char *wait_line(pid_t tid, const char *name)
{
	struct buf line = {0};
	char path[PATH_BYTES];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)tid, name);
	return take_line(proc_read_line(path, &line), &line);
}

char *wait_own_line(const struct wait_thread *thread, const char *name)
{
	struct buf line = {0};

	return take_line(wait_read_line(thread->waits, thread->tid, name, &line), &line);
}

static bool is_in_character(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* Of a text that is too long, both ends: "the file system /srv/a...z (ext4), which is frozen". */
static void copy_ends(char *to, size_t size, const char *text)
{
	const size_t n = strlen(text);
	const char *end = text + n - MIN(n, size / 2);
	size_t head;

	if (n < size) {
		memcpy(to, text, n + 1);
		return;
	}
	while (is_in_character(*end))
		end++;
	head = size - sizeof("...") - strlen(end);
	while (head && is_in_character(text[head]))
		head--;
	snprintf(to, size, "%.*s...%s", (int)head, text, end);
}

void wait_set_object(struct attar_wait *wait, const char *fmt, ...)
{
	struct buf text _cleanup_(buf_done) = {0};
	char raw[4096];
	va_list args;

	va_start(args, fmt);
	vsnprintf(raw, sizeof(raw), fmt, args);
	va_end(args);
	escape_text(&text, raw, strlen(raw));
	copy_ends(wait->object, sizeof(wait->object), buf_text(&text));
}

/* A directory of /proc has a link for each of its directories, and two for . and .. */
static bool has_one_thread(pid_t pid)
{
	char path[PATH_BYTES];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	return stat(path, &st) == 0 && st.st_nlink == 3;
}

static void read_other(struct attar_waits *waits, struct wait_other *other)
{
	struct buf text _cleanup_(buf_done) = {0};
	char *comm _cleanup_free_ = wait_line(other->tid ?: other->pid, "comm");

	other->found = !other->tid && has_one_thread(other->pid) ? other->pid : other->tid;
	other->state = other->found ? wait_stat_of(waits, other->pid, other->found).state
				    : proc_state(other->pid);
	if (comm)
		escape_text(&text, comm, strlen(comm));
	snprintf(other->comm, sizeof(other->comm), "%s", buf_text(&text));
}

/* The newest replaces the oldest. */
static const struct wait_other *other_of(struct attar_waits *waits, pid_t pid, pid_t tid)
{
	struct wait_other *other;

	for (size_t i = 0; i < WAIT_OTHERS; i++)
		if (waits->others[i].pid == pid && waits->others[i].tid == tid)
			return &waits->others[i];
	other = &waits->others[waits->n_others++ % WAIT_OTHERS];
	*other = (struct wait_other){.pid = pid, .tid = tid};
	read_other(waits, other);
	return other;
}

void wait_set_other(struct attar_waits *waits, struct attar_wait *wait, pid_t pid, pid_t tid)
{
	const struct wait_other *other = other_of(waits, pid, tid);

	wait->pid = pid;
	wait->tid = other->found;
	wait->other_state = other->state;
	memcpy(wait->comm, other->comm, sizeof(wait->comm));
}
