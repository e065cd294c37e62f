/* SPDX-License-Identifier: MIT */
#include "snoop/started.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static uint64_t unresolved(const struct attar_expr *value)
{
	struct attar_expr_faults faults;

	attar_expr_get_faults(value, &faults);
	return faults.unresolved;
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

/*
 * reads: also what must be read from the program now. What was copied when the call was made is
 * exact, whenever it is read. ended: when the call has ended; 0: not known.
 */
static void compute(struct attar_run *run, struct snoop_started *started,
	const struct attar_expr_record *record, bool reads, uint64_t ended)
{
	const struct snoop_event *e = started->event;
	struct timespec now;
	uint64_t lost = run_lost_texts(run);
	bool has_read = false;
	size_t len = 0;

	started->is_pending = started->is_unread = started->is_doubtful = false;
	started->read_at = 0;
	run_trust_reads(run, reads);
	run_read_copies(run, !reads, ended);
	for (size_t i = 0; i < e->n; i++) {
		const struct snoop_column *column = &e->columns[i];
		uint64_t before = unresolved(column->value), copied = run_copied_texts(run);
		char *bytes = started->bytes + len;

		started->len[i] = 0;
		if (!column->reads || reads || !column->is_file)
			started->len[i] =
				(uint16_t)attar_expr_key(column->value, record, bytes, VALUE_BYTES);
		if (column->reads && run_copied_texts(run) == copied) {
			started->is_unread |= !reads || unresolved(column->value) != before;
			has_read = true;
		}
		len += started->len[i];
	}
	started->is_lost = !reads && run_lost_texts(run) != lost;
	run_read_copies(run, false, 0);
	run_trust_reads(run, false);
	if (!has_read)
		return;
	started->is_doubtful = attar_run_is_live(run) && has_threads((pid_t)record->pid);
	clock_gettime(CLOCK_MONOTONIC, &now);
	started->read_at = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void started_change(struct attar_run *run, struct snoop_started *started,
	const struct snoop_event *e, const struct attar_expr_record *record)
{
	started->event = e;
	started->has_record = false;
	compute(run, started, record, true, 0);
}

/* The column of an event with this name; NULL: it has none. */
static const struct snoop_column *column_named(const struct snoop_event *e, const char *name)
{
	for (size_t i = 0; i < e->n; i++)
		if (!strcmp(e->columns[i].name, name))
			return &e->columns[i];
	return NULL;
}

bool started_can_replace(const struct snoop_event *e, const struct snoop_event *first)
{
	size_t found = 0;

	for (size_t i = 0; i < first->n; i++) {
		const struct snoop_column *column = column_named(e, first->columns[i].name);

		if (column && !keys_are_alike(column->value, first->columns[i].value))
			return false;
		found += column != NULL;
	}
	return found == e->n;
}

void started_replace(struct snoop_started *started, const struct snoop_event *e,
	const struct attar_expr_record *record)
{
	const struct snoop_event *first = started->event;
	char bytes[COLUMNS_MAX * VALUE_BYTES];
	size_t from = 0, to = 0;

	if (started->is_pending)
		return;
	for (size_t i = 0; i < first->n; i++) {
		const struct snoop_column *column = column_named(e, first->columns[i].name);
		size_t n = started->len[i];

		if (column)
			started->len[i] = (uint16_t)attar_expr_key(
				column->value, record, bytes + to, VALUE_BYTES);
		else
			memcpy(bytes + to, started->bytes + from, n);
		from += n;
		to += started->len[i];
	}
	memcpy(started->bytes, bytes, to);
}

bool started_begin(struct attar_run *run, struct snoop_started *started,
	const struct snoop_event *e, const struct attar_expr_record *record)
{
	started->is_pending = e->reads && record->raw_size <= RAW_MAX && attar_run_is_live(run);
	started->has_record = started->is_pending;
	if (!started->is_pending) {
		started_change(run, started, e, record);
		return false;
	}
	started->event = e;
	started->record = *record;
	memcpy(started->raw, record->raw, record->raw_size);
	return true;
}

/* Texts were read from the program during the call, before their copies had arrived. */
static void prefer_copies(struct attar_run *run, struct snoop_started *started,
	const struct attar_expr_record *record, uint64_t ended)
{
	char kept[sizeof(*started) + sizeof(char[COLUMNS_MAX][VALUE_BYTES])];
	size_t size = sizeof(*started);

	for (size_t i = 0; i < started->event->n; i++)
		size += started->len[i];
	memcpy(kept, started, size);
	compute(run, started, record, false, ended);
	if (started->is_unread)
		memcpy(started, kept, size);
}

void started_compute(
	struct attar_run *run, struct snoop_started *started, bool reads, uint64_t ended)
{
	struct attar_expr_record record = started->record;

	record.raw = started->raw;
	if (started->is_pending)
		compute(run, started, &record, reads, ended);
	else if (!reads && started->has_record && started->read_at)
		prefer_copies(run, started, &record, ended);
}

bool started_is_unknown(
	const struct attar_run *run, const struct snoop_started *started, uint64_t ended)
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

bool started_has_no_file(
	const struct attar_run *run, const struct snoop_started *started, uint64_t ended)
{
	const struct snoop_event *e = started->event;
	size_t len = 0;

	if (!attar_run_is_live(run) || started_is_unknown(run, started, ended))
		return false;
	for (size_t i = 0; i < e->n; len += started->len[i++])
		if (e->columns[i].is_file && is_stream(started->bytes + len, started->len[i]))
			return true;
	return false;
}

static void add_unknown(
	struct attar_section *lines, const struct snoop_column *column, bool is_lost)
{
	if (attar_expr_get_column(column->value, 0)->kind == ATTAR_EXPR_NUMBER)
		attar_cell_none(lines);
	else
		attar_cell_text(lines, is_lost ? LOST : UNKNOWN);
}

/* A value of the start of a pair: what was read from the program may be of a later time. */
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

void started_add_cells(
	struct attar_section *lines, const struct snoop_started *started, bool unknown)
{
	const struct snoop_event *e = started->event;
	size_t len = 0;

	for (size_t i = 0; i < e->n; len += started->len[i++]) {
		if (unknown && e->columns[i].reads)
			add_unknown(lines, &e->columns[i], started->is_lost);
		else if (started->is_doubtful && e->columns[i].reads)
			add_doubtful(
				lines, e->columns[i].value, started->bytes + len, started->len[i]);
		else
			keys_add_cells(
				lines, e->columns[i].value, started->bytes + len, started->len[i]);
	}
}
