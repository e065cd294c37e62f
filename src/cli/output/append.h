/* SPDX-License-Identifier: MIT */
/* --append: files of earlier runs keep their reports. */
#ifndef CLI_OUTPUT_APPEND_H
#define CLI_OUTPUT_APPEND_H

#include <sys/types.h>

#include "attar/report.h"

/* Whether reports can follow reports of another run in a file. If not, each run has a file. */
bool append_fits(const struct attar_sink *sink);

/*
 * Opens a file, or creates it, to write after its contents. The last line of a text is removed if
 * it is incomplete, because the run before was killed. mode: of a new file. Returns a descriptor or
 * a negative errno, see place_error().
 */
int append_open(const char *path, mode_t mode, const struct attar_sink *sink);

/*
 * The first name that has no contents: x.csv, x.1.csv, x.2.csv and so on. To be freed; NULL: out of
 * memory.
 */
char *append_name(const char *path, const struct attar_sink *sink);

#endif
