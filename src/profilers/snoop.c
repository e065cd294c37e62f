/* SPDX-License-Identifier: MIT */
/*
 * snoop: prints values of events as columns. With a second -e, a line is a pair of events with the
 * same key: the values of both and the time between them. With --owners, the thread is not the one
 * in which an event happens, but the owner of what it concerns.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "attar/pairs.h"
#include "attar/builtin.h"
#include "lib/by_source.h"
#include "lib/keys.h"
#include "lib/list_options.h"
#include "lib/sample_fields.h"
#include "lib/tcp_owners.h"

enum {
	COLUMNS_MAX = 12, /* of an event */
	COMM_BYTES = 16,
	VALUE_BYTES = ATTAR_EXPR_TEXT_MAX + 2, /* of a key of one value */
	OPEN_MAX = 8192,
	OWNERS_MAX = 1 << 16,
	RAW_MAX = 256, /* bytes of the record of a start; records of system calls have 64 */
	READ_MS = 50,  /* how soon events are read, if it matters */
};

struct column {
	char name[KEYS_NAME_BYTES];
	struct attar_expr *value;
	bool reads;   /* the memory or files of the program */
	bool is_file; /* fd_name() */
};

/* The thread of a line. */
struct owner {
	int32_t tid;
	bool is_selected; /* by --tasks */
	char comm[COMM_BYTES];
};

struct event {
	struct column columns[COLUMNS_MAX];
	size_t n, main;                  /* main: index of the main column */
	struct attar_expr *key, *failed; /* failed NULL: it has no field ret */
	struct attar_expr *role;         /* NULL: it starts or ends a pair */
	bool reads;                      /* a column does */
	bool gives_columns;              /* role=2: to the open pair */
	struct tcp_fields connection;
};

/*
 * Stored with a start. Texts of the program are those of the call if they are read before it ends:
 * they are read for the calls that have not ended when all events up to now were delivered.
 */
struct started {
	const struct event *event;       /* that computes the columns */
	bool is_pending;                 /* they are not computed yet */
	bool is_unread;                  /* the program has no text there any more */
	bool is_doubtful;                /* another thread may have changed it meanwhile */
	uint64_t read_at;                /* when the texts were read, ns; 0: not */
	struct attar_expr_record record; /* of the start, while it is pending */
	char raw[RAW_MAX];
	struct owner owner;
	uint16_t len[COLUMNS_MAX];
	char bytes[]; /* of the values, one after the other */
};

enum { FIRST, SECOND, OWNERS, STAGES };

struct snoop {
	struct attar_texts texts;
	const char *key, *name; /* name: patterns; NULL: all */
	const char *owner_events;
	uint64_t than;
	bool failed, tasks, files;

	struct by_source stages[STAGES];
	struct attar_pairs *owners; /* key -> struct owner; NULL: without --owners */
	struct tcp_owners *tcp;
	uint64_t unowned;          /* events left out, since no selected owner is known */
	struct attar_pairs *pairs; /* NULL: one stage */
	size_t payload_size;
	struct started *copy; /* of a payload */
	bool has_givers;      /* events with role=2 */
	bool has_pending;     /* starts with columns that are to be computed */
	uint64_t unknown;     /* lines with UNKNOWN */
	uint64_t doubtful;    /* lines with DOUBT */
};

#define UNKNOWN "[unknown]"
#define DOUBT   "?" /* after a text */

#define GIVES_COLUMNS "role=2"

/* ---- events ---- */

static int add_column(struct attar_run *run, uint32_t source, struct event *e,
	const struct attar_event_option *option)
{
	const struct attar_expr_opts opts = {
		.size = sizeof(opts), .flags = ATTAR_EXPR_KEY, .what = "column"};
	struct column *column = &e->columns[e->n];
	int r;

	if (e->n == COLUMNS_MAX)
		return attar_fail(-E2BIG, "'%s' has more than %d column= attributes",
			attar_run_source_name(run, source), COLUMNS_MAX);
	r = attar_run_expr(run, source, keys_column(option, column->name), &opts, &column->value);
	if (r < 0)
		return r;
	e->n++;
	column->reads = keys_read_program(column->value);
	column->is_file = column->reads && strstr(option->value, "fd_name(");
	e->reads |= column->reads;
	if (attar_expr_columns(column->value) != 1)
		return attar_fail(
			-EINVAL, "column=%s: a column must be a single value", option->value);
	return 0;
}

