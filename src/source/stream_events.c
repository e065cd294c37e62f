/* SPDX-License-Identifier: MIT */
/* attar_stream_events(): from the text of events to a running stream. */
#include "attar/private/event.h"
#include "base/buf.h"
#include "base/check_arg.h"
#include "base/file_limit.h"
#include "base/option_struct.h"
#include "event/sample_attr.h"
#include "perf/counter.h"
#include "perf/target.h"
#include "source/expr_names.h"
#include "source/programs.h"
#include "stream/stream.h"

enum { FREQ_DEFAULT = 4000 };
enum { LOOK_NS = 100000000 }; /* between two looks for newly registered events */

struct stream_events {
	struct attar_stream_events_opts opts;
	unsigned flags;
	struct attar_target *target; /* borrowed, as the next two if opts has them */
	struct attar_catalog *catalog;
	struct attar_symbols *symbols;
	struct source_set sources; /* with the stream that owns this */
	uint64_t looked;           /* ns */
	struct attar_event event;  /* the last sample that several sources have */
	uint32_t again;            /* the next one that may take it; 0: none */
};

static void stream_events_free(struct stream_events *e)
{
	if (!e)
		return;
	sources_done(&e->sources);
	if (!e->opts.catalog)
		attar_catalog_free(e->catalog);
	if (!e->opts.symbols)
		attar_symbols_free(e->symbols);
	free(e);
}

/* ---- names in filters and print formats ---- */

static size_t ksymbol(void *ctx, const struct attar_expr_record *record, uint64_t number,
	char *ret_text, size_t max)
{
	struct stream_events *e = ctx;

	return expr_name_code(e->symbols, attar_location_kernel(number), ret_text, max);
}

static size_t usymbol(void *ctx, const struct attar_expr_record *record, uint64_t number,
	char *ret_text, size_t max)
{
	struct stream_events *e = ctx;

	return expr_name_user(e->symbols, e->sources.stream, record->tid, number, ret_text, max);
}

static size_t comm_get(void *ctx, const struct attar_expr_record *record, uint64_t number,
	char *ret_text, size_t max)
{
	struct stream_events *e = ctx;

	return expr_name_comm(e->sources.stream, (pid_t)number, ret_text, max);
}

static void set_expr(void *ctx, struct attar_expr_opts *opts)
{
	*opts = (struct attar_expr_opts){.size = sizeof(*opts),
		.ctx = ctx,
		.ksymbol = ksymbol,
		.usymbol = usymbol,
		.comm_get = comm_get};
}

/* For attar_format_print() with formats of the catalog. */
static bool name_function(void *ctx, uint64_t address, struct attar_kernel_name *ret_name)
{
	const struct stream_events *e = ctx;

	return expr_name_function(e->symbols, attar_location_kernel(address), address, ret_name);
}

/* ---- sources ---- */

static void set_attr(const struct stream_events *e, const struct attar_event_spec *spec,
	struct perf_event_attr *attr)
{
	attr->sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD;
	if (e->flags & ATTAR_STREAM_STACKS || spec->stack)
		attr->sample_type |= PERF_SAMPLE_CALLCHAIN;
	attr->sample_max_stack = spec->max_stack;
	event_sample_attr(spec, attr);
	if (event_is_each(spec)) {
		attr->sample_period = 1;
	} else {
		attr->freq = 1;
		attr->sample_freq = e->opts.freq ?: FREQ_DEFAULT;
	}
}

static int add_with(struct stream_events *e, const struct attar_event_spec *spec, uint64_t type)
{
	struct source s = {.spec = spec, .keeps_own = e->flags & ATTAR_STREAM_KEEP_OWN};
	int r;

	set_attr(e, spec, &s.attr);
	s.attr.sample_type |= type;
	r = source_attr(spec, &s.attr);
	if (r < 0)
		return r;
	s.name = strdup(spec->name);
	r = sources_add(&e->sources, &s);
	return r < 0 ? r
		     : source_set_filter(&e->sources, &e->sources.list.at[e->sources.list.n - 1]);
}

static int add_program(void *ctx, const struct attar_event_spec *spec, uint32_t asked)
{
	return add_with(ctx, spec, PERF_SAMPLE_RAW);
}

static int add_event(struct stream_events *e, const struct attar_event_spec *spec)
{
	int r;

	if (spec->kind == ATTAR_EVENT_PROFILER)
		return spec_error(spec, spec->column,
			attar_fail(-EOPNOTSUPP, "the profiler '%s' cannot be an event of a stream",
				spec->profiler));
	r = programs_add_probes(&e->sources, spec);
	if (r)
		return MIN(r, 0);
	r = add_with(e, spec, 0);
	return r == 0 ? programs_request(&e->sources, spec) : r;
}

