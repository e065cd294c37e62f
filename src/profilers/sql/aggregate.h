/* SPDX-License-Identifier: MIT */
/*
 * A query whose groups are computed while events arrive: sql_rewrite.c recognizes it and makes one
 * of it that reads the groups, which sql_groups.c shows to SQLite as a table.
 */
#ifndef PROFILERS_SQL_AGGREGATE_H
#define PROFILERS_SQL_AGGREGATE_H

#include "sql/db.h"
#include "sql/sum.h"

enum { SQL_MEASURES_MAX = 16 };

enum sql_measure_kind {
	SQL_COUNT_ROWS, /* count(*) */
	SQL_COUNT,
	SQL_SUM,
	SQL_TOTAL,
	SQL_AVG,
	SQL_MIN,
	SQL_MAX,
};

/* A column of the groups after their keys: a function of a column of the events. */
struct sql_measure {
	enum sql_measure_kind kind;
	size_t sum; /* in summed */
};

struct sql_group {
	uint64_t hash, n; /* n: events */
};

struct sql_aggregate {
	struct sql_aggregate *next; /* of the same table */
	struct sql_table *table;    /* borrowed */
	unsigned number;            /* of the statement, from 1 */
	char *query;                /* on the table "groups NUMBER"; owned */
	char *condition;            /* events that fulfil it are added; NULL: all; owned */
	struct attar_expr *only;    /* the condition, if it must be evaluated here; owned */
	bool reads_comm;
	bool adds_integers; /* avg() and total() of this SQLite do, see sql_sum.h */
	int key_columns[SQL_GROUP_MAX], summed[SQL_MEASURES_MAX];
	struct sql_measure measures[SQL_MEASURES_MAX];
	size_t n_keys, n_summed, n_measures;
	uint64_t bytes_max; /* memory of the groups */

	struct sql_group *groups;
	struct sql_value *keys; /* n_keys of each group */
	struct sql_sum *sums;   /* n_summed of each group */
	size_t n, max;
	uint32_t *slots; /* number of the group + 1; 0: free */
	size_t n_slots;  /* a power of two, at least twice the groups */
	size_t text_bytes;
};

/* The groups in the order of their keys, to be freed; NULL: out of memory. */
uint32_t *sql_aggregate_order(const struct sql_aggregate *a);

/* ---- sql_rewrite.c ---- */

/*
 * Recognizes a statement on one table with columns, functions of columns, and comparisons that the
 * language of filters has. Returns NULL for others, or without memory.
 */
struct sql_aggregate *sql_rewrite(
	const struct sql_db *db, unsigned number, const char *text, size_t len);

/* ---- sql_groups.c ---- */

/* Adds the module "attar_groups", and a table "groups NUMBER" for each aggregate of the tables. */
int sql_groups_register(struct sql_db *db);

/* Adds the table of an aggregate that the tables do not have yet. A code of SQLite. */
int sql_groups_create(struct sql_db *db, struct sql_aggregate *a);

/* The aggregate for a statement; NULL: none. */
struct sql_aggregate *sql_groups_find(const struct sql_db *db, unsigned number);

#endif