static int find_main(const struct attar_event_spec *spec, struct event *e)
{
	const struct attar_event_option *main = spec ? attar_spec_get_option(spec, "main") : NULL;

	while (main && e->main < e->n && strcmp(e->columns[e->main].name, main->value) != 0)
		e->main++;
	if (main && e->main == e->n)
		return attar_fail(-EINVAL,
			"main=%s: the event has no column of this name" ATTAR_FIX
			"add column=%s:EXPRESSION, or name one of its columns",
			main->value, main->value);
	return 0;
}

static int snoop_learn(struct attar_run *run, void *self, uint32_t source, void *event)
{
	const struct attar_event_spec *spec = attar_run_source_spec(run, source);
	const struct attar_event_option *option;
	struct snoop *s = self;
	struct event *e = event;
	int r = 0;

	for (size_t i = 0; r == 0 && spec && i < spec->n_options; i++)
		if (!strcmp(spec->options[i].name, "column"))
			r = add_column(run, source, e, &spec->options[i]);
	if (r == 0)
		r = find_main(spec, e);
	if (r == 0)
		r = keys_compile(
			run, source, "key", s->key ? s->key : "_tid", ATTAR_EXPR_KEY, &e->key);
	if (r == 0)
		r = keys_compile(run, source, "role", NULL, ATTAR_EXPR_CONDITION, &e->role);
	option = spec ? attar_spec_get_option(spec, "role") : NULL;
	e->gives_columns = option && !strcmp(option->value, &GIVES_COLUMNS[strlen("role=")]);
	s->has_givers |= e->gives_columns;
	tcp_fields_find(spec, &e->connection);
	if (r == 0 && s->failed && attar_run_expr(run, source, "ret<0", NULL, &e->failed) < 0)
		attar_error_clear(); /* it has no such field */
	return r;
}

static void forget(void *event)
{
	struct event *e = event;

	for (size_t i = 0; i < e->n; i++)
		attar_expr_free(e->columns[i].value);
	attar_expr_free(e->key);
	attar_expr_free(e->failed);
	attar_expr_free(e->role);
}

/* ---- lines ---- */

static void no_columns(struct attar_section *lines)
{
	(void)lines; /* add_columns() adds them, which has the events */
}

static void add_event_columns(struct attar_section *lines, const struct event *e, bool has_main)
{
	for (size_t i = 0; i < e->n; i++) {
		const struct attar_expr_column *column =
			attar_expr_get_column(e->columns[i].value, 0);

		attar_section_column(lines, e->columns[i].name,
			column->kind != ATTAR_EXPR_NUMBER ? ATTAR_UNIT_TEXT
			: column->is_address              ? ATTAR_UNIT_HEX
							  : ATTAR_UNIT_ID);
		if (has_main && i == e->main)
			attar_section_main(lines);
	}
}

static void add_columns(const struct snoop *s, struct attar_section *lines)
{
	const struct event *first = by_source_at(&s->stages[0], 0);

	attar_section_column(lines, "time", ATTAR_UNIT_TIME);
	attar_section_column(lines, "comm", ATTAR_UNIT_TEXT);
	attar_section_column(lines, "tid", ATTAR_UNIT_ID);
	add_event_columns(lines, first, true);
	if (!s->pairs)
		return;
	add_event_columns(lines, by_source_at(&s->stages[1], 0), !first->n);
	attar_section_column(lines, "duration", ATTAR_UNIT_NS);
	attar_section_main(lines);
}

static bool is_named(const struct snoop *s, const char *comm)
{
	return !s->name || names_match(s->name, comm);
}

