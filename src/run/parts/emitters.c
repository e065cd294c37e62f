/* SPDX-License-Identifier: MIT */
#include "run/parts/emitters.h"

#include "attar/builtin.h"
#include "attar/private/event.h"
#include "base/buf.h"
#include "base/check_arg.h"
#include "run/counts/counts.h"
#include "run/deliver.h"
#include "run/directory.h"
#include "run/parts.h"
#include "run/record/recorder.h"
#include "run/run.h"
#include "run/parts/actions.h"
#include "run/events/open.h"
#include "run/parts/sample_filter.h"
#include "run/events/sources.h"

/* The events that the profiler of such a run has made of the current one, run_emit(). */
struct run_emitted {
	struct attar_format *format; /* NULL: its events are the events of its sources, unchanged */
	struct buf records;          /* n, of format->size bytes */
	size_t n;
};

struct run_emitters {
	VEC(struct emitter *) list; /* owned */
	struct run_emitted emitted;
};

PART_STATE(emitters_of, struct run_emitters, PART_EMITTERS)

bool run_emits(const struct attar_run *run)
{
	CHECK_ARG_OR(run, "run", false);

	return run->select.emits_to;
}

/* ---- events with fields of their own ---- */

static void run_emitted_done(struct run_emitted *emitted)
{
	emitted->format = attar_format_free(emitted->format);
	buf_done(&emitted->records);
}

int run_emit_fields(struct attar_run *run, const char *format)
{
	CHECK_OWN(run, "run");
	CHECK_ARG(format, "format");
	CHECK_OPENING(run);

	struct run_emitted *emitted = &emitters_of(run)->emitted;

	if (!run->select.emits_to)
		return attar_fail(-EINVAL, "run_emit_fields(): the profiler is not an event");
	run_emitted_done(emitted);
	return attar_format_parse(run->profiler->name, format, strlen(format), &emitted->format);
}

int run_emit(struct attar_run *run, const void *raw)
{
	CHECK_ARG(run, "run");
	CHECK_ARG(raw, "raw");

	struct run_emitted *emitted = &emitters_of(run)->emitted;

	if (!emitted->format)
		return attar_fail(-EINVAL, "run_emit(): the event has no fields" ATTAR_FIX
					   "call run_emit_fields() from open()");
	buf_add(&emitted->records, raw, emitted->format->size);
	if (buf_failed(&emitted->records))
		return base_oom();
	emitted->n++;
	return 0;
}

/* The number of events that the emitter made of the event for which emits() returned 1. */
static size_t emitter_events(const struct emitter *emitter)
{
	const struct run_emitted *emitted = &emitters_of(emitter->run)->emitted;

	return emitted->format ? emitted->n : 1;
}

/* Sources get other numbers if the kernel refuses some. */
static uint32_t first_source(const struct attar_run *run, struct emitter *e)
{
	const struct source_set *sources = &run->sources;

	if (e->number < sources->list.n && sources->list.at[e->number].use->emission.emitter == e)
		return e->number;
	e->number = 0;
	while (sources->list.at[e->number].use->emission.emitter != e)
		e->number++;
	return e->number;
}

/*
 * The i-th of these events. Its record is stored in *record; its fields are valid until the next
 * call of emits().
 */
static struct attar_event emitter_get_event(struct attar_run *run, const struct source *s, size_t i,
	const struct attar_event *event, struct attar_record *record)
{
	const struct run_emitted *emitted = &emitters_of(s->use->emission.emitter->run)->emitted;
	struct attar_event made = *event;

	if (!emitted->format)
		return made;
	*record = *event->record;
	record->sample.raw = emitted->records.data + i * emitted->format->size;
	record->sample.raw_size = emitted->format->size;
	made.record = record;
	made.counter = first_source(run, s->use->emission.emitter);
	return made;
}

/* ---- the profiler and its options ---- */

static int no_emitter(const struct attar_run *run, const struct attar_event_spec *spec)
{
	struct buf names _cleanup_(buf_done) = {0};

	for (const struct attar_profiler *const *p = run->directory->list(); *p; p++)
		if ((*p)->emits)
			buf_printf(&names, "%s%s", names.len ? ", " : "", (*p)->name);
	return spec_error(spec, spec->column,
		attar_fail(-EOPNOTSUPP,
			"the profiler '%s' does not emit events; those that do are: %s",
			spec->profiler, buf_text(&names)));
}

