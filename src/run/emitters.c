/* SPDX-License-Identifier: MIT */
#include "run/emitters.h"

#include "base/buf.h"
#include "base/check.h"
#include "run/actions.h"
#include "run/run.h"

bool attar_run_emits(const struct attar_run *run)
{
	CHECK_ARG_OR(run, "run", false);

	return run->emits;
}

/* ---- the profiler and its options ---- */

static int no_emitter(const struct attar_event_spec *spec)
{
	struct buf names _cleanup_(buf_done) = {0};

	for (const struct attar_profiler *const *p = attar_profilers(); *p; p++)
		if ((*p)->emits)
			buf_printf(&names, "%s%s", names.len ? ", " : "", (*p)->name);
	return attar_spec_error(spec, spec->column,
		attar_fail(-EOPNOTSUPP,
			"the profiler '%s' does not emit events; those that do are: %s",
			spec->profiler, buf_text(&names)));
}

/* Tasks, times and rings are those of the whole run. */
static bool is_of_whole_run(const struct attar_option *option)
{
	static const struct attar_option *const tables[] = {common_target_options,
		common_run_options, common_ring_options, common_input_options, common_peer_options};

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		for (const struct attar_option *o = tables[i]; o->name; o++)
			if (o == option)
				return true;
	return false;
}

/* Returns the number of words that it took: the operand is one, as on a command line. */
static int set_word(struct attar_run *run, const char *word, const char *next)
{
	const char *operand = word[0] != '-' || !word[1] ? run->profiler->operand : NULL;
	int r = operand ? attar_run_set(run, operand, word) : attar_run_set_word(run, word, next);
	const struct attar_option *given;

	if (r < 0)
		return r;
	if (operand)
		return 1;
	given = run->options.given.at[run->options.given.n - 1];
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
		r = attar_run_set_preset(run);
	if (r >= 0)
		return 0;
	r = attar_context(r == -ENOENT ? -EINVAL : r, "%s", spec->profiler);
	return attar_spec_error(spec, spec->filter_column ? spec->filter_column : spec->column, r);
}

/* What the emitter's run has in common with the other one. */
static void borrow(struct attar_run *run, struct attar_run *from)
{
	struct common_opts own = run->opts;

	run->opts = from->opts;
	run->opts.event = NULL;
	run->opts.freq = own.freq;
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
}

static int open_profiler(struct attar_run *run)
{
	int r;

	run->opening.by_profiler = true;
	r = run->profiler->open(run, run->self);
	run->opening.by_profiler = false;
	if (r == 0 && (run->counts.list.n || run->user.events.requests.n || run->recorder.wanted))
		r = attar_fail(
			-EOPNOTSUPP, "only events of the kernel can be events of a profiler");
	return r;
}

/*
 * Timers of CPUs, and states of tasks, need a command line that watches CPUs too. All events of a
 * recording are read, but those of other tasks than --pids are not delivered.
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

static int new_run(
	struct attar_run *run, const struct attar_event_spec *spec, struct attar_run **ret_run)
{
	const struct attar_profiler *profiler = attar_profiler_find(spec->profiler);
	struct attar_run *new;
	int r = profiler && profiler->emits ? attar_run_from(profiler, &new) : no_emitter(spec);

	if (r < 0)
		return r;
	borrow(new, run);
	new->emits = true;
	r = set_options(new, spec);
	if (r == 0)
		r = open_profiler(new);
	if (r == 0)
		r = watch_cpus(run, new);
	if (r < 0) {
		give_back(new);
		attar_run_free(new);
		return r;
	}
	*ret_run = new;
	return 0;
}

/* ---- its sources ---- */

/* The event as the other profiler sees it: its attributes, and the fields of what is opened. */
static struct attar_event_spec *show(
	const struct attar_event_spec *spec, const struct source *emitted)
{
	struct attar_event_spec *shown = malloc(sizeof(*shown));

	if (!shown)
		return NULL;
	*shown = *spec;
	shown->stack = emitted->attr.sample_type & PERF_SAMPLE_CALLCHAIN;
	shown->exclude_kernel = emitted->attr.exclude_kernel;
	shown->format = emitted->spec ? emitted->spec->format : NULL;
	return shown;
}

static void apply(const struct attar_event_spec *spec, bool stacks, struct perf_event_attr *attr)
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

/* The emitter's run keeps a description of its source. */
static int take_source(struct attar_run *run, const struct emitter *e, uint32_t number, bool stacks,
	attar_event_fn *fn)
{
	struct source *from = &e->run->sources.list.at[number], s = *from;

	apply(e->spec, stacks, &s.attr);
	s.name = strdup(from->name);
	s.shown = show(e->spec, &s);
	s.fn = fn; /* of the run's profiler, also if the samples are filtered */
	s.input = run->sources.input;
	s.emitter = e;
	s.emitted = number;
	run->select.has_all_cpus |= s.all_cpus;
	if (!s.name || !s.shown || vec_push(&run->sources.list, s) < 0) {
		free(s.name);
		free(s.shown);
		return base_oom();
	}
	from->filter = NULL;
	from->keep = from->spare = NULL;
	from->usdt = NULL;
	from->timer = NULL;
	return source_set_actions(run, &run->sources.list.at[run->sources.list.n - 1]);
}

int emitter_add(
	struct attar_run *run, const struct attar_event_spec *spec, bool stacks, attar_event_fn *fn)
{
	struct emitter *e = calloc(1, sizeof(*e));
	int r = 0;

	if (!e || vec_push(&run->emitters, e) < 0) {
		free(e);
		return base_oom();
	}
	e->spec = spec;
	r = new_run(run, spec, &e->run);
	for (uint32_t i = 0; r == 0 && i < e->run->sources.list.n; i++)
		r = take_source(run, e, i, stacks, fn);
	return r;
}

void emitters_keep_own(struct attar_run *run)
{
	vec_each (&run->emitters, e)
		run->select.hides_own |= (*e)->run->select.keeps_own && !run->select.keeps_own;
	if (!run->select.hides_own)
		return;
	vec_each (&run->sources.list, s)
		if (s->fn)
			source_wrap(s);
}

/* What changes while the run is open. */
static void lend_clock(const struct attar_run *run, struct attar_run *own)
{
	own->stream = run->stream;
	own->clock = run->clock;
}

int emitter_emits(struct attar_run *run, const struct source *s, const struct attar_event *event)
{
	struct attar_run *own = s->emitter->run;
	struct attar_event emitted = *event;

	emitted.counter = s->emitted;
	emitted.fields = own->sources.list.at[s->emitted].fields;
	lend_clock(run, own);
	return own->profiler->emits(own, own->self, &emitted);
}

int emitters_tell(struct attar_run *run, const struct attar_event *event)
{
	int r = 0;

	vec_each (&run->emitters, e) {
		if (r < 0)
			break;
		lend_clock(run, (*e)->run);
		r = run_tell_profiler((*e)->run, event);
	}
	return r;
}

void emitters_free(struct attar_run *run)
{
	vec_each (&run->emitters, e) {
		if ((*e)->run) {
			give_back((*e)->run);
			attar_run_free((*e)->run);
		}
		free(*e);
	}
	vec_done(&run->emitters);
}