/* A line with its first cells; NULL: out of memory, or no output for lines. */
static struct attar_section *new_line(const struct snoop *s, struct attar_run *run,
	const struct attar_event *ev, const char *comm, int64_t tid)
{
	struct attar_section *lines =
		attar_run_wants_lines(run) ? attar_run_lines(run, "events", no_columns) : NULL;

	if (!lines)
		return NULL;
	if (!attar_section_get_columns(lines))
		add_columns(s, lines);
	attar_section_row(lines);
	attar_cell_u64(lines, attar_run_realtime(run, ev->time));
	attar_cell_text(lines, comm);
	sample_tid_cell(lines, tid);
	return lines;
}

static uint64_t unresolved(const struct attar_expr *value)
{
	struct attar_expr_faults faults;

	attar_expr_get_faults(value, &faults);
	return faults.unresolved;
}

static void add_unknown(struct attar_section *lines, const struct column *column)
{
	if (attar_expr_get_column(column->value, 0)->kind == ATTAR_EXPR_NUMBER)
		attar_cell_none(lines);
	else
		attar_cell_text(lines, UNKNOWN);
}

/* Of an event that is complete. */
static void add_values(
	struct attar_section *lines, const struct event *e, const struct attar_expr_record *record)
{
	char bytes[VALUE_BYTES];

	for (size_t i = 0; i < e->n; i++) {
		size_t n = attar_expr_key(e->columns[i].value, record, bytes, sizeof(bytes));

		keys_add_cells(lines, e->columns[i].value, bytes, n);
	}
}

/* ---- pairs ---- */

static struct owner thread_of(const struct attar_run *run, const struct attar_event *ev)
{
	struct owner owner = {.is_selected = attar_run_is_selected(run, ev->thread),
		.tid = (int32_t)attar_run_event_tid(run, ev)};

	snprintf(owner.comm, COMM_BYTES, "%s", ev->thread ? ev->thread->comm : "");
	return owner;
}

/* Its threads share memory and descriptors. */
static bool has_threads(pid_t pid)
{
	enum { LINKS_OF_FOLDER = 2 };
	struct stat stats;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	return stat(path, &stats) == 0 && stats.st_nlink > LINKS_OF_FOLDER + 1;
}