static const struct attar_profiler *find_emitter(const struct attar_run *run, const char *name)
{
	for (const struct attar_profiler *const *p = run->directory->list(); *p; p++)
		if ((*p)->emits && !strcmp((*p)->name, name))
			return *p;
	return NULL;
}

/* Whether an event can have an option of its own. */
static bool may_be_own(const struct attar_option *option)
{
	static const char *const names[] = {"cpus", "pids", "tids", "interval", "count", "exit-N",
		"mmap-pages", "watermark", "order", "inherit", "ptrace"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(option->name, names[i]))
			return true;
	return false;
}

/* Durations, recordings and other machines apply to the whole run. */
static bool is_of_whole_run(const struct attar_option *option)
{
	static const struct attar_option *const tables[] = {common_target_options,
		common_run_options, common_ring_options, common_input_options, common_peer_options};

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		for (const struct attar_option *o = tables[i]; o->name; o++)
			if (o == option)
				return !may_be_own(option);
	return false;
}

/* Sets an option or the operand. Returns the number of words used, as for a command line. */
static int set_word(struct attar_run *run, const char *word, const char *next)
{
	const char *operand = word[0] != '-' || !word[1] ? run->profiler->operand : NULL;
	int r = operand ? attar_run_set(run, operand, word) : attar_run_set_word(run, word, next);
	const struct attar_option *given;

	if (r < 0)
		return r;
	if (operand)
		return 1;
	given = options_of(run)->given.at[options_of(run)->given.n - 1];
	return is_of_whole_run(given) ? attar_fail(-EINVAL,
						"--%s is not an option of an event, but of the "
						"whole command",
						given->name)
				      : r;
}

static int set_options(struct attar_run *run, const struct attar_event_spec *spec)
{
	const char *const *words = spec->arguments;
	int r = 0;

	for (; r >= 0 && words && *words; words += r)
		r = set_word(run, *words, words[1]);
	if (r >= 0)
		r = run_set_preset(run);
	if (r >= 0)
		return 0;
	r = attar_context(r == -ENOENT ? -EINVAL : r, "%s", spec->profiler);
	return spec_error(spec, spec->filter_column ? spec->filter_column : spec->column, r);
}

/* What the emitter's run has in common with the other one. */
static void borrow(struct attar_run *run, struct attar_run *from)
{
	struct common_opts own = run->opts;

	run->opts = from->opts;
	run->opts.event = NULL;
	run->opts.freq = own.freq;
	run->opts.cpus = run->opts.pids = run->opts.tids = NULL; /* see take_own_options() */
	run->opts.count = run->opts.mmap_pages = 0;
	run->opts.watermark = 0;
	run->hooks = from->hooks;
	run->command.argv = from->command.argv;
	run->catalog = from->catalog;
	run->symbols = from->symbols;
	run->replay = from->replay;
	run->select.keeps_own = from->select.keeps_own;
}

static void give_back(struct attar_run *run)
{
	run->catalog = NULL;
	run->symbols = NULL;
	run->replay = NULL;
	run->stream = NULL;
	run->clock.kvmclock = NULL;
}

/*
 * The options that the event has for itself. Rings are shared: they have room
 * for the events that want the most, and wake attar for those that want it soonest.
 */
static int take_own_options(struct attar_run *run, struct emitter *e, struct attar_run *own)
{
	struct common_opts *o = &own->opts;
	int r = 0;

	e->limit = o->count;
	run->opts.mmap_pages = MAX(run->opts.mmap_pages, o->mmap_pages);
	if (o->watermark > 0 && (run->opts.watermark <= 0 || o->watermark < run->opts.watermark))
		run->opts.watermark = o->watermark;
	own->select.has_own_tasks = o->pids || o->tids;
	own->select.bit = emitters_of(run)->list.n < SELECT_BITS
				  ? UINT64_C(1) << emitters_of(run)->list.n
				  : 0;
	if (o->cpus)
		r = select_parse_cpus(own);
	else
		o->cpus = run->opts.cpus;
	if (r == 0 && own->select.has_own_tasks)
		return select_parse(own);
	o->pids = run->opts.pids;
	o->tids = run->opts.tids;
	return r;
}

