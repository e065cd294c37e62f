/* SPDX-License-Identifier: MIT */
/*
 * The files of a run's USDT probes. If no event arrives, the report says whether a watched process
 * has mapped them: often, programs use another version of a library or interpreter.
 */
#ifndef RUN_PROBE_FILES_H
#define RUN_PROBE_FILES_H

#include "attar/run.h"
#include "base/vec.h"

struct probe_file {
	char *path; /* real, owned */
	bool is_mapped;
};

struct probe_files {
	VEC(struct probe_file) list;
	bool has_ended; /* a watched process that is older than the run: what it had is unknown */
};

/* Lists the files of the sources, which are open. 0 or -ENOMEM. */
int probe_files_open(struct attar_run *run);

/*
 * Takes a record that is not a sample: a watched process may have mapped one of the files, or
 * ended.
 */
void probe_files_see(struct attar_run *run, const struct attar_event *ev);

/* Adds remarks to the last report of a run without events: files that no process has mapped. */
void probe_files_remark(
	struct attar_run *run, struct attar_report *report, enum attar_scope scope, uint64_t seen);
void probe_files_done(struct probe_files *files);

#endif
