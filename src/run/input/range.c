/* SPDX-License-Identifier: MIT */
#include "run/input/range.h"

#include <stdio.h>
#include <sys/stat.h>

#include "report/model/number.h"
#include "run/input/replay.h"
#include "run/parts/timer.h"
#include "run/record/box_socket.h"
#include "run/run.h"
#include "run/events/sources.h"
#include "stream/stream.h"

/* The values of the options. */
struct range_options {
	bool is_on;
	bool has_from, has_to; /* has_to: also by --for */
	struct moment from, to;
	int box; /* a descriptor of the events of the black box */
	bool is_of_box;
};

PART_STATE(options_of_range, struct range_options, PART_RANGE)

static struct run_range *range_of(const struct attar_run *run)
{
	return &run->replay->range;
}

/* ---- options ---- */

static int parse_option(const char *name, const char *text, struct moment *ret_moment)
{
	const int r = moment_parse(text, ret_moment);

	return r < 0 ? attar_context(r, "--%s", name) : 0;
}

/* NULL: none is given. */
static const char *first_option(const struct common_opts *o)
{
	return o->from ? "--from" : o->to ? "--to" : o->at ? "--at" : o->for_ns ? "--for" : NULL;
}

static int check_options(const struct common_opts *o)
{
	const char *name = first_option(o);

	if (!name)
		return 0;
	if (o->pull)
		return attar_fail(-EINVAL,
			"%s conflicts with --pull: the events happen now" ATTAR_FIX
			"record them, and give %s with --input",
			name, name);
	if (o->from && o->at)
		return attar_fail(-EINVAL, "--from and --at are the same: give one of them");
	if (o->to && o->for_ns)
		return attar_fail(-EINVAL, "--to and --for are mutually exclusive");
	if (o->for_ns && !o->from && !o->at)
		return attar_fail(-EINVAL, "--for requires --at, the time at which it begins");
	return 0;
}

int range_open_box(struct attar_run *run)
{
	struct range_options *options = options_of_range(run);
	char path[64];
	int r;

	if (!first_option(&run->opts) || run->opts.input)
		return 0;
	r = box_socket_get(&options->box);
	if (r == -ENOENT)
		return attar_fail(-EINVAL,
			"%s requires --input, or a black box that runs: without them there is no "
			"past" ATTAR_FIX
			"start 'attar record --overwrite', or use -d TIME to watch the running "
			"system for a time",
			first_option(&run->opts));
	if (r < 0)
		return r;
	options->is_of_box = true;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", options->box);
	run->opts.input = intern_text(&run->texts, path);
	return run->opts.input ? 0 : base_oom();
}

static void range_free(struct attar_run *run, void *self)
{
	struct range_options *options = self;

	if (options->is_of_box)
		close(options->box);
}

static int range_prepare(struct attar_run *run, void *self)
{
	const struct common_opts *o = &run->opts;
	const char *from = o->from ?: o->at;
	struct range_options *options = self;
	int r = check_options(o);

	if (r == 0 && from)
		r = parse_option(o->from ? "from" : "at", from, &options->from);
	if (r == 0 && o->to)
		r = parse_option("to", o->to, &options->to);
	options->has_from = from != NULL;
	options->has_to = o->to || o->for_ns;
	options->is_on = options->has_from || options->has_to;
	return r;
}

/* ---- times of a recording ---- */

struct times {
	VEC(struct attar_layout) layouts; /* by index of the event */
	uint64_t first, last;
};

static int take_layouts(const struct recording *recording, struct times *times)
{
	for (size_t i = times->layouts.n; i < recording_n_events(recording); i++) {
		struct attar_layout layout;

		attar_layout_init(&layout, &recording_get_event(recording, i)->attr);
		if (vec_push(&times->layouts, layout) < 0)
			return base_oom();
	}
	return 0;
}

static void take_times(
	const struct recording *recording, const struct recording_part *part, struct times *times)
{
	const char *at = part->bytes, *end = at + part->len;

	for (const struct perf_event_header *header; at < end; at += header->size) {
		int event;
		uint64_t time;

		header = (const void *)at;
		if (header->type != PERF_RECORD_SAMPLE)
			continue;
		event = recording_event_of(recording, header);
		if (event < 0 || (size_t)event >= times->layouts.n)
			continue;
		time = attar_record_time(&times->layouts.at[event], header);
		if (time && (!times->first || time < times->first))
			times->first = time;
		times->last = MAX(times->last, time);
	}
}

/* Reads the whole file: its header does not have the times. */
static int scan_times(const char *path, struct times *times)
{
	struct recording *recording;
	struct recording_part part;
	int r = recording_open(path, &recording);

	if (r < 0)
		return r;
	while (r == 0 && (r = recording_next(recording, &part)) > 0) {
		r = take_layouts(recording, times);
		if (r == 0)
			take_times(recording, &part, times);
		recording_release(recording, &part);
	}
	recording_close(recording);
	vec_done(&times->layouts);
	return r;
}