/* reads: also what must be read from the program. */
static void compute(struct attar_run *run, struct started *started,
	const struct attar_expr_record *record, bool reads)
{
	const struct event *e = started->event;
	struct timespec now;
	size_t len = 0;

	started->is_pending = started->is_unread = started->is_doubtful = false;
	started->read_at = 0;
	run_trust_reads(run, true);
	for (size_t i = 0; i < e->n; i++) {
		const struct column *column = &e->columns[i];
		uint64_t before = unresolved(column->value);
		char *bytes = started->bytes + len;

		started->len[i] = 0;
		if (!column->reads || reads)
			started->len[i] =
				(uint16_t)attar_expr_key(column->value, record, bytes, VALUE_BYTES);
		started->is_unread |= column->reads && unresolved(column->value) != before;
		len += started->len[i];
	}
	run_trust_reads(run, false);
	if (!e->reads)
		return;
	started->is_unread |= !reads;
	started->is_doubtful = attar_run_is_live(run) && has_threads((pid_t)record->pid);
	clock_gettime(CLOCK_MONOTONIC, &now);
	started->read_at = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void compute_pending(struct attar_run *run, struct started *started, bool reads)
{
	struct attar_expr_record record = started->record;

	record.raw = started->raw;
	if (started->is_pending)
		compute(run, started, &record, reads);
}

/* Whether what was read from the program may be of a later call than the one that ended. */
static bool is_unknown(const struct attar_run *run, const struct started *started, uint64_t ended)
{
	return attar_run_is_live(run) && started->event->reads &&
	       (started->is_unread || started->read_at >= ended);
}

/* Whether what fd_name() gave is a pipe, a socket, another object without a name, or a terminal. */
static bool is_stream(const char *name, size_t n)
{
	static const char *const terminals[] = {
		"/dev/pts/", "/dev/tty", "/dev/console", "/dev/ptmx"};

	for (size_t i = 0; i < sizeof(terminals) / sizeof(*terminals); i++)
		if (n >= strlen(terminals[i]) && !memcmp(name, terminals[i], strlen(terminals[i])))
			return true;
	return n && *name != '/';
}

/* --files: an unknown file is not left out. */
static bool has_no_file(const struct attar_run *run, const struct started *started, uint64_t ended)
{
	const struct event *e = started->event;
	size_t len = 0;

	if (!attar_run_is_live(run) || is_unknown(run, started, ended))
		return false;
	for (size_t i = 0; i < e->n; len += started->len[i++])
		if (e->columns[i].is_file && is_stream(started->bytes + len, started->len[i]))
			return true;
	return false;
}

/* Of the start of a pair: what was read from the program may be of a later time. */
static void add_doubtful(
	struct attar_section *lines, const struct attar_expr *value, const char *bytes, size_t n)
{
	char text[VALUE_BYTES + sizeof(DOUBT)];
	struct attar_expr_value found;

	if (attar_expr_get_column(value, 0)->kind != ATTAR_EXPR_TEXT) {
		keys_add_cells(lines, value, bytes, n);
		return;
	}
	attar_expr_key_value(value, bytes, n, 0, &found);
	snprintf(text, sizeof(text), "%.*s" DOUBT, (int)found.len, found.bytes ? found.bytes : "");
	attar_cell_text(lines, text);
}

static void add_started(struct snoop *s, struct attar_run *run, struct attar_section *lines,
	const struct started *started, uint64_t ended)
{
	const struct event *e = started->event;
	bool unknown = is_unknown(run, started, ended);
	size_t len = 0;

	s->unknown += unknown;
	s->doubtful += !unknown && started->is_doubtful;
	for (size_t i = 0; i < e->n; len += started->len[i++]) {
		if (unknown && e->columns[i].reads)
			add_unknown(lines, &e->columns[i]);
		else if (started->is_doubtful && e->columns[i].reads)
			add_doubtful(
				lines, e->columns[i].value, started->bytes + len, started->len[i]);
		else
			keys_add_cells(
				lines, e->columns[i].value, started->bytes + len, started->len[i]);
	}
}

/* All events up to now were delivered: the calls that have not ended still have their texts. */
static int snoop_turn(struct attar_run *run, void *self)
{
	struct snoop *s = self;
	const struct attar_start *open = NULL;

	if (!s->has_pending)
		return 0;
	s->has_pending = false;
	while ((open = attar_pairs_next_open(s->pairs, open)))
		compute_pending(run, open->payload, true);
	return 0;
}

/* What the event gives to the open pair of its key. */
static void snoop_take(struct attar_run *run, struct started *started, const struct event *e,
	const struct attar_event *ev, const struct attar_expr_record *record)
{
	if (!e->gives_columns) {
		started->owner = thread_of(run, ev);
	} else if (started->event->reads) {
		started->event = e;
		compute(run, started, record, true);
	}
}

static size_t key_of(
	const struct event *e, const struct attar_expr_record *record, char key[ATTAR_EXPR_KEY_MAX])
{
	size_t n = attar_expr_key(e->key, record, key, ATTAR_EXPR_KEY_MAX);

	return n < ATTAR_KEY_MAX ? n : ATTAR_KEY_MAX;
}

/* Neither a start nor an end: the open pair of the key takes what this event gives. */
static int amend(struct snoop *s, struct attar_run *run, const struct event *e,
	const struct attar_event *ev, const struct attar_expr_record *record)
{
	const struct attar_stamp at = attar_event_get_stamp(ev);
	char key[ATTAR_EXPR_KEY_MAX];
	size_t n = key_of(e, record, key);
	const struct attar_start *begun;
	struct attar_stamp since;
	struct attar_start *again;

	begun = attar_pairs_end(s->pairs, key, n, &at);
	if (!begun)
		return 0;
	since = (struct attar_stamp){.time = begun->time, .task = begun->task, .cpu = begun->cpu};
	memcpy(s->copy, begun->payload, s->payload_size);
	snoop_take(run, s->copy, e, ev, record);
	again = attar_pairs_start(s->pairs, key, n, &since);
	if (again)
		memcpy(again->payload, s->copy, s->payload_size);
	return 0;
}

static int snoop_start(struct snoop *s, struct attar_run *run, const struct event *e,
	const struct attar_event *ev, const struct attar_expr_record *record)
{
	const struct attar_stamp at = attar_event_get_stamp(ev);
	char key[ATTAR_EXPR_KEY_MAX];
	size_t n = key_of(e, record, key);
	struct attar_start *begun = attar_pairs_start(s->pairs, key, n, &at);
	struct started *started = begun ? begun->payload : NULL;

	if (!started)
		return 0;
	started->owner = thread_of(run, ev);
	started->event = e;
	if (!e->reads || record->raw_size > RAW_MAX || !attar_run_is_live(run)) {
		compute(run, started, record, true);
		return 0;
	}
	s->has_pending = started->is_pending = true;
	started->record = *record;
	memcpy(started->raw, record->raw, record->raw_size);
	return 0;
}

static int snoop_end(struct snoop *s, struct attar_run *run, struct event *e,
	const struct attar_event *ev, const struct attar_expr_record *record)
{
	const struct attar_stamp at = attar_event_get_stamp(ev);
	char key[ATTAR_EXPR_KEY_MAX];
	size_t n = key_of(e, record, key);
	const struct attar_start *begun = attar_pairs_end(s->pairs, key, n, &at);
	struct started *started = begun ? begun->payload : NULL;
	struct attar_section *lines;

	if (!started || at.time - begun->time < s->than || !attar_run_is_cpu_selected(run, at.cpu))
		return 0;
	if ((s->tasks && !started->owner.is_selected) || !is_named(s, started->owner.comm))
		return 0;
	if (s->failed && !(e->failed && attar_expr_number(e->failed, record)))
		return 0;
	compute_pending(run, started, false);
	if (s->files && has_no_file(run, started, at.time))
		return 0;
	lines = new_line(s, run, ev, started->owner.comm, started->owner.tid);
	if (!lines)
		return 0;
	add_started(s, run, lines, started, at.time);
	add_values(lines, e, record);
	attar_cell_u64(lines, at.time - begun->time);
	return 0;
}

/* ---- owners ---- */

static void keep_owner(struct snoop *s, const void *key, size_t n, const struct attar_stamp *at,
	const struct owner *owner)
{
	struct attar_start *kept = attar_pairs_start(s->owners, key, n, at);

	if (kept)
		memcpy(kept->payload, owner, sizeof(*owner));
}

/* The thread is the owner from now on, or, with role=0, nobody is. */
static int on_owner(struct attar_run *run, void *self, const struct attar_event *ev)
{
	const struct attar_stamp at = attar_event_get_stamp(ev);
	struct snoop *s = self;
	struct attar_expr_record record;
	char key[ATTAR_EXPR_KEY_MAX];
	struct owner owner;
	struct event *e;
	size_t n;
	int r = by_source_get(&s->stages[OWNERS], run, self, ev->counter, &e);

	if (r < 0)
		return r;
	attar_event_get_expr_record(ev, &record);
	n = key_of(e, &record, key);
	owner = thread_of(run, ev);
	if (e->role && !attar_expr_is_true(e->role, &record))
		attar_pairs_end(s->owners, key, n, &at);
	else
		keep_owner(s, key, n, &at, &owner);
	return 0;
}

static const struct owner no_owner = {.tid = -1, .comm = UNKNOWN};

/* From /proc, of a connection that began before the measurement, or was accepted. */
static bool find_process(struct snoop *s, struct attar_run *run, const struct event *e,
	const struct attar_expr_record *record, struct owner *ret_owner)
{
	const struct attar_thread *thread;
	struct tcp_connection connection;
	pid_t pid = tcp_fields_read(&e->connection, record, &connection)
			    ? tcp_owners_find(s->tcp, run, &connection)
			    : -1;

	*ret_owner = no_owner;
	if (pid <= 0)
		return pid == 0;
	thread = attar_run_thread(run, pid);
	ret_owner->tid = pid;
	ret_owner->is_selected = attar_run_is_selected(run, thread);
	if (thread)
		snprintf(ret_owner->comm, COMM_BYTES, "%s", thread->comm);
	else
		tcp_owners_name(pid, ret_owner->comm, COMM_BYTES);
	return true;
}

/* It is kept, also that it is another process: a connection can be closed before its next event. */
static void find_owner(struct snoop *s, struct attar_run *run, const struct event *e,
	const struct attar_event *ev, const struct attar_expr_record *record,
	struct owner *ret_owner)
{
	const struct attar_stamp at = attar_event_get_stamp(ev);
	char key[ATTAR_EXPR_KEY_MAX];
	size_t n = key_of(e, record, key);
	const struct attar_start *kept = attar_pairs_end(s->owners, key, n, &at);

	if (kept)
		memcpy(ret_owner, kept->payload, sizeof(*ret_owner));
	if (kept || find_process(s, run, e, record, ret_owner))
		keep_owner(s, key, n, &at, ret_owner);
}

/* Whose line it is. False: the options do not select it. */
static bool choose_owner(struct snoop *s, struct attar_run *run, const struct event *e,
	const struct attar_event *ev, const struct attar_expr_record *record,
	struct owner *ret_owner)
{
	if (!s->owners) {
		*ret_owner = thread_of(run, ev);
		return true;
	}
	find_owner(s, run, e, ev, record, ret_owner);
	if (!s->tasks || ret_owner->is_selected || attar_run_is_selected(run, NULL))
		return true;
	s->unowned += ret_owner->tid < 0;
	return false;
}

/* ---- events ---- */

static int on_start(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct snoop *s = self;
	struct attar_expr_record record;
	struct attar_section *lines;
	struct owner owner;
	struct event *e;
	int r = by_source_get(&s->stages[FIRST], run, self, ev->counter, &e);

	if (r < 0)
		return r;
	attar_event_get_expr_record(ev, &record);
	if (s->pairs && e->role && (e->gives_columns || !attar_expr_is_true(e->role, &record)))
		return amend(s, run, e, ev, &record);
	if (s->pairs)
		return snoop_start(s, run, e, ev, &record);
	if (s->failed && !(e->failed && attar_expr_number(e->failed, &record)))
		return 0;
	if (!choose_owner(s, run, e, ev, &record, &owner) || !is_named(s, owner.comm))
		return 0;
	lines = new_line(s, run, ev, owner.comm, owner.tid);
	if (lines)
		add_values(lines, e, &record);
	return 0;
}

static int on_end(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct snoop *s = self;
	struct attar_expr_record record;
	struct event *e;
	int r = by_source_get(&s->stages[SECOND], run, self, ev->counter, &e);

	if (r < 0)
		return r;
	attar_event_get_expr_record(ev, &record);
	return snoop_end(s, run, e, ev, &record);
}

static int on_lost(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct snoop *s = self;

	(void)run;
	if (s->pairs)
		attar_pairs_lost(s->pairs, -1, ev->lost_from, ev->lost_to);
	if (s->owners)
		attar_pairs_lost(s->owners, -1, ev->lost_from, ev->lost_to);
	return 0;
}

static void unknown_remark(const struct snoop *s, struct attar_report *report)
{
	bool needs_kprobe = strstr(s->texts.at[0], GIVES_COLUMNS) && !s->has_givers;

	if (s->unknown)
		attar_report_remark(report,
			"%llu line%s '" UNKNOWN "': the call had returned before attar could read "
			"the program's memory or descriptor, which may be in use for a later "
			"call%s",
			(unsigned long long)s->unknown, s->unknown == 1 ? " has" : "s have",
			needs_kprobe ? "; Linux 6.19 copies the strings, and so do older kernels "
				       "with kprobes (CONFIG_KPROBE_EVENTS) if attar runs as root"
				     : "");
}

static void doubtful_remark(const struct snoop *s, struct attar_report *report)
{
	if (s->doubtful)
		attar_report_remark(report,
			"%llu line%s a text with '" DOUBT "' at its end: attar read it from the "
			"program during the call, when another thread may have changed it",
			(unsigned long long)s->doubtful, s->doubtful == 1 ? " has" : "s have");
}

static void unowned_remark(const struct snoop *s, struct attar_report *report)
{
	if (s->unowned)
		attar_report_remark(report,
			"%llu event%s left out: no selected process was found that has the "
			"connection, which can belong to another process, or had been closed",
			(unsigned long long)s->unowned, s->unowned == 1 ? " was" : "s were");
}

static int snoop_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct snoop *s = self;
	struct attar_pairs_stats stats;

	(void)scope;
	snoop_turn(run, s);
	unknown_remark(s, report);
	doubtful_remark(s, report);
	unowned_remark(s, report);
	if (!s->pairs)
		return 0;
	attar_pairs_get_stats(s->pairs, &stats);
	stats.unpaired[ATTAR_UNPAIRED_END] = 0; /* began before the measurement */
	attar_report_unpaired(report, &stats, "events");
	return 0;
}

