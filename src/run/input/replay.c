/* SPDX-License-Identifier: MIT */
#include "run/input/replay.h"

#include <fnmatch.h>
#include <limits.h>

#include "base/check_arg.h"
#include "event/list.h"
#include "run/counts/mixed.h"
#include "run/input/database.h"
#include "run/input/pull.h"
#include "run/input/recorded_names.h"
#include "run/input/replay_counts.h"
#include "run/input/replay_names.h"
#include "run/run.h"
#include "run/events/expressions.h"
#include "run/parts/sample_filter.h"
#include "run/events/sources.h"
#include "run/parts/timer.h"
#include "source/modes.h"
#include "stream/stream.h"
#include "symbol/symbols.h"

/* ---- opening ---- */

static int refuse_options(const struct attar_run *run)
{
	if (run->command.argv)
		return attar_fail(-EINVAL, "--input conflicts with a command");
	if (run->opts.cgroups)
		return attar_fail(-EINVAL, "--pull conflicts with --cgroups");
	return 0;
}

/* As tracefs_add_format(). Samples of members of a group have no raw data, and so no fields. */
static int add_format(struct attar_run *run, const struct recording_event *event)
{
	static const char begin[] = "\nformat:\n", end[] = "\nprint fmt: \"\"\n";
	struct tracefs *tracefs = &attar_run_catalog(run)->tracefs;
	struct buf empty _cleanup_(buf_done) = {0};
	const char *fields =
		memmem(event->format_text, event->format_len, begin, sizeof(begin) - 1);

	if (!fields || !replay_lacks_fields(run, event->name))
		return tracefs_add_format(
			tracefs, event->system, event->name, event->format_text, event->format_len);
	buf_add(&empty, event->format_text,
		(size_t)(fields - event->format_text) + sizeof(begin) - 1);
	buf_str(&empty, end);
	if (buf_failed(&empty))
		return base_oom();
	return tracefs_add_format(tracefs, event->system, event->name, buf_text(&empty), empty.len);
}

/* The formats of the recording replace formats of this system. */
static int take_formats(struct attar_run *run)
{
	const struct recording *recording = run->replay->recording;
	const struct recording_text *strings = &recording_get_facts(recording)->printk_formats;
	struct attar_catalog *catalog = attar_run_catalog(run);
	int r = catalog ? 0 : -ENOMEM;

	if (r < 0)
		return r;
	tracefs_set_recorded(&catalog->tracefs);
	for (size_t i = 0; r >= 0 && i < recording_n_events(recording); i++) {
		const struct recording_event *event = recording_get_event(recording, i);

		if (!event->format_text)
			continue;
		r = add_format(run, event);
		if (r < 0)
			attar_context(
				r, "%s: the event '%s'", CLIP(run->opts.input), CLIP(event->name));
	}
	return r >= 0 && strings->at
		       ? tracefs_set_strings(&catalog->tracefs, strings->at, strings->len)
		       : MIN(r, 0);
}

static int copy_ints(const parse_ints *ints, parse_ints *ret_copy)
{
	vec_each (ints, i)
		if (vec_push(ret_copy, *i) < 0)
			return base_oom();
	return 0;
}

int replay_open(struct attar_run *run)
{
	int r = refuse_options(run);

	if (r < 0)
		return r;
	run->replay = calloc(1, sizeof(*run->replay));
	if (!run->replay)
		return base_oom();
	r = run->opts.pull ? pull_open(run, &run->replay->recording)
			   : recording_open(run->opts.input, &run->replay->recording);
	if (r == 0)
		r = select_parse(run);
	if (r == 0)
		r = select_parse_cpus(run);
	if (r == 0)
		r = copy_ints(&run->select.pids, &run->replay->pids);
	if (r == 0)
		r = copy_ints(&run->select.tids, &run->replay->tids);
	if (r == 0)
		r = recorded_names_open(run);
	if (r == 0)
		r = take_formats(run);
	if (r < 0)
		replay_close(run);
	return r;
}

int run_find_events(
	struct attar_run *run, const char *text, const struct attar_event_list **ret_list)
{
	struct attar_catalog *catalog = attar_run_catalog(run);
	struct attar_event_list *list;
	int r = catalog ? 0 : -ENOMEM;

