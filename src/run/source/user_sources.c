/* SPDX-License-Identifier: MIT */
#include "run/source/user_sources.h"

#include "base/proc_tree.h"
#include "event/usdt_search.h"
#include "expr/filter.h"
#include "run/source/actions.h"
#include "run/source/expressions.h"
#include "run/source/inputs.h"
#include "run/parts.h"
#include "run/run.h"

enum { PID_MAX = 4 << 20 };

/* --pids with their children, and --tids. Opening the target reports errors. */
static void list_tasks(const struct attar_run *run, parse_ints *pids, parse_ints *tids)
{
	if (run->opts.pids && parse_list(run->opts.pids, PID_MAX, pids) < 0)
		attar_error_clear();
	if (!run->opts.no_children && proc_add_descendants(pids) < 0)
		attar_error_clear();
	if (run->opts.tids && parse_list(run->opts.tids, PID_MAX, tids) < 0)
		attar_error_clear();
}

int run_list_processes(const struct attar_run *run, parse_ints *pids)
{
	parse_ints asked = {0}, tids = {0};
	struct user_tasks tasks;
	int r;

	list_tasks(run, &asked, &tids);
	tasks = (struct user_tasks){asked.at, tids.at, asked.n, tids.n};
	r = user_events_processes(&tasks, pids);
	vec_done(&asked);
	vec_done(&tids);
	return r;
}

/* ---- discovered events ---- */

/* keep is taken over. */
static int add_discovered(
	void *ctx, uint32_t asked, const struct attar_event_spec *spec, struct filter *keep)
{
	struct attar_run *run = ctx;
	struct source s = {.name = strdup(spec->name),
		.fn = source_fn(&run->sources.list.at[asked]),
		.keep = keep,
		.spec = spec};

	run_bind_late(&s, run->sources.list.at[asked].input);
	if (!s.name || vec_push(&run->sources.list, s) < 0) {
		filter_free(keep);
		free(s.name);
		return base_oom();
	}
	source_set_actions_late(run, &run->sources.list.at[run->sources.list.n - 1]);
	return (int)run->sources.list.n - 1;
}

static int open_registered(void *ctx, uint32_t asked, const struct attar_event_spec *spec)
{
	struct attar_run *run = ctx;
	struct perf_event_attr attr = {.sample_period = 1};
	struct source *s;
	int r;

	run_stack_attr(&run->opts, run->user.stacks, spec, &attr);
	attr.sample_type |= PERF_SAMPLE_RAW;
	r = run_add_spec(run, spec, &attr, source_fn(&run->sources.list.at[asked]));
	if (r < 0)
		return r;
	s = &run->sources.list.at[run->sources.list.n - 1];
	run_bind_late(s, run->sources.list.at[asked].input);
	r = run_open_source(run, s);
	return r < 0 ? r
		     : attar_stream_add(run->stream, s->counter, (uint32_t)run->sources.list.n - 1);
}

static const struct user_events_ops ops = {.add = add_discovered, .open = open_registered};

/* ---- opening ---- */

bool run_only_command(const struct attar_run *run)
{
	return run->command.argv && !run->opts.all_cpus && !run->opts.cpus && !run->opts.cgroups;
}

int run_user_open(struct attar_run *run)
{
	struct user_events *events = &run->user.events;
	parse_ints pids = {0}, tids = {0};
	struct user_tasks tasks;
	int r;

	run->user.n_opened = run->sources.list.n;
	if (!events->requests.n)
		return 0;
	if (run->opts.cpus)
		log_note("--cpus: the CPU of events from shared memory is unknown; events of all "
			 "CPUs are shown");
	events->catalog = attar_run_catalog(run);
	events->program = run->command.argv ? run->command.argv[0] : NULL;
	events->only_program = run_only_command(run);
	run_expr_opts(run, &run->user.expr);
	events->expr = &run->user.expr;
	list_tasks(run, &pids, &tids);
	tasks = (struct user_tasks){pids.at, tids.at, pids.n, tids.n};
	r = user_events_open(events, &tasks, &ops, run);
	vec_done(&pids);
	vec_done(&tids);
	return r;
}

void run_user_close(struct attar_run *run)
{
	while (run->user.n_opened && run->sources.list.n > run->user.n_opened)
		source_free(&run->sources.list.at[--run->sources.list.n]);
	user_events_close(&run->user.events);
}

static int user_started(struct attar_run *run, void *self)
{
	vec_each (&run->sources.list, s)
		if (s->spec && (s->usdt || s->spec->transport == ATTAR_TRANSPORT_KERNEL))
			user_events_note(&run->user.events, s->name, s->spec->transport);
	user_events_started(&run->user.events);
	return 0;
}

