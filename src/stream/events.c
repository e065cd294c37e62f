/* SPDX-License-Identifier: MIT */
/* attar_stream_events(): from the text of events to a running stream. */
#include "base/buf.h"
#include "base/check_arg.h"
#include "base/option_struct.h"
#include "perf/modes.h"
#include "perf/target.h"
#include "stream/events_internal.h"

enum { LOOK_NS = 100000000 }; /* between two looks for newly registered events */

void event_source_done(struct event_source *s)
{
	attar_counter_close(s->counter);
	usdt_free(s->usdt);
	filter_free(s->keep);
	filter_free(s->spare);
	free(s->in_kernel);
}

static void stream_events_free(struct stream_events *e)
{
	if (!e)
		return;
	vec_each (&e->sources, s)
		event_source_done(s);
	vec_done(&e->sources);
	user_events_done(&e->user);
	vec_each (&e->usdt_specs, spec) {
		free((char *)(uintptr_t)(*spec)->name);
		free(*spec);
	}
	vec_done(&e->usdt_specs);
	map_done(&e->unshared);
	attar_event_list_free(e->list);
	if (!e->opts.catalog)
		attar_catalog_free(e->catalog);
	if (!e->opts.symbols)
		attar_symbols_free(e->symbols);
	free(e);
}

/* ---- opening ---- */

static int prepare(struct stream_events *e)
{
	struct buf tasks _cleanup_(buf_done) = {0};
	struct user_tasks watched = events_tasks(e);
	struct attar_catalog_opts opts = {.size = sizeof(opts),
		.mount = true,
		.stop = e->opts.stop,
		.inherited = e->target->kind == ATTAR_TARGET_TASKS && e->target->inherit,
		.program = events_program(e)};
	int r = 0;

	events_set_expr(e);
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
		attar_catalog_resolver(e->catalog, events_name_function, e);
	return r;
}

/* Samples have the number of the source, and some sources have no counter. */
static void number_counters(struct stream_events *e)
{
	size_t n = 0;

	vec_each (&e->sources, s)
		if (s->counter)
			e->stream->numbers[n++] = (uint32_t)(s - e->sources.at);
}

static int make_stream(struct stream_events *e)
{
	struct attar_stream_opts opts = {.size = sizeof(opts),
		.ring_bytes = e->opts.ring_bytes,
		.track = true,
		.keep_own = events_keep_own(e),
		.shm_source = e->user.shm};
	VEC(struct attar_counter *) counters = {0};
	int r = 0;

	vec_each (&e->sources, s)
		if (s->counter && vec_push(&counters, s->counter) < 0)
			r = base_oom();
	if (r == 0)
		r = attar_stream_live(
			e->target, counters.at, counters.n, e->symbols, &opts, &e->stream);
	if (r == 0)
		number_counters(e);
	vec_done(&counters);
	return r;
}

static int open_all(struct stream_events *e, const char *text)
{
	int r = prepare(e);

	if (r == 0)
		r = attar_event_list_parse(e->catalog, text, &e->list);
	for (size_t i = 0; r == 0 && i < e->list->n; i++)
		r = events_add(e, &e->list->at[i]);
	if (r == 0)
		r = events_open(e);
	if (r == 0)
		r = events_open_user(e);
	if (r == 0)
		r = make_stream(e);
	return r;
}

/* ---- reading ---- */

static bool stream_events_concern(const struct stream_events *e, uint32_t number)
{
	const struct event_source *s = number < e->sources.n ? &e->sources.at[number] : NULL;

	return s && (s->usdt || s->keep || s->next_shared);
}

static bool takes(
	struct stream_events *e, struct attar_record *record, const struct attar_event *event)
{
	struct event_source *s = &e->sources.at[event->counter];
	struct attar_sample *sample = &record->sample;

	if (!modes_have(s->modes, record->misc))
		return false;
	if (s->only_unshared && !map_get(&e->unshared, record->pid))
		return false;
	if (s->usdt) {
		size_t size = sample->raw ? sample->raw_size : 0;

		size = usdt_convert(s->usdt, sample->raw, size, &sample->raw);
		sample->raw_size = (uint32_t)size;
		if (!size)
			return false;
	}
	if (s->keep) {
		struct attar_expr_record values = {.raw = sample->raw,
			.raw_size = sample->raw_size,
			.time = event->time,
			.period = sample->period,
			.cpu = (int32_t)event->cpu,
			.pid = (int32_t)record->pid,
			.tid = (int32_t)record->tid};

		return filter_keeps(s->keep, &values);
	}
	return true;
}

static bool stream_events_take(
	struct stream_events *e, struct attar_record *record, struct attar_event *event)
{
	for (;;) {
		const bool is_taken = takes(e, record, event);

		e->again = e->sources.at[event->counter].next_shared;
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
	uint64_t now;

	if (!e->user.registration_pending)
		return 0;
	now = base_now_coarse();
	if (now - e->looked < LOOK_NS)
		return 0;
	e->looked = now;
	return user_events_look(&e->user);
}

static const struct stream_events_ops ops = {.free = stream_events_free,
	.concern = stream_events_concern,
	.take = stream_events_take,
	.take_again = stream_events_take_again,
	.forget = stream_events_forget,
	.look = stream_events_look};

/* ---- the stream ---- */

int attar_stream_events(struct attar_target *target, const char *events, unsigned flags,
	const struct attar_stream_events_opts *opts, struct attar_stream **ret_stream)
{
	CHECK_OWN(target, "target");
	CHECK_ARG(events, "events");
	CHECK_FLAGS(flags, ATTAR_STREAM_STACKS | ATTAR_STREAM_KEEP_OWN | ATTAR_STREAM_EXACT);
	CHECK_ARG(ret_stream, "ret_stream");

	struct stream_events *e = calloc(1, sizeof(*e));
	struct attar_stream *stream;
	int r = e ? option_struct_take(&e->opts, sizeof(e->opts), opts) : base_oom();

	if (r < 0) {
		free(e);
		return r;
	}
	e->target = target;
	e->flags = flags;
	r = open_all(e, events);
	if (r < 0) {
		stream_events_free(e);
		return r;
	}
	stream = e->stream;
	stream->events = e; /* owned from here on */
	stream->events_ops = &ops;
	r = attar_stream_start(stream);
	if (r < 0) {
		attar_stream_free(stream);
		return r;
	}
	events_note_user(e);
	*ret_stream = stream;
	return 0;
}

const struct attar_event_spec *attar_stream_spec(const struct attar_stream *s, uint32_t number)
{
	CHECK_ARG_OR(s, "stream", NULL);

	return s->events && number < s->events->sources.n ? s->events->sources.at[number].spec
							  : NULL;
}

struct attar_symbols *attar_stream_symbols(const struct attar_stream *s)
{
	CHECK_ARG_OR(s, "stream", NULL);

	return s->procs.symbols;
}
