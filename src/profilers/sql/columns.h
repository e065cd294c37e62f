/* SPDX-License-Identifier: MIT */
/*
 * The columns of a table of events:
 *
 * - those common to all events: "pid", or "_pid" if the event has a field "pid"
 * - the event's fields
 * - hidden ones, which '*' does not include: "stack", "text", "_cgroup", "_unit", "_container",
 *   "_pod", the fields that all tracepoints have,
 *   and "_pid" beside "pid", so that "_time", "_cpu", "_pid", "_tid", "_comm" and "_period" always
 *   exist
 */
#ifndef PROFILERS_SQL_COLUMNS_H
#define PROFILERS_SQL_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#include "attar/format.h"
#include "attar/run.h"

enum sql_source {
	SQL_TIME,
	SQL_CPU,
	SQL_PID,
	SQL_TID,
	SQL_COMM,
	SQL_PERIOD,
	SQL_IP,
	SQL_ADDR,
	SQL_STACK,
	SQL_LINE,
	SQL_CGROUP,
	SQL_UNIT,
	SQL_CONTAINER,
	SQL_POD,
	SQL_FIELD,
};

struct sql_column {
	char *name;       /* owned */
	const char *type; /* "INTEGER" */
	enum sql_source source;
	const struct attar_field *field; /* of SQL_FIELD; borrowed; NULL: another source */
	const struct attar_run *run;     /* of SQL_TIME: has the clock of the values; borrowed */
	const char *same;                /* the visible column with the same values; NULL: none */
	bool is_hidden;
	bool is_read; /* by a query */
};

struct sql_columns {
	struct sql_column *at; /* owned */
	size_t n;
};

/* format: of the event; NULL: it has no fields. 0 or -ENOMEM. */
int sql_columns_init(struct sql_columns *columns, const struct attar_format *format);
void sql_columns_done(struct sql_columns *columns);

/* The column with this name, of n bytes, in any case; -1: none. */
int sql_columns_find(const struct sql_columns *columns, const char *name, size_t n);

#endif
