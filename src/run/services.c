/* SPDX-License-Identifier: MIT */
/* What a profiler, and whoever drives a run, asks of a run and sets in it. */
#include "attar/builtin.h"
#include "attar/private/event.h"
#include "attar/private/perf.h"
#include "base/check_arg.h"
#include "base/file.h"
#include "event/catalog.h"
#include "run/counts/counts.h"
#include "run/directory.h"
#include "run/input/hosts.h"
#include "run/input/replay.h"
#include "run/rings.h"
#include "run/run.h"
#include "run/events/open.h"
#include "run/events/sources.h"
#include "run/stop.h"
#include "source/expr_names.h"
#include "stream/stream.h"
#include "symbol/dso.h"

enum { INTERVAL_MIN_NS = 1000000 };

int run_not_opening(const char *function)
{
	return attar_fail(-EINVAL, "%s(): may only be called from a profiler's open()", function);
}

void attar_run_command(struct attar_run *run, char *const *argv)
{
	CHECK_ARG_OR(run, "run", );

	if (run->phase != RUN_NEW)
		attar_fail(-EINVAL, "attar_run_command(): the run has already been started");
	else
		run->command.argv = argv;
}

uint64_t run_rounds(const struct attar_run *run)
{
	CHECK_ARG_OR(run, "run", 1);

	return MAX(run->command.rounds, (uint64_t)1);
}

int run_repeat(struct attar_run *run, uint64_t n)
{
	CHECK_OWN(run, "run");
	CHECK_OPENING(run);

	if (!run->command.argv)
		return attar_fail(-EINVAL, "--repeat needs a command" ATTAR_FIX "-- COMMAND");
	if (run->opts.interval || run->opts.duration)
		return attar_fail(-EINVAL, "--repeat conflicts with --interval and --duration");
	run->command.rounds = n;
	return 0;
}

bool run_watches_system(const struct attar_run *run)
{
	const struct common_opts *o = &run->opts;
	bool some = o->pids || o->tids || o->cgroups || run->select.has_names;

	if (run->select.is_on)
		return true;
	return o->all_cpus || (!some && (o->cpus || !run->command.argv));
}

static bool closes_slowly(const struct attar_counter *counter)
{
	uint32_t type = counter ? attar_counter_attr(counter)->type : PERF_TYPE_SOFTWARE;

	return type == PERF_TYPE_TRACEPOINT || type >= PERF_TYPE_MAX;
}

size_t run_slow_closes(const struct attar_run *run)
{
	size_t n = 0;

	if (run->catalog && run->catalog->tracefs.dynamic_events.n)
		return 0;
	vec_each (&run->sources.list, s)
		n += closes_slowly(s->counter);
	vec_each (&counts_of(run)->list, c)
		n += closes_slowly(c->counter);
	return n;
}

int attar_run_command_status(const struct attar_run *run)
{
	CHECK_ARG_OR(run, "run", -1);

	return run->command.status;
}

struct attar_symbols *attar_run_symbols(struct attar_run *run)
{
	CHECK_ARG_OR(run, "run", NULL);

	return run->symbols;
}

uint32_t attar_run_sources(const struct attar_run *run)
{
	CHECK_ARG_OR(run, "run", 0);

	return (uint32_t)run->sources.list.n;
}

const char *attar_run_source_name(const struct attar_run *run, uint32_t i)
{
	CHECK_ARG_OR(run, "run", "?");

	const struct source *s = i < run->sources.list.n ? &run->sources.list.at[i] : NULL;

	return !s ? "?" : s->use->emission.shown ? s->use->emission.shown->name : s->name;
}

uint64_t run_source_undelivered(const struct attar_run *run, uint32_t i)
{
	CHECK_ARG_OR(run, "run", 0);

	return run->stream && !run->replay ? stream_undelivered(run->stream, i) : 0;
}

const struct perf_event_attr *attar_run_source_attr(const struct attar_run *run, uint32_t i)
{
	CHECK_ARG_OR(run, "run", NULL);

	return i < run->sources.list.n ? &run->sources.list.at[i].attr : NULL;
}

uint32_t run_source_max_stack(const struct attar_run *run, uint32_t i)
{
	const struct source *s = &run->sources.list.at[i];

	if (!(s->attr.sample_type & PERF_SAMPLE_CALLCHAIN))
		return 0;
	if (s->attr.sample_max_stack || !attar_run_is_live(run) || s->use->host)
		return s->attr.sample_max_stack;
	return rings_max_stack();
}

int run_source_repeats(struct attar_run *run, uint32_t i, attar_repeats_fn *fn)
{
	CHECK_OWN(run, "run");
	CHECK_BELOW(i, "i", run->sources.list.n);

	run->sources.list.at[i].use->several.repeats = fn;
	return 0;
}

int run_source_turns(struct attar_run *run, uint32_t i, uint32_t other, attar_turns_fn *fn)
{
	CHECK_OWN(run, "run");
	CHECK_BELOW(i, "i", run->sources.list.n);
	CHECK_BELOW(other, "other", run->sources.list.n);

	struct source *s = &run->sources.list.at[i];

	s->use->several.repeats = NULL;
	s->use->several.turns = fn;
	s->use->several.other = other;
	return 0;
}