/* ---- life ---- */

/* Lines have the columns of the first event of a stage. */
static int check_columns(struct by_source *stage, const char *events)
{
	struct event *first = by_source_at(stage, 0), *e;

	for (uint32_t i = 1; (e = by_source_at(stage, i)); i++) {
		bool same = e->n == first->n && keys_are_alike(e->key, first->key);

		for (size_t c = 0; same && c < e->n; c++)
			same = keys_are_alike(e->columns[c].value, first->columns[c].value);
		if (!same)
			return attar_fail(-EINVAL,
				"the events of one -e option differ in the number or types of "
				"column= and key=" ATTAR_FIX
				"give all events the same columns and key");
	}
	if (!first)
		return attar_fail(
			-ENOENT, "none of the events of -e '%s' exists on this system", events);
	return 0;
}

static int open_stage(struct snoop *s, struct attar_run *run, size_t i, const char *events)
{
	static attar_event_fn *const on_events[STAGES] = {on_start, on_end, on_owner};
	uint32_t first = attar_run_sources(run);
	int r = attar_run_events(run, events, false, on_events[i]);

	s->stages[i].size = sizeof(struct event);
	s->stages[i].learn = snoop_learn;
	s->stages[i].forget = forget;
	if (r == 0)
		r = by_source_learn(&s->stages[i], run, s, first);
	if (i == OWNERS && !by_source_at(&s->stages[i], 0)) /* a recording without these events */
		return r;
	return r == 0 ? check_columns(&s->stages[i], events) : r;
}

