/* SPDX-License-Identifier: MIT */
/* Internals of sql_db.c and sql_table.c. */
#ifndef PROFILERS_SQL_DB_H
#define PROFILERS_SQL_DB_H

#include <sqlite3.h>

#include "sql.h"

struct sql_db {
	struct attar_run *run;
	struct sql_db_opts opts;
	sqlite3 *sqlite;
	uint64_t deadline;   /* of the query, ns; 0: none */
	const char *refused; /* what the authorizer refused; NULL: nothing */
	struct sql_scan *scans;
};

/*
 * The next statement of *text, which moves behind it: 1; 0 after the last; or -EINVAL with an error
 * text. The caller finalizes it.
 */
int sql_db_next(struct sql_db *db, const char **text, sqlite3_stmt **ret_statement);

/* ---- sql_scan.c ---- */

/* Describes a scan of the table in info->idxStr, and remembers it. A code of SQLite. */
int sql_scan_plan(struct sql_db *db, struct sql_table *table, sqlite3_index_info *info);
void sql_scans_free(struct sql_db *db);

/* ---- sql_table.c ---- */

/* Adds the module "attar", whose argument is the number of the table. */
int sql_table_register(struct sql_db *db);

/* The columns of a table: those common to all events, then its fields. */
size_t sql_table_columns(const struct sql_table *table);
void sql_table_column_name(
	const struct sql_table *table, size_t column, char *ret_name, size_t max);

/* The field of a column; NULL: the column is common to all events. */
const struct attar_field *sql_table_field(const struct sql_table *table, size_t column);

#endif
