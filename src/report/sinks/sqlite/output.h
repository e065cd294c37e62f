/* SPDX-License-Identifier: MIT */
/*
 * Databases that are written. SQLite opens its files by path, and follows links on the way: here,
 * the directory is looked up once, as for other results (base/place.h), and files of other users
 * are not used where everybody can create files.
 */
#ifndef REPORT_SINKS_SQLITE_OUTPUT_H
#define REPORT_SINKS_SQLITE_OUTPUT_H

#include "base/place.h"

struct sqlite3;

/*
 * Opens the database at the place, or creates it with place_default_mode(). Returns 0; *ret_db is
 * to be closed with sqlite3_close() before the place is freed. Or a negative errno without an error
 * message, see place_error().
 */
int sqlite_open_output(const struct place *place, struct sqlite3 **ret_db);

#endif
