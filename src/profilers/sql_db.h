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
};

/* ---- sql_table.c ---- */

/* Adds the module "attar", whose argument is the number of the table. */
int sql_table_register(struct sql_db *db);

/* The columns of a table: those common to all events, then its fields. */
size_t sql_table_columns(const struct sql_table *table);
void sql_table_column_name(
	const struct sql_table *table, size_t column, char *ret_name, size_t max);

#endif
