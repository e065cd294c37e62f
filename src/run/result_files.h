/* SPDX-License-Identifier: MIT */
/* Result files other than reports, see run_file(). */
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

/* Deletes unfinished files. */
void result_files_done(result_files *files);

#endif