void user_sources_done(struct user_sources *user)
{
	user_events_done(&user->events);
	vec_each (&user->usdt_specs, spec) {
		free((char *)(uintptr_t)(*spec)->name);
		free(*spec);
	}
	vec_done(&user->usdt_specs);
	map_done(&user->unshared);
}

/* ---- USDT probes ---- */

struct usdt_request {
	struct attar_run *run;
	attar_event_fn *fn;
	bool only_unshared; /* only events of processes in run->user.unshared count */
};

/* Takes over usdt and spec, also on failure. */
static int add_probe(void *ctx, struct usdt *usdt, struct attar_event_spec *spec)
{
	const struct usdt_request *request = ctx;
	struct attar_run *run = request->run;
	struct perf_event_attr attr = {.sample_period = 1};
	struct attar_expr_opts opts = {0};
	struct filter_choice choice = {0};
	struct source *s;
	int r;

	if (vec_push(&run->user.usdt_specs, spec) < 0) {
		free((char *)(uintptr_t)spec->name);
		free(spec);
		usdt_free(usdt);
		return base_oom();
	}
	run_stack_attr(&run->opts, run->user.stacks, spec, &attr);
	attr.sample_type |= PERF_SAMPLE_RAW;
	run_expr_opts(run, &opts);
	r = spec->filter ? filter_choose(spec->filter, spec->format, false, &opts, &choice) : 0;
	if (r == 0)
		r = run_add_spec(run, spec, &attr, request->fn);
	if (r < 0) {
		filter_free(choice.keep);
		usdt_free(usdt);
		return r;
	}
	s = &run->sources.list.at[run->sources.list.n - 1];
	s->keep = choice.keep;
	s->usdt = usdt;
	s->only_unshared = request->only_unshared;
	return 0;
}

static int search(struct usdt_request *request, const struct attar_event_spec *spec)
{
	struct attar_run *run = request->run;
	parse_ints pids = {0};
	struct usdt_search search = {.catalog = attar_run_catalog(run),
		.spec = spec,
		.program = run->command.argv ? run->command.argv[0] : NULL,
		.add = add_probe,
		.ctx = request};
	int r = run_list_processes(run, &pids);

	search.pids = pids.at;
	search.n_pids = pids.n;
	if (r == 0)
		r = request->only_unshared ? usdt_search_unshared(&search, &run->user.unshared)
					   : usdt_search(&search);
	vec_done(&pids);
	return r;
}

/* USDT probes of user events are searched for in the files of processes. */
static int user_event(struct attar_run *run, void *self, const struct attar_event_spec *spec,
	bool stacks, attar_event_fn *fn)
{
	int r;

	run->user.stacks = stacks;
	if (spec->kind == ATTAR_EVENT_USER && spec->n_only_cpus)
		log_note("'%s': the CPU of events from shared memory is unknown; cpus= has no "
			 "effect on them",
			CLIP(spec->name));
	if (spec->transport != ATTAR_TRANSPORT_USDT || run->replay)
		return 0;
	r = search(&(struct usdt_request){.run = run, .fn = fn}, spec);
	return r < 0 ? r : 1;
}

/*
 * The newest source is of this event, which programs may register later. Processes that share no
 * memory with attar may have a probe; finding none is not an error.
 */
static int user_added(
	struct attar_run *run, void *self, const struct attar_event_spec *spec, attar_event_fn *fn)
{
	int r;

	if (run->replay)
		return 0;
	r = user_events_request(&run->user.events, (uint32_t)run->sources.list.n - 1, spec);
	if (r < 0 || spec->kind != ATTAR_EVENT_USER || spec->transport || run->command.argv)
		return r;
	return search(&(struct usdt_request){.run = run, .fn = fn, .only_unshared = true}, spec);
}

/* ---- delivering ---- */

/* Converts the record to one of the user event; false: do not deliver it. */
static bool convert(struct attar_run *run, struct source *s, struct attar_record *record)
{
	struct attar_sample *sample = &record->sample;
	size_t size = sample->raw ? sample->raw_size : 0;

	if (s->only_unshared && !map_get(&run->user.unshared, record->pid))
		return false;
	size = usdt_convert(s->usdt, sample->raw, size, &sample->raw);
	sample->raw_size = (uint32_t)size;
	return size > 0;
}

int run_user_deliver(struct attar_run *run, struct source *s, const struct attar_event *ev)
{
	struct attar_record record = *ev->record;
	struct attar_event event = *ev;

	event.record = &record;
	event.fields = s->fields;
	if ((s->usdt && !convert(run, s, &record)) || (s->keep && !run_keeps(s->keep, &event))) {
		run->notes.dropped++;
		return 0;
	}
	run->notes.delivered++;
	return s->fn(run, run->self, &event);
}

static int user_follow(struct attar_run *run, void *self)
{
	return user_events_look(&run->user.events);
}

const struct run_part part_user_sources = {
	.event = user_event, .added = user_added, .started = user_started, .follow = user_follow};
