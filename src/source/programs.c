/* SPDX-License-Identifier: MIT */
#include "source/programs.h"

#include "base/base.h"
#include "event/usdt_search.h"

static void watched_done(struct watched_programs *watched)
{
	vec_done(&watched->pids);
	vec_done(&watched->tids);
}

static struct user_tasks watched_tasks(const struct watched_programs *w)
{
	return (struct user_tasks){w->pids.at, w->tids.at, w->pids.n, w->tids.n};
}

/* ---- USDT probes ---- */

/* Takes over usdt and spec, also on failure. */
static int add_probe(void *ctx, struct usdt *usdt, struct attar_event_spec *spec)
{
	struct source_set *set = ctx;
	struct attar_expr_opts opts = {0};
	struct filter_choice choice = {0};
	struct source *s;
	int r;

	if (vec_push(&set->programs.usdt_specs, spec) < 0) {
		free((char *)(uintptr_t)spec->name);
		free(spec);
		usdt_free(usdt);
		return base_oom();
	}
	set->ops->expr(set->ctx, &opts);
	r = source_filter_choose(spec, false, &opts, &choice);
	if (r == 0)
		r = set->ops->add(set->ctx, spec, NO_SOURCE);
	if (r < 0) {
		filter_free(choice.keep);
		usdt_free(usdt);
		return r;
	}
	s = &set->list.at[set->list.n - 1];
	s->keep = choice.keep;
	s->usdt = usdt;
	s->only_unshared = set->programs.is_unshared;
	return 0;
}

/* unshared: only processes that share no memory with attar, and finding none is not an error. */
static int search(struct source_set *set, const struct attar_event_spec *spec, bool unshared,
	const struct watched_programs *watched)
{
	const struct user_tasks tasks = watched_tasks(watched);
	struct usdt_search search = {.catalog = watched->catalog,
		.program = watched->program,
		.spec = spec,
		.add = add_probe,
		.ctx = set};
	parse_ints pids = {0};
	int r = user_events_processes(&tasks, &pids);

	search.pids = pids.at;
	search.n_pids = pids.n;
	set->programs.is_unshared = unshared;
	if (r == 0)
		r = unshared ? usdt_search_unshared(&search, &set->programs.unshared)
			     : usdt_search(&search);
	vec_done(&pids);
	return r;
}

static int search_probes(struct source_set *set, const struct attar_event_spec *spec, bool unshared)
{
	struct watched_programs watched = {0};
	int r = set->ops->watched(set->ctx, &watched);

	if (r == 0 && !(unshared && watched.program))
		r = search(set, spec, unshared, &watched);
	watched_done(&watched);
	return r;
}

int programs_add_probes(struct source_set *set, const struct attar_event_spec *spec)
{
	int r;

	if (spec->kind == ATTAR_EVENT_USER && spec->n_only_cpus)
		log_note("'%s': the CPU of events from shared memory is unknown; cpus= has no "
			 "effect on them",
			CLIP(spec->name));
	if (spec->transport != ATTAR_TRANSPORT_USDT)
		return 0;
	r = search_probes(set, spec, false);
	return r < 0 ? r : 1;
}

int programs_request(struct source_set *set, const struct attar_event_spec *spec)
{
	int r = user_events_request(&set->programs.events, (uint32_t)set->list.n - 1, spec);

	if (r < 0 || spec->kind != ATTAR_EVENT_USER || spec->transport)
		return r;
	return search_probes(set, spec, true);
}

/* ---- discovered events ---- */

/* keep is taken over. */
static int add_discovered(
	void *ctx, uint32_t asked, const struct attar_event_spec *spec, struct filter *keep)
{
	struct source_set *set = ctx;
	struct source s = {.name = strdup(spec->name), .spec = spec, .keep = keep};
	int r = sources_add(set, &s);

	if (r < 0)
		return r;
	if (set->ops->discovered)
		r = set->ops->discovered(set->ctx, &set->list.at[set->list.n - 1], asked);
	if (r < 0) {
		sources_drop_last(set);
		return r;
	}
	return (int)set->list.n - 1;
}

static int open_registered(void *ctx, uint32_t asked, const struct attar_event_spec *spec)
{
	struct source_set *set = ctx;
	struct source *s;
	int r = set->ops->add(set->ctx, spec, asked);

	if (r < 0)
		return r;
	s = &set->list.at[set->list.n - 1];
	r = source_open(set, s);
	if (r == 0)
		r = attar_stream_add(set->stream, s->counter, (uint32_t)set->list.n - 1);
	if (r < 0)
		sources_drop_last(set);
	return r;
}

int programs_open(struct source_set *set)
{
	static const struct user_events_ops ops = {.add = add_discovered, .open = open_registered};
	struct program_sources *programs = &set->programs;
	struct watched_programs watched = {0};
	struct user_tasks tasks;
	int r;

	programs->n_opened = set->list.n;
	if (!programs->events.requests.n)
		return 0;
	r = set->ops->watched(set->ctx, &watched);
	tasks = watched_tasks(&watched);
	programs->events.catalog = watched.catalog;
	programs->events.program = watched.program;
	programs->events.only_program = watched.only_program;
	set->ops->expr(set->ctx, &programs->expr);
	programs->events.expr = &programs->expr;
	if (r == 0)
		r = user_events_open(&programs->events, &tasks, &ops, set);
	watched_done(&watched);
	return r;
}

void programs_started(struct source_set *set)
{
	vec_each (&set->list, s)
		if (s->spec && (s->usdt || s->spec->transport == ATTAR_TRANSPORT_KERNEL))
			user_events_note(&set->programs.events, s->name, s->spec->transport);
	user_events_started(&set->programs.events);
}

void programs_renumber(struct source_set *set, uint32_t removed)
{
	set->programs.n_opened -= removed < set->programs.n_opened;
	user_events_renumber(&set->programs.events, removed);
}

void programs_close(struct source_set *set)
{
	while (set->programs.n_opened && set->list.n > set->programs.n_opened)
		sources_drop_last(set);
	user_events_close(&set->programs.events);
}

void programs_done(struct source_set *set)
{
	user_events_done(&set->programs.events);
	vec_each (&set->programs.usdt_specs, spec) {
		free((char *)(uintptr_t)(*spec)->name);
		free(*spec);
	}
	vec_done(&set->programs.usdt_specs);
	map_done(&set->programs.unshared);
}
