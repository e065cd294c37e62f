/* SPDX-License-Identifier: MIT */
#include "run/parts/actions.h"

#include "attar/private/report.h"
#include "run/intervals.h"
#include "run/parts/emitters.h"
#include "run/run.h"
#include "run/events/expressions.h"
#include "run/parts/sample_filter.h"
#include "run/events/sources.h"

enum { TEXT_MAX = 1 << 16 };

/* The line that exec= is printing. */
static struct buf *unfinished_of(const struct attar_run *run)
{
	return run->parts.state[PART_ACTIONS];
}

attar_event_fn *source_fn(const struct source *s)
{
	return s->use->fn == source_act ? s->use->actions.inner : s->use->fn;
}

static int set_exec(struct attar_run *run, struct source *s, const char *text)
{
	const struct attar_expr_opts opts = {.size = sizeof(opts), .what = "exec"};
	uint32_t number = (uint32_t)(s - run->sources.list.at);

	s->use->actions.exec = attar_expr_free(s->use->actions.exec);
	return attar_run_expr(run, number, text, &opts, &s->use->actions.exec);
}

void source_wrap(struct source *s)
{
	if (s->use->fn == source_act)
		return;
	s->use->actions.inner = s->use->fn;
	s->use->fn = source_act;
}

int source_set_actions(struct attar_run *run, struct source *s)
{
	const struct attar_event_spec *spec = source_spec(s);
	const struct attar_event_option *exec = spec ? attar_spec_get_option(spec, "exec") : NULL;
	int r = 0;

	s->use->actions.triggers = spec && attar_spec_get_option(spec, "trigger");
	/* the fields of a program's event are known when it appears */
	if (exec && (spec->kind != ATTAR_EVENT_USER || spec->format))
		r = set_exec(run, s, exec->value);
	if (r == 0 && spec)
		r = run_check_attributes(run, spec);
	if (r == 0)
		r = PARTS_CALL(run, source, s);
	if (s->use->actions.exec || s->use->actions.triggers || s->use->pushes ||
		s->use->emission.emitter || s->use->actions.condition || sample_filter_is_on(run) ||
		run->select.by_emitter)
		source_wrap(s);
	return r;
}

void source_set_actions_late(struct attar_run *run, struct source *s)
{
	if (source_set_actions(run, s) == 0)
		return;
	log_note("%s", attar_error());
	attar_error_clear();
}

/* ---- exec= ---- */

static void columns(struct attar_section *lines)
{
	attar_section_column(lines, "time", ATTAR_UNIT_TIME);
	attar_section_column(lines, "event", ATTAR_UNIT_TEXT);
	attar_section_main(lines);
	attar_section_column(lines, "text", ATTAR_UNIT_TEXT);
	attar_section_main(lines);
	section_plain(lines);
}

/* The time and event are those that ended the line; event NULL: it was not ended. */
static int add_line(
	struct attar_run *run, const struct attar_event *event, const char *text, size_t n)
{
	struct attar_section *lines = attar_run_lines(run, "printed", columns);
	char line[ATTAR_EXPR_OUTPUT_MAX + 1];

	if (!lines)
		return -ENOMEM;
	snprintf(line, sizeof(line), "%.*s", (int)MIN(n, sizeof(line) - 1), text);
	attar_section_row(lines);
	if (event) {
		attar_cell_u64(lines, attar_run_realtime(run, event->time));
		attar_cell_text(lines, attar_run_source_name(run, event->counter));
	} else {
		attar_cell_none(lines);
		attar_cell_none(lines);
	}
	attar_cell_text(lines, line);
	return 0;
}

