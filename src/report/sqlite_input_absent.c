/* SPDX-License-Identifier: MIT */
/* In place of sqlite_input.c in a build without SQLite. */
#include "base/base.h"
#include "report/sqlite_input.h"

int sqlite_open_input(const char *path, struct sqlite3 **ret_db)
{
	return attar_fail(-EOPNOTSUPP,
		"cannot read the database '%s': this attar was built without SQLite: install "
		"libsqlite3-dev and build it again",
		CLIP(path));
}
