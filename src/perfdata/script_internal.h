/* SPDX-License-Identifier: MIT */
/*
 * An event of a script: its fields, their places in the raw bytes, and its format as text. Records
 * of a script that are not of events.
 */
#ifndef PERFDATA_SCRIPT_INTERNAL_H
#define PERFDATA_SCRIPT_INTERNAL_H

#include <linux/perf_event.h>

#include "base/buf.h"
#include "base/vec.h"

enum { SCRIPT_COMMON_BYTES = 8 }; /* common_type to common_pid */

struct script_type {
	const char *name, *c_name;
	uint8_t size; /* bytes; 0: of the declaration, 4: a string of any length */
	bool is_signed, is_string;
};

struct script_field {
	char *name;
	const struct script_type *type;
	size_t offset, size;
};

struct script_event {
	char *name, *system; /* system NULL: not a tracepoint */
	struct perf_event_attr attr;
	uint64_t id;
	bool stack;
	bool is_counted, is_memory; /* declared with counted, sampled */
	VEC(uint64_t) counted;      /* ids of the events whose counts its samples have */
	uint64_t registers;         /* PERF_SAMPLE_REGS_USER and _INTR: the mask */
	VEC(struct script_field) fields;
	size_t size;       /* bytes of the raw record without strings */
	struct buf format; /* the text of its format file */
};

/* Adds the field NAME:TYPE; NULL: added; otherwise why not. */
const char *script_add_field(struct script_event *event, const char *word);

/* Writes event->format. number: common_type of its records. 0 or -ENOMEM. */
int script_make_format(struct script_event *event, unsigned number);

/* Sets the field NAME=VALUE in raw, which has event->size bytes and then strings. */
const char *script_set_field(const struct script_event *event, struct buf *raw, const char *word);

void script_event_done(struct script_event *event);

struct script_task {
	uint32_t pid, tid;
};

/* A kind of record with the number of words after its name. */
struct script_record {
	const char *name;
	uint32_t type;
	size_t n_words;
	const char *syntax;
	/* Adds the body to the record, which begins with its header. NULL, or why not. */
	const char *(*put)(const struct script_task *of, char *const *words, struct buf *record);
};

/* mmap, ksymbol, bpf, cgroup, text-poke; NULL: there is no such record. */
const struct script_record *script_record_find(const char *name);

#endif
