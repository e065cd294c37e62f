/* SPDX-License-Identifier: MIT */
/* Expressions in the attributes of events, above all their keys, and keys in reports. */
#ifndef PROFILERS_LIB_KEYS_H
#define PROFILERS_LIB_KEYS_H

#include "attar/run.h"

/*
 * Compiles the expression of an attribute of source i, or `otherwise` if the event does not have
 * the attribute; NULL in *ret_expr: it has neither. printkey= sees only the variable `key`, and may
 * begin with the heading of its column, see keys_column().
 */
int keys_compile(struct attar_run *run, uint32_t source, const char *name, const char *otherwise,
	unsigned flags, struct attar_expr **ret_expr);

enum { KEYS_NAME_BYTES = 64 };

/*
 * The expression of an attribute "[NAME:]EXPRESSION". Copies the name, cut if it is long; without
 * one, the expression is the name too.
 */
const char *keys_column(const struct attar_event_option *option, char name[KEYS_NAME_BYTES]);

/* Whether two keys, or NULL, can be equal: a number and a string never are. */
bool keys_are_alike(const struct attar_expr *a, const struct attar_expr *b);

/*
 * Whether the expression reads strings from the running program, which may have changed since the
 * event: ustring() without a copy of the kernel, and fd_name().
 */
bool keys_read_program(const struct attar_expr *expr);

/* Adds a column for each value of the key. */
void keys_add_columns(struct attar_section *table, const struct attar_expr *key);

/* Adds the values of a key from attar_expr_key() to the newest row. */
void keys_add_cells(
	struct attar_section *table, const struct attar_expr *key, const void *bytes, size_t size);

/* Whether the key is one number. */
bool keys_is_number(const struct attar_expr *key);

/* -EINVAL: the event has printkey=, but its key is not one number. */
int keys_check_printed(const struct attar_event_spec *spec, const struct attar_expr *key);

/* Whether printkey= of an event only gives a heading: "[NAME:]key". The key is a number then. */
bool keys_print_number(const struct attar_event_spec *spec);

/* Adds the column of printkey= of an event, which has the heading of printkey=, or "key". */
void keys_add_printed_column(struct attar_section *table, const struct attar_event_spec *spec);

/* The value of printkey= for a key, or what its printf() wrote; cut to size bytes. */
void keys_print(
	struct attar_run *run, struct attar_expr *print, uint64_t number, char *text, size_t size);

/* Adds the same as a cell of the column of this event, or the number. */
void keys_add_printed(struct attar_run *run, struct attar_section *table,
	const struct attar_event_spec *spec, struct attar_expr *print, uint64_t number);

/* "pid 12, comm sh": the values of a key as one string, cut to size bytes. */
void keys_text(const struct attar_expr *key, const void *bytes, size_t n, char *text, size_t size);

enum { KEYS_COMM_BYTES = 16 };

/*
 * The key of a row of a thread: it has a row under each of its names, and so have threads that have
 * its number later. Padded with zeros.
 */
struct keys_thread {
	int64_t tid; /* see task_by_life() */
	char comm[KEYS_COMM_BYTES];
};

/* thread NULL: not known. comm: n bytes; NULL: unknown. */
struct keys_thread keys_make_thread(
	const struct attar_thread *thread, pid_t tid, const char *comm, size_t n);

/* Adds the columns, and the cells of a row with such a key: the number, and the name. */
void keys_add_thread_columns(struct attar_section *table);
void keys_add_thread(struct attar_section *table, const struct attar_keyrow *row);

/* Adds a text cell of bytes without a NUL at their end. */
void keys_add_text(struct attar_section *table, const char *bytes, size_t n);

#endif