static int open_profiler(struct attar_run *run)
{
	int r;

	opening_of(run)->by_profiler = true;
	r = run->profiler->open(run, run->self);
	opening_of(run)->by_profiler = false;
	if (r == 0 && (counts_of(run)->list.n || run->sources.programs.events.requests.n ||
			      run_records(run)))
		r = attar_fail(
			-EOPNOTSUPP, "only events of the kernel can be events of a profiler");
	return r;
}

/*
 * Timers of CPUs, and states of tasks, need a command line that watches CPUs too. All events of a
 * recording are read, but events of other tasks than --pids are not delivered.
 */
static int watch_cpus(struct attar_run *run, const struct attar_run *emitter)
{
	if (!emitter->select.watches_cpus)
		return 0;
	if (run->replay && (run->opts.pids || run->opts.tids))
		return attar_fail(-EINVAL, "%s watches CPUs, not tasks" ATTAR_FIX "use --cpus",
			emitter->profiler->name);
	if (run->replay)
		return 0;
	if (!run_watches_system(run))
		return attar_fail(-EINVAL, "%s watches CPUs, not tasks" ATTAR_FIX "add --all-cpus",
			emitter->profiler->name);
	run->select.watches_cpus = true;
	return 0;
}

/* One that follows tasks by events of the whole system: the run selects tasks from these, too. */
static int select_tasks(struct attar_run *run, const struct attar_run *emitter)
{
	if (!emitter->select.is_on || run_watches_system(run))
		return 0;
	return select_tasks_for_emitter(run);
}

static int new_run(struct attar_run *run, struct emitter *e, struct attar_run **ret_run)
{
	const struct attar_event_spec *spec = e->spec;
	const struct attar_profiler *profiler = find_emitter(run, spec->profiler);
	struct attar_run *new;
	int r = profiler ? run_create(profiler, run->directory, &new) : no_emitter(run, spec);

	if (r < 0)
		return r;
	borrow(new, run);
	new->select.emits_to = run;
	r = set_options(new, spec);
	if (r == 0)
		r = take_own_options(run, e, new);
	if (r == 0)
		r = sample_filter_open(new);
	if (r == 0)
		r = open_profiler(new);
	if (r == 0)
		r = watch_cpus(run, new);
	if (r == 0)
		r = select_tasks(run, new);
	if (r < 0) {
		give_back(new);
		attar_run_free(new);
		return r;
	}
	*ret_run = new;
	return 0;
}

/* ---- its events ---- */

/* What changes while the run is open. */
static void lend_clock(const struct attar_run *run, struct attar_run *own)
{
	own->stream = run->stream;
	own->clock = run->clock;
	own->select.learned = run->select.learned;
}

/* Whether its own -p and -t, or the run's, select the event. */
static bool selects(const struct attar_run *own, const struct attar_event *event)
{
	if (own->select.is_on) /* the profiler selects */
		return true;
	if (own->select.has_own_tasks && !attar_run_is_selected(own, event->thread))
		return false;
	return select_has(own->select.emits_to, event->thread);
}

static int emitter_emits(
	struct attar_run *run, const struct source *s, const struct attar_event *event)
{
	struct attar_run *own = s->use->emission.emitter->run;
	struct attar_event emitted = *event;
	int r;

	if (s->use->emission.emitter->limit &&
		s->use->emission.emitter->n >= s->use->emission.emitter->limit)
		return 0;
	emitted.counter = s->use->emission.number;
	emitted.fields = own->sources.list.at[s->use->emission.number].use->fields;
	lend_clock(run, own);
	if (!selects(own, event))
		return 0;
	buf_reset(&emitters_of(own)->emitted.records);
	emitters_of(own)->emitted.n = 0;
	r = own->profiler->emits(own, own->self, &emitted);
	s->use->emission.emitter->n_taken++;
	s->use->emission.emitter->has_made |= r > 0;
	return r;
}

/* If no source has further events, the run ends as with -N of the whole command. */
static void end_if_over(struct attar_run *run)
{
	vec_each (&run->sources.list, s)
		if (!s->use->is_internal &&
			(!s->use->emission.emitter || !s->use->emission.emitter->limit ||
				s->use->emission.emitter->n < s->use->emission.emitter->limit))
			return;
	run->opts.count = run->notes.delivered;
}

