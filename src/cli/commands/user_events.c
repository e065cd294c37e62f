/* SPDX-License-Identifier: MIT */
/*
 * attar user-events: the events that programs have registered, with the kernel or in shared memory,
 * and their listeners.
 */
#include <fnmatch.h>
#include <poll.h>
#include <stdio.h>

#include "base/base.h"
#include "base/file.h"
#include "base/file_limit.h"
#include "base/vec.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/output/listeners.h"
#include "cli/signals.h"
#include "event/user_event.h"

enum {
	STATUS_MAX = 8 << 20, /* 32,768 events with names of 255 bytes */
	POLL_MS = 2,
};

/* One row: an event registered with the kernel, or of one program. */
struct row {
	char *name, *fields, *comm;
	struct buf listeners;
	pid_t pid; /* 0: registered with the kernel */
	uint64_t count;
	struct attar_counter *counter; /* while it is counted by the kernel */
};

struct user_events {
	struct attar_catalog *catalog;
	const char *pattern;  /* NULL: all */
	uint64_t duration_ns; /* of counting; 0: do not count */
	bool json;
	VEC(struct row) rows;
	struct listeners listeners;
	uint64_t lost;
	bool kernel_has_none;
};

static bool is_wanted(const struct user_events *u, const char *name)
{
	return !u->pattern || strstr(name, u->pattern) || !fnmatch(u->pattern, name, 0);
}

static struct row *add_row(
	struct user_events *u, const char *name, const char *fields, const char *comm, pid_t pid)
{
	struct row *row = vec_add(&u->rows);

	if (!row)
		return NULL;
	row->name = strdup(name);
	row->fields = strdup(fields);
	row->comm = strdup(comm);
	row->pid = pid;
	return row->name && row->fields && row->comm ? row : NULL;
}

/* ---- events registered with the kernel ---- */

/* "__rel_loc char[] name; u32 age", as the program registered it. */
static void fields_of(struct buf *b, struct attar_catalog *catalog, const char *name)
{
	const struct attar_format *format;

	if (attar_catalog_format(catalog, USER_EVENTS, name, &format) < 0)
		return;
	for (size_t i = 0; i < format->n_fields; i++)
		if (!format->fields[i].is_common)
			buf_printf(b, "%s%s %s", b->len ? "; " : "", format->fields[i].type,
				format->fields[i].name);
}

/*
 * The lines of user_events_status (Documentation/trace/user_events.rst): "name" or "name # Used by
 * perf ftrace", then a blank line and totals. Linux 5.18 to 6.3 put "number:" first.
 */
static int add_line(struct user_events *u, char *line)
{
	struct buf fields _cleanup_(buf_done) = {0};
	char *comment = strstr(line, " # "), *colon;
	const char *listeners = "";
	struct row *row;

	if (comment) {
		*comment = '\0';
		listeners = comment + 3;
		if (!strncmp(listeners, "Used by ", 8))
			listeners += 8;
	}
	colon = strchr(line, ':');
	if (colon && strspn(line, "0123456789") == (size_t)(colon - line))
		line = colon + 1;
	if (!*line || !is_wanted(u, line))
		return 0;
	fields_of(&fields, u->catalog, line);
	row = add_row(u, line, buf_text(&fields), "", 0);
	if (row)
		buf_str(&row->listeners, listeners);
	return row ? 0 : base_oom();
}

/* A kernel without user_events is not an error: programs have other transports. */
static int list_kernel(struct user_events *u)
{
	struct buf b _cleanup_(buf_done) = {0};
	char path[4096], *line, *save = NULL;
	const char *tracefs;
	int r = attar_catalog_tracefs(u->catalog, &tracefs);

	if (r < 0) {
		log_note("events registered with the kernel are not listed: %s", attar_error());
		attar_error_clear();
		return 0;
	}
	snprintf(path, sizeof(path), "%s/user_events_status", tracefs);
	r = file_read(path, STATUS_MAX, &b);
	if (r == -ENOENT) {
		u->kernel_has_none = true;
		attar_error_clear();
		return 0;
	}
	for (line = r < 0 || !b.len ? NULL : strtok_r(b.data, "\n", &save); line && r == 0;
		line = strtok_r(NULL, "\n", &save)) {
		if (!strncmp(line, "Active: ", 8) || !strncmp(line, "Busy: ", 6) ||
			!strncmp(line, "Max: ", 5))
			continue;
		r = add_line(u, line);
	}
	return r;
}

/* ---- events of programs ---- */

