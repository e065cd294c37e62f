/* SPDX-License-Identifier: MIT */
#include "run/lines.h"

#include "base/check_arg.h"
#include "report/model/model.h"
#include "run/intervals.h"
#include "run/run.h"

enum {
	/* To show a batch takes less time than a ring of the default size needs to fill. */
	BATCH_ROWS = 1024,
	BATCH_BYTES = 256 * 1024,
	STRINGS_MAX = 64 * 1024, /* bytes of texts that a spare batch may keep */
};

void lines_done(struct run_lines *lines)
{
	attar_report_free(lines->filling.report);
	attar_report_free(lines->spare.report);
	for (size_t i = lines->shown; i < lines->queue.n; i++)
		attar_report_free(lines->queue.at[i].report);
	vec_done(&lines->queue);
	*lines = (struct run_lines){0};
}

/* ---- batches ---- */

static bool is_of(
	const struct lines_batch *batch, const char *name, void (*columns)(struct attar_section *))
{
	return batch->report && batch->columns == columns &&
	       (batch->name == name || !strcmp(attar_section_get_name(batch->section), name));
}

/* A stack of a row may be long: rows are not counted alone. */
static bool has_room(const struct lines_batch *batch)
{
	const struct attar_section *s = batch->section;

	return s->rows < BATCH_ROWS && s->records.n * sizeof(*s->records.at) < BATCH_BYTES &&
	       s->details.n < BATCH_BYTES / sizeof(*s->details.at) &&
	       s->parts.n < BATCH_BYTES / sizeof(*s->parts.at);
}

static int begin_batch(
	struct attar_run *run, const char *name, void (*columns)(struct attar_section *section))
{
	struct lines_batch *batch = &run->lines.filling;

	if (is_of(&run->lines.spare, name, columns)) {
		*batch = run->lines.spare;
		run->lines.spare.report = NULL;
		return 0;
	}
	*batch = (struct lines_batch){.report = clock_new_report(run),
		.name = name,
		.columns = columns,
		.scope = ATTAR_SCOPE_INTERVAL};
	if (!batch->report)
		return base_oom();
	batch->section = attar_report_events(batch->report, name);
	columns(batch->section);
	return 0;
}

/* Frees a batch, or keeps it for the next rows. */
static void end_batch(struct run_lines *lines, struct lines_batch *batch)
{
	bool is_useful = batch->section && !lines->spare.report && !batch->report->fault &&
			 batch->report->strings.bytes < STRINGS_MAX;

	if (!is_useful) {
		attar_report_free(batch->report);
		return;
	}
	report_clear_rows(batch->report);
	lines->spare = *batch;
}

/* ---- the queue ---- */

static void forget_shown(struct run_lines *lines)
{
	if (lines->shown * 2 <= lines->queue.n)
		return;
	lines->queue.n -= lines->shown;
	lines->released -= MIN(lines->released, lines->shown);
	memmove(lines->queue.at, lines->queue.at + lines->shown,
		lines->queue.n * sizeof(*lines->queue.at));
	lines->shown = 0;
}

/* Takes over the batch, also on failure. */
static int enqueue(struct attar_run *run, struct lines_batch batch)
{
	struct run_lines *lines = &run->lines;

	batch.bytes = report_bytes(batch.report);
	if (vec_push(&lines->queue, batch) < 0) {
		attar_report_free(batch.report);
		return base_oom();
	}
	lines->waiting += batch.bytes;
	lines->peak = MAX(lines->peak, lines->waiting);
	lines->largest = MAX(lines->largest, batch.bytes);
	/* a recording does not overflow: nothing needs to wait */
	lines->is_full = (run->replay && !lines->holds) ||
			 lines->waiting + lines->largest > run->opts.buffer;
	return 0;
}

int lines_close(struct attar_run *run)
{
	struct lines_batch batch = run->lines.filling;

	run->lines.filling.report = NULL;
	return batch.report ? enqueue(run, batch) : 0;
}

