/* SPDX-License-Identifier: MIT */
/* Formats a record as one line: by its print format, as an EventHeader, or field by field. */
#include "attar/private/eventheader.h"
#include "base/check_arg.h"
#include "eventheader/eventheader.h"
#include "expr/print.h"
#include "tracefs/format.h"

/* The print format is parsed on the first record. */
static const struct print_program *program_of(struct format *f)
{
	if (!f->print_parsed) {
		f->print_parsed = true;
		f->is_eventheader = eventheader_format(&f->pub);
		if (!strncmp(f->pub.system, "user_events", strlen("user_events")))
			return NULL; /* generated from the fields, without arrays and floating point */
		f->program = print_parse(&f->pub, f->tracefs);
		f->free_program = print_free;
		if (!f->program)
			log_debug("%s:%s is printed field by field: its print format is not "
				  "supported",
				f->pub.system, f->pub.name);
	}
	return f->program;
}

size_t attar_format_print(
	const struct attar_format *format, const void *raw, size_t size, char *ret_text, size_t max)
{
	CHECK_ARG_OR(format, "format", 0);
	CHECK_ARG_OR(raw || !size, "raw", 0);
	CHECK_ARG_OR(ret_text || !max, "ret_text", 0);

	struct format *f = format_of(format);
	const struct print_program *program = program_of(f);
	struct print_run run = {.program = program,
		.record = {.expr = program ? &program->expr : NULL, .raw = raw, .size = size},
		.tracefs = f->tracefs,
		.at = ret_text,
		.max = max};

	if (max)
		ret_text[0] = '\0';
	if (f->is_eventheader) {
		eventheader_print(&run, format->name);
		return run.len;
	}
	/* Truncated records are printed field by field, to show what is missing. */
	if (run.program && size >= format->size) {
		print_program(&run);
	} else {
		for (size_t i = 0; i < format->n_fields; i++)
			if (!format->fields[i].is_common)
				print_field(&run, &format->fields[i]);
	}
	/* Remove a trailing newline: the caller writes one. */
	while (run.len && run.len < max && strchr("\n ", ret_text[run.len - 1]))
		ret_text[--run.len] = '\0';
	return run.len;
}