static int add_registered(void *ctx, const struct perfume_registered *event)
{
	struct user_events *u = ctx;
	unsigned probes = event->word >> 16;
	struct row *row;

	if (!is_wanted(u, event->source->name))
		return 0;
	row = add_row(u, event->source->name, event->source->fields, event->source->comm,
		event->source->pid);
	if (!row)
		return base_oom();
	for (unsigned i = 0; i < event->n_listeners; i++) {
		buf_str(&row->listeners, row->listeners.len ? ", " : "");
		listeners_name(&u->listeners, event->listeners[i], &row->listeners);
	}
	if (probes)
		buf_printf(&row->listeners, "%s%u through USDT", row->listeners.len ? ", " : "",
			probes);
	return 0;
}

/* ---- counting ---- */

static int count_event(struct user_events *u, const struct perfume_source *source)
{
	struct row *row;

	if (!is_wanted(u, source->name))
		return 0;
	vec_each (&u->rows, it)
		if (it->pid == source->pid && !strcmp(it->name, source->name)) {
			it->count++;
			return 0;
		}
	row = add_row(u, source->name, source->fields, source->comm, source->pid);
	if (!row)
		return base_oom();
	row->count = 1;
	return 0;
}

static int count_round(struct user_events *u, struct perfume_collector *collector, int last)
{
	struct perfume_received event;
	int r = perfume_collector_poll(collector, last);

	while (r >= 0 && perfume_collector_next(collector, &event) > 0)
		r = count_event(u, event.source);
	return r;
}

static int count_programs(struct user_events *u, uint64_t end)
{
	struct perfume_collector_options options = {.size = sizeof(options), .patterns = "*"};
	struct perfume_collector_stats stats;
	struct perfume_collector *collector;
	int r = perfume_collector_new(&options, &collector);

	if (r < 0)
		return file_limit_fail(-r, "cannot listen to programs");
	r = perfume_collector_scan(collector);
	for (uint64_t now = 0; r >= 0 && now < end && !signals_taken(); now = base_now()) {
		r = count_round(u, collector, 0);
		poll(NULL, 0, POLL_MS);
	}
	if (r >= 0)
		r = count_round(u, collector, 1);
	perfume_collector_stats(collector, &stats);
	u->lost = stats.lost + stats.lost_no_ring;
	perfume_collector_free(collector);
	return r == -EINTR && signals_taken() ? 0 : r; /* the end of the run */
}

static int count_in_kernel(struct user_events *u, struct attar_target *target)
{
	int r = 0;

	vec_each (&u->rows, row) {
		const struct attar_format *format;
		struct perf_event_attr attr = {.type = PERF_TYPE_TRACEPOINT};

		if (row->pid || r < 0)
			continue;
		r = attar_catalog_format(u->catalog, USER_EVENTS, row->name, &format);
		if (r == 0) {
			attr.config = format->id;
			r = attar_counter_open(target, &attr, row->name, 0, &row->counter);
		}
	}
	return r;
}

static void read_kernel(struct user_events *u)
{
	vec_each (&u->rows, row) {
		struct attar_value value;

		if (row->counter && attar_counter_read(row->counter, &value) == 0)
			row->count = value.value;
		row->counter = attar_counter_close(row->counter);
	}
}

static int user_events_count(struct user_events *u)
{
	struct attar_target_opts opts = {.size = sizeof(opts)};
	struct attar_target *target = NULL;
	bool in_kernel = false;
	int r = 0;

	signals_take(NULL);
	vec_each (&u->rows, row)
		in_kernel |= !row->pid;
	if (in_kernel)
		r = attar_target_new(&opts, &target);
	if (r == 0 && in_kernel)
		r = count_in_kernel(u, target);
	if (r == 0)
		r = count_programs(u, base_now() + u->duration_ns);
	read_kernel(u);
	attar_target_free(target);
	return r;
}

/* ---- the table ---- */

static int by_name(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : (x->pid > y->pid) - (x->pid < y->pid);
}

static void user_events_fill(struct user_events *u, struct attar_report *report)
{
	struct attar_section *t = attar_report_table(report, "user events");

	attar_section_column(t, "name", ATTAR_UNIT_TEXT);
	attar_section_column(t, "transport", ATTAR_UNIT_TEXT);
	attar_section_column(t, "program", ATTAR_UNIT_TEXT);
	attar_section_column(t, "pid", ATTAR_UNIT_ID);
	if (u->duration_ns)
		attar_section_column(t, "count", ATTAR_UNIT_COUNT);
	attar_section_column(t, "listeners", ATTAR_UNIT_TEXT);
	attar_section_column(t, "fields", ATTAR_UNIT_TEXT);
	if (u->rows.n)
		qsort(u->rows.at, u->rows.n, sizeof(*u->rows.at), by_name);
	vec_each (&u->rows, row) {
		attar_section_row(t);
		attar_cell_text(t, row->name);
		attar_cell_text(t, row->pid ? "shm" : "kernel");
		attar_cell_text(t, row->comm);
		if (row->pid)
			attar_cell_u64(t, (uint64_t)row->pid);
		else
			attar_cell_none(t);
		if (u->duration_ns)
			attar_cell_u64(t, row->count);
		attar_cell_text(t, buf_text(&row->listeners));
		attar_cell_text(t, row->fields);
	}
	if (u->lost)
		attar_report_remark(report,
			"%llu event%s of programs %s overwritten before being counted",
			(unsigned long long)u->lost, PLURAL_S(u->lost),
			u->lost == 1 ? "was" : "were");
}

