/* SPDX-License-Identifier: MIT */
/* What top.c collects and report.c shows. */
#ifndef PROFILERS_TOP_TOP_H
#define PROFILERS_TOP_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attar/builtin.h"
#include "attar/private/expr.h"
#include "attar/private/keytable.h"
#include "lib/keys.h"
#include "lib/sample_weight.h"
#include "lib/task_by.h"

enum { TOP_COLUMNS_MAX = 64, TOP_NAME_BYTES = 64 };

/* A value column: of a top-by or top-add attribute, or the number of events. */
struct top_column {
	char name[KEYS_NAME_BYTES];
	const char *text;
	struct attar_expr *sum; /* NULL: counts events */
	bool is_signed;         /* the sum is an int64_t */
	bool is_refused;        /* the kernel refused the event: not shown */
	const char *user_event; /* NULL: none; programs can register one several times */
	/* Its sum: the sum of the first column with the same NAME: or event of programs. */
	size_t at;
};

/* What the attributes of an event say. */
struct top_event {
	const struct attar_event_spec *spec;   /* that it was made for */
	struct attar_expr *key, *comm, *print; /* NULL: the thread, its name, the key itself */
	size_t first, n;                       /* its columns */
	/* Counted by thread or by a field, and nothing else: see count_plain() in top.c. */
	bool is_plain;
	const struct attar_field *field; /* NULL: by thread */
	size_t sum;                      /* of its first column */
	struct sample_events events;     /* that a sample counts as */
};

/* The block of a row. */
struct top_label {
	uint32_t source; /* whose key expression made the key */
	uint32_t len;    /* bytes of comm */
	uint64_t hash;   /* attar_thread.comm_hash of comm; 0: of comm= */
	char comm[TOP_NAME_BYTES];
};

struct top {
	struct attar_texts events;
	const char *key, *by_text;
	bool only_comm;

	enum task_by by;

	struct top_event *of; /* by source */
	uint32_t n_of;
	struct top_column columns[TOP_COLUMNS_MAX];
	size_t n_columns, columns_max;
	size_t rank;      /* the column that rows are sorted by */
	bool has_by;      /* rank is given by a top-by */
	uint32_t n_ready; /* sources with their final numbers; 0: no event was delivered */
	bool has_names;   /* rows have a name besides their key */
	bool has_limits;  /* a sum of the report's rows left 64 bits */
	struct attar_keytable *table;
};

/* The rows of one report, the largest sums first. */
struct top_rows {
	struct attar_keyrow **rows;
	size_t n;
	enum attar_scope scope;
};

/* Whether column i is of a pattern of programs' events, which has no events itself. */
bool top_is_replaced(const struct top *top, size_t i);

/* Adds the table and its remarks. Orders rows with equal sums. */
void top_show(struct attar_run *run, struct top *top, struct attar_report *report,
	const struct top_rows *rows);

#endif