static int open_owners(struct snoop *s, struct attar_run *run)
{
	const struct attar_pairs_opts opts = {.size = sizeof(opts),
		.key_max = ATTAR_KEY_MAX,
		.open_max = OWNERS_MAX,
		.payload_size = sizeof(struct owner)};
	int r;

	if (!s->owner_events)
		return 0;
	if (s->texts.n > 1)
		return attar_fail(-EINVAL, "--owners conflicts with pairs of events" ATTAR_FIX
					   "leave out the second -e option");
	s->tcp = tcp_owners_new();
	r = s->tcp ? attar_pairs_new(&opts, &s->owners) : -ENOMEM;
	return r == 0 ? open_stage(s, run, OWNERS, s->owner_events) : r;
}

/*
 * Timers and received packets cause events of TCP in whatever thread they interrupt, which can be
 * one of attar. Those of attar's own connections are few.
 */
static bool happens_in_any_thread(const struct snoop *s)
{
	static const char tcp[] = "tcp:";

	for (size_t i = 0; i < s->texts.n; i++)
		if (strncmp(s->texts.at[i], tcp, strlen(tcp)) != 0)
			return false;
	return true;
}

/*
 * A call that takes as long as --than is read before it ends; with --files and --than 0, as soon as
 * possible, since there is no other way to know the file.
 */