const char *run_online_cpus(const struct attar_run *run, char *list, size_t size)
{
	struct buf text _cleanup_(buf_done) = {0};
	const char *found =
		run->replay ? recording_get_facts(run->replay->recording)->online : NULL;

	if (!run->replay && file_read("/sys/devices/system/cpu/online", size - 1, &text) == 0)
		found = text.data;
	attar_error_clear();
	snprintf(list, size, "%.*s", found ? (int)strcspn(found, "\n") : 0, found ?: "");
	return list;
}

enum attar_target_kind attar_run_target_kind(const struct attar_run *run)
{
	CHECK_ARG_OR(run, "run", ATTAR_TARGET_SYSTEM);

	if (run->opts.cgroups)
		return ATTAR_TARGET_CGROUPS;
	return run_watches_system(run) ? ATTAR_TARGET_SYSTEM : ATTAR_TARGET_TASKS;
}

pid_t run_own_pid(const struct attar_run *run)
{
	return run->replay ? recording_get_facts(run->replay->recording)->recorder
			   : run->select.own_pid;
}

bool attar_run_is_live(const struct attar_run *run)
{
	CHECK_ARG_OR(run, "run", true);

	return !run->replay && !run_has_database(run);
}

/* Whether --from or --to leave out events at the start of the recording, or at its end. */
static bool is_cut_at(const struct attar_run *run, bool end)
{
	const struct run_replay *replay = run->replay;

	return replay && replay->range.is_on && (end ? replay->over : replay->range.cuts_start);
}

static int get_waits_of_range(const struct attar_run *run, const struct recording_waits *waits,
	struct run_waits *ret_waits)
{
	const struct run_range *range = &run->replay->range;

	if (range_read_waits(run->replay, waits) < 0 || !waits->time)
		return 0;
	*ret_waits = (struct run_waits){.time = run->clock.ended,
		.at = range->waits.at,
		.n = range->waits.n,
		.unread = waits->unread,
		.is_system = waits->is_system};
	return 1;
}

int run_get_waits(const struct attar_run *run, bool at_end, struct run_waits *ret_waits)
{
	const struct recording_waits *waits =
		run->replay ? recording_get_waits(run->replay->recording,
				      at_end ? RECORDING_ENDED : RECORDING_BEGAN)
			    : NULL;

	/* what threads waited for at the start says nothing about a later time */
	if (!waits || (!at_end && is_cut_at(run, false)))
		return 0;
	if (at_end && is_cut_at(run, true))
		return get_waits_of_range(run, waits, ret_waits);
	if (!waits->time)
		return 0;
	*ret_waits = (struct run_waits){.time = waits->time,
		.at = waits->threads.at,
		.n = waits->threads.n,
		.unread = waits->unread,
		.is_system = waits->is_system};
	return 1;
}

size_t run_get_scheds(
	const struct attar_run *run, bool at_end, struct run_sched *scheds, size_t max)
{
	const enum recording_moment moment = at_end ? RECORDING_ENDED : RECORDING_BEGAN;
	const recording_scheds *found = NULL;

	if (run->replay && !is_cut_at(run, at_end))
		found = recording_get_scheds(run->replay->recording, moment);

	for (size_t i = 0; found && i < found->n && i < max; i++) {
		const struct recording_sched *s = &found->at[i];

		scheds[i] = (struct run_sched){s->pid, s->tid, s->time, s->ran, s->delay, s->turns};
	}
	return found ? found->n : 0;
}

void run_count_record(struct attar_run *run)
{
	run->notes.passed_over--; /* the count ends one sample earlier */
}

bool run_is_stopped(const struct attar_run *run)
{
	return run_stop_asked(run);
}

bool run_is_before_range(const struct attar_run *run)
{
	return run->replay && run->replay->range.is_before;
}

const struct attar_profiler *attar_run_profiler(const struct attar_run *run)
{
	CHECK_ARG_OR(run, "run", NULL);

	return run->profiler;
}

uint64_t attar_run_interval(const struct attar_run *run)
{
	CHECK_ARG_OR(run, "run", 0);

	return run->opts.interval;
}

uint64_t run_duration(const struct attar_run *run)
{
	CHECK_ARG_OR(run, "run", 0);

	return run->opts.duration;
}

bool run_has_intervals(const struct attar_run *run)
{
	CHECK_ARG_OR(run, "run", false);

	return run->opts.interval || run->clock.has_requested;
}

int run_set_interval(struct attar_run *run, uint64_t interval)
{
	CHECK_OPENING(run);
	if (interval < INTERVAL_MIN_NS)
		return attar_fail(-ERANGE, "run_set_interval(): less than a millisecond");

	run->opts.interval = interval;
	return 0;
}

int run_default_duration(struct attar_run *run, uint64_t duration)
{
	CHECK_OPENING(run);

	if (!run->opts.duration && !run->command.argv && !run->replay)
		run->opts.duration = duration;
	return 0;
}

uint64_t run_freq(const struct attar_run *run)
{
	CHECK_ARG_OR(run, "run", 0);

	return run->opts.freq;
}

