/* SPDX-License-Identifier: MIT */
/*
 * Events as SQL tables: sql_rows.c keeps them, sql_db.c lets SQLite read them, sql_scan.c
 * finds out which of them the queries need, sql.c is the profiler.
 */
#ifndef PROFILERS_SQL_SQL_H
#define PROFILERS_SQL_SQL_H

#include "attar/run.h"
#include "sql/columns.h"

/* ---- sql_rows.c: the events that are kept, up to a number of bytes ---- */

/* An event; its thread's name and its fields follow, each beginning at a multiple of 8 bytes. */
struct sql_row {
	uint64_t time; /* ns of the stream's clock */
	uint64_t period, ip, addr;
	int32_t cpu, pid, tid; /* -1: unknown */
	uint32_t raw_size, comm_size;
	uint32_t stack; /* in sql_store.stacks; 0: none */
	uint32_t group; /* of run_group_of(); 0: unknown, or not kept */
};

struct sql_chunk;

/* The events of one table, oldest first. */
struct sql_rows {
	struct sql_chunk *first, *last;
	bool no_comm, no_fields; /* not kept: no query reads them */
};

/* What all tables keep together. */
struct sql_store {
	uint64_t bytes, bytes_max;
	uint64_t dropped;         /* events that were dropped for newer ones */
	struct sql_chunk *spare;  /* to be used next; NULL: none */
	struct sql_rows **tables; /* borrowed */
	size_t n_tables;
	struct attar_stack_table *stacks; /* borrowed; NULL: stacks are not kept */
	const struct attar_run *run;      /* that knows control groups; NULL: they are not kept */
};

/* Adds an event. Drops the oldest ones of all tables when bytes_max is reached. 0 or -ENOMEM. */
int sql_rows_add(struct sql_store *store, struct sql_rows *rows, const struct attar_event *event);

/* A position in a table; zeroed: before the first event. */
struct sql_place {
	const struct sql_chunk *chunk;
	size_t at;
};

/* The next event; NULL after the last. Borrowed until events are added. */
const struct sql_row *sql_rows_next(const struct sql_rows *rows, struct sql_place *place);

/* An event, stored or not. Borrowed. */
struct sql_view {
	const struct sql_row *row;
	const char *comm; /* without NUL; row->comm_size */
	const void *raw;
};

struct sql_view sql_row_view(const struct sql_row *row);

/* The view of an event that is not stored; ret_row holds its numbers. */
void sql_view_event(const struct attar_event *event, bool with_comm, struct sql_row *ret_row,
	struct sql_view *ret_view);

/* The number of events. */
uint64_t sql_rows_count(const struct sql_rows *rows);

/* Memory for many values at once, in huge pages where possible. NULL: out of memory. Use free(). */
void *sql_big_alloc(size_t bytes);

/* Drops all events of the table. */
void sql_rows_clear(struct sql_store *store, struct sql_rows *rows);
void sql_store_done(struct sql_store *store);

/* ---- sql_db.c ---- */

/* The name of the table that describes the others. */
#define SQL_METADATA "event_metadata"

/* A table: an event. */
struct sql_table {
	const char *name;  /* in queries; owned by the profiler */
	const char *event; /* borrowed, and so is the next one */
	const struct attar_event_spec *spec;
	const struct attar_format *format; /* NULL: the event has no fields */
	bool has_stack;                    /* its samples */
	uint32_t max_stack;                /* frames; 0: no stacks, or not known */
	struct sql_columns columns;
	struct sql_rows rows;
	/* What the queries need, as a filter; NULL: all events. Owned by the profiler. */
	char *condition;
	bool is_needed;                /* all events are needed */
	bool uses_rowid;               /* a query does */
	bool reads_comm, reads_fields; /* a query does */
	bool in_kernel;                /* the kernel drops the other events */
	struct attar_expr *only; /* the condition, if attar applies it; NULL: the kernel does */
	uint64_t n_events, first, last;   /* delivered ones, and their times, ns */
	int64_t created;                  /* seconds since 1970 */
	struct sql_aggregate *aggregates; /* owned by the profiler; in a list */
	unsigned n_queries;               /* that read the table */
	bool keeps_no_rows;               /* all these are aggregates */
	bool is_in_file;                  /* events of earlier intervals are in --output2 */
};

/* ---- sql_aggregate.c: a query whose groups are computed while events arrive ---- */

struct sql_aggregate;

/* Adds an event. 0, -ENOMEM, or -E2BIG: there are too many groups. */
int sql_aggregate_add(struct sql_aggregate *a, const struct attar_event *event);

/* Forgets all groups. */
void sql_aggregate_clear(struct sql_aggregate *a);

/* Accepts NULL. Returns NULL. */
struct sql_aggregate *sql_aggregate_free(struct sql_aggregate *a);

struct sql_db;

struct sql_db_opts {
	const char *path; /* of a file in which the tables are stored; NULL: in memory */
	/* Ordinary tables, filled with the events now; else virtual ones. */
	bool is_stored;
	bool is_appended; /* to a table with is_in_file, which is set */
	bool is_compared; /* ordinary tables for sql_db_compare(): hidden columns only if read */
	bool is_input;    /* the database of --input; no other tables */
	bool is_prompt;   /* the queries are not from --query */
	bool is_filtered; /* virtual tables have only the events that fulfil sql_table.only */
	uint64_t timeout; /* ns that a query may take */
	uint64_t window;  /* bytes that the groups of an aggregate may take */
	struct sql_table **tables; /* borrowed */
	size_t n_tables;
	const struct attar_stack_table *stacks; /* borrowed; NULL: there are none */
};

/* Creates a database with the tables. A query can only read it. */
int sql_db_new(struct attar_run *run, const struct sql_db_opts *opts, struct sql_db **ret_db);
struct sql_db *sql_db_free(struct sql_db *db);

/* Checks the queries, separated by semicolons. -EINVAL with an error message. */
int sql_db_check(struct sql_db *db, const char *queries);

/*
 * Sets the condition of each table: an event that does not fulfil it changes no result of the
 * queries; and its aggregates, which attar computes in place of SQLite. 0 or a negative errno.
 */
int sql_db_conditions(struct sql_db *db, const char *queries);

/* The next aggregate of a table, and whether, and by which condition, it selects events itself. */
struct sql_aggregate *sql_aggregate_next(const struct sql_aggregate *a);
const char *sql_aggregate_condition(const struct sql_aggregate *a);
void sql_aggregate_set_only(struct sql_aggregate *a, struct attar_expr *only);

/* Adds a section with all tables; columns: with all columns of each instead. */
void sql_db_tables(struct sql_db *db, bool columns, struct attar_report *report);

/* Adds a section for each query: how SQLite executes it. 0 or a negative errno. */
int sql_db_explain(struct sql_db *db, const char *queries, struct attar_report *report);

/*
 * Runs the queries; each adds a section to the report. Negative errno: a query failed, was
 * interrupted, or has too many rows.
 */
int sql_db_run(struct sql_db *db, const char *queries, struct attar_report *report);

/*
 * Returns 0 if the queries have the same results in both, where rows that ORDER BY does not
 * distinguish may be in another order; else with an error message: -EBADMSG if not, -EINVAL if '*'
 * stands for more columns in the ordinary tables, which cannot hide any, and these have names that
 * cannot be distinguished. *ret_unordered: the first statement whose rows have another order and an
 * ORDER BY that is not understood; 0: there is none.
 */
int sql_db_compare(
	struct sql_db *db, struct sql_db *other, const char *queries, unsigned *ret_unordered);

#endif