static unsigned read_within_ms(const struct snoop *s)
{
	const uint64_t ms = s->than / 2 / 1000000;

	if (!s->than && !s->files)
		return READ_MS;
	return ms < 1 ? 1 : ms < READ_MS ? (unsigned)ms : READ_MS;
}

static int snoop_open(struct attar_run *run, void *self)
{
	struct snoop *s = self;
	struct attar_pairs_opts opts = {
		.size = sizeof(opts), .key_max = ATTAR_KEY_MAX, .open_max = OPEN_MAX};
	int r = 0;

	if (!s->texts.n || s->texts.n > 2)
		return attar_fail(-EINVAL,
			"snoop requires events" ATTAR_FIX
			"give one -e option, or two for the start and the end of pairs");
	if (s->tasks && s->texts.n == 1 && !s->owner_events)
		return attar_fail(-EINVAL, "--tasks requires pairs of events" ATTAR_FIX
					   "give a second -e option for the ends of the pairs");
	if (s->tasks)
		r = attar_run_select_tasks(run);
	if (r == 0 && happens_in_any_thread(s))
		r = attar_run_keep_own(run);
	attar_run_all_cpus(run, s->texts.n == 2);
	for (size_t i = 0; r == 0 && i < s->texts.n; i++)
		r = open_stage(s, run, i, s->texts.at[i]);
	if (r == 0)
		r = open_owners(s, run);
	if (r == 0 && s->texts.n == 2 && ((struct event *)by_source_at(&s->stages[0], 0))->reads)
		r = attar_run_read_within(run, read_within_ms(s));
	if (r < 0 || s->texts.n == 1)
		return r;
	s->payload_size = sizeof(struct started) +
			  (((struct event *)by_source_at(&s->stages[0], 0))->n + 1) * VALUE_BYTES;
	s->copy = malloc(s->payload_size);
	opts.payload_size = s->payload_size;
	return s->copy ? attar_pairs_new(&opts, &s->pairs) : -ENOMEM;
}

