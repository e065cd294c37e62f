/* SPDX-License-Identifier: MIT */
#include "memory/mappings.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attar/builtin.h"
#include "attar/keytable.h"

enum {
	PROCESSES_MAX = 4096,
	PATHS_MAX = 1 << 16,
	PATH_BYTES = 4096,
	MAPPINGS_MAX = 1 << 16,
	INHERITED_MAX = 4096,
	LINES_AT_ONCE = 256, /* before the time is looked at */
};

struct process_mappings {
	struct mapping *at; /* sorted, without overlaps */
	size_t n, room;
	uint64_t execs;
	uint64_t missed; /* the page of the last address that /proc does not have either */
	bool scanned;
};

const char *mapping_kind_name(enum mapping_kind kind)
{
	static const char *const names[MAPPING_KINDS] = {
		[MAPPING_UNKNOWN] = "unknown",
		[MAPPING_ANON] = "anonymous",
		[MAPPING_HEAP] = "heap",
		[MAPPING_STACK] = "stack",
		[MAPPING_SHARED] = "shared memory",
		[MAPPING_FILE] = "file",
		[MAPPING_KERNEL] = "kernel pages",
	};

	return names[kind];
}

/* ---- life ---- */

static void free_process(void *ctx, struct attar_keyrow *row)
{
	struct process_mappings *p = row->value;

	free(p->at);
	*p = (struct process_mappings){0};
}

/* Paths stay until the end: rows of reports refer to them. */
static void free_path(void *ctx, struct attar_keyrow *row)
{
	free(*(char **)row->value);
	*(char **)row->value = NULL;
}

int mappings_init(struct mappings *m, struct attar_run *run)
{
	const struct attar_keytable_opts processes = {.size = sizeof(processes),
		.sums = 1,
		.value_size = sizeof(struct process_mappings),
		.keys_max = PROCESSES_MAX,
		.on_remove = free_process};
	const struct attar_keytable_opts paths = {.size = sizeof(paths),
		.sums = 1,
		.value_size = sizeof(char *),
		.key_max = ATTAR_KEY_MAX,
		.keys_max = PATHS_MAX,
		.on_remove = free_path};
	int r = attar_keytable_new(&processes, &m->processes);

	m->run = run;
	m->is_live = attar_run_is_live(run);
	return r < 0 ? r : attar_keytable_new(&paths, &m->paths);
}

void mappings_done(struct mappings *m)
{
	attar_keytable_free(m->processes);
	attar_keytable_free(m->paths);
}

/* ---- a mapping ---- */

/* Equal paths have one copy. Paths beyond the table's limit are unknown. */
static const char *intern_path(struct mappings *m, const char *path)
{
	size_t n = strlen(path), key = n < ATTAR_KEY_MAX ? n : ATTAR_KEY_MAX;
	struct attar_keyrow *row;

	path += n - key; /* the end of a long path says more */
	if (attar_keytable_keys(m->paths) >= PATHS_MAX - 1 &&
		!attar_keytable_find(m->paths, path, key))
		return "";
	row = attar_keytable_at(m->paths, path, key);
	if (!row)
		return NULL;
	if (!*(char **)row->value)
		*(char **)row->value = strdup(path);
	return *(char **)row->value;
}

static bool begins(const char *path, const char *with)
{
	return !strncmp(path, with, strlen(with));
}

static enum mapping_kind kind_of(const char *path, bool is_shared)
{
	if (!*path || begins(path, "//anon") || begins(path, "[anon"))
		return is_shared ? MAPPING_SHARED : MAPPING_ANON;
	if (begins(path, "/dev/zero") || begins(path, "/SYSV") || begins(path, "/memfd:"))
		return MAPPING_SHARED;
	if (!strcmp(path, "[heap]"))
		return MAPPING_HEAP;
	if (begins(path, "[stack"))
		return MAPPING_STACK;
	return *path == '[' ? MAPPING_KERNEL : MAPPING_FILE;
}

