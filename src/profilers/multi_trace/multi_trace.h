/* SPDX-License-Identifier: MIT */
/*
 * State of multi-trace. Events are in stages, one for each -e: a pair is a start in a stage and an
 * end with the same key in the next one.
 *
 * multi_trace.c has the options, the events and their keys; multi_trace_pairs.c matches them and
 * reports (--impl delay, pair); multi_trace_syscalls.c does the same for system calls;
 * multi_trace_detail.c prints the events of single pairs.
 */
#ifndef PROFILERS_MULTI_TRACE_MULTI_TRACE_H
#define PROFILERS_MULTI_TRACE_MULTI_TRACE_H

#include "attar/run.h"
#include "lib/heatmap.h"
#include "lib/held_command.h"
#include "lib/task_by.h"
#include "sched/thread_check.h"

enum { STAGES_MAX = 16, NAME_BYTES = 64, KEYS_MAX = 65536 };

/* Sums of a row. */
enum { SUM_TOTAL, SUM_THAN, SUM_LOWER, SUM_ERRORS, SUMS };

/* Bits of role=, and what the stage of an event allows. */
enum { ROLE_START = 1, ROLE_END = 2 };

/* What a pair has in common. */
enum key_kind { KEY_CPU, KEY_THREAD, KEY_EXPR };

struct key_bytes {
	char bytes[ATTAR_EXPR_KEY_MAX];
	size_t size; /* of bytes */
};

/* An event of -e. */
struct trace_event {
	const struct attar_event_spec *spec;
	const char *name;
	uint32_t stage;
	unsigned roles; /* allowed by the stage; 0: only shown by --detail */
	enum key_kind key_kind;
	struct attar_expr *key, *role;   /* NULL: none */
	const char *role_text;           /* of role; borrowed */
	const struct attar_field *field; /* that the key is; NULL: it is computed */
	const struct attar_field *owner; /* the name of the thread whose ID that is; NULL: none */
	struct attar_expr *comm; /* the name under which pairs are added up; NULL: the key */
	/* Whose tasks and CPUs it has; NULL: this machine's, or with vm= a guest's. */
	const char *host;
	bool is_guest; /* with vm= */
};

/* Stored with a start. */
struct start_data {
	uint32_t event;
	uint32_t tid;
	uint64_t sequence; /* in the buffer of --detail */
	uint32_t name_size;
	char name[NAME_BYTES]; /* of comm=; stored with --perins only */
};

/* The block of a row: who has the key, if it is a thread. */
struct row_label {
	int64_t tid;
	char comm[NAME_BYTES];
};

struct detail;
struct known_pairs;
struct multi_trace;

/* What --impl selects. */
struct trace_impl {
	const char *name;
	size_t start_size; /* bytes stored with a start */
	size_t name_size;  /* further ones with --perins */
	int (*open)(struct attar_run *run, struct multi_trace *m);
	int (*report)(struct attar_run *run, struct multi_trace *m, struct attar_report *report,
		enum attar_scope scope);
};

struct multi_trace {
	/* options */
	struct attar_texts texts;
	const char *key, *impl_name, *heatmap_path, *detail_text, *filter, *counted, *by_text;
	uint64_t than, only_than, lower;
	bool perins, cycle, hist, tasks, avg, print_beyond, kernel_filter;

	enum task_by by; /* with perins: what the key of a row is, if keys are threads */
	const struct trace_impl *impl;
	struct trace_event *events;
	uint32_t n_events;
	struct attar_expr *printkey; /* of --perins; NULL: keys are shown as they are */
	const struct attar_event_spec *printkey_of;
	uint32_t *event_of; /* by source */
	uint32_t n_sources;

	bool selects;      /* --tasks: the options of the target select keys */
	bool selects_cpus; /* --cpus, by the end of a pair */
	bool has_hosts;    /* events have pull= */

	/* The events are counted in the kernel, and this is what a row of the sums is; NULL. */
	const struct known_pairs *in_kernel;
	struct held_command held; /* with --tasks */
	unsigned counted_time;    /* 1 + enum thread_check_time; 0: without --counted */
	struct thread_check check;
	uint32_t n_stages;
	struct attar_pairs *steps[STAGES_MAX]; /* from this stage to the next */
	struct attar_keytable *table;          /* by start, end and with perins the key */
	uint64_t unknown_threads; /* events of exited threads, whose number is unknown */
	uint64_t unknown_vcpus;   /* events with vm= of virtual CPUs whose thread is unknown */

	struct attar_input inputs[3]; /* of system calls */
	bool has_begun;               /* a system call was entered, or returned */
	bool shows_calls;             /* one by one, see show_call() */
	struct attar_expr *syscall_name;
	struct heatmap *heatmap;
	struct detail *detail;
};

extern const struct trace_impl trace_impl_delay, trace_impl_pair, trace_impl_syscalls;

/* ---- multi_trace.c ---- */

/* Learns the events of new sources. */
int trace_bind_sources(struct attar_run *run, struct multi_trace *m);

/* The event of a source that the run delivers. */
static inline int trace_event_of(struct attar_run *run, struct multi_trace *m, uint32_t source,
	const struct trace_event **ret_event)
{
	int r = source < m->n_sources ? 0 : trace_bind_sources(run, m);

	if (r >= 0)
		*ret_event = &m->events[m->event_of[source]];
	return r;
}

