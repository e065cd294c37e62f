/* SPDX-License-Identifier: MIT */
/* The files that the sections of a configuration write: each belongs to one profiler. */
#ifndef CLI_AGENT_FILES_H
#define CLI_AGENT_FILES_H

#include <sys/types.h>

#include "base/vec.h"

struct agent_file {
	const char *section; /* borrowed */
	char *path;
	char *target; /* see replace_identity() */
	dev_t device;
	ino_t inode; /* 0: the file does not exist */
};

typedef VEC(struct agent_file) agent_files;

/*
 * Adds a file of a section. Two profilers would mix their reports in one file: -EINVAL with an
 * error message if another section, or the same one, has it already. Pipes and devices can be
 * shared.
 */
int agent_files_add(agent_files *files, const char *section, const char *path);

/* Checks that the folder of a file exists. Returns 0 or -EINVAL with an error message. */
int agent_files_check_folder(const char *path);

void agent_files_done(agent_files *files);

#endif
