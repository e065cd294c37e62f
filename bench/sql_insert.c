/* SPDX-License-Identifier: MIT */
/*
 * sql_insert FILE QUERY: the peer of `attar sql --input FILE --query QUERY`. Reads a recording of
 * raw_syscalls:sys_enter by the library's stream, inserts each event into a table of SQLite in
 * memory with one prepared statement in one transaction, and runs the query, whose rows it prints.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "perfdata/recording.h"
#include "stream/stream.h"

enum { ID_AT = 8, ARGS_AT = 16, ARGS_BYTES = 48 }; /* in the record: s64 id, u64 args[6] */

static const char table[] =
	"PRAGMA journal_mode = OFF; BEGIN; CREATE TABLE sys_enter(time INTEGER, cpu INTEGER,"
	" pid INTEGER, tid INTEGER, comm TEXT, period INTEGER, ip INTEGER, addr INTEGER,"
	" id INTEGER, args BLOB)";

static int failed(sqlite3 *db)
{
	fprintf(stderr, "sql_insert: %s; %s\n", sqlite3_errmsg(db), attar_error());
	return 1;
}

static bool insert(sqlite3_stmt *s, const struct attar_event *ev)
{
	const struct attar_sample *sample = &ev->record->sample;
	const char *raw = sample->raw;
	int64_t id;

	if (sample->raw_size < ARGS_AT + ARGS_BYTES)
		return false;
	memcpy(&id, raw + ID_AT, sizeof(id));
	sqlite3_bind_int64(s, 1, (int64_t)ev->time);
	sqlite3_bind_int(s, 2, (int)ev->cpu);
	sqlite3_bind_int(s, 3, (int)ev->record->pid);
	sqlite3_bind_int(s, 4, (int)ev->record->tid);
	sqlite3_bind_text(s, 5, ev->thread->comm, -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 6, (int64_t)sample->period);
	sqlite3_bind_int64(s, 7, (int64_t)sample->ip);
	sqlite3_bind_int64(s, 8, (int64_t)sample->addr);
	sqlite3_bind_int64(s, 9, id);
	sqlite3_bind_blob(s, 10, raw + ARGS_AT, ARGS_BYTES, SQLITE_STATIC);
	return sqlite3_step(s) == SQLITE_DONE && sqlite3_reset(s) == SQLITE_OK;
}

static bool insert_all(const char *path, sqlite3_stmt *statement)
{
	struct attar_symbols *symbols = NULL;
	struct attar_stream *stream = NULL;
	struct recording *recording = NULL;
	struct attar_event ev;
	bool ok = recording_open(path, &recording) == 0 && attar_symbols_new(NULL, &symbols) == 0 &&
		  stream_replay(recording, symbols, &stream) == 0 &&
		  attar_stream_start(stream) == 0;

	while (ok && !stream_drained(stream))
		while (ok && attar_stream_next(stream, &ev) > 0)
			if (ev.record->type == PERF_RECORD_SAMPLE)
				ok = insert(statement, &ev);
	attar_stream_free(stream);
	attar_symbols_free(symbols);
	recording_close(recording);
	return ok;
}

static int print_row(void *ctx, int n, char **values, char **names)
{
	for (int i = 0; i < n; i++)
		printf("%s%s", i ? " " : "", values[i] ? values[i] : "");
	putchar('\n');
	return 0;
}

int main(int argc, char **argv)
{
	sqlite3_stmt *statement = NULL;
	sqlite3 *db;

	if (argc != 3) {
		fprintf(stderr, "usage: sql_insert FILE QUERY\n");
		return 2;
	}
	if (sqlite3_open(":memory:", &db) != SQLITE_OK ||
		sqlite3_exec(db, table, NULL, NULL, NULL) != SQLITE_OK ||
		sqlite3_prepare_v2(db, "INSERT INTO sys_enter VALUES (?,?,?,?,?,?,?,?,?,?)", -1,
			&statement, NULL) != SQLITE_OK ||
		!insert_all(argv[1], statement))
		return failed(db);
	sqlite3_finalize(statement);
	if (sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK ||
		sqlite3_exec(db, argv[2], print_row, NULL, NULL) != SQLITE_OK)
		return failed(db);
	sqlite3_close(db);
	return 0;
}