static void snoop_close(void *self)
{
	struct snoop *s = self;

	for (size_t i = 0; i < STAGES; i++)
		by_source_done(&s->stages[i]);
	attar_pairs_free(s->pairs);
	attar_pairs_free(s->owners);
	tcp_owners_free(s->tcp);
	free(s->copy);
}

static const struct attar_option options[] = {
	ATTAR_LIST(struct snoop, texts, 'e', "event", "EVENTS",
		"print the attributes column=NAME:EXPR of these events; the second -e ends pairs",
		.complete = "event"),
	ATTAR_TEXT(struct snoop, key, 'k', "key", "EXPR",
		"match the events of a pair by this expression (default: by thread)"),
	ATTAR_FLAG(struct snoop, failed, 'x', "failed",
		"only failed system calls: events, or ends of pairs, with a negative field 'ret'"),
	ATTAR_JOINED(struct snoop, name, 'n', "name", "NAMES",
		"only threads with these names, separated by commas; * and ? match"),
	ATTAR_TIME(struct snoop, than, 0, "than", "TIME",
		"only pairs that take at least this time: nanoseconds, or with a unit: 4ms",
		.bare = 1),
	ATTAR_FLAG(struct snoop, files, 0, "files",
		"only pairs whose file, fd_name() in a column of the start, is not a pipe, socket "
		"or terminal"),
	ATTAR_FLAG(struct snoop, tasks, 0, "tasks",
		"-p, -t and a command select pairs by their thread, or events by their owner, and "
		"events are those of the whole system"),
	ATTAR_TEXT(struct snoop, owner_events, 0, "owners", "EVENTS",
		"the thread of a line is the one with the last of these events with the same key, "
		"or the process of the TCP connection",
		.complete = "event"),
	{0}};

static const struct attar_example examples[] = {
	{"snoop -e 'sched:sched_process_exec//column=FILE:filename/'",
		"programs that are executed"},
	{"snoop -e 'syscalls:sys_enter_read//column=FD:fd/' -e "
	 "'syscalls:sys_exit_read//column=BYTES:ret/' --than 10ms",
		"slow reads"},
	{0}};

const struct attar_profiler profiler_snoop = {
	.name = "snoop",
	.group = "Events",
	.summary = "print chosen values of events or pairs of events as columns",
	.uses = ATTAR_USES_RINGS,
	.needs = "perf events, whole system, tracefs",
	.self_size = sizeof(struct snoop),
	.options = options,
	.examples = examples,
	.open = snoop_open,
	.lost = on_lost,
	.turn = snoop_turn,
	.report = snoop_report,
	.close = snoop_close,
};
