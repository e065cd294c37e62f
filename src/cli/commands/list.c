/* SPDX-License-Identifier: MIT */
/* attar list: the events available on this system, by kind, with descriptions. */
#include <fnmatch.h>
#include <stdio.h>
#include <strings.h>

#include "attar/private/event.h"
#include "base/base.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/commands/list.h"
#include "cli/commands/list_recorded.h"
#include "cli/commands/list_usdt.h"
#include "cli/perf_prof.h"

struct list {
	const char *pattern; /* NULL: all events */
	const char *input;   /* a recording, whose events are listed; NULL: events of the system */
	bool verbose;        /* also list unavailable events, with the reason */
	bool names;          /* only names, one per line */
	bool json;
	struct attar_catalog *catalog;
	struct attar_target *self; /* the calling thread, to test whether events can be opened */
	struct attar_report *report;
	struct attar_section *section; /* of the current kind; NULL until it has a row */
	const char *kind;
	size_t found;
	int unreadable; /* why there are no tracepoints: a negative errno with its message; or 0 */
	char *unreadable_text;
};

bool list_wants(const char *pattern, const char *kind, const char *name)
{
	if (!pattern || !strcasecmp(pattern, kind))
		return true;
	if (strpbrk(pattern, "*?["))
		return fnmatch(pattern, name, 0) == 0;
	return strstr(name, pattern) != NULL;
}

static bool wanted(const struct list *l, const char *name)
{
	return list_wants(l->pattern, l->kind, name);
}

void list_put_fields(struct buf *b, const struct attar_format *format)
{
	for (size_t i = 0; i < format->n_fields; i++)
		if (!format->fields[i].is_common)
			buf_printf(b, "%s%s", b->len ? " " : "", format->fields[i].name);
}

static void list_begin(struct list *l, const char *kind)
{
	l->kind = kind;
	l->section = NULL;
}

/* missing: why it cannot be opened on this system; NULL if it can. */
static void add_wanted(struct list *l, const char *name, const char *about, const char *missing)
{
	if (missing && !l->verbose)
		return;
	l->found++;
	if (l->names) {
		puts(name);
		return;
	}
	if (!l->section) {
		l->section = attar_report_table(l->report, l->kind);
		attar_section_column(l->section, "name", ATTAR_UNIT_TEXT);
		if (l->verbose)
			attar_section_column(l->section, "available", ATTAR_UNIT_TEXT);
		attar_section_column(l->section, "description", ATTAR_UNIT_TEXT);
	}
	attar_section_row(l->section);
	attar_cell_text(l->section, name);
	if (l->verbose)
		attar_cell_text(l->section, missing ? missing : "yes");
	attar_cell_text(l->section, about);
}

static void list_add(struct list *l, const char *name, const char *about, const char *missing)
{
	if (wanted(l, name))
		add_wanted(l, name, about, missing);
}

/*
 * NULL if this process can open the event on itself, otherwise the reason. Tests user code only,
 * which needs no privileges.
 */
static const char *reason_missing(const struct list *l, uint32_t type, uint64_t config)
{
	const struct perf_event_attr attr = {.type = type,
		.config = config,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1};
	struct attar_counter *counter = NULL;
	int r = attar_counter_open(l->self, &attr, "event", 0, &counter);

	attar_counter_close(counter);
	return r == 0                        ? NULL
	       : r == -EOPNOTSUPP            ? "no: not supported by this CPU or virtual machine"
	       : r == -EACCES || r == -EPERM ? "no: not permitted"
					     : "no: refused by the kernel";
}

