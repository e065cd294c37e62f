/* SPDX-License-Identifier: MIT */
/* Adds the events of a parsed text, with their filters. */
#include "event/kernel_filter.h"
#include "event/usdt_search.h"
#include "perf/target.h"
#include "stream/events_internal.h"

/* Decides whether the kernel or attar applies the filter; `choice` is taken over. */
static int add_source(struct stream_events *e, const struct attar_event_spec *spec,
	struct filter_choice choice, struct usdt *usdt)
{
	struct event_source s = {.spec = spec, .usdt = usdt, .only_unshared = e->is_unshared};
	const char *in_kernel = choice.in_kernel ? spec->filter : NULL;

	s.keep = choice.in_kernel ? NULL : choice.keep;
	s.spare = choice.in_kernel ? choice.keep : NULL;
	if (spec->filter && spec->format && !choice.in_kernel)
		log_note("filter '%s' of '%s' runs in attar, not in the kernel: %s",
			CLIP(spec->filter), CLIP(spec->name), choice.why);
	if ((usdt || kernel_filter_text(spec, in_kernel, events_keep_own(e), &s.in_kernel) == 0) &&
		vec_push(&e->sources, s) == 0)
		return 0;
	event_source_done(&s);
	return base_oom();
}

/* kernel_can_filter: the records are the kernel's own, not built by attar. */
static int choose_filter(struct stream_events *e, const struct attar_event_spec *spec,
	bool kernel_can_filter, struct filter_choice *ret_choice)
{
	struct attar_expr_opts opts = e->expr;
	unsigned column = 0;
	int r;

	kernel_can_filter &= spec->kind != ATTAR_EVENT_USER;
	*ret_choice = (struct filter_choice){.in_kernel = kernel_can_filter};
	if (!spec->filter || !spec->format)
		return 0;
	opts.ret_column = &column;
	r = filter_choose(spec->filter, spec->format, kernel_can_filter, &opts, ret_choice);
	if (r == -EINVAL && spec->pattern && kernel_can_filter)
		return 0; /* the kernel refuses it too: the event may be left out */
	return r < 0 && column ? attar_spec_error(spec, spec->filter_column + column - 1, r) : r;
}

int events_add_spec(struct stream_events *e, const struct attar_event_spec *spec)
{
	struct filter_choice choice;
	int r = choose_filter(e, spec, true, &choice);

	return r < 0 ? r : add_source(e, spec, choice, NULL);
}

/* Takes over usdt and spec, also on failure. */
static int add_probe(void *ctx, struct usdt *usdt, struct attar_event_spec *spec)
{
	struct stream_events *e = ctx;
	struct filter_choice choice;
	int r;

	if (vec_push(&e->usdt_specs, spec) < 0) {
		free((char *)(uintptr_t)spec->name);
		free(spec);
		usdt_free(usdt);
		return base_oom();
	}
	r = choose_filter(e, spec, false, &choice);
	if (r < 0) {
		usdt_free(usdt);
		return r;
	}
	return add_source(e, spec, choice, usdt);
}

struct user_tasks events_tasks(const struct stream_events *e)
{
	struct attar_target *t = e->target;
	const parse_ints *pids = target_processes(t, false);

	if (t->kind != ATTAR_TARGET_TASKS || t->by_exec)
		return (struct user_tasks){0};
	if (pids->n)
		return (struct user_tasks){.pids = pids->at, .n_pids = pids->n};
	return (struct user_tasks){.tids = t->tids.at, .n_tids = t->tids.n};
}

const char *events_program(const struct stream_events *e)
{
	return e->target->command.pid ? e->target->command.name : NULL;
}

/* unshared: only processes that share no memory with attar, and finding none is not an error. */
static int search_probes(
	struct stream_events *e, const struct attar_event_spec *spec, bool unshared)
{
	struct user_tasks tasks = events_tasks(e);
	parse_ints pids = {0};
	struct usdt_search search = {.catalog = e->catalog,
		.spec = spec,
		.program = events_program(e),
		.add = add_probe,
		.ctx = e};
	int r = user_events_processes(&tasks, &pids);

	search.pids = pids.at;
	search.n_pids = pids.n;
	e->is_unshared = unshared;
	if (r == 0)
		r = unshared ? usdt_search_unshared(&search, &e->unshared) : usdt_search(&search);
	e->is_unshared = false;
	vec_done(&pids);
	return r;
}

int events_add(struct stream_events *e, const struct attar_event_spec *spec)
{
	int r;

	if (spec->kind == ATTAR_EVENT_PROFILER)
		return attar_spec_error(spec, spec->column,
			attar_fail(-EOPNOTSUPP, "the profiler '%s' cannot be an event of a stream",
				spec->profiler));
	if (spec->transport == ATTAR_TRANSPORT_USDT)
		return search_probes(e, spec, false);
	if (spec->kind == ATTAR_EVENT_USER && spec->n_only_cpus)
		log_note("'%s': the CPU of events from shared memory is unknown; cpus= has no "
			 "effect on them",
			CLIP(spec->name));
	r = events_add_spec(e, spec);
	if (r == 0 && spec->kind == ATTAR_EVENT_USER && !spec->transport && !events_program(e))
		r = search_probes(e, spec, true);
	return r;
}