/* The first mapping that ends after the address. */
static size_t place(const struct process_mappings *p, uint64_t address)
{
	size_t low = 0, high = p->n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (p->at[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int mappings_insert(struct process_mappings *p, size_t i, const struct mapping *mapping)
{
	struct mapping *more;

	if (mapping->start >= mapping->end || p->n >= MAPPINGS_MAX)
		return 0;
	if (p->n == p->room) {
		more = realloc(p->at, (2 * p->room + 16) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		p->at = more;
		p->room = 2 * p->room + 16;
	}
	memmove(p->at + i + 1, p->at + i, (p->n - i) * sizeof(*p->at));
	p->at[i] = *mapping;
	p->n++;
	return 0;
}

/* A new mapping replaces what it overlaps. */
static int mappings_add(struct process_mappings *p, const struct mapping *mapping)
{
	size_t i = place(p, mapping->start), end = i;
	struct mapping tail = {0};

	for (; end < p->n && p->at[end].start < mapping->end; end++)
		if (p->at[end].end > mapping->end) {
			tail = p->at[end];
			tail.start = mapping->end;
		}
	if (i < end && p->at[i].start < mapping->start) {
		p->at[i].end = mapping->start;
		i++;
	}
	if (i < end) {
		memmove(p->at + i, p->at + end, (p->n - end) * sizeof(*p->at));
		p->n -= end - i;
	}
	if (mappings_insert(p, i, mapping) < 0)
		return -ENOMEM;
	return mappings_insert(p, i + 1, &tail);
}

static int add_path(struct mappings *m, struct process_mappings *p, uint64_t start, uint64_t end,
	bool is_shared, const char *path)
{
	struct mapping mapping = {.start = start, .end = end, .kind = kind_of(path, is_shared)};

	mapping.path = mapping.kind == MAPPING_FILE || mapping.kind == MAPPING_KERNEL
			       ? intern_path(m, path)
			       : "";
	return mapping.path ? mappings_add(p, &mapping) : -ENOMEM;
}

/* ---- processes ---- */

static struct process_mappings *process(struct mappings *m, uint64_t pid)
{
	struct attar_keyrow *row = attar_keytable_at_u64(m->processes, pid);

	if (!row)
		return NULL;
	row->interval.sums[0]++; /* those that are used stay */
	return row->value;
}

/* NULL: the file cannot be read, or has no lines. */
static FILE *open_filled(const char *path)
{
	FILE *file = fopen(path, "re");
	int first = file ? getc(file) : EOF;

	if (first != EOF) {
		ungetc(first, file);
		return file;
	}
	if (file)
		fclose(file);
	return NULL;
}

/* The file of an exited main thread has no lines, although other threads may still run. */
static FILE *open_maps(pid_t pid)
{
	char path[64];
	FILE *file;
	glob_t threads;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	file = open_filled(path);
	if (file)
		return file;
	snprintf(path, sizeof(path), "/proc/%d/task/[0-9]*/maps", (int)pid);
	if (glob(path, GLOB_NOSORT, NULL, &threads) == 0)
		for (size_t i = 0; i < threads.gl_pathc && !file; i++)
			file = open_filled(threads.gl_pathv[i]);
	globfree(&threads);
	return file;
}

static int scan(struct mappings *m, struct process_mappings *p, pid_t pid)
{
	char line[PATH_BYTES + 128];
	uint64_t start, end;
	FILE *file = open_maps(pid);
	char shared;
	int r = 0, at;

	p->scanned = true;
	if (!file)
		return 0;
	for (size_t n = 1; r == 0 && fgets(line, sizeof(line), file); n++) {
		if (n % LINES_AT_ONCE == 0 && !run_scan_goes_on(m->run, pid))
			break;
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*3c%c %*s %*s %*s %n", &start, &end,
			    &shared, &at) == 3)
			r = add_path(m, p, start, end, shared == 's', line + at);
	}
	fclose(file);
	return r;
}

/* Other users can have any number of processes with 65,000 mappings, and new ones all the time. */
static int scan_in_time(struct mappings *m, struct process_mappings *p, pid_t pid)
{
	int r;

	if (!m->is_live || !run_scan_begin(m->run, pid))
		return 0;
	r = scan(m, p, pid);
	run_scan_end(m->run, pid);
	return r;
}

int mappings_read(struct mappings *m, pid_t pid)
{
	struct process_mappings *p = process(m, (uint64_t)pid);

	if (!p)
		return -ENOMEM;
	return p->n || p->scanned ? 0 : scan_in_time(m, p, pid);
}

/* A new process has the mappings of its parent; of many, it is read when it needs one. */
static int inherit(struct mappings *m, const struct attar_record *record)
{
	struct process_mappings *p = process(m, record->task.pid);
	const struct attar_keyrow *row =
		attar_keytable_find(m->processes, &(uint64_t){record->task.ppid}, 8);
	const struct process_mappings *parent = row ? row->value : NULL;
	struct mapping *copy;

	if (!p)
		return -ENOMEM;
	p->n = 0;
	p->scanned = false;
	if (!parent || !parent->n || (m->is_live && parent->n > INHERITED_MAX))
		return 0;
	copy = realloc(p->at, parent->n * sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	memcpy(copy, parent->at, parent->n * sizeof(*copy));
	p->at = copy;
	p->n = p->room = parent->n;
	return 0;
}

int mappings_record(struct mappings *m, const struct attar_event *ev)
{
	const struct attar_record *record = ev->record;
	struct process_mappings *p;

	if (record->type == PERF_RECORD_FORK)
		return record->task.pid == record->task.ppid ? 0 : inherit(m, record);
	if (record->type == PERF_RECORD_COMM && record->comm.exec) {
		p = process(m, record->comm.pid);
		if (!p)
			return -ENOMEM;
		p->n = 0;
		p->execs++;
		return 0;
	}
	if ((record->type != PERF_RECORD_MMAP && record->type != PERF_RECORD_MMAP2) ||
		(int32_t)record->mmap.pid <= 0)
		return 0;
	p = process(m, record->mmap.pid);
	return p ? add_path(m, p, record->mmap.addr, record->mmap.addr + record->mmap.len,
			   record->type == PERF_RECORD_MMAP2 &&
				   record->mmap.flags & 1 /* MAP_SHARED */,
			   record->mmap.filename)
		 : -ENOMEM;
}

static const struct mapping *lookup(const struct process_mappings *p, uint64_t address)
{
	size_t i = place(p, address);

	return i < p->n && p->at[i].start <= address ? &p->at[i] : NULL;
}

/* The heap and the stack grow without a record. */
const struct mapping *mappings_find(
	struct mappings *m, const struct attar_thread *thread, uint64_t address)
{
	const struct attar_process *of = thread->process;
	struct process_mappings *p = process(m, (uint64_t)of->pid);
	const struct mapping *found = p ? lookup(p, address) : NULL;
	uint64_t page = address >> 12;

	if (!p || found || (p->scanned && p->missed == page))
		return found;
	p->missed = page;
	if (scan_in_time(m, p, of->pid) < 0)
		return NULL;
	found = lookup(p, address);
	if (!found && of->parent && !p->n) {
		const struct attar_keyrow *row =
			attar_keytable_find(m->processes, &(uint64_t){(uint64_t)of->parent}, 8);

		found = row ? lookup(row->value, address) : NULL;
	}
	return found;
}

uint64_t mappings_execs(const struct mappings *m, const struct attar_thread *thread)
{
	const struct attar_keyrow *row =
		attar_keytable_find(m->processes, &(uint64_t){(uint64_t)thread->process->pid}, 8);

	return row ? ((const struct process_mappings *)row->value)->execs : 0;
}

static bool maps_have(pid_t pid, uint64_t address)
{
	char line[PATH_BYTES + 128];
	uint64_t start, end;
	bool found = false;
	FILE *file = open_maps(pid);

	while (file && !found && fgets(line, sizeof(line), file))
		found = sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end) == 2 &&
			address >= start && address < end;
	if (file)
		fclose(file);
	return found;
}

bool mappings_any(uint64_t address)
{
	glob_t processes;
	bool found = false;

	if (glob("/proc/[0-9]*", GLOB_NOSORT, NULL, &processes) == 0)
		for (size_t i = 0; i < processes.gl_pathc && !found; i++)
			found = maps_have(atoi(processes.gl_pathv[i] + strlen("/proc/")), address);
	globfree(&processes);
	return found;
}