/* A file can be read twice. */
static bool is_file(const char *path)
{
	struct stat st;

	return strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static int find_times(struct attar_run *run)
{
	const struct recording_facts *facts = recording_get_facts(run->replay->recording);
	struct run_range *range = range_of(run);
	struct times times = {.first = facts->first_time, .last = facts->last_time};
	int r = 0;

	if (range->last || run->opts.pull)
		return 0;
	if ((!times.first || times.last < times.first) && is_file(run->opts.input)) {
		times = (struct times){0};
		r = scan_times(run->opts.input, &times);
	}
	range->first = times.first;
	range->last = times.last;
	return r;
}

int run_get_recorded_times(struct attar_run *run, uint64_t *ret_first, uint64_t *ret_last)
{
	int r = run->replay ? find_times(run) : 0;

	*ret_first = run->replay ? range_of(run)->first : 0;
	*ret_last = run->replay ? range_of(run)->last : 0;
	return r < 0 ? r : *ret_first != 0;
}

/* ---- the range ---- */

/* "2026-11-30 03:12:40.500000", or seconds of a clock without a date. */
static void put_time(const struct attar_run *run, uint64_t time, struct buf *b)
{
	struct number_moment moment;

	if (!replay_has_date(run)) {
		buf_printf(b, "%.6f s", (double)time / 1e9);
		return;
	}
	moment = number_moment(run_wall_time(run, time));
	buf_printf(b, "%s %s.%06u", moment.date, moment.clock, moment.ns / 1000);
}

static int is_outside(const struct attar_run *run, const char *option, const char *text)
{
	const struct run_range *range = range_of(run);
	struct buf first _cleanup_(buf_done) = {0}, last _cleanup_(buf_done) = {0};
	struct buf what _cleanup_(buf_done) = {0};

	buf_str(&what, range->is_of_box ? "black box" : "recording ");
	if (!range->is_of_box)
		buf_str(&what, CLIP(run->opts.input));
	put_time(run, range->first, &first);
	put_time(run, range->last, &last);
	if (range->last == UINT64_MAX)
		return attar_fail(-EINVAL, "%s %s is before the first event, at %s", option,
			CLIP(text), buf_text(&first));
	return attar_fail(-EINVAL, "%s %s is outside of the %s, which has events from %s to %s",
		option, CLIP(text), buf_text(&what), buf_text(&first), buf_text(&last));
}

static const char *from_option(const struct common_opts *o)
{
	return o->from ? "--from" : "--at";
}

/* Once the first time is known: from a pipe, with the first sample. */
static int resolve(struct attar_run *run)
{
	const struct range_options *options = options_of_range(run);
	const struct common_opts *o = &run->opts;
	struct run_range *range = range_of(run);
	struct moment_span span = {.from = range->first,
		.to = range->last,
		.start = range->first,
		.end = range->last,
		.offset = run->clock.realtime_offset};

	range->is_resolved = true;
	range->from = options->has_from ? moment_resolve(&options->from, &span) : 0;
	range->to = UINT64_MAX;
	span.from = MAX(range->from, range->first);
	span.to = MAX(range->last, span.from);
	if (o->for_ns)
		range->to = __builtin_add_overflow(range->from, o->for_ns, &range->to) ? UINT64_MAX
										       : range->to;
	else if (o->to)
		range->to = moment_resolve(&options->to, &span);
	if (options->has_from && range->from > range->last)
		return is_outside(run, from_option(o), o->from ?: o->at);
	if (o->to && options->has_from && range->to <= range->from)
		return attar_fail(-EINVAL, "--to %s is not after %s %s", CLIP(o->to),
			from_option(o), CLIP(o->from ?: o->at));
	if (options->has_to && range->to <= range->first)
		return is_outside(run, o->to ? "--to" : from_option(o), o->to ?: o->from ?: o->at);
	range->begins_early = options->has_from && range->from < range->first;
	if (range->from <= range->first)
		range->from = 0;
	return 0;
}

/* Times of day are known only if the recording says when it was made. */
static int check_moment(
	const struct attar_run *run, const char *option, const struct moment *moment)
{
	if ((moment->kind == MOMENT_DAY || moment->kind == MOMENT_DATE) && !replay_has_date(run))
		return attar_fail(-EINVAL,
			"%s: %s does not say when it was made" ATTAR_FIX
			"give seconds since its start (12.5) or before its end (-30s)",
			option, CLIP(run->opts.input));
	if (moment->kind == MOMENT_END && !range_of(run)->last)
		return attar_fail(-EINVAL,
			"%s: the end of a recording in a pipe is not known" ATTAR_FIX
			"read it from a file, or give another time",
			option);
	return 0;
}

int range_open(struct attar_run *run)
{
	const struct range_options *options = options_of_range(run);
	int r = 0;

	range_of(run)->is_on = options->is_on;
	range_of(run)->is_of_box = options->is_of_box;
	if (!options->is_on)
		return 0;
	r = find_times(run);
	if (r == 0 && !range_of(run)->last && is_file(run->opts.input))
		r = attar_fail(-EINVAL, "%s has no events, and so no times to select",
			CLIP(run->opts.input));
	if (r == 0 && options->has_from)
		r = check_moment(run, from_option(&run->opts), &options->from);
	if (r == 0 && run->opts.to)
		r = check_moment(run, "--to", &options->to);
	return r == 0 && range_of(run)->last ? resolve(run) : r;
}

/* ---- events ---- */

/* The first sample of a pipe says where its times are. */
static int resolve_pipe(struct attar_run *run, const struct attar_event *ev)
{
	struct run_range *range = range_of(run);
	int r;

	if (range->is_resolved || ev->record->type != PERF_RECORD_SAMPLE)
		return 0;
	range->first = ev->time;
	range->last = UINT64_MAX;
	r = resolve(run);
	range->last = 0;
	return r;
}

int range_see(struct attar_run *run, const struct attar_event *ev)
{
	struct run_range *range = range_of(run);
	int r;

	if (!range->is_on)
		return 0;
	r = resolve_pipe(run, ev);
	if (r < 0)
		return r;
	range->is_before = options_of_range(run)->has_from && !run->clock.began &&
			   (!range->is_resolved || ev->time < range->from);
	return range->is_before;
}

static int pass_loss(struct run_range *range, const struct attar_event *ev)
{
	struct range_loss loss = {.event = *ev, .record = *ev->record};

	if (!range->is_resolved || ev->lost_to < range->from)
		return 0;
	return vec_push(&range->losses, loss) < 0 ? base_oom() : 0;
}

/* Numbers of events of a timer are differences to the sample before. */
static int pass_sample(struct attar_run *run, struct attar_event *ev)
{
	const struct replay_sources *event =
		ev->counter < run->replay->events.n ? &run->replay->events.at[ev->counter] : NULL;
	int r = 0;

	run->notes.dropped++;
	range_of(run)->cuts_start = true;
	if (!event)
		return 0;
	vec_each (&event->numbers, number) {
		const struct source *s = &run->sources.list.at[*number];

		ev->fields = s->use->fields;
		if (r == 0 && s->use->timer)
			r = timer_take_counts(run, s->use->timer, ev);
		if (r == 0 && s->use->is_internal && (!s->keep || source_keeps(s->keep, ev)))
			r = s->use->fn(run, run->self, ev);
	}
	return r;
}

int range_pass(struct attar_run *run, struct attar_event *ev)
{
	switch (ev->record->type) {
	case PERF_RECORD_SAMPLE:
		return pass_sample(run, ev);
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		return pass_loss(range_of(run), ev);
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		return 0;
	default:
		return 1;
	}
}

/* A loss that lasted beyond the beginning of the range concerns what is in the range. */
static void keep_losses(struct run_range *range)
{
	size_t n = 0;

	vec_each (&range->losses, loss) {
		if (loss->event.lost_to < range->from)
			continue;
		loss->event.time = loss->event.lost_from = range->from;
		if (loss->record.type == PERF_RECORD_LOST)
			range->before.lost -= MIN(range->before.lost, loss->record.lost.lost);
		range->losses.at[n++] = *loss;
	}
	range->losses.n = n;
	vec_each (&range->losses, loss)
		loss->event.record = &loss->record;
}

int range_begin(struct attar_run *run, const struct attar_event *ev)
{
	struct run_range *range = range_of(run);

	if (!range->is_resolved || run->clock.began ||
		!(range->cuts_start || (ev && ev->time >= range->to)))
		return 0;
	range->is_before = false;
	attar_stream_get_stats(run->stream, &range->before);
	clock_start_at(&run->clock, MAX(range->from, range->first));
	keep_losses(range);
	return 1;
}

int range_finish(struct attar_run *run)
{
	const struct range_options *options = options_of_range(run);
	const struct common_opts *o = &run->opts;
	const struct run_range *range = range_of(run);

	if (!range->is_on || !range->cuts_start || run->clock.began)
		return 0;
	if (range->last || !stream_drained(run->stream)) {
		range_begin(run, NULL);
		return 0;
	}
	return attar_fail(-EINVAL, "%s %s is after the end of the recording",
		options->has_from ? from_option(o) : "--to", o->from ?: o->at ?: o->to);
}

/* ---- remarks ---- */

/* What was asked for and is not in the recording. */
static void range_remark(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	const struct range_options *options = self;
	const struct common_opts *o = &run->opts;
	struct buf text _cleanup_(buf_done) = {0};
	const struct run_range *range;

	if (!run->replay || !options->is_on || scope != ATTAR_SCOPE_WHOLE)
		return;
	range = range_of(run);
	if (range->begins_early) {
		put_time(run, range->first, &text);
		attar_report_remark(report, "%s %s is before the first event, at %s",
			from_option(o), o->from ?: o->at, buf_text(&text));
	}
	buf_reset(&text);
	if (options->has_to && range->last && range->to > range->last + 1) {
		put_time(run, range->last, &text);
		attar_report_remark(report,
			"the recording ends before the time of %s, with an event at %s",
			o->to ? "--to" : "--for", buf_text(&text));
	}
}

const struct run_part part_range = {.size = sizeof(struct range_options),
	.prepare = range_prepare,
	.remark = range_remark,
	.free = range_free};
