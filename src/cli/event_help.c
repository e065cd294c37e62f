/* SPDX-License-Identifier: MIT */
/* Describes an event and its fields: attar trace -e EVENT help, attar list EVENT. */
#include <stdio.h>

#include "base/base.h"
#include "cli/cli.h"

static void field_line(struct buf *b, const struct attar_field *f)
{
	static const char *const kinds[] = {[ATTAR_FIELD_NUMBER] = "number",
		[ATTAR_FIELD_STRING] = "text",
		[ATTAR_FIELD_ARRAY] = "numbers",
		[ATTAR_FIELD_BYTES] = "bytes"};

	buf_printf(b, "  %-20s %-26s %-8s", f->name, f->type, kinds[f->kind]);
	if (f->place == ATTAR_FIELD_FIXED)
		buf_printf(b, " %u byte%s at %u", f->size, f->size == 1 ? "" : "s", f->offset);
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

/* An example command line; the event is quoted if the shell would split or expand it. */
static void command(struct buf *b, const char *profiler, const char *event, const char *rest)
{
	const char *quote = strpbrk(event, "\"$ {}()<>&|;*?#\\`") ? "'" : "";

	buf_printf(b, "  attar %s -e %s%s%s%s\n", profiler, quote, event, quote, rest);
}

static void tracepoint(struct buf *b, const struct attar_event_spec *spec)
{
	const struct attar_format *format = spec->format;
	const struct attar_field *filter = filter_field(format);

	if (spec->kind == ATTAR_EVENT_USER)
		buf_printf(b, "%s (event of a program, delivered through shared memory)\n",
			spec->name);
	else
		buf_printf(b, "%s (id %llu)\n", spec->name, (unsigned long long)format->id);
	for (size_t i = 0; i < format->n_fields; i++)
		if (!format->fields[i].is_common)
			field_line(b, &format->fields[i]);
	buf_str(b, "  common fields:");
	for (size_t i = 0; i < format->n_fields; i++)
		if (format->fields[i].is_common)
			buf_printf(b, " %s", format->fields[i].name);
	buf_printf(b, "\n  print: %s\n\n", format->print);
	command(b, "trace", spec->name, "");
	if (spec->kind == ATTAR_EVENT_USER) {
		buf_char(b, '\n');
		return;
	}
	/* The kernel does not support filters for events of the probe PMUs. */
	if (filter && spec->kind == ATTAR_EVENT_TRACEPOINT)
		buf_printf(b, "  attar trace -e '%s/%s>0/'\n", spec->name, filter->name);
	command(b, "stat", spec->name, " -i 1s");
	command(b, "profile", spec->name, " -g\n");
}

static void counter(struct buf *b, const struct attar_event_spec *spec)
{
	buf_printf(b, "%s (%s event, type %u, config 0x%llx)\n", spec->name,
		attar_event_kind_name(spec->kind), spec->type, (unsigned long long)spec->config);
	if (*spec->unit)
		buf_printf(b, "  unit: %s\n", spec->unit);
	buf_char(b, '\n');
	command(b, "stat", spec->name, "");
	command(b, "trace", spec->name, "");
	command(b, "profile", spec->name, " -g\n");
}

int event_help(struct buf *b, const char *text)
{
	struct attar_catalog_opts opts = {.size = sizeof(opts), .mount = true};
	struct attar_event_list *list = NULL;
	struct attar_catalog *catalog;
	int r = attar_catalog_new(&opts, &catalog);

	if (r < 0)
		return r;
	r = attar_event_list_parse(catalog, text, &list);
	for (size_t i = 0; r == 0 && i < list->n; i++) {
		if (list->at[i].format)
			tracepoint(b, &list->at[i]);
		else
			counter(b, &list->at[i]);
	}
	if (r == 0)
		attar_event_list_free(list);
	attar_catalog_free(catalog);
	return r;
}