/* Counts an event that is about to be emitted. At the limit of -N, the samples of e end. */
static int emitter_count(struct attar_run *run, struct emitter *e)
{
	int r = 0;

	if (++e->n != e->limit)
		return 0;
	for (uint32_t i = 0; r == 0 && !run->replay && i < run->sources.list.n; i++)
		if (run->sources.list.at[i].use->emission.emitter == e)
			r = run_source_enable(run, i, false);
	end_if_over(run);
	return r;
}

/* The actions of the emitted events, instead of the actions of the sample. */
static int emitter_act(
	struct attar_run *run, void *self, struct source *s, const struct attar_event *event)
{
	size_t n = emitter_events(s->use->emission.emitter);
	struct attar_record record;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < n; i++) {
		struct attar_event made = emitter_get_event(run, s, i, event, &record);

		if (s->use->emission.emitter->limit &&
			s->use->emission.emitter->n >= s->use->emission.emitter->limit)
			break;
		if (s->use->emission.emitter->limit &&
			(r = emitter_count(run, s->use->emission.emitter)) < 0)
			break;
		r = source_perform(run, self, &run->sources.list.at[made.counter], &made);
	}
	return r;
}

/* ---- its sources ---- */

/*
 * The event as the other profiler sees it: its attributes, and its fields or the fields of its
 * source.
 */
static struct attar_event_spec *emitters_show(const struct emitter *e, const struct source *emitted)
{
	const struct attar_event_spec *spec = e->spec;
	struct attar_event_spec *shown = malloc(sizeof(*shown));

	if (!shown)
		return NULL;
	*shown = *spec;
	if (!spec->n_only_cpus && e->run->select.cpus.n) {
		shown->only_cpus = e->run->select.cpus.at;
		shown->n_only_cpus = e->run->select.cpus.n;
	}
	shown->stack = emitted->attr.sample_type & PERF_SAMPLE_CALLCHAIN;
	shown->exclude_kernel = emitted->attr.exclude_kernel;
	shown->format = emitters_of(e->run)->emitted.format
				?: emitted->spec ? emitted->spec->format
						 : NULL;
	return shown;
}

static void emitters_apply(
	const struct attar_event_spec *spec, bool stacks, struct perf_event_attr *attr)
{
	if ((stacks || spec->stack) &&
		!(attr->exclude_callchain_user && attr->exclude_callchain_kernel))
		attr->sample_type |= PERF_SAMPLE_CALLCHAIN;
	if (spec->max_stack)
		attr->sample_max_stack = spec->max_stack;
	if (!spec->period && !spec->freq)
		return;
	attr->freq = spec->freq > 0;
	attr->sample_period = spec->freq ? spec->freq : spec->period; /* a union */
}

/* The description of a source for the run's profiler: all of an emitter with fields share one. */
static struct attar_event_spec *add_shown(struct emitter *e, const struct source *s)
{
	struct attar_event_spec *shown;

	if (emitters_of(e->run)->emitted.format && e->shown.n)
		return e->shown.at[0];
	shown = emitters_show(e, s);
	if (shown && vec_push(&e->shown, shown) < 0) {
		free(shown);
		return NULL;
	}
	return shown;
}

/* The emitter's run keeps a description of its source. */
static int take_source(struct attar_run *run, struct emitter *e, uint32_t number)
{
	struct source *from = &e->run->sources.list.at[number], s = *from;
	struct source_use *use = s.use = source_use_new(from->use);

	emitters_apply(e->spec, e->stacks, &s.attr);
	s.name = strdup(from->name);
	if (!s.name || !use || !(use->emission.shown = add_shown(e, &s)) ||
		vec_push(&run->sources.list, s) < 0) {
		free(use);
		free(s.name);
		return base_oom();
	}
	use->fn = e->fn; /* of the run's profiler, also if the samples are filtered */
	use->input = opening_of(run)->input;
	use->emission.emitter = e;
	use->emission.number = number;
	run->select.has_all_cpus |= use->all_cpus;
	from->filter = NULL;
	from->keep = from->spare = NULL;
	from->usdt = NULL;
	from->use->timer = NULL;
	from->use->actions.exec = NULL;
	from->use->actions.condition = NULL;
	return source_set_actions(run, &run->sources.list.at[run->sources.list.n - 1]);
}