	if (run->phase != RUN_NEW)
		return attar_fail(-EINVAL, "run_find_events(): the run was started");
	if (r == 0 && run->opts.input && !run->replay && !run_database_is_input(run))
		r = replay_open(run);
	if (r == 0 && run->replay)
		return replay_parse_events(run, text, ret_list);
	if (r == 0)
		r = attar_event_list_parse(catalog, text, &list);
	if (r < 0)
		return r;
	if (vec_push(&run->sources.lists, list) < 0) {
		attar_event_list_free(list);
		return base_oom();
	}
	*ret_list = list;
	return 0;
}

void replay_close(struct attar_run *run)
{
	struct run_replay *replay = run->replay;

	if (!replay)
		return;
	vec_each (&replay->events, it)
		vec_done(&it->numbers);
	vec_done(&replay->events);
	vec_done(&replay->partial);
	vec_done(&replay->cpus);
	vec_done(&replay->pids);
	vec_done(&replay->tids);
	map_done(&replay->counts);
	map_done(&replay->rows);
	map_done(&replay->exited);
	mixed_counts_done(&replay->mixed);
	range_done(&replay->range);
	recording_close(replay->recording);
	pull_close(run);
	free(replay);
	run->replay = NULL;
}

/* ---- connecting ---- */

int replay_add_sampler(struct attar_run *run, bool stacks, attar_event_fn *fn)
{
	const struct recording_event *found = replay_find_sampler(run);
	struct perf_event_attr attr;

	if (!found)
		return attar_fail(-ENOENT,
			"%s has no samples of CPU time" ATTAR_FIX
			"choose one of its events with --event, whose samples then count as CPU "
			"time",
			CLIP(run->opts.input));
	attr = found->attr;
	attr.sample_type &= stacks ? UINT64_MAX : ~(uint64_t)PERF_SAMPLE_CALLCHAIN;
	return run_add_source(run, found->name, &attr, fn);
}

/*
 * Whether the text that requests the source has a name that only the recording gives its events, as
 * an alias. By such a name it is these events; by the name of a tracepoint, all of the tracepoint.
 */
static bool has_recorded_name(
	const struct attar_run *run, const struct source *s, const char **ret_name, size_t *ret_len)
{
	const struct attar_event_spec *spec = s->spec;

	if (!spec)
		return false;
	/* of add_recorded(), and of a pattern of functions */
	if (!spec->text || (spec->pattern && spec->kind == ATTAR_EVENT_PROBE)) {
		*ret_name = spec->name;
		*ret_len = strlen(spec->name);
		return true;
	}
	*ret_name = spec->text + spec->column - 1;
	return run->catalog &&
	       tracefs_recorded_probe(&run->catalog->tracefs, *ret_name, ret_len) != NULL;
}

static bool matches(
	const struct attar_run *run, const struct source *s, const struct recording_event *event)
{
	const char *name;
	size_t n;

	if (has_recorded_name(run, s, &name, &n))
		return s->attr.type == event->attr.type && s->attr.config == event->attr.config &&
		       strlen(event->name) == n && memcmp(event->name, name, n) == 0;
	if (s->attr.type == PERF_TYPE_BREAKPOINT && event->attr.type == PERF_TYPE_BREAKPOINT)
		return s->attr.bp_addr == event->attr.bp_addr &&
		       s->attr.bp_type == event->attr.bp_type &&
		       s->attr.bp_len == event->attr.bp_len;
	if (s->attr.type == event->attr.type && s->attr.config == event->attr.config)
		return true;
	return replay_is_named(event, s->name);
}

/* An unknown name of the user's is -EINVAL, an event that the profiler needs -ENOENT. */
static int no_event(const struct attar_run *run, const struct source *s)
{
	struct buf names _cleanup_(buf_done) = {0};
	const bool is_named = (s->spec && !s->use->input) || s->attr.type == PERF_TYPE_BREAKPOINT;

	replay_add_names(run, ", ", &names);
	return attar_fail(is_named ? -EINVAL : -ENOENT, "%s has no event '%s'; it has %s",
		CLIP(run->opts.input), CLIP(s->name), names.len ? buf_text(&names) : "none");
}

/* How well an event of the recording matches a source, which is requested in these modes. */
static enum modes_fit fit_of(const struct attar_run *run, const struct source *s,
	const struct recording_event *event, unsigned modes)
{
	return matches(run, s, event) && replay_has_wanted(run->replay, event)
		       ? modes_fit(modes, modes_of(&event->attr))
		       : FIT_NONE;
}

