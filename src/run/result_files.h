/* SPDX-License-Identifier: MIT */
/* Files of results that are no reports, see attar_run_file(). */
#ifndef RUN_RESULT_FILES_H
#define RUN_RESULT_FILES_H

#include <stdio.h>

#include "base/vec.h"
#include "base/whole_file.h"

struct result_file {
	struct whole_file whole;
	FILE *file;
	char *option, *path; /* owned */
};

typedef VEC(struct result_file) result_files;

/* Closes the files and replaces those that exist. Returns 0 or a negative errno. */
int result_files_finish(result_files *files);

/* Drops those that were not finished. */
void result_files_done(result_files *files);

#endif
