/* SPDX-License-Identifier: MIT */
/* The file of a database. SQLite opens it by name: the descriptor of the output gives the name. */
#include "report/sinks/sqlite/sqlite.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/escape.h"
#include "report/sinks/sqlite/output.h"

enum { SCHEMA_VERSION = 1 }; /* at the end of the schema, too */

static const char schema[] =
	"BEGIN;"
	"CREATE TABLE reports (id INTEGER PRIMARY KEY, profiler TEXT, time INTEGER,"
	" interval_ns INTEGER, seen INTEGER, lost INTEGER, lost_side_band INTEGER,"
	" missing INTEGER, throttled INTEGER, unresolved REAL, self_cpu REAL, self_rss INTEGER);"
	"CREATE TABLE remarks (report INTEGER REFERENCES reports, text TEXT);"
	"CREATE TABLE histograms (report INTEGER REFERENCES reports, name TEXT, unit TEXT,"
	" low REAL, high REAL, count INTEGER);"
	"CREATE TABLE quantiles (report INTEGER REFERENCES reports, name TEXT, unit TEXT,"
	" share REAL, value REAL);"
	"CREATE TABLE summaries (report INTEGER REFERENCES reports, name TEXT, unit TEXT,"
	" count INTEGER, sum REAL, min REAL, max REAL);"
	"CREATE TABLE sections (name TEXT PRIMARY KEY, section TEXT, kind TEXT, unit TEXT);"
	"CREATE TABLE columns (section TEXT REFERENCES sections, number INTEGER, name TEXT,"
	" unit TEXT);"
	"CREATE TABLE event_stacks (id INTEGER PRIMARY KEY, frames TEXT UNIQUE);"
	"PRAGMA user_version=1; COMMIT;";

static int failed(struct database *db)
{
	int code = sqlite3_errcode(db->sqlite) & 0xff;

	if (code == SQLITE_NOMEM)
		return base_oom();
	if (code == SQLITE_IOERR && sqlite3_system_errno(db->sqlite) == ENOSPC)
		code = SQLITE_FULL;
	return attar_fail(
		code == SQLITE_FULL ? -ENOSPC : -EIO, "SQLite: %s", sqlite3_errmsg(db->sqlite));
}