static int opening(void *ctx, size_t number)
{
	struct stream_events *e = ctx;

	e->target->events_open = number;
	return 0;
}

static int open_counter(void *ctx, struct source *s)
{
	struct stream_events *e = ctx;
	struct counter_cpus cpus = {s->spec->only_cpus, s->spec->n_only_cpus};
	struct perf_event_attr attr = s->attr;

	attar_stream_attr(&attr, false);
	attr.enable_on_exec = e->target->by_exec;
	return counter_open_on(e->target, cpus, &attr, s->name,
		e->flags & ATTAR_STREAM_EXACT ? 0 : ATTAR_COUNTER_DEGRADE, &s->counter);
}

static bool can_share(void *ctx, const struct source *a, const struct source *b)
{
	return event_has_same_cpus(a->spec, b->spec);
}

static const char *program_of(const struct stream_events *e)
{
	return e->target->command.pid ? e->target->command.name : NULL;
}

/* Lists that are borrowed from the target. */
static struct user_tasks tasks_of(const struct stream_events *e)
{
	const struct attar_target *t = e->target;
	const parse_ints *pids = target_processes(e->target, false);

	if (t->kind != ATTAR_TARGET_TASKS || t->by_exec)
		return (struct user_tasks){0};
	if (pids->n)
		return (struct user_tasks){.pids = pids->at, .n_pids = pids->n};
	return (struct user_tasks){.tids = t->tids.at, .n_tids = t->tids.n};
}

static int set_watched(void *ctx, struct watched_programs *w)
{
	struct stream_events *e = ctx;
	const struct user_tasks tasks = tasks_of(e);

	w->catalog = e->catalog;
	w->program = program_of(e);
	w->only_program = e->target->by_exec;
	for (size_t i = 0; i < tasks.n_pids; i++)
		if (vec_push(&w->pids, tasks.pids[i]) < 0)
			return base_oom();
	for (size_t i = 0; i < tasks.n_tids; i++)
		if (vec_push(&w->tids, tasks.tids[i]) < 0)
			return base_oom();
	return 0;
}

static const struct source_ops source_ops = {.opening = opening,
	.open = open_counter,
	.can_share = can_share,
	.expr = set_expr,
	.watched = set_watched,
	.add = add_program};

/* ---- opening ---- */

static int open_catalog(struct stream_events *e)
{
	struct buf tasks _cleanup_(buf_done) = {0};
	struct user_tasks watched = tasks_of(e);
	struct attar_catalog_opts opts = {.size = sizeof(opts),
		.mount = true,
		.stop = e->opts.stop,
		.inherited = e->target->kind == ATTAR_TARGET_TASKS && e->target->inherit,
		.program = program_of(e)};
	int r = 0;

	e->symbols = e->opts.symbols;
	if (!e->symbols)
		r = attar_symbols_new(NULL, &e->symbols);
	e->catalog = e->opts.catalog;
	if (r < 0 || e->catalog)
		return r;
	for (size_t i = 0; i < watched.n_pids + watched.n_tids; i++)
		buf_printf(&tasks, "%s%d", i ? "," : "",
			i < watched.n_pids ? watched.pids[i] : watched.tids[i - watched.n_pids]);
	if (buf_failed(&tasks))
		return base_oom();
	opts.pids = tasks.len ? buf_text(&tasks) : NULL;
	r = attar_catalog_new(&opts, &e->catalog);
	if (r == 0)
		e->catalog->has_places = true;
	if (r == 0)
		catalog_resolver(e->catalog, name_function, e);
	return r;
}

static int add_events(struct stream_events *e, const char *text)
{
	struct attar_event_list *list;
	int r = attar_event_list_parse(e->catalog, text, &list);

	if (r < 0)
		return r;
	if (vec_push(&e->sources.lists, list) < 0) {
		attar_event_list_free(list);
		return base_oom();
	}
	for (size_t i = 0; r == 0 && i < list->n; i++)
		r = add_event(e, &list->at[i]);
	return r;
}

static int open_events(struct stream_events *e)
{
	e->target->events = e->sources.list.n;
	e->target->files_later = target_instances(e->target) + FILE_LIMIT_STREAM;
	return sources_open(&e->sources);
}

/* A held command gets the variables that enable its events from its start. */
static int prepare_command(struct stream_events *e)
{
	const char *environment[3];
	int r = 0;

	if (!command_is_held(&e->target->command))
		return 0;
	user_events_environment(&e->sources.programs.events, environment);
	for (size_t i = 0; r == 0 && environment[i]; i++)
		r = command_add_environment(&e->target->command, environment[i]);
	return r;
}

