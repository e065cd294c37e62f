/* SPDX-License-Identifier: MIT */
/* Binds the fields that a profiler wants to fields of an event's format, once per format. */
#include "run/events/inputs.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/check_arg.h"
#include "run/input/needed_events.h"
#include "run/run.h"
#include "run/events/open.h"

/* Exceeds every record, so that its value is 0. */
static const struct attar_field absent = {.offset = UINT16_MAX, .size = UINT16_MAX, .name = ""};

/* The first field of "name|other name" that the format has; NULL: none. */
static const struct attar_field *find(const struct attar_format *format, const char *names)
{
	const struct attar_field *field = NULL;

	while (*names && !field) {
		size_t n = strcspn(names, "|");
		char name[128];

		snprintf(name, sizeof(name), "%.*s", (int)n, names);
		field = attar_format_field(format, name);
		names += n + (names[n] == '|');
	}
	return field;
}

static int no_field(const struct source *s, const char *wanted)
{
	struct buf fields _cleanup_(buf_done) = {0};
	const struct attar_format *format = s->spec ? s->spec->format : NULL;

	if (!format)
		return attar_fail(
			-EINVAL, "'%s' has no fields, but '%s' is required", CLIP(s->name), wanted);
	for (size_t i = 0; i < format->n_fields; i++)
		if (!format->fields[i].is_common)
			buf_printf(&fields, "%s%s", fields.len ? ", " : "", format->fields[i].name);
	return attar_fail(-ENOENT, "'%s' has no field '%s', which is required; its fields are %s",
		CLIP(s->name), wanted, fields.len ? buf_text(&fields) : "none");
}

/* Binds the fields of s->use->input to the format of the source. 0 or a negative errno. */
static int run_bind(struct source *s)
{
	const struct attar_format *format = s->spec ? s->spec->format : NULL;

	if (!s->use->input)
		return 0;
	for (size_t i = 0; i < ATTAR_INPUT_FIELDS; i++) {
		const char *wanted = s->use->input->fields[i];
		bool is_optional = wanted && *wanted == '?';

		s->use->fields[i] = wanted && format ? find(format, wanted + is_optional) : NULL;
		if (s->use->fields[i])
			continue;
		/* a user event gets its format when a program registers it */
		if (wanted && !is_optional &&
			(format || !s->spec || s->spec->kind != ATTAR_EVENT_USER))
			return no_field(s, wanted);
		s->use->fields[i] = &absent;
	}
	return 0;
}

static int ignore(struct attar_run *run, void *self, const struct attar_event *event)
{
	return 0;
}

void run_bind_late(struct source *s, const struct attar_input *input)
{
	s->use->input = input;
	if (run_bind(s) == 0)
		return;
	log_note("%s; its events are ignored", attar_error());
	attar_error_clear();
	s->use->fn = ignore;
}

static int add_input(struct attar_run *run, const struct attar_input *input)
{
	size_t first = run->sources.list.n;
	int r;

	if (input->optional && !needed_event_exists(run, input->event))
		return 0;
	opening_of(run)->input = input;
	r = attar_run_events(run, input->event, input->stacks, input->on_event);
	opening_of(run)->input = NULL;
	for (size_t i = first; r == 0 && i < run->sources.list.n; i++) {
		struct source *s = &run->sources.list.at[i];

		r = run_bind(s);
		if (input->user_regs)
			s->attr.sample_type |= PERF_SAMPLE_REGS_USER;
		s->attr.sample_regs_user = input->user_regs;
		if (input->user_stack)
			s->attr.sample_type |= PERF_SAMPLE_STACK_USER;
		s->attr.sample_stack_user = input->user_stack;
	}
	return r;
}

int attar_run_input(struct attar_run *run, const struct attar_input *input)
{
	CHECK_OWN(run, "run");
	CHECK_ARG(input, "input");
	CHECK_ARG(input->event, "input->event");
	CHECK_ARG(input->on_event, "input->on_event");
	CHECK_OPENING(run);

	const struct attar_input one[] = {*input, {0}};
	int r = add_input(run, input);

	return r < 0 && run->replay ? needed_events_refused(run, one, r) : r;
}

int attar_run_inputs(struct attar_run *run, const struct attar_input *inputs)
{
	CHECK_OWN(run, "run");
	CHECK_ARG(inputs, "inputs");
	CHECK_OPENING(run);

	int r = 0;

	for (const struct attar_input *input = inputs; r == 0 && input->event; input++) {
		CHECK_ARG(input->on_event, "inputs->on_event");
		r = add_input(run, input);
	}
	return r < 0 && run->replay ? needed_events_refused(run, inputs, r) : r;
}