int lines_add_report(struct attar_run *run, struct attar_report *report, enum attar_scope scope)
{
	return enqueue(run, (struct lines_batch){.report = report, .scope = scope});
}

static struct lines_batch take_oldest(struct run_lines *lines)
{
	struct lines_batch batch = lines->queue.at[lines->shown++];

	forget_shown(lines);
	lines->waiting -= batch.bytes;
	return batch;
}

/* Shows the oldest batch of the queue, if there is one; 0, or the error of the hook. */
static int lines_show_oldest(struct attar_run *run)
{
	struct run_lines *lines = &run->lines;
	struct lines_batch batch;
	int r = 0;

	lines->is_full = false;
	if (!lines_are_queued(lines))
		return 0;
	batch = take_oldest(lines);
	if (batch.section)
		attar_report_interval(batch.report, run_wall_time(run, run_now(run)), 0);
	r = run_give_report(run, batch.report, batch.scope);
	end_batch(lines, &batch);
	return r;
}

int lines_release(struct attar_run *run)
{
	int r = run->lines.holds ? lines_close(run) : 0;

	run->lines.released = run->lines.queue.n;
	return r;
}

int lines_make_room(struct attar_run *run)
{
	struct run_lines *lines = &run->lines;
	struct lines_batch batch;

	if (lines_are_queued(lines) || !lines->holds)
		return lines_show_oldest(run);
	lines->is_full = false;
	if (lines->shown == lines->queue.n)
		return 0;
	batch = take_oldest(lines);
	end_batch(lines, &batch);
	return 0;
}

bool lines_can_show(const struct attar_run *run)
{
	return lines_are_queued(&run->lines) &&
	       (!run->hooks.ready || run->hooks.ready(run->hooks.ctx));
}

int lines_show_next(struct attar_run *run)
{
	if (run->hooks.ready && !run->hooks.ready(run->hooks.ctx))
		return 0;
	int r = lines_are_queued(&run->lines) || run->lines.holds ? 0 : lines_close(run);

	return r < 0 ? r : lines_show_oldest(run);
}

int lines_show(struct attar_run *run)
{
	int r = run->lines.holds ? 0 : lines_close(run);

	while (r == 0 && lines_are_queued(&run->lines))
		r = lines_show_oldest(run);
	return r;
}

/* ---- for profilers ---- */

struct attar_section *attar_run_lines(
	struct attar_run *run, const char *name, void (*columns)(struct attar_section *section))
{
	CHECK_ARG_OR(run, "run", NULL);
	CHECK_ARG_OR(name, "name", NULL);
	CHECK_ARG_OR(columns, "columns", NULL);

	const struct lines_batch *batch = &run->lines.filling;

	if (likely(is_of(batch, name, columns) && has_room(batch)))
		return batch->section;
	if (lines_close(run) < 0 || begin_batch(run, name, columns) < 0)
		return NULL;
	return batch->section;
}

void attar_run_event_columns(struct attar_section *lines)
{
	CHECK_ARG_OR(lines, "lines", );

	attar_section_column(lines, "time", ATTAR_UNIT_TIME);
	attar_section_column(lines, "comm", ATTAR_UNIT_TEXT);
	attar_section_column(lines, "tid", ATTAR_UNIT_ID);
	attar_section_column(lines, "cpu", ATTAR_UNIT_ID);
}

static void number_cell(struct attar_section *lines, int64_t number)
{
	if (number < 0)
		attar_cell_none(lines);
	else
		attar_cell_u64(lines, (uint64_t)number);
}

void attar_run_event_row(struct attar_run *run, struct attar_section *lines,
	const struct attar_event *ev, uint64_t time)
{
	CHECK_ARG_OR(run, "run", );
	CHECK_ARG_OR(lines, "lines", );
	CHECK_ARG_OR(ev, "ev", );

	attar_section_row(lines);
	attar_cell_u64(lines, attar_run_realtime(run, time));
	attar_cell_text(lines, ev->thread->comm);
	number_cell(lines, ev->thread->tid); /* exiting: tid is already invalid */
	number_cell(lines, (int32_t)ev->cpu);
}
