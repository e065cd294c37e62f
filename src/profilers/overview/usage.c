/* SPDX-License-Identifier: MIT */
#include "overview/usage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "attar/builtin.h"

enum {
	PROCESSES_MAX = 4096,
	DESCRIPTORS_MAX = 65536, /* that are counted one by one */
	FIRST_MS = 250,
	FEW = 64,              /* processes, which are read more often */
	MEMORY_READ = 1000000, /* bytes: one that has grown by less has as much memory as before */
	NS_PER_MS = 1000000,
};

static bool read_text(int dir, const char *name, char *text, size_t size)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, size - 1) : -1;

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* "7/stat" of process 7 in /proc. */
static bool read_of(int proc, const char *pid, const char *name, char *text, size_t size)
{
	char path[32];

	snprintf(path, sizeof(path), "%.12s/%s", pid, name);
	return read_text(proc, path, text, size);
}

/* proc_pid_stat(5): the name may have parentheses and blanks. */
static bool read_stat(int proc, const char *pid, struct usage *usage)
{
	unsigned long long user, system, children[2], started;
	char text[1024], *name, *end;
	long threads, resident;

	if (!read_of(proc, pid, "stat", text, sizeof(text)))
		return false;
	name = strchr(text, '(');
	end = strrchr(text, ')');
	if (!name || !end || end < name ||
		sscanf(end + 1,
			" %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu %*d %*d "
			"%ld %*d %llu %*u %ld",
			&usage->state, &usage->parent, &user, &system, &children[0], &children[1],
			&threads, &started, &resident) != 9)
		return false;
	snprintf(usage->comm, sizeof(usage->comm), "%.*s", (int)(end - name - 1), name + 1);
	usage->cpu = user + system;
	usage->user = user;
	usage->children = children[0] + children[1];
	usage->started = started;
	usage->threads = (uint64_t)threads;
	usage->resident = (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
	return true;
}

static void read_memory(int proc, const char *pid, struct usage *usage)
{
	unsigned long long resident, shared;
	char text[256];

	if (read_of(proc, pid, "statm", text, sizeof(text)) &&
		sscanf(text, "%*u %llu %llu", &resident, &shared) == 2 && resident > shared)
		usage->memory = (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* The size of the directory is their number from Linux 6.2 on. */
static void read_descriptors(int proc, const char *pid, struct usage *usage)
{
	struct dirent *entry;
	char path[32];
	struct stat st;
	DIR *files;
	int fd;

	snprintf(path, sizeof(path), "%.12s/fd", pid);
	if (fstatat(proc, path, &st, 0) == 0 && st.st_size > 0) {
		usage->descriptors = (uint64_t)st.st_size;
		return;
	}
	fd = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	files = fd >= 0 ? fdopendir(fd) : NULL;
	if (!files) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while (usage->descriptors < DESCRIPTORS_MAX && (entry = readdir(files)))
		usage->descriptors += *entry->d_name != '.';
	closedir(files);
}

static int by_pid(const void *a, const void *b)
{
	const struct usage *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

const struct usage *usages_of(const struct usages *usages, pid_t pid)
{
	const struct usage key = {.pid = pid};

	return usages->n ? bsearch(&key, usages->at, usages->n, sizeof(key), by_pid) : NULL;
}

const struct usage *usages_same(const struct usages *usages, const struct usage *usage)
{
	const struct usage *found = usages_of(usages, usage->pid);

	return found && found->started == usage->started ? found : NULL;
}

static int add_process(struct attar_run *run, struct usages *usages, int proc, const char *name,
	const struct usages *before)
{
	const struct attar_thread *thread;
	struct usage usage = {.pid = (pid_t)atol(name)}, *more;
	const struct usage *same;

	thread = attar_run_thread(run, usage.pid);
	usage.is_selected = attar_run_is_selected(run, thread) && !(thread && thread->exited);
	if (usages->only_selected && !usage.is_selected)
		return 0;
	if (!read_stat(proc, name, &usage))
		return 0;
	same = before ? usages_same(before, &usage) : NULL;
	if (same && same->is_selected && usage.resident < same->resident + MEMORY_READ)
		usage.memory = same->memory;
	else if (usage.is_selected)
		read_memory(proc, name, &usage);
	if (usage.is_selected && usage.resident) /* a thread of the kernel has no files */
		read_descriptors(proc, name, &usage);
	if (!(usages->n & (usages->n - 1))) { /* it is full */
		more = realloc(usages->at, (usages->n ? 2 * usages->n : 1) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		usages->at = more;
	}
	usages->at[usages->n++] = usage;
	return 0;
}

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 * NS_PER_MS + (uint64_t)ts.tv_nsec;
}

static void usages_done(struct usages *usages)
{
	free(usages->at);
	*usages = (struct usages){0};
}

/*
 * only_selected: without the CPU times of all others. before: an earlier reading, or NULL. 0 or
 * -ENOMEM.
 */
static int usages_read(struct attar_run *run, bool only_selected, const struct usages *before,
	struct usages *ret_usages)
{
	const pid_t own = getpid();
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	int r = 0;

	*ret_usages = (struct usages){.time = now(), .only_selected = only_selected};
	while (proc && r == 0 && ret_usages->n < PROCESSES_MAX && (entry = readdir(proc)))
		if (*entry->d_name >= '1' && *entry->d_name <= '9' && atol(entry->d_name) != own)
			r = add_process(run, ret_usages, dirfd(proc), entry->d_name, before);
	if (proc)
		closedir(proc);
	if (r < 0)
		usages_done(ret_usages);
	else if (ret_usages->n)
		qsort(ret_usages->at, ret_usages->n, sizeof(*ret_usages->at), by_pid);
	return r;
}

/* ---- readings of a run ---- */

static void read_words(pid_t pid, char *ret_words, size_t size)
{
	char path[64];
	int fd;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, ret_words, size - 1) : -1;
	if (fd >= 0)
		close(fd);
	while (n > 0 && !ret_words[n - 1])
		n--;
	ret_words[n > 0 ? n : 0] = '\0';
	for (ssize_t i = 0; i < n; i++) /* the end of a word, or a character of a terminal */
		if ((unsigned char)ret_words[i] <= ' ' || ret_words[i] == 0x7f)
			ret_words[i] = ' ';
}

/* One that has ended has no command line any more. */
static void find_longest(struct usage_readings *readings)
{
	const struct usages *usages = &readings->middle[0];
	const struct usage *longest = NULL;

	for (size_t i = 0; i < usages->n; i++)
		if (!longest || usages->at[i].cpu > longest->cpu)
			longest = &usages->at[i];
	if (!longest || longest->cpu <= readings->longest.cpu)
		return;
	readings->longest = *longest;
	read_words(longest->pid, readings->words, sizeof(readings->words));
}

int usage_turn(struct attar_run *run, struct usage_readings *readings)
{
	const struct usages *from = readings->last.time ? &readings->last : &readings->began;
	uint64_t due = (uint64_t)FIRST_MS * NS_PER_MS;
	int r;

	if (!from->time)
		return usages_read(run, false, NULL, &readings->began);
	if (readings->middle[0].time)
		due = (readings->middle[0].n > FEW ? 4U : 2U) *
		      (readings->middle[0].time - from->time);
	if (now() - from->time < due)
		return 0;
	usages_done(&readings->middle[1]);
	readings->middle[1] = readings->middle[0];
	r = usages_read(run, true, &readings->began, &readings->middle[0]);
	if (r == 0)
		find_longest(readings);
	return r;
}

int usage_report(struct attar_run *run, struct usage_readings *readings)
{
	if (readings->now.time) {
		usages_done(&readings->last);
		readings->last = readings->now;
	}
	return usages_read(run, false, &readings->began, &readings->now);
}

void usage_done(struct usage_readings *readings)
{
	usages_done(&readings->began);
	usages_done(&readings->last);
	usages_done(&readings->now);
	for (int i = 0; i < USAGE_MIDDLES; i++)
		usages_done(&readings->middle[i]);
}

const struct usages *usage_between(
	const struct usage_readings *readings, uint64_t from, uint64_t to)
{
	const struct usages *between[] = {
		&readings->middle[0], &readings->middle[1], &readings->last};
	uint64_t margin = (to - from) / 5;

	for (size_t i = 0; i < sizeof(between) / sizeof(*between); i++)
		if (between[i]->time >= from + margin && between[i]->time + margin <= to)
			return between[i];
	return NULL;
}