int database_execute(struct database *db, const char *sql)
{
	return sqlite3_exec(db->sqlite, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : failed(db);
}

int database_prepare(struct database *db, const char *sql, sqlite3_stmt **ret_statement)
{
	return sqlite3_prepare_v3(db->sqlite, sql, -1, SQLITE_PREPARE_PERSISTENT, ret_statement,
		       NULL) == SQLITE_OK
		       ? 0
		       : failed(db);
}

int database_insert(struct database *db, sqlite3_stmt *statement)
{
	int code = sqlite3_step(statement);

	sqlite3_reset(statement);
	sqlite3_clear_bindings(statement);
	return code == SQLITE_DONE ? 0 : failed(db);
}

void database_bind_buf(sqlite3_stmt *statement, int at, const struct buf *text)
{
	sqlite3_bind_text(statement, at, buf_text(text), (int)MIN(text->len, (size_t)INT32_MAX),
		SQLITE_TRANSIENT);
}

void database_bind_text(sqlite3_stmt *statement, int at, const char *text)
{
	struct buf valid _cleanup_(buf_done) = {0};
	size_t n = strlen(text);

	if (escape_plain(text, n) == n) {
		sqlite3_bind_text(statement, at, text, (int)n, SQLITE_STATIC);
		return;
	}
	escape_utf8(&valid, text, n);
	database_bind_buf(statement, at, &valid);
}

/* The place of the file of the output. */
static int find_place(struct attar_renderer *r, struct place *place)
{
	char name[PATH_MAX], link[64];
	int fd = fileno(r->file);
	struct stat st, found;
	ssize_t n;
	int e;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = fd < 0 ? -1 : readlink(link, name, sizeof(name) - 1);
	if (n < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return attar_fail(-EINVAL, "a database needs a file" ATTAR_FIX "use -o FILE.db");
	name[n] = '\0';
	e = place_find(place, name);
	if (e == 0)
		e = place_stat(place, &found);
	if (e == 0 && (found.st_dev != st.st_dev || found.st_ino != st.st_ino))
		e = -ESTALE;
	return e < 0 ? attar_fail(e, "cannot open the database '%s': %s", CLIP(name),
			       e == -ESTALE ? "it was moved or replaced" : place_error(-e))
		     : 0;
}

/* Files left by a killed run would be added to the new database. */
static void remove_journals(const struct place *place)
{
	static const char *const suffixes[] = {"-wal", "-shm", "-journal"};
	struct buf name _cleanup_(buf_done) = {0};

	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		buf_reset(&name);
		buf_printf(&name, "%s%s", place->name, suffixes[i]);
		if (!buf_failed(&name))
			unlinkat(place->dir, buf_text(&name), 0);
	}
}

static int prepare_all(struct database *db)
{
	const struct {
		const char *sql;
		sqlite3_stmt **statement;
	} all[] = {
		{"INSERT INTO reports VALUES (NULL,?,?,?,?,?,?,?,?,?,?,?)", &db->report},
		{"INSERT INTO remarks VALUES (?,?)", &db->remark},
		{"INSERT INTO histograms VALUES (?,?,?,?,?,?)", &db->histogram},
		{"INSERT INTO quantiles VALUES (?,?,?,?,?)", &db->quantile},
		{"INSERT INTO summaries VALUES (?,?,?,?,?,?,?)", &db->summary},
		{"INSERT INTO sections VALUES (?,?,?,?)", &db->section},
		{"INSERT INTO columns VALUES (?,?,?,?)", &db->column},
		{"INSERT OR IGNORE INTO event_stacks (frames) VALUES (?)", &db->add_stack},
		{"SELECT id FROM event_stacks WHERE frames = ?", &db->get_stack},
		{"SELECT 1 FROM sqlite_schema JOIN sections USING (name)"
		 " WHERE name = ? AND sql = ? AND section = ?",
			&db->find_table},
	};
	int e = 0;

	for (size_t i = 0; e == 0 && i < ARRAY_SIZE(all); i++)
		e = database_prepare(db, all[i].sql, all[i].statement);
	return e;
}

/*
 * After a failure, such as a full disk, closing leaves the write-ahead log behind. Removing its
 * index makes room to move the log into the database; with the lock the index is in memory. A log
 * that cannot be moved stays: it has reports.
 */
static void settle_journals(const struct place *place)
{
	struct buf log _cleanup_(buf_done) = {0}, index _cleanup_(buf_done) = {0};
	sqlite3 *sqlite = NULL;
	struct stat st;

	buf_printf(&log, "%s-wal", place->name);
	buf_printf(&index, "%s-shm", place->name);
	if (buf_failed(&log) || buf_failed(&index) ||
		faccessat(place->dir, buf_text(&log), F_OK, 0) < 0)
		return;
	unlinkat(place->dir, buf_text(&index), 0);
	if (sqlite_open_output(place, &sqlite) == 0)
		sqlite3_exec(sqlite,
			"PRAGMA locking_mode=EXCLUSIVE; PRAGMA wal_checkpoint(TRUNCATE);", NULL,
			NULL, NULL);
	sqlite3_close(sqlite);
	if (fstatat(place->dir, buf_text(&log), &st, AT_SYMLINK_NOFOLLOW) == 0 && !st.st_size)
		unlinkat(place->dir, buf_text(&log), 0);
}

void database_close(struct attar_renderer *r)
{
	struct database *db = r->state;
	bool is_open = db && db->sqlite;

	if (!db)
		return;
	sqlite3_finalize(db->report);
	sqlite3_finalize(db->remark);
	sqlite3_finalize(db->histogram);
	sqlite3_finalize(db->quantile);
	sqlite3_finalize(db->summary);
	sqlite3_finalize(db->section);
	sqlite3_finalize(db->column);
	sqlite3_finalize(db->add_stack);
	sqlite3_finalize(db->get_stack);
	sqlite3_finalize(db->find_table);
	vec_each (&db->tables, table) {
		free(table->section);
		free(table->columns);
		sqlite3_finalize(table->insert);
	}
	vec_done(&db->tables);
	sqlite3_close(db->sqlite);
	if (is_open)
		settle_journals(&db->place);
	place_done(&db->place);
	free(db);
	r->state = NULL;
}

/* Reads a number. Returns 0 or a negative errno with an error message. */
static int query(struct database *db, const char *sql, int64_t *ret_value)
{
	sqlite3_stmt *statement = NULL;
	int e = database_prepare(db, sql, &statement);

	if (e == 0)
		e = sqlite3_step(statement) == SQLITE_ROW ? 0 : failed(db);
	if (e == 0)
		*ret_value = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return e;
}

/* Creates the tables, or continues a database of an earlier run that has them. */
static int begin_tables(struct database *db)
{
	int64_t version = 0;
	int e = database_execute(db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;");

	if (e == 0)
		e = query(db, "PRAGMA user_version", &version);
	if (e < 0 || version == SCHEMA_VERSION)
		return e;
	if (version)
		return attar_fail(-EINVAL,
			"the database has version %lld of the tables, not %d" ATTAR_FIX
			"use another file",
			(long long)version, SCHEMA_VERSION);
	return database_execute(db, schema);
}

/* A file without contents is new: it was created or truncated. */
static bool is_new(const struct attar_renderer *r)
{
	struct stat st;

	return fstat(fileno(r->file), &st) == 0 && !st.st_size;
}

int database_open(struct attar_renderer *r)
{
	struct database *db = calloc(1, sizeof(*db));
	int e;

	r->state = db;
	if (!db)
		return base_oom();
	e = find_place(r, &db->place);
	if (e < 0)
		return e;
	if (is_new(r))
		remove_journals(&db->place);
	e = sqlite_open_output(&db->place, &db->sqlite);
	if (e < 0)
		return attar_fail(e, "cannot open the database: %s", place_error(-e));
	e = begin_tables(db);
	return e == 0 ? prepare_all(db) : e;
}