/* The first event that can be part of a pair; NULL: none, as with system calls. */
const struct trace_event *trace_first(const struct multi_trace *m);

/* The row of pairs that begin and end with these events; NULL: out of memory. */
struct attar_keyrow *pairs_row_of(const struct multi_trace *m, uint32_t start, uint32_t end,
	const char *name, size_t name_size);

/* Writes the key of an event; false: its thread is unknown. */
bool trace_key(const struct attar_run *run, const struct trace_event *e,
	const struct attar_event *ev, struct key_bytes *ret_key);

/* ---- multi_trace_pairs.c ---- */

/* With --counted: compares the times of threads with what the kernel counts. 0 or -ENOMEM. */
int pairs_check(struct attar_run *run, struct multi_trace *m, struct attar_report *report,
	enum attar_scope scope);

/* Whether keys are threads, as --by requires: 0 or -EINVAL. */
int pairs_check_by(const struct multi_trace *m);

/* The key of a row in place of a thread, which is NULL if it is unknown. With --by. */
uint64_t pairs_number(const struct attar_run *run, const struct multi_trace *m,
	const struct attar_thread *thread, struct row_label *label);

/* The columns and cells of what --perins and --by show; number: of --by. */
void pairs_add_task_columns(const struct multi_trace *m, struct attar_section *table);
void pairs_add_task(const struct attar_run *run, const struct multi_trace *m,
	struct attar_section *table, uint64_t number, const struct row_label *label);

/* Creates the pairs of each step and the table. */
int pairs_open(struct multi_trace *m);

/* Frees the pairs and the table. */
void pairs_close(struct multi_trace *m);

/* The record of the exec of the command: an open pair of it begins there. */
void pairs_exec(struct multi_trace *m, const struct attar_event *ev);

/* Matches an event, whose roles are not 0. */
int pairs_event(struct attar_run *run, struct multi_trace *m, const struct trace_event *e,
	const struct attar_event *ev, uint64_t sequence);

/*
 * Whether --only-than, and --cpus by the end, select a pair. is_here: the end has a CPU of this
 * machine.
 */
static inline bool pairs_wants(struct attar_run *run, const struct multi_trace *m,
	const struct attar_event *end, bool is_here, uint64_t latency)
{
	return (!m->only_than || latency > m->only_than) &&
	       (!m->selects_cpus || !is_here || attar_run_is_cpu_selected(run, (int)end->cpu));
}

/* Adds a latency to a row, which must have been found for this event. */
static inline int pairs_add(const struct multi_trace *m, struct attar_keyrow *row, uint64_t latency)
{
	uint64_t *sums = row->interval.sums;

	sums[SUM_TOTAL] += latency;
	if (m->than && latency > m->than)
		sums[SUM_THAN]++;
	if (latency < m->lower)
		sums[SUM_LOWER]++;
	return attar_hist_add(&row->interval.hists[0], latency);
}

/* Sets who has the key of a new row. */
void pairs_label(struct attar_keyrow *row, const struct attar_thread *thread);

/* The columns and cells of latencies: calls, total, min ..., and of --than and --lower. */
void pairs_add_columns(const struct multi_trace *m, struct attar_section *table);
void pairs_add_cells(const struct multi_trace *m, struct attar_section *table,
	const struct attar_keyrow *row, enum attar_scope scope);

/* Whether --print-beyond prints single pairs, and this one. */
static inline bool pairs_prints(const struct multi_trace *m)
{
	return m->print_beyond && (m->than || m->only_than || m->lower);
}

static inline bool pairs_is_beyond(const struct multi_trace *m, uint64_t latency)
{
	return (!m->than && !m->lower) || (m->than && latency > m->than) || latency < m->lower;
}

/* ---- in_kernel.c ---- */

/* Lets the kernel count the pairs, if it can and they are no more than counted. 0 or an error. */
int in_kernel_open(struct attar_run *run, struct multi_trace *m);

/* Adds what was counted since the last report to the table. 0 or a negative errno. */
int in_kernel_read(struct attar_run *run, struct multi_trace *m);

/* ---- multi_trace_detail.c: only with m->detail, except open, close and add_remark ---- */

int detail_open(struct multi_trace *m);
void detail_close(struct multi_trace *m);

/* Whether only the events of pairs are needed: pairs_event() keeps them, and no other. */
bool detail_is_of_pairs(const struct multi_trace *m);

/* Keeps an event, and returns its sequence number. */
uint64_t detail_keep(struct attar_run *run, struct multi_trace *m, const struct trace_event *e,
	const struct attar_event *ev);

/* Prints a pair that exceeds the limits, at once or after the events that follow it. */
int detail_pair(struct attar_run *run, struct multi_trace *m, const struct attar_start *started,
	uint64_t end, uint64_t time);

/* Prints the pairs whose events after the end have come at this time. */
int detail_flush(struct attar_run *run, struct multi_trace *m, uint64_t time);
void detail_add_remark(const struct multi_trace *m, struct attar_report *report);

/* ---- multi_trace_pairs.c ---- */

/* Remarks on unpaired events, full tables and faults of expressions. */
void pairs_add_remarks(struct attar_run *run, struct multi_trace *m, struct attar_report *report,
	enum attar_scope scope);

#endif
