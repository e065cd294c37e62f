/* SPDX-License-Identifier: MIT */
/*
 * Databases of reports, which attar diff reads: the bytes of a file, or else statements that change
 * an empty database of attar, such as INSERT INTO sections VALUES (...). Reports are drawn.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attar/private/report.h"
#include "attar/report.h"
#include "base/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STEPS = 1000, ROUNDS = 200, BYTES_MAX = 1 << 16 };

/* The tables of docs/exports.md. */
static const char schema[] =
	"CREATE TABLE reports (id INTEGER PRIMARY KEY, profiler TEXT, time INTEGER,"
	" interval_ns INTEGER, seen INTEGER, lost INTEGER, lost_side_band INTEGER,"
	" missing INTEGER, throttled INTEGER, unresolved REAL, self_cpu REAL, self_rss INTEGER);"
	"CREATE TABLE remarks (report INTEGER, text TEXT);"
	"CREATE TABLE histograms (report INTEGER, name TEXT, unit TEXT, low REAL, high REAL,"
	" count INTEGER);"
	"CREATE TABLE quantiles (report INTEGER, name TEXT, unit TEXT, share REAL, value REAL);"
	"CREATE TABLE summaries (report INTEGER, name TEXT, unit TEXT, count INTEGER, sum REAL,"
	" min REAL, max REAL);"
	"CREATE TABLE sections (name TEXT PRIMARY KEY, section TEXT, kind TEXT, unit TEXT);"
	"CREATE TABLE columns (section TEXT, number INTEGER, name TEXT, unit TEXT);"
	"CREATE TABLE event_stacks (id INTEGER PRIMARY KEY, frames TEXT UNIQUE);"
	"PRAGMA user_version=1;";

static char path[] = "/tmp/fuzz_database.XXXXXX";

static void remove_file(void)
{
	unlink(path);
}

static int take(void *ctx, struct attar_report *report)
{
	struct attar_renderer *renderer;

	if (attar_renderer_new("json", ctx, NULL, &renderer) == 0)
		attar_renderer_draw(renderer, report);
	attar_renderer_free(renderer);
	attar_report_free(report);
	return 0;
}

/* Statements change this database only, and end. */
static int authorize(
	void *ctx, int action, const char *a, const char *b, const char *c, const char *d)
{
	return action == SQLITE_ATTACH || action == SQLITE_PRAGMA || action == SQLITE_FUNCTION
		       ? SQLITE_DENY
		       : SQLITE_OK;
}

static int count(void *ctx)
{
	return ++*(int *)ctx > ROUNDS;
}

static int make(const char *statements)
{
	int rounds = 0;
	sqlite3 *db;

	if (sqlite3_open(path, &db) != SQLITE_OK ||
		sqlite3_exec(db, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;", NULL, NULL,
			NULL) != SQLITE_OK ||
		sqlite3_exec(db, schema, NULL, NULL, NULL) != SQLITE_OK)
		abort();
	sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, BYTES_MAX);
	sqlite3_set_authorizer(db, authorize, NULL);
	sqlite3_progress_handler(db, STEPS, count, &rounds);
	sqlite3_exec(db, statements, NULL, NULL, NULL);
	return sqlite3_close(db);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char magic[] = "SQLite format 3";
	static FILE *null;
	static int fd = -1;
	char *text;

	null = null ? null : fopen("/dev/null", "w");
	if (fd < 0) {
		fd = mkstemp(path);
		atexit(remove_file);
	}
	if (!null || fd < 0 || ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		abort();
	if (size > sizeof(magic) && !memcmp(data, magic, sizeof(magic))) {
		if (file_write_all(fd, data, size) < 0)
			abort();
	} else {
		text = strndup((const char *)data, size);
		make(text);
		free(text);
	}
	report_read_database(path, take, null);
	attar_error_clear();
	return 0;
}
