/* SPDX-License-Identifier: MIT */
#include "report/sinks/sqlite/input.h"

#include <ctype.h>
#include <sqlite3.h>

#include "base/base.h"
#include "base/buf.h"

/*
 * As URI. A file without a log is not being written: SQLite need not create the files that
 * coordinate readers and writers, for which it may lack permission.
 */
static int add_uri(struct buf *uri, const char *path)
{
	struct buf log _cleanup_(buf_done) = {0};

	buf_str(uri, *path == '/' ? "file://" : "file:");
	for (const char *p = path; *p; p++)
		buf_printf(uri, isalnum((unsigned char)*p) || strchr("/._-", *p) ? "%c" : "%%%02X",
			(unsigned char)*p);
	buf_str(uri, "?mode=ro");
	buf_printf(&log, "%s-wal", path);
	if (buf_failed(uri) || buf_failed(&log))
		return base_oom();
	if (access(buf_text(&log), F_OK) < 0)
		buf_str(uri, "&immutable=1");
	return buf_failed(uri) ? base_oom() : 0;
}

static void distrust(sqlite3 *db)
{
	sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
}

int sqlite_open_input(const char *path, struct sqlite3 **ret_db)
{
	struct buf uri _cleanup_(buf_done) = {0};
	int r = add_uri(&uri, path), code;
	sqlite3 *db = NULL;

	if (r < 0)
		return r;
	code = sqlite3_open_v2(buf_text(&uri), &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
	if (code == SQLITE_OK) {
		distrust(db);
		/* the first statement reads the schema */
		code = sqlite3_exec(db,
			"PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY;"
			"SELECT count(*) FROM sqlite_schema",
			NULL, NULL, NULL);
	}
	if (code == SQLITE_OK) {
		*ret_db = db;
		return 0;
	}
	code &= 0xff;
	r = attar_fail(code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_ERROR
			       ? -EBADMSG
			       : -EIO,
		"cannot read the database '%s': %s", CLIP(path),
		db ? sqlite3_errmsg(db) : "out of memory");
	sqlite3_close(db);
	return r;
}