attar_location run_kernel_location(const struct attar_run *run, uint64_t address)
{
	uint16_t kernel = run->stream ? run->stream->procs.kernel : ATTAR_DSO_KERNEL;

	return (uint64_t)kernel << 48 | (address & PLACE_OFFSET);
}

static bool name_function(void *ctx, uint64_t address, struct attar_kernel_name *ret_name)
{
	struct attar_run *run = ctx;

	return expr_name_function(
		run->symbols, run_kernel_location(run, address), address, ret_name);
}

/* The names of all profilers, which may be events. */
static const char **list_profilers(const struct attar_run *run)
{
	const struct attar_profiler *const *all = run->directory->list();
	const char **names;
	size_t n = 0;

	while (all[n])
		n++;
	names = calloc(n + 1, sizeof(*names));
	for (size_t i = 0; names && i < n; i++)
		names[i] = all[i]->name;
	return names;
}

struct attar_catalog *attar_run_catalog(struct attar_run *run)
{
	CHECK_ARG_OR(run, "run", NULL);

	struct attar_catalog_opts opts = {.size = sizeof(opts),
		.mount = true,
		.stop = &stop_of(run)->asked,
		.inherited = !run_watches_system(run) && !run->opts.cgroups,
		.program = run->command.argv ? run->command.argv[0] : NULL,
		.pids = run->opts.pids ? run->opts.pids : run->opts.tids};
	const char ***profilers = run->parts.state[PART_CATALOG];

	if (run->catalog)
		return run->catalog;
	opts.profilers = *profilers = *profilers ? *profilers : list_profilers(run);
	if (!*profilers) {
		base_oom();
		return NULL;
	}
	if (attar_catalog_new(&opts, &run->catalog) < 0)
		return NULL;
	run->catalog->has_places = true;
	run->catalog->btf_file = run->opts.btf;
	run->catalog->probes_max = run->opts.probes;
	run->catalog->descendants = run->opts.pids && !run->opts.no_children;
	catalog_resolver(run->catalog, name_function, run);
	return run->catalog;
}

static void catalog_free(struct attar_run *run, void *self)
{
	const char ***profilers = self;

	free(*profilers);
}

/* Its state: the names of all profilers, which the catalog borrows. */
const struct run_part part_catalog = {.size = sizeof(const char **), .free = catalog_free};

int run_command_times(const struct attar_run *run, uint64_t *ret_user, uint64_t *ret_system)
{
	CHECK_ARG(run, "run");
	CHECK_ARG(ret_user, "ret_user");
	CHECK_ARG(ret_system, "ret_system");

	if (!run->target)
		return attar_fail(-ENOENT, "no command has ended");
	return target_command_times(run->target, ret_user, ret_system);
}

const char *attar_run_cgroup(const struct attar_run *run, int i)
{
	CHECK_ARG_OR(run, "run", "");

	const char *name = i >= 0 ? attar_target_cgroup(run->target, (size_t)i) : NULL;

	return name ? name : "";
}

bool attar_run_wants(const struct attar_run *run, enum attar_want want)
{
	CHECK_ARG_OR(run, "run", false);

	switch (want) {
	case ATTAR_WANT_LINES:
		return run->hooks.report && !run->hooks.no_line_output;
	case ATTAR_WANT_SPANS:
		return run->hooks.want_spans != 0;
	case ATTAR_WANT_TREE:
		return run->hooks.want_tree;
	case ATTAR_WANT_VALUES:
		return run->hooks.want_values;
	}
	return false;
}

int run_check_no_tree(const struct attar_run *run)
{
	CHECK_ARG(run, "run");

	if (!run->hooks.need_tree)
		return 0;
	return attar_fail(-EINVAL,
		"'%s' has no call stacks for the output" ATTAR_FIX
		"add -g, or the attribute stack to an event",
		run->profiler->name);
}

const struct attar_event_spec *attar_run_source_spec(const struct attar_run *run, uint32_t i)
{
	CHECK_ARG_OR(run, "run", NULL);

	const struct source *s = i < run->sources.list.n ? &run->sources.list.at[i] : NULL;

	return s && !s->use->is_internal ? source_spec(s) : NULL;
}

const char *run_source_host(const struct attar_run *run, uint32_t i)
{
	CHECK_ARG_OR(run, "run", NULL);

	const struct source *s = i < run->sources.list.n ? &run->sources.list.at[i] : NULL;

	return s && s->use->host ? s->use->host->name : hosts_of(run)->name;
}

bool run_vcpu(
	const struct attar_run *run, const struct attar_event *event, struct attar_vcpu *ret_vcpu)
{
	CHECK_ARG_OR(run, "run", false);
	CHECK_ARG_OR(event, "event", false);
	CHECK_ARG_OR(ret_vcpu, "ret_vcpu", false);

	const struct source *s =
		event->counter < run->sources.list.n ? &run->sources.list.at[event->counter] : NULL;

	if (!s || event->cpu >= s->use->vcpus.n || !s->use->vcpus.at[event->cpu].tid)
		return false;
	*ret_vcpu = s->use->vcpus.at[event->cpu];
	return true;
}
