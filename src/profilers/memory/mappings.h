/* SPDX-License-Identifier: MIT */
/*
 * The mappings of processes, also of data: what an address of a process belongs to. They come from
 * /proc/PID/maps when a process is first asked for, or by mappings_read(), and then from MMAP2
 * records; the mappings of a recording only from its records.
 *
 *	mappings_record(&mappings, ev);
 *	mapping = mappings_find(&mappings, ev->thread, address);
 */
#ifndef PROFILERS_MEMORY_MAPPINGS_H
#define PROFILERS_MEMORY_MAPPINGS_H

#include "attar/run.h"

/* What a mapping is of. */
enum mapping_kind {
	MAPPING_UNKNOWN,
	MAPPING_ANON,
	MAPPING_HEAP,
	MAPPING_STACK,
	MAPPING_SHARED,
	MAPPING_FILE,
	MAPPING_KERNEL,
	MAPPING_KINDS
};

struct mapping {
	uint64_t start, end;
	enum mapping_kind kind;
	const char *path; /* of a file, otherwise ""; owned by the mappings */
};

struct process_mappings;

struct mappings {
	struct attar_keytable *processes; /* by pid: struct process_mappings * */
	struct attar_keytable *paths;
	struct attar_run *run;
	bool is_live; /* processes are in /proc */
};

int mappings_init(struct mappings *m, struct attar_run *run);
void mappings_done(struct mappings *m);

/* Applies an MMAP2, FORK or exec record; ignores others. Returns 0 or -ENOMEM. */
int mappings_record(struct mappings *m, const struct attar_event *ev);

/*
 * Reads the mappings of a process, if it has none yet: it may end before it is asked for. Returns 0
 * or -ENOMEM.
 */
int mappings_read(struct mappings *m, pid_t pid);

/*
 * The mapping of an address of the process; NULL: there is none. Borrowed until the next call. A
 * process that has exited, and had no records, has the mappings of its parent.
 */
const struct mapping *mappings_find(
	struct mappings *m, const struct attar_thread *thread, uint64_t address);

/* The number of programs that the process has executed so far: distinguishes them. */
uint64_t mappings_execs(const struct mappings *m, const struct attar_thread *thread);

/* Whether any process has mapped an address of user space now. */
bool mappings_any(uint64_t address);

/* "file", "anonymous" and so on; a static string. */
const char *mapping_kind_name(enum mapping_kind kind);

#endif
