/* SPDX-License-Identifier: MIT */
/* Result files other than reports, see run_file(). */
#ifndef RUN_RESULT_FILES_H
#define RUN_RESULT_FILES_H

#include "attar/run.h"

/* Closes the files and replaces those that exist. Returns 0 or a negative errno. */
int result_files_finish(struct attar_run *run);

#endif
