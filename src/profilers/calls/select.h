/* SPDX-License-Identifier: MIT */
/*
 * The system calls of a run, by number, and which of them are shown: the option -e, as of
 * strace(1).
 */
#ifndef PROFILERS_CALLS_SELECT_H
#define PROFILERS_CALLS_SELECT_H

#include "attar/run.h"
#include "calls/signatures.h"

struct calls_entry {
	char name[32];
	const struct calls_signature *signature; /* NULL: not known */
	unsigned classes;                        /* enum calls_class */
	bool is_wanted;
};

enum { CALLS_SUCCESSFUL = 1, CALLS_FAILED = 2, CALLS_UNFINISHED = 4 };

struct calls_table {
	struct calls_entry at[CALLS_NUMBERS];
	unsigned statuses; /* what is shown */
	bool selects;      /* not all calls are wanted */
};

/* Finds the names of the calls. Only from open(), after the events. 0 or a negative errno. */
int calls_table_init(struct calls_table *table, struct attar_run *run);

/* Applies the texts of -e. 0, or -EINVAL with a message. */
int calls_table_select(struct calls_table *table, const struct attar_texts *texts);

/*
 * The calls that are wanted as a filter of the kernel; false: all are, or they are too many for
 * one.
 */
bool calls_table_filter(const struct calls_table *table, char *filter, size_t max);

#endif
