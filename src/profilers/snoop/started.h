/* SPDX-License-Identifier: MIT */
/*
 * What snoop stores with the start of a pair: the columns of the start, and whose they are. Texts
 * of the program are the texts of the call if they are read before it ends: they are read for the
 * calls that have not ended when all events up to now were delivered.
 */
#ifndef PROFILERS_SNOOP_STARTED_H
#define PROFILERS_SNOOP_STARTED_H

#include "attar/builtin.h"
#include "lib/keys.h"
#include "lib/tcp_owners.h"

enum {
	COLUMNS_MAX = 12, /* of an event */
	COMM_BYTES = 16,
	VALUE_BYTES = ATTAR_EXPR_TEXT_MAX + 2, /* of a key of one value */
	RAW_MAX = 256, /* bytes of the record of a start; records of system calls have 64 */
};

#define UNKNOWN "[unknown]"
#define LOST    "[lost]" /* the copy of the text */
#define DOUBT   "?"      /* after a text */

struct snoop_column {
	char name[KEYS_NAME_BYTES];
	struct attar_expr *value;
	bool reads;   /* the memory or files of the program */
	bool is_file; /* fd_name() */
};

/* The thread of a line. */
struct snoop_owner {
	int32_t tid, pid; /* -1: unknown */
	bool is_selected; /* by --tasks */
	char comm[COMM_BYTES];
};

struct snoop_event {
	struct snoop_column columns[COLUMNS_MAX];
	size_t n, main;                  /* main: index of the main column */
	struct attar_expr *key, *failed; /* failed NULL: it has no field ret */
	struct attar_expr *role;         /* NULL: it starts or ends a pair */
	bool reads;                      /* a column does */
	bool gives_columns;              /* role=2: to the open pair */
	bool nests;                      /* role=5: within a pair that another event has begun */
	struct tcp_fields connection;
};

struct snoop_started {
	const struct snoop_event *event; /* that computes the columns */
	const struct snoop_event *begun_by;
	bool is_pending;                 /* they are not computed yet */
	bool has_record;                 /* of the start, also after that */
	bool is_unread;                  /* the program has no text there any more */
	bool is_lost;                    /* a text was copied, and lost */
	bool is_doubtful;                /* another thread may have changed it meanwhile */
	uint32_t nested;                 /* starts within it that have no end yet */
	uint64_t read_at;                /* when the texts were read, ns; 0: not */
	struct attar_expr_record record; /* of the start, if has_record */
	char raw[RAW_MAX];
	struct snoop_owner owner;
	uint16_t len[COLUMNS_MAX];
	char bytes[]; /* of the values, one after the other */
};

/* Begins with the columns of an event. True: they are computed later, by started_compute(). */
bool started_begin(struct attar_run *run, struct snoop_started *started,
	const struct snoop_event *e, const struct attar_expr_record *record);

/* Takes the columns of another event, during the call. */
void started_change(struct attar_run *run, struct snoop_started *started,
	const struct snoop_event *e, const struct attar_expr_record *record);

/*
 * Takes the columns of another event that has some columns of the start, by name, such as an
 * address that is known later. Not if columns of the start are pending.
 */
void started_replace(struct snoop_started *started, const struct snoop_event *e,
	const struct attar_expr_record *record);

/* Whether each column of an event is one of `first`. */
bool started_can_replace(const struct snoop_event *e, const struct snoop_event *first);

/*
 * Computes columns that are pending. reads: also what must be read from the program. ended: when
 * the call has ended; 0: it has not.
 */
void started_compute(
	struct attar_run *run, struct snoop_started *started, bool reads, uint64_t ended);

/* Whether what was read from the program may be of a later call than the one that ended. */
bool started_is_unknown(
	const struct attar_run *run, const struct snoop_started *started, uint64_t ended);

/* Whether a file of the columns is none that --files shows; false for an unknown file. */
bool started_has_no_file(
	const struct attar_run *run, const struct snoop_started *started, uint64_t ended);

/* Adds the cells of the columns. unknown: started_is_unknown(), or lost. */
void started_add_cells(
	struct attar_section *lines, const struct snoop_started *started, bool unknown);

#endif
