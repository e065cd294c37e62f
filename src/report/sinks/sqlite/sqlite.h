/* SPDX-License-Identifier: MIT */
/*
 * Shared by the parts of the renderer of databases: sqlite_database.c opens the file, with the
 * tables that each database has; sqlite_table.c creates the tables of sections.
 */
#ifndef REPORT_SINKS_SQLITE_SQLITE_H
#define REPORT_SINKS_SQLITE_SQLITE_H

#include <sqlite3.h>

#include "base/place.h"
#include "report/sinks/render.h"

/* A table of sections with the same name and columns, and its INSERT. */
struct table {
	char *section, *columns;
	sqlite3_stmt *insert;
};

struct database {
	sqlite3 *sqlite;
	sqlite3_stmt *report, *remark, *histogram, *quantile, *summary, *section, *column,
		*add_stack, *get_stack, *find_table;
	VEC(struct table) tables;
	struct place place; /* of the file */
	int64_t id;         /* of the current report; 0: it has event lines only */
};

/* Sets r->state. Returns 0 or a negative errno with an error message; close it then, too. */
int database_open(struct attar_renderer *r);
void database_close(struct attar_renderer *r);

/*
 * Run a statement, prepare one for the life of the database, and insert the row whose values are
 * bound. They return 0, -ENOMEM, -ENOSPC or -EIO with an error message.
 */
int database_execute(struct database *db, const char *sql);
int database_prepare(struct database *db, const char *sql, sqlite3_stmt **ret_statement);
int database_insert(struct database *db, sqlite3_stmt *statement);

/*
 * Bind a string that is valid until the row is inserted, in which invalid UTF-8, as names of
 * processes and files can have it, becomes U+FFFD; and one that is copied as it is.
 */
void database_bind_text(sqlite3_stmt *statement, int at, const char *text);
void database_bind_buf(sqlite3_stmt *statement, int at, const struct buf *text);

/*
 * The INSERT of a section's table, owned by the database; the table is created for the first one.
 * Returns 0 or a negative errno with an error message.
 */
int database_table(struct database *db, const struct attar_section *s, sqlite3_stmt **ret_insert);

#endif