static void report_none(const struct user_events *u)
{
	if (u->rows.n)
		return;
	log_note("no program has registered an event%s%s%s%s", u->pattern ? " that matches '" : "",
		u->pattern ? CLIP(u->pattern) : "", u->pattern ? "'" : "",
		u->kernel_has_none
			? " in shared memory (libperfume), and this kernel lacks user_events"
			: ", neither with the kernel nor in shared memory");
}

static void done(struct user_events *u)
{
	vec_each (&u->rows, row) {
		attar_counter_close(row->counter);
		buf_done(&row->listeners);
		free(row->name);
		free(row->fields);
		free(row->comm);
	}
	vec_done(&u->rows);
	listeners_done(&u->listeners);
	attar_catalog_free(u->catalog);
}

static int list(struct user_events *u)
{
	struct attar_catalog_opts opts = {.size = sizeof(opts), .mount = true};
	struct attar_report *report = attar_report_new("user-events");
	int r = report ? attar_catalog_new(&opts, &u->catalog) : base_oom(), status;

	if (r == 0)
		r = list_kernel(u);
	if (r == 0)
		r = userevent_each(NULL, 0, add_registered, u);
	if (r == 0 && u->duration_ns)
		r = user_events_count(u);
	if (r == 0) {
		report_none(u);
		user_events_fill(u, report);
		status = print_report(report, u->json, false);
	} else {
		status = report_error(status_of(r));
	}
	attar_report_free(report);
	done(u);
	return status;
}

/* attar user-events watch NAME [options]: the same as attar trace -e user_events:NAME. */
static int watch(int argc, char **argv)
{
	char event[512], **trace = calloc((size_t)argc + 3, sizeof(*trace));
	int n = 0, status;

	if (!trace) {
		base_oom();
		return report_error(STATUS_FAILED);
	}
	snprintf(event, sizeof(event), USER_EVENTS ":%s", argv[0]);
	trace[n++] = (char[]){"trace"};
	trace[n++] = (char[]){"-e"};
	trace[n++] = event;
	for (int i = 1; i < argc; i++)
		trace[n++] = argv[i];
	status = command_profiler(n, trace);
	free(trace);
	return status;
}

static int user_events_run(void *state, const struct command_words *words)
{
	struct user_events *u = state;
	char *const *operands = words->operands;
	int r = 0;

	u->pattern = operands[0];
	if (!u->pattern || strcmp(u->pattern, "watch") != 0) {
		if (words->n < 2)
			return list(u);
		r = attar_fail(-EINVAL, "unexpected argument '%s'", CLIP(operands[1]));
	} else if (!operands[1] || operands[1][0] == '-') {
		r = attar_fail(-EINVAL, "user-events watch requires the name of an event" ATTAR_FIX
					"attar user-events watch NAME");
	} else if (u->json || u->duration_ns) {
		r = attar_fail(-EINVAL, "options of user-events watch follow the name" ATTAR_FIX
					"attar user-events watch NAME [OPTIONS]");
	}
	return r < 0 ? report_error(STATUS_USAGE) : watch(words->n - 1, words->operands + 1);
}

static const struct attar_option user_events_options[] = {
	ATTAR_TIME(struct user_events, duration_ns, 'd', "duration", "TIME",
		"count events for this time: seconds, or with a unit: 500ms, 5s, 1m",
		.bare = 1000000000),
	ATTAR_FLAG(struct user_events, json, 0, "json", "print a report in JSON"), {0}};

static const struct attar_example user_events_examples[] = {
	{"user-events -d 1s", "the events of programs, and how often they occur"},
	{"user-events watch order_placed", "each occurrence of one"},
	{0},
};

const struct command command_user_events = {
	.name = "user-events",
	.usage = "[PART] | watch NAME",
	.summary = "list the events that programs have registered",
	.operands = (const struct command_operand
			[]){{"PART", "list only events whose name contains this text"},
		{"watch NAME",
			"print each occurrence of the event; takes the options of 'attar trace'"},
		{0}},
	.options = user_events_options,
	.state_size = sizeof(struct user_events),
	.max_operands = COMMAND_ANY,
	.rest = "watch",
	.examples = user_events_examples,
	.run = user_events_run,
};
