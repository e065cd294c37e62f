/* SPDX-License-Identifier: MIT */
/* Events of programs, which may be discovered while the stream runs. */
#include "base/base.h"
#include "perf/target.h"
#include "stream/events_internal.h"

/* keep is taken over. */
static int add_discovered(
	void *ctx, uint32_t asked, const struct attar_event_spec *spec, struct filter *keep)
{
	struct stream_events *e = ctx;
	struct event_source s = {.spec = spec, .keep = keep};

	if (vec_push(&e->sources, s) < 0) {
		filter_free(keep);
		return base_oom();
	}
	return (int)e->sources.n - 1;
}

static int open_registered(void *ctx, uint32_t asked, const struct attar_event_spec *spec)
{
	struct stream_events *e = ctx;
	struct event_source *s;
	int r = events_add_spec(e, spec);

	if (r < 0)
		return r;
	s = &e->sources.at[e->sources.n - 1];
	r = event_source_open(e, s);
	if (r == 0)
		r = attar_stream_add(e->stream, s->counter, (uint32_t)e->sources.n - 1);
	if (r < 0) {
		event_source_done(s);
		e->sources.n--;
	}
	return r;
}

/* A held command gets the variables that enable its events from its start. */
static int prepare_command(struct stream_events *e)
{
	const char *environment[3];
	int r = 0;

	if (!command_is_held(&e->target->command))
		return 0;
	user_events_environment(&e->user, environment);
	for (size_t i = 0; r == 0 && environment[i]; i++)
		r = command_add_environment(&e->target->command, environment[i]);
	return r;
}

int events_open_user(struct stream_events *e)
{
	static const struct user_events_ops ops = {.add = add_discovered, .open = open_registered};
	struct user_tasks tasks = events_tasks(e);
	int r = 0;

	for (size_t i = 0; r == 0 && i < e->sources.n; i++)
		if (!e->sources.at[i].usdt)
			r = user_events_request(&e->user, (uint32_t)i, e->sources.at[i].spec);
	if (r < 0 || !e->user.requests.n)
		return r;
	e->user.catalog = e->catalog;
	e->user.program = events_program(e);
	e->user.only_program = e->target->by_exec;
	e->user.expr = &e->expr;
	r = user_events_open(&e->user, &tasks, &ops, e);
	return r == 0 ? prepare_command(e) : r;
}

void events_note_user(struct stream_events *e)
{
	vec_each (&e->sources, s)
		if (s->usdt || s->spec->transport == ATTAR_TRANSPORT_KERNEL)
			user_events_note(&e->user, s->spec->name, s->spec->transport);
	user_events_started(&e->user);
}