static enum modes_fit best_fit(const struct attar_run *run, const struct source *s, unsigned modes)
{
	enum modes_fit best = FIT_NONE;

	for (size_t i = 0; i < recording_n_events(run->replay->recording); i++)
		best = MAX(best,
			fit_of(run, s, recording_get_event(run->replay->recording, i), modes));
	return best;
}

/*
 * With "page-faults" and "page-faults:u" in one recording, the samples of the latter are also those
 * of the former: a source has only the events that fit best.
 */
static int connect_events(struct attar_run *run, uint32_t number)
{
	struct source *s = &run->sources.list.at[number];
	const unsigned modes = modes_of_source(s);
	const enum modes_fit best = best_fit(run, s, modes);
	const struct source requested = {.name = s->name, .attr = s->attr, .spec = s->spec};
	unsigned found = 0;

	if (best == FIT_NONE)
		return no_event(run, s);
	s->modes = 0;
	for (size_t i = 0; i < run->replay->events.n; i++) {
		const struct recording_event *event =
			recording_get_event(run->replay->recording, i);

		if (fit_of(run, &requested, event, modes) != best)
			continue;
		if (vec_push(&run->replay->events.at[i].numbers, number) < 0)
			return base_oom();
		s->attr = event->attr;
		s->modes = modes_of(&event->attr) & ~modes ? modes : s->modes;
		found |= strcmp(event->name, s->name) ? modes_of(&event->attr) : modes;
	}
	if (modes_fit(modes, found) == FIT_PARTS &&
		vec_push(&run->replay->partial, (struct partial_source){number, found}) < 0)
		return base_oom();
	return 0;
}

void replay_take_rate(const struct attar_run *run, struct source *s)
{
	const struct recording *recording = run->replay->recording;
	const unsigned modes = modes_of_source(s);
	const enum modes_fit best = best_fit(run, s, modes);

	for (size_t i = 0; best != FIT_NONE && i < recording_n_events(recording); i++) {
		const struct recording_event *event = recording_get_event(recording, i);

		if (fit_of(run, s, event, modes) != best)
			continue;
		s->attr.freq = event->attr.freq;
		s->attr.sample_period = event->attr.sample_period;
		if (is_group_member(&event->attr))
			s->attr.sample_type |= PERF_SAMPLE_READ;
		return;
	}
}

static int connect_source(struct attar_run *run, uint32_t number)
{
	struct source *s = &run->sources.list.at[number];
	struct filter_choice choice = {0};
	int r = connect_events(run, number);

	if (r < 0)
		return r;
	if (sample_filter_check(run, s) < 0)
		return -EOPNOTSUPP;
	if (s->use->timer)
		return timer_connect(run, s);
	if (s->spec && run_choose_filter(run, s->spec, &choice) < 0)
		return replay_lacks_fields(run, s->name) ? replay_context(run, s->name, -EINVAL)
							 : -EINVAL;
	s->keep = choice.keep;
	return 0;
}

/* Whether all samples of an event go to one source. */
static bool is_plain(const struct attar_run *run, const struct replay_sources *event)
{
	const struct source *s;

	if (event->numbers.n != 1 || run->select.cpus.n ||
		(!run->select.is_on &&
			(run->select.pids.n || run->select.tids.n || run->select.has_names)))
		return false;
	s = &run->sources.list.at[event->numbers.at[0]];
	return !s->keep && !s->modes && (!source_spec(s) || !source_spec(s)->n_only_cpus);
}

int replay_start(struct attar_run *run)
{
	struct run_replay *replay = run->replay;
	const struct recording_facts *facts = recording_get_facts(replay->recording);
	int r = replay_counts_connect(run);

	if (r < 0)
		return r;
	symbols_set_author(run->symbols, facts->owner);
	for (size_t i = 0; i < recording_n_events(replay->recording); i++)
		if (vec_push(&replay->events, (struct replay_sources){0}) < 0)
			return base_oom();
	for (uint32_t i = 0; r == 0 && i < run->sources.list.n; i++)
		r = connect_source(run, i);
	if (r == 0)
		r = PARTS_CALL(run, opened);
	vec_each (&replay->events, event) {
		event->is_plain = is_plain(run, event);
		vec_each (&event->numbers, number)
			event->steps |= run->sources.list.at[*number].use->steps;
	}
	if (r == 0)
		r = stream_replay(replay->recording, run->symbols, &run->stream);
	if (r == 0)
		run->stream->replay->skips_recorder =
			!run->select.keeps_own && !run->select.hides_own;
	for (size_t i = 0; r == 0 && i < replay->events.n; i++)
		if (!replay->events.at[i].numbers.n)
			stream_leave_out(run->stream, i);
	if (r == 0)
		r = attar_stream_start(run->stream);
	/* the clock starts at the first sample: tick 0 is over by then */
	run->clock.realtime_offset = facts->has_clock_data ? facts->wall_ns - facts->clock_ns : 0;
	return r == 0 ? range_open(run) : r;
}