static int emitter_add(
	struct attar_run *run, const struct attar_event_spec *spec, bool stacks, attar_event_fn *fn)
{
	struct emitter *e = calloc(1, sizeof(*e));
	uint32_t n;
	int r = 0;

	if (!e || vec_push(&emitters_of(run)->list, e) < 0) {
		free(e);
		return base_oom();
	}
	e->spec = spec;
	e->stacks = stacks;
	e->fn = fn;
	e->emits = emitter_emits;
	e->act = emitter_act;
	e->number = (uint32_t)run->sources.list.n;
	r = new_run(run, e, &e->run);
	if (r < 0)
		return r;
	n = emitters_of(e->run)->emitted.format ? 1 : (uint32_t)e->run->sources.list.n;
	for (uint32_t i = 0; r == 0 && i < n; i++)
		r = take_source(run, e, i);
	return r;
}

/*
 * For profilers whose events have their own fields: adds the sources after the first one. Their
 * events become events of the first source.
 */
static int emitters_add_rest(struct attar_run *run)
{
	int r = 0;

	vec_each (&emitters_of(run)->list, it) {
		struct emitter *e = *it;

		if (!emitters_of(e->run)->emitted.format)
			continue;
		for (uint32_t i = 1; r == 0 && i < e->run->sources.list.n; i++)
			r = take_source(run, e, i);
	}
	return r;
}

/*
 * An emitter may need events of this process, such as switches to other tasks, that the run's
 * profiler does not take: then only the emitter receives them.
 */
static void emitters_keep_own(struct attar_run *run)
{
	vec_each (&emitters_of(run)->list, e)
		run->select.hides_own |= (*e)->run->select.keeps_own && !run->select.keeps_own;
	if (!run->select.hides_own && !run->select.by_emitter)
		return;
	vec_each (&run->sources.list, s)
		if (s->use->fn)
			source_wrap(s);
}

/* All emitters get records that are not samples, too. */
static int emitters_record(struct attar_run *run, void *self, const struct attar_event *event)
{
	int r = 0;

	vec_each (&emitters_of(run)->list, e) {
		if (r < 0)
			break;
		lend_clock(run, (*e)->run);
		r = run_tell_profiler((*e)->run, event);
	}
	return r;
}

static void emitters_free(struct attar_run *run, void *self)
{
	struct run_emitters *emitters = self;

	vec_each (&emitters->list, e) {
		if ((*e)->run) {
			give_back((*e)->run);
			attar_run_free((*e)->run);
		}
		vec_each (&(*e)->shown, shown)
			free(*shown);
		vec_done(&(*e)->shown);
		free(*e);
	}
	vec_done(&emitters->list);
	run_emitted_done(&emitters->emitted);
}

static int emitters_event(struct attar_run *run, void *self, const struct attar_event_spec *spec,
	bool stacks, attar_event_fn *fn)
{
	int r;

	if (spec->kind != ATTAR_EVENT_PROFILER)
		return 0;
	r = emitter_add(run, spec, stacks, fn);
	return r < 0 ? r : 1;
}

static int emitters_complete(struct attar_run *run, void *self)
{
	int r = emitters_add_rest(run);

	if (r == 0)
		emitters_keep_own(run);
	return r;
}

/* Its reports are not shown, with the reason: that is for the profiler alone to say. */
static void emitters_remark(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	vec_each (&emitters_of(run)->list, e)
		if ((*e)->n_taken && !(*e)->has_made)
			attar_report_remark(report,
				"none of %llu sample%s became an event of '%s': 'attar %s' with "
				"the same options may say why",
				(unsigned long long)(*e)->n_taken, PLURAL_S((*e)->n_taken),
				CLIP((*e)->spec->name), (*e)->spec->profiler);
}

const struct run_part part_emitters = {.size = sizeof(struct run_emitters),
	.event = emitters_event,
	.complete = emitters_complete,
	.record = emitters_record,
	.remark = emitters_remark,
	.free = emitters_free};