static int open_all(struct stream_events *e, const char *text, struct attar_stream **ret_stream)
{
	struct attar_stream_opts opts = {.size = sizeof(opts),
		.ring_bytes = e->opts.ring_bytes,
		.track = true,
		.keep_own = e->flags & ATTAR_STREAM_KEEP_OWN};
	const counter_list none = {0};
	int r = open_catalog(e);

	if (r == 0)
		r = add_events(e, text);
	if (r == 0)
		r = open_events(e);
	if (r == 0)
		r = programs_open(&e->sources);
	if (r == 0)
		r = prepare_command(e);
	if (r == 0)
		r = sources_stream(&e->sources, e->target, &none, e->symbols, &opts, ret_stream);
	if (r == 0 && !*ret_stream)
		r = attar_fail(-EINVAL, "'%s' has no events that can be opened", CLIP(text));
	return r;
}

/* ---- reading ---- */

static bool stream_events_concern(const struct stream_events *e, uint32_t number)
{
	const struct source *s = number < e->sources.list.n ? &e->sources.list.at[number] : NULL;

	return s && (s->usdt || s->keep || s->shared.next || (s->spec && s->spec->place));
}

static bool stream_events_take(
	struct stream_events *e, struct attar_record *record, struct attar_event *event)
{
	for (;;) {
		const struct source *s = &e->sources.list.at[event->counter];
		const bool is_taken = source_takes(&e->sources, s, record, event);

		e->again = s->shared.next;
		if (is_taken)
			break;
		if (!e->again)
			return false;
		event->counter = e->again;
	}
	e->event = *event;
	return true;
}

static bool stream_events_take_again(
	struct stream_events *e, struct attar_record *record, struct attar_event *ret_event)
{
	struct attar_event event = e->event;

	if (!e->again)
		return false;
	event.counter = e->again;
	if (!stream_events_take(e, record, &event))
		return false;
	*ret_event = event;
	return true;
}

static void stream_events_forget(struct stream_events *e)
{
	e->again = 0;
}

static int stream_events_look(struct stream_events *e)
{
	struct user_events *programs = &e->sources.programs.events;
	uint64_t now;

	if (!programs->registration_pending)
		return 0;
	now = base_now_coarse();
	if (now - e->looked < LOOK_NS)
		return 0;
	e->looked = now;
	return user_events_look(programs);
}

static const struct stream_events_ops stream_ops = {.free = stream_events_free,
	.concern = stream_events_concern,
	.take = stream_events_take,
	.take_again = stream_events_take_again,
	.forget = stream_events_forget,
	.look = stream_events_look};

/* ---- the stream ---- */

static int start(struct stream_events *e, struct attar_stream *stream)
{
	stream->events = e; /* owned from here on */
	stream->events_ops = &stream_ops;
	return attar_stream_start(stream);
}

int attar_stream_events(struct attar_target *target, const char *events, unsigned flags,
	const struct attar_stream_events_opts *opts, struct attar_stream **ret_stream)
{
	CHECK_OWN(target, "target");
	CHECK_ARG(events, "events");
	CHECK_FLAGS(flags, ATTAR_STREAM_STACKS | ATTAR_STREAM_KEEP_OWN | ATTAR_STREAM_EXACT);
	CHECK_ARG(ret_stream, "ret_stream");

	struct stream_events *e = calloc(1, sizeof(*e));
	struct attar_stream *stream = NULL;
	int r = e ? option_struct_take(&e->opts, sizeof(e->opts), opts) : base_oom();

	if (r < 0) {
		free(e);
		return r;
	}
	e->target = target;
	e->flags = flags;
	e->sources.ops = &source_ops;
	e->sources.ctx = e;
	r = open_all(e, events, &stream);
	if (r < 0) {
		stream_events_free(e);
		return r;
	}
	r = start(e, stream);
	if (r < 0) {
		attar_stream_free(stream);
		return r;
	}
	programs_started(&e->sources);
	*ret_stream = stream;
	return 0;
}

const struct attar_event_spec *attar_stream_spec(const struct attar_stream *s, uint32_t number)
{
	CHECK_ARG_OR(s, "stream", NULL);

	return s->events && number < s->events->sources.list.n
		       ? s->events->sources.list.at[number].spec
		       : NULL;
}

struct attar_symbols *attar_stream_symbols(const struct attar_stream *s)
{
	CHECK_ARG_OR(s, "stream", NULL);

	return s->procs.symbols;
}