/* ---- delivering ---- */

/* The CPUs of the events before --cpus selects some. */
static int note_cpu(struct run_replay *replay, uint32_t cpu)
{
	if (cpu > INT_MAX || parse_ints_have(&replay->cpus, (int)cpu))
		return 0;
	return vec_push(&replay->cpus, (int)cpu) < 0 ? base_oom() : 0;
}

static void remove_int(parse_ints *ints, int number)
{
	size_t n = 0;

	vec_each (ints, i)
		if (*i != number)
			ints->at[n++] = *i;
	ints->n = n;
}

/* The tasks of --pids and --tids that have events. */
static void note_task(struct run_replay *replay, const struct attar_thread *thread)
{
	if (!thread)
		return;
	remove_int(&replay->tids, thread->tid);
	if (thread->process)
		remove_int(&replay->pids, thread->process->pid);
}

/* Whether the event is on the CPUs of --cpus and of the attribute cpus=. */
static bool is_on_cpus(
	const struct attar_run *run, const struct source *s, const struct attar_event *ev)
{
	const struct attar_event_spec *spec = source_spec(s);

	if (!s->use->all_cpus && !select_has_cpu_of(run, ev))
		return false;
	if (!spec || !spec->n_only_cpus)
		return true;
	for (size_t i = 0; i < spec->n_only_cpus; i++)
		if (spec->only_cpus[i] == (int)ev->cpu)
			return true;
	return false;
}

static int give(struct attar_run *run, uint32_t number, struct attar_event *ev)
{
	struct source *s = &run->sources.list.at[number];

	ev->counter = number;
	ev->fields = s->use->fields;
	if (unlikely(s->use->timer != NULL) && timer_take_counts(run, s->use->timer, ev) < 0)
		return -ENOMEM;
	return s->use->fn(run, run->self, ev);
}

/* To several sources, or with conditions. */
static __attribute__((noinline)) int deliver_some(
	struct attar_run *run, const struct replay_sources *event, struct attar_event *ev)
{
	const uint64_t delivered = run->notes.delivered, dropped = run->notes.dropped;
	int r = 0;

	if (!select_has_task_of(run, ev)) {
		run->notes.dropped++;
		return 0;
	}
	vec_each (&event->numbers, number) {
		const struct source *s = &run->sources.list.at[*number];

		if (r < 0 || run_has_enough(run) || !is_on_cpus(run, s, ev) ||
			!modes_have(s->modes, ev->record->misc) ||
			(s->keep && !source_keeps(s->keep, ev)))
			continue;
		run->notes.delivered++;
		r = give(run, *number, ev);
	}
	/* a source that drops it has counted that, too */
	run->notes.dropped = dropped + (run->notes.delivered == delivered);
	return r;
}

int replay_deliver(struct attar_run *run, struct attar_event *ev)
{
	const struct replay_sources *event;

	if (unlikely(ev->counter >= run->replay->events.n)) { /* a pipe added it */
		run->notes.dropped++;
		return 0;
	}
	event = &run->replay->events.at[ev->counter];
	if (unlikely(event->steps)) {
		int r = parts_sample(run, event->steps, ev);

		if (r)
			return MIN(r, 0);
	}
	if (unlikely(run->select.cpus.n) && note_cpu(run->replay, ev->cpu) < 0)
		return -ENOMEM;
	if (unlikely(run->replay->pids.n || run->replay->tids.n))
		note_task(run->replay, ev->thread);
	if (unlikely(!event->is_plain))
		return deliver_some(run, event, ev);
	run->notes.delivered++;
	return give(run, event->numbers.at[0], ev);
}
