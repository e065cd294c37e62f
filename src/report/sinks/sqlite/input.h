/* SPDX-License-Identifier: MIT */
/*
 * Databases that are read: the files of -o x.db, and any other. They may come from anywhere, so
 * nothing in them is executed that could do more than compute: the file is not written, extensions
 * are not loaded, and views and columns use harmless functions only (SQLite's "trusted schema" is
 * off).
 */
#ifndef REPORT_SINKS_SQLITE_INPUT_H
#define REPORT_SINKS_SQLITE_INPUT_H

#include <stdbool.h>

struct sqlite3;

/* Whether the file begins like a database of SQLite 3. False if it cannot be read. */
bool sqlite_is_database(const char *path);

/*
 * Opens a database to be read. Returns 0; *ret_db is to be closed with sqlite3_close(). Or -ENOMEM,
 * -EBADMSG if it is damaged, -EIO, or -EOPNOTSUPP if attar was built without SQLite; the error
 * message names the path.
 */
int sqlite_open_input(const char *path, struct sqlite3 **ret_db);

#endif
