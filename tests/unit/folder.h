/* SPDX-License-Identifier: MIT */
/*
 * A folder of small files, as sysfs and tracefs have them, for tests and fuzz targets: one at a
 * time, gone at exit at the latest. What goes wrong ends the program.
 */
#ifndef FOLDER_H
#define FOLDER_H

#include <stddef.h>

/* A new, empty folder; its path, valid until folder_remove(). */
const char *folder_make(void);
void folder_remove(void);

/* Writes a file below the folder, with the folders that it needs. */
void folder_put(const char *name, const char *bytes, size_t n);

/* The same for one line, without its newline. */
void folder_line(const char *name, const char *line);

#endif
