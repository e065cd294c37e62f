/* SPDX-License-Identifier: MIT */
/* In place of sql_db.c and sql_table.c where attar is built without SQLite. */
#include <errno.h>

#include "sql/sql.h"

int sql_db_new(struct attar_run *run, const struct sql_db_opts *opts, struct sql_db **ret_db)
{
	return attar_fail(-EOPNOTSUPP, "this attar was built without SQLite" ATTAR_FIX
				       "install libsqlite3-dev and rebuild attar");
}

struct sql_db *sql_db_free(struct sql_db *db)
{
	return NULL;
}

int sql_db_check(struct sql_db *db, const char *queries)
{
	return -EOPNOTSUPP;
}

int sql_db_conditions(struct sql_db *db, const char *queries)
{
	return -EOPNOTSUPP;
}

void sql_db_tables(struct sql_db *db, bool columns, struct attar_report *report)
{
}

int sql_db_explain(struct sql_db *db, const char *queries, struct attar_report *report)
{
	return -EOPNOTSUPP;
}

int sql_db_run(struct sql_db *db, const char *queries, struct attar_report *report)
{
	return -EOPNOTSUPP;
}

int sql_db_compare(
	struct sql_db *db, struct sql_db *other, const char *queries, unsigned *ret_unordered)
{
	return -EOPNOTSUPP;
}

int sql_aggregate_add(struct sql_aggregate *a, const struct attar_event *event)
{
	return -EOPNOTSUPP;
}

void sql_aggregate_clear(struct sql_aggregate *a)
{
}

struct sql_aggregate *sql_aggregate_free(struct sql_aggregate *a)
{
	return NULL;
}

struct sql_aggregate *sql_aggregate_next(const struct sql_aggregate *a)
{
	return NULL;
}

const char *sql_aggregate_condition(const struct sql_aggregate *a)
{
	return NULL;
}

void sql_aggregate_set_only(struct sql_aggregate *a, struct attar_expr *only)
{
}