/* Whether a raw event can be counted: cycles can, if there is a PMU. */
static const char *reason_no_raw(const struct list *l)
{
	return reason_missing(l, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
}

static int add_named(void *ctx, const struct attar_named_event *event)
{
	struct list *l = ctx;
	const char *kind = event_kind_name(event->kind), *alias = event->alias;
	char about[512];

	if (!l->kind || strcmp(l->kind, kind) != 0)
		list_begin(l, kind);
	if (!wanted(l, event->name) && !(alias && wanted(l, alias)))
		return 0;
	snprintf(about, sizeof(about), "%s%s%s", event->about, alias ? "; also: " : "",
		alias ? alias : "");
	add_wanted(l, event->name, about,
		event->kind == ATTAR_EVENT_RAW ? reason_no_raw(l)
					       : reason_missing(l, event->type, event->config));
	return 0;
}

struct pmu_list {
	struct list *list;
	const struct attar_pmu *pmu;
};

static int add_pmu_event(void *ctx, const struct attar_pmu_event *event)
{
	struct buf about _cleanup_(buf_done) = {0};
	struct pmu_list *p = ctx;
	char name[256];

	snprintf(name, sizeof(name), "%s/%s/", p->pmu->name, event->name);
	buf_str(&about, event->terms);
	if (*event->unit)
		buf_printf(&about, ", in %s", event->unit);
	if (p->pmu->system_wide)
		buf_str(&about, ", device event: system-wide only");
	list_add(p->list, name, buf_text(&about), NULL);
	return 0;
}

static void add_pmus(struct list *l)
{
	const struct attar_pmu *pmu;

	list_begin(l, "PMU");
	for (size_t i = 0; (pmu = attar_catalog_pmu(l->catalog, i)); i++)
		attar_pmu_events(pmu, add_pmu_event, &(struct pmu_list){l, pmu});
}

/* Events of the function tracer have a format only. */
static const char *no_id(struct list *l, const char *system, const char *event)
{
	const char *tracefs;
	char path[1024];

	if (attar_catalog_tracefs(l->catalog, &tracefs) < 0)
		return NULL;
	snprintf(path, sizeof(path), "%s/events/%s/%s/id", tracefs, system, event);
	return access(path, F_OK) == 0 ? NULL : "no: it has no id";
}

static int add_tracepoint(void *ctx, const char *system, const char *event)
{
	struct list *l = ctx;
	const struct attar_format *format;
	struct buf about _cleanup_(buf_done) = {0};
	char name[512];

	snprintf(name, sizeof(name), "%s:%s", system, event);
	if (!wanted(l, name))
		return 0;
	if (l->names || attar_catalog_format(l->catalog, system, event, &format) < 0) {
		list_add(l, name, "",
			l->names ? no_id(l, system, event) : "no: its format cannot be read");
		return 0;
	}
	list_put_fields(&about, format);
	list_add(l, name, buf_text(&about), no_id(l, system, event));
	return 0;
}

/* Without tracefs the rest of the list is still useful. */
static void add_tracepoints(struct list *l)
{
	list_begin(l, "tracepoint");
	l->unreadable = attar_catalog_tracepoints(l->catalog, add_tracepoint, l);
	if (l->unreadable < 0)
		l->unreadable_text = strdup(attar_error());
}

static const char *no_pmu(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", name);
	return access(path, R_OK) == 0 ? NULL : "no: not supported by this kernel";
}

static void add_forms(struct list *l)
{
	if (l->names)
		return;
	list_begin(l, "syntax");
	list_add(l, "rNNN", "a raw CPU event, hexadecimal", reason_no_raw(l));
	list_add(l, "PMU/config=N,.../", "a PMU event by its terms", NULL);
	list_add(l, "mem:ADDRESS[/LENGTH][:rwx]",
		"a breakpoint: reads, writes or execution of an address", NULL);
	list_add(l, "kprobe:FUNCTION[+OFFSET]", "entry of a kernel function", no_pmu("kprobe"));
	list_add(l, "kretprobe:FUNCTION", "return of a kernel function", no_pmu("kprobe"));
	list_add(l, "uprobe:FUNCTION[+OFFSET]@FILE", "entry of a function in a program or library",
		no_pmu("uprobe"));
	list_add(l, "uretprobe:FUNCTION@FILE", "return of a function in a program or library",
		no_pmu("uprobe"));
	list_add(l, "usdt:[FILE:]PROVIDER:NAME",
		"a USDT probe of a program or library; attar list usdt:FILE lists its probes",
		no_pmu("uprobe"));
}

static void list_fill(struct list *l)
{
	attar_named_events(add_named, l);
	add_pmus(l);
	add_tracepoints(l);
	add_forms(l);
}

static int nothing(const struct list *l)
{
	if (l->unreadable_text) {
		attar_fail(l->unreadable, "%s", l->unreadable_text);
		return report_error(status_of(l->unreadable));
	}
	attar_fail(-ENOENT,
		l->verbose ? "no event matches '%s'"
			   : "no event matches '%s';" ATTAR_FIX
			     "'attar list -v' also shows events that this system does not support",
		CLIP(l->pattern));
	return report_error(STATUS_FAILED);
}

static int go(struct list *l)
{
	struct attar_catalog_opts opts = {.size = sizeof(opts), .mount = true};
	struct attar_target_opts self = {.size = sizeof(self), .self = true, .any_cpu = true};
	int r = attar_catalog_new(&opts, &l->catalog);

	if (r == 0)
		r = attar_target_new(&self, &l->self);
	l->report = attar_report_new("list");
	if (r == 0 && !l->report)
		r = base_oom();
	if (r < 0)
		return report_error(status_of(r));
	list_fill(l);
	if (l->pattern && !l->found)
		return nothing(l);
	if (l->unreadable_text)
		log_note("tracepoints are not listed: %s", l->unreadable_text);
	return l->names ? print_end() : print_report(l->report, l->json, true);
}

/* Describes an event with this full name. Returns the exit status, or -ENOENT. */
static int describe(const char *name)
{
	struct attar_catalog_opts opts = {.size = sizeof(opts), .mount = true};
	struct buf b _cleanup_(buf_done) = {0};
	struct attar_event_list *list = NULL;
	struct attar_catalog *catalog;
	int r;

	if (!strchr(name, ':') || strpbrk(name, "*?[") || attar_catalog_new(&opts, &catalog) < 0)
		return -ENOENT;
	r = attar_event_list_parse(catalog, name, &list);
	if (r == 0)
		r = event_help(&b, list);
	attar_event_list_free(list);
	attar_catalog_free(catalog);
	return r < 0 ? -ENOENT : print_buf(&b);
}

static int list_profilers(bool names)
{
	struct buf b _cleanup_(buf_done) = {0};

	if (names)
		for (const struct attar_profiler *const *p = attar_profilers(); *p; p++)
			buf_printf(&b, "%s\n", (*p)->name);
	else
		help_profilers(&b);
	fputs(buf_text(&b), stdout);
	return STATUS_OK;
}

static int list_run(void *state, const struct command_words *words)
{
	struct list *l = state;
	int status;

	l->pattern = words->operands[0];
	if (perf_prof_is_on() && !l->pattern && !l->json && !l->input) { /* as scripts expect */
		l->pattern = "tracepoint";
		l->names = true;
	}
	if (l->pattern && !strcmp(l->pattern, "profilers") && !l->json)
		return list_profilers(l->names);
	if (l->input)
		return list_recorded(l->input, l->pattern, l->json, l->names);
	if (l->pattern && list_usdt_is(l->pattern))
		return list_usdt(l->pattern, l->json, l->names, l->verbose);
	status = l->pattern && !l->names && !l->json ? describe(l->pattern) : -ENOENT;
	if (status >= 0)
		return status;
	status = go(l);
	free(l->unreadable_text);
	attar_report_free(l->report);
	attar_target_free(l->self);
	attar_catalog_free(l->catalog);
	return status;
}

static const struct attar_option list_options[] = {
	ATTAR_FLAG(struct list, verbose, 'v', "verbose",
		"also list events that cannot be opened on this system, with the reason"),
	ATTAR_FLAG(struct list, names, 0, "names", "print only names, one per line"),
	ATTAR_FLAG(struct list, json, 0, "json", "print a report in JSON"),
	ATTAR_TEXT(struct list, input, 0, "input", "FILE",
		"list the events of a recording or script, and how many samples each has",
		.complete = "file"),
	{0}};

static const struct command_operand list_operands[] = {
	{"PATTERN", "list only events whose name contains this text, or events of this kind "
		    "(hardware, cache, software, PMU, tracepoint); * and ? match as in a shell. "
		    "The full name of a tracepoint shows its fields and example commands; "
		    "usdt:FILE lists the USDT probes in a program or library"},
	{0},
};

static const struct attar_example list_examples[] = {
	{"list", "the events of each kind that can be opened"},
	{"list sched:sched_switch", "the fields of a tracepoint"},
	{"list --input perf.data", "the events of a recording"},
	{0},
};

const struct command command_list = {
	.name = "list",
	.usage = "[PATTERN | profilers]",
	.summary = "list the events available on this system",
	.operands = list_operands,
	.options = list_options,
	.state_size = sizeof(struct list),
	.max_operands = 1,
	.complete = "event",
	.examples = list_examples,
	.run = list_run,
};
