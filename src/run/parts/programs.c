/* SPDX-License-Identifier: MIT */
#include "run/parts/programs.h"

#include "base/proc_tree.h"
#include "run/parts.h"
#include "run/run.h"
#include "run/parts/actions.h"
#include "run/events/inputs.h"
#include "run/events/sources.h"
#include "source/programs.h"

enum { PID_MAX = 4 << 20 };

struct programs {
	attar_event_fn *fn; /* of the event that is being added */
	bool stacks;        /* its samples have stacks */
};

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

bool run_only_command(const struct attar_run *run)
{
	return run->command.argv && !run->opts.all_cpus && !run->opts.cpus && !run->opts.cgroups;
}

/* ---- what the sources ask of the run ---- */

int run_watched_programs(void *ctx, struct watched_programs *watched)
{
	struct attar_run *run = ctx;

	watched->catalog = attar_run_catalog(run);
	watched->program = run->command.argv ? run->command.argv[0] : NULL;
	watched->only_program = run_only_command(run);
	list_tasks(run, &watched->pids, &watched->tids);
	return 0;
}

int run_add_program(void *ctx, const struct attar_event_spec *spec, uint32_t asked)
{
	struct attar_run *run = ctx;
	const struct programs *programs = run->parts.state[PART_PROGRAMS];
	struct perf_event_attr attr = {.sample_period = 1};
	int r;

	run_stack_attr(&run->opts, programs->stacks, spec, &attr);
	attr.sample_type |= PERF_SAMPLE_RAW;
	if (asked == NO_SOURCE)
		return run_add_spec(run, spec, &attr, programs->fn);
	r = run_add_spec(run, spec, &attr, source_fn(&run->sources.list.at[asked]));
	if (r == 0)
		run_bind_late(&run->sources.list.at[run->sources.list.n - 1],
			run->sources.list.at[asked].use->input);
	return r;
}

int run_program_discovered(void *ctx, struct source *s, uint32_t asked)
{
	struct attar_run *run = ctx;
	const struct source *from = &run->sources.list.at[asked];
	const struct source_use use = {.fn = source_fn(from)};

	s->use = source_use_new(&use);
	if (!s->use)
		return base_oom();
	run_bind_late(s, from->use->input);
	source_set_actions_late(run, s);
	return 0;
}

/* ---- the part ---- */

int run_programs_open(struct attar_run *run)
{
	if (run->sources.programs.events.requests.n && run->opts.cpus)
		log_note("--cpus: the CPU of events from shared memory is unknown; events of all "
			 "CPUs are shown");
	return programs_open(&run->sources);
}

static int programs_event(struct attar_run *run, void *self, const struct attar_event_spec *spec,
	bool stacks, attar_event_fn *fn)
{
	struct programs *programs = self;

	programs->fn = fn;
	programs->stacks = stacks;
	return run->replay ? 0 : programs_add_probes(&run->sources, spec);
}

static int programs_added(
	struct attar_run *run, void *self, const struct attar_event_spec *spec, attar_event_fn *fn)
{
	return run->replay ? 0 : programs_request(&run->sources, spec);
}

static int programs_begin(struct attar_run *run, void *self)
{
	programs_started(&run->sources);
	return 0;
}

static int programs_follow(struct attar_run *run, void *self)
{
	return user_events_look(&run->sources.programs.events);
}

const struct run_part part_programs = {.size = sizeof(struct programs),
	.event = programs_event,
	.added = programs_added,
	.started = programs_begin,
	.follow = programs_follow};