/* Shows the lines that were printed; text after the last one waits for its end. */
static int show_lines(struct attar_run *run, const struct attar_event *event)
{
	struct buf *unfinished = unfinished_of(run);
	const char *end;
	size_t used = 0;
	int r = 0;

	if (!attar_run_wants(run, ATTAR_WANT_LINES)) {
		buf_reset(unfinished);
		return 0;
	}
	while (r == 0 && used < unfinished->len &&
		(end = memchr(unfinished->data + used, '\n', unfinished->len - used))) {
		size_t at = (size_t)(end - unfinished->data);

		r = add_line(run, event, unfinished->data + used, at - used);
		used = at + 1;
	}
	if (used) {
		unfinished->len -= used;
		memmove(unfinished->data, unfinished->data + used, unfinished->len);
	}
	return r;
}

static int evaluate(struct attar_run *run, struct source *s, const struct attar_event *ev)
{
	struct attar_expr_record record;
	struct attar_expr_value value;
	const char *text;
	size_t n;

	attar_event_get_expr_record(ev, &record);
	attar_run_printed(run, &n); /* of other expressions */
	attar_expr_eval(s->use->actions.exec, &record, &value);
	text = attar_run_printed(run, &n);
	if (!n)
		return 0;
	if (unfinished_of(run)->len + n <= TEXT_MAX)
		buf_add(unfinished_of(run), text, n);
	return show_lines(run, ev);
}

int actions_end(struct attar_run *run)
{
	if (!unfinished_of(run)->len || !attar_run_wants(run, ATTAR_WANT_LINES))
		return 0;
	buf_char(unfinished_of(run), '\n');
	return show_lines(run, NULL);
}

/* ---- events ---- */

static bool is_hidden(const struct attar_run *run, const struct attar_event *event)
{
	pid_t own = run->select.hides_own ? run_own_pid(run) : 0;

	return own && event->record->pid == (uint32_t)own;
}

/* The condition of a dump is true: releases all lines up to the lines of the event. */
static int release(struct attar_run *run, const struct attar_event *event)
{
	int r = lines_release(run);

	run->lines.was_released = true;
	if (r == 0)
		r = run_report_now(run, event->time); /* which is queued after the lines */
	return r == 0 ? lines_release(run) : r;
}

int source_perform(
	struct attar_run *run, void *self, struct source *s, const struct attar_event *event)
{
	int r = s->use->actions.inner(run, self, event);

	if (r >= 0 && s->use->actions.exec)
		r = evaluate(run, s, event);
	if (r >= 0 && s->use->actions.triggers)
		r = run_report_now(run, event->time);
	if (r >= 0 && s->use->actions.condition && source_keeps(s->use->actions.condition, event))
		r = release(run, event);
	return r;
}

/* -N does not count the sample. */
static int leave_out(struct attar_run *run)
{
	run->notes.delivered--;
	run->notes.dropped++;
	return 0;
}

static int act_on_kept(
	struct attar_run *run, void *self, struct source *s, const struct attar_event *event)
{
	int r = s->use->emission.emitter ? s->use->emission.emitter->emits(run, s, event) : 1;

	if (r < 0)
		return r;
	if (r == 0 || is_hidden(run, event) ||
		(!s->use->emission.emitter && !select_has(run, event->thread)))
		return leave_out(run);
	r = s->use->pushes ? PARTS_CALL(run, kept, event) : 0;
	if (r < 0)
		return r;
	return s->use->emission.emitter ? s->use->emission.emitter->act(run, self, s, event)
					: source_perform(run, self, s, event);
}

int source_act(struct attar_run *run, void *self, const struct attar_event *event)
{
	struct source *s = &run->sources.list.at[event->counter];
	struct attar_event kept = *event;
	struct attar_record record;
	struct attar_run *filtering = sample_filter_run(run, s);
	int r;

	if (!sample_filter_is_on(filtering))
		return act_on_kept(run, self, s, event);
	if (!sample_filter_keeps(filtering, s, event))
		return leave_out(run);
	r = sample_filter_drop_calls(filtering, &kept, &record);
	return r < 0 ? r : act_on_kept(run, self, s, &kept);
}

static void actions_free(struct attar_run *run, void *self)
{
	buf_done(self);
}

const struct run_part part_actions = {.size = sizeof(struct buf), .free = actions_free};
