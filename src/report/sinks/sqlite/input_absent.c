/* SPDX-License-Identifier: MIT */
/* In place of sqlite_input.c, sqlite_output.c and sqlite_read.c in a build without SQLite. */
#include "attar/private/report.h"
#include "attar/report.h"
#include "base/base.h"
#include "report/sinks/clickhouse/input.h"
#include "report/sinks/sqlite/input.h"
#include "report/sinks/sqlite/output.h"

int sqlite_open_input(const char *path, struct sqlite3 **ret_db)
{
	return attar_fail(-EOPNOTSUPP,
		"cannot read the database '%s': this attar was built without SQLite" ATTAR_FIX
		"install libsqlite3-dev and rebuild attar",
		CLIP(path));
}

int sqlite_open_output(const struct place *place, struct sqlite3 **ret_db)
{
	return -EOPNOTSUPP;
}

int report_read_database(
	const char *path, int (*take)(void *ctx, struct attar_report *report), void *ctx)
{
	if (clickhouse_is_address(path))
		return clickhouse_read(path, take, ctx);
	return sqlite_is_database(path) ? sqlite_open_input(path, NULL) : 0;
}
