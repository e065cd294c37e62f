/* SPDX-License-Identifier: MIT */
/*
 * A folder of small files, like those of sysfs and tracefs, for tests and fuzz targets: one at a
 * time, removed at exit at the latest. Errors end the program.
 */
#ifndef FOLDER_H
#define FOLDER_H

#include <stddef.h>

/* Creates a new, empty folder; returns its path, valid until folder_remove(). */
const char *folder_make(void);
void folder_remove(void);

/* Writes a file below the folder, and creates the folders that it needs. */
void folder_put(const char *name, const char *bytes, size_t n);

/* The same for one line, without its newline. */
void folder_line(const char *name, const char *line);

/* Writes the id and the format of a tracepoint with the field pid, below tracing/events. */
void folder_tracepoint(const char *system, const char *name, int id);

#endif
