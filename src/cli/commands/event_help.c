/* SPDX-License-Identifier: MIT */
/* Describes an event and its fields: attar trace -e EVENT help, attar list EVENT. */
#include <stdio.h>

#include "attar/private/event.h"
#include "base/escape.h"
#include "cli/cli.h"

static void field_line(struct buf *b, const struct attar_field *f)
{
	static const char *const kinds[] = {[ATTAR_FIELD_NUMBER] = "number",
		[ATTAR_FIELD_STRING] = "text",
		[ATTAR_FIELD_ARRAY] = "numbers",
		[ATTAR_FIELD_BYTES] = "bytes"};

	buf_printf(b, "  %-20s %-26s %-8s", f->name, f->type, kinds[f->kind]);
	if (f->place == ATTAR_FIELD_FIXED)
		buf_printf(b, " %u byte%s at %u", f->size, PLURAL_S(f->size), f->offset);
	else
		buf_printf(b, " variable length, location at %u", f->offset);
	buf_str(b, f->kind == ATTAR_FIELD_NUMBER && f->is_signed ? ", signed\n" : "\n");
}

/* A field for the example filter: the first number that is not a common field. */
static const struct attar_field *filter_field(const struct attar_format *format)
{
	for (size_t i = 0; i < format->n_fields; i++)
		if (!format->fields[i].is_common && format->fields[i].kind == ATTAR_FIELD_NUMBER)
			return &format->fields[i];
	return NULL;
}

/* An example command line. The event, which programs can have named, is one word for a shell. */
static void command(struct buf *b, const char *profiler, const char *event, const char *rest)
{
	buf_printf(b, "  attar %s -e ", profiler);
	escape_shell(b, event);
	buf_printf(b, "%s\n", rest);
}

/* The same with a filter. */
static void filter_command(struct buf *b, const char *event, const char *field)
{
	struct buf filtered _cleanup_(buf_done) = {0};

	buf_printf(&filtered, "%s/%s>0/", event, field);
	b->failed |= buf_failed(&filtered);
	command(b, "trace", buf_text(&filtered), "");
}

/* The name that -e takes, to be freed: without attributes, also if the event has an alias. */
static char *event_name(const struct attar_event_spec *spec)
{
	const struct attar_format *format = spec->format;
	char *name;

	if (!spec->alias)
		return strdup(spec->name);
	if (format && spec->kind == ATTAR_EVENT_TRACEPOINT)
		return asprintf(&name, "%s:%s", format->system, format->name) < 0 ? NULL : name;
	return strndup(
		spec->text + spec->column - 1, strcspn(spec->text + spec->column - 1, "/,} "));
}

static int tracepoint(struct buf *b, const struct attar_event_spec *spec)
{
	char *name _cleanup_free_ = event_name(spec);
	const struct attar_format *format = spec->format;
	const struct attar_field *filter = filter_field(format);

	if (!name)
		return base_oom();
	if (spec->kind == ATTAR_EVENT_USER)
		buf_printf(b, "%s (event of a program, through shared memory)\n", name);
	else
		buf_printf(b, "%s (id %llu)\n", name, (unsigned long long)format->id);
	for (size_t i = 0; i < format->n_fields; i++)
		if (!format->fields[i].is_common)
			field_line(b, &format->fields[i]);
	buf_str(b, "  common fields:");
	for (size_t i = 0; i < format->n_fields; i++)
		if (format->fields[i].is_common)
			buf_printf(b, " %s", format->fields[i].name);
	buf_printf(b, "\n  print: %s\n\n", format->print);
	command(b, "trace", name, "");
	if (spec->kind == ATTAR_EVENT_USER) {
		buf_char(b, '\n');
		return 0;
	}
	/* The kernel does not support filters for events of the probe PMUs. */
	if (filter && spec->kind == ATTAR_EVENT_TRACEPOINT)
		filter_command(b, name, filter->name);
	command(b, "stat", name, " -i 1s");
	command(b, "profile", name, " -g\n");
	return 0;
}

static int counter(struct buf *b, const struct attar_event_spec *spec)
{
	char *name _cleanup_free_ = event_name(spec);

	if (!name)
		return base_oom();
	buf_printf(b, "%s (%s event, type %u, config 0x%llx)\n", name, event_kind_name(spec->kind),
		spec->type, (unsigned long long)spec->config);
	if (*spec->unit)
		buf_printf(b, "  unit: %s\n", spec->unit);
	buf_char(b, '\n');
	command(b, "stat", name, "");
	command(b, "trace", name, "");
	command(b, "profile", name, " -g\n");
	return 0;
}

static void profiler(struct buf *b, const struct attar_event_spec *spec)
{
	buf_printf(b, "%s (events of the profiler %s)\n", spec->name, spec->profiler);
	buf_printf(b, "  its options: attar %s -h\n\n", spec->profiler);
}

int event_help(struct buf *b, const struct attar_event_list *list)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < list->n; i++) {
		if (list->at[i].profiler)
			profiler(b, &list->at[i]);
		else if (list->at[i].format)
			r = tracepoint(b, &list->at[i]);
		else
			r = counter(b, &list->at[i]);
	}
	return r;
}

/* ---- the command line ---- */

static void attributes(struct buf *b)
{
	const char *name, *value;
	size_t line = b->len;

	buf_str(b, "attributes that may follow, as in sched:sched_switch/FILTER/stack/alias=x/ "
		   "(docs/events.md):\n ");
	line = b->len;
	for (size_t i = 0; (name = event_attribute(i, &value)); i++) {
		if (b->len - line > 75) {
			buf_str(b, "\n ");
			line = b->len;
		}
		buf_printf(b, " %s%s%s", name, value ? "=" : "", value ? value : "");
	}
	buf_str(b, "\n\n");
}

void event_help_command(struct buf *b, int argc, char **argv)
{
	attributes(b);
	buf_str(b, "  attar");
	for (int i = 0; i < argc; i++) {
		if (i && !strcmp(argv[i], "help"))
			continue;
		buf_char(b, ' ');
		escape_shell(b, argv[i]);
	}
	buf_char(b, '\n');
}
