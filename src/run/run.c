/* SPDX-License-Identifier: MIT */
/* Creates and frees a run; the functions that a profiler calls on it. */
#include <sys/eventfd.h>

#include "base/check.h"
#include "base/limit.h"
#include "base/suggest.h"
#include "event/catalog.h"
#include "run/run.h"

const struct attar_profiler *attar_profiler_find(const char *name)
{
	CHECK_ARG_OR(name, "name", NULL);

	for (const struct attar_profiler *const *p = attar_profilers(); *p; p++)
		if (!strcmp((*p)->name, name))
			return *p;
	return NULL;
}

static int no_profiler(const char *name)
{
	struct suggest s = {.word = name};

	for (const struct attar_profiler *const *p = attar_profilers(); *p; p++)
		suggest_offer(&s, (*p)->name);
	if (s.best)
		return attar_fail(
			-ENOENT, "no such profiler '%s': did you mean '%s'?", CLIP(name), s.best);
	return attar_fail(-ENOENT, "no such profiler '%s': 'attar -h' lists them", CLIP(name));
}

static void list_groups(struct attar_run *run)
{
	struct attar_option_group *g = run->groups;

	if (run->profiler->options)
		*g++ = (struct attar_option_group){"Options", run->profiler->options};
	if (run->profiler->uses & ATTAR_USES_SAMPLING)
		*g++ = (struct attar_option_group){"Sampling", common_sampling_options};
	if (run->profiler->uses & ATTAR_USES_STACKS)
		*g++ = (struct attar_option_group){"Stacks", common_stack_options};
	*g++ = (struct attar_option_group){"Targets", common_target_options};
	*g++ = (struct attar_option_group){"Duration and intervals", common_run_options};
	if (run->profiler->uses & ATTAR_USES_RINGS)
		*g++ = (struct attar_option_group){"Limits and ring buffers", common_ring_options};
	*g++ = (struct attar_option_group){"Output", common_output_options};
	if (run->profiler->uses & ATTAR_GIVES_TREE)
		*g = (struct attar_option_group){"Flame graphs", common_tree_options};
}

/* The eventfd by which attar_run_stop() wakes the run. */
static int open_stop(struct attar_run *run)
{
	run->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (run->stop_fd >= 0)
		return 0;
	return attar_fail(-errno, "cannot open an eventfd: %s", limit_open_error(errno));
}

int attar_run_new(const char *name, struct attar_run **ret_run)
{
	CHECK_ARG(name, "profiler");
	CHECK_ARG(ret_run, "ret_run");

	const struct attar_profiler *profiler = attar_profiler_find(name);
	struct attar_run *run;
	int r;

	if (!profiler)
		return no_profiler(name);
	run = calloc(1, sizeof(*run));
	if (!run || !(run->self = calloc(1, MAX(profiler->self_size, (size_t)1)))) {
		free(run);
		return base_oom();
	}
	run->process = check_process;
	run->profiler = profiler;
	run->command_status = -1;
	r = open_stop(run);
	if (r < 0) {
		attar_run_free(run);
		return r;
	}
	list_groups(run);
	common_defaults(&run->opts);
	if (profiler->defaults)
		profiler->defaults(run->self);
	*ret_run = run;
	return 0;
}

struct attar_run *attar_run_free(struct attar_run *run)
{
	if (!run)
		return NULL;
	if (run->profiler->close)
		run->profiler->close(run->self);
	task_watch_close(run);
	attar_stream_free(run->stream);
	run_user_close(run);
	vec_done(&run->user_sources);
	intern_done(&run->noted);
	vec_each (&run->usdt_specs, spec) {
		free((char *)(uintptr_t)(*spec)->name);
		free(*spec);
	}
	vec_done(&run->usdt_specs);
	map_done(&run->unshared);
	run_sources_free(run);
	vec_each (&run->event_lists, list)
		attar_event_list_free(*list);
	vec_done(&run->event_lists);
	counts_done(run);
	attar_target_free(run->target);
	attar_symbols_free(run->symbols);
	attar_catalog_free(run->catalog);
	attar_report_free(run->lines);
	vec_each (&run->lists, list)
		free((*list)->at);
	vec_done(&run->lists);
	intern_done(&run->texts);
	if (run->stop_fd >= 0)
		close(run->stop_fd);
	free(run->self);
	free(run);
	return NULL;
}

const struct attar_option_group *attar_run_option_groups(const struct attar_run *run)
{
	CHECK_ARG_OR(run, "run", NULL);

	return run->groups;
}

void attar_run_command(struct attar_run *run, char *const *argv)
{
	CHECK_ARG_OR(run, "run", );

	if (run->went)
		attar_fail(-EINVAL, "attar_run_command(): the run has already been started");
	else
		run->command = argv;
}

void attar_run_stop(struct attar_run *run)
{
	uint64_t one = 1;
	int error = errno;

	if (!run || !is_own_process(run))
		return; /* no error is set: attar_fail() is not async-signal-safe */
	__atomic_store_n(&run->stop_asked, 1, __ATOMIC_RELAXED);
	if (write(run->stop_fd, &one, sizeof(one)) < 0)
		errno = error; /* full: a stop has already been requested */
}

bool run_stop_asked(const struct attar_run *run)
{
	return __atomic_load_n(&run->stop_asked, __ATOMIC_RELAXED);
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
	vec_each (&run->sources, s)
		n += closes_slowly(s->counter);
	vec_each (&run->counts, c)
		n += closes_slowly(c->counter);
	return n;
}

int attar_run_command_status(const struct attar_run *run)
{
	CHECK_ARG_OR(run, "run", -1);

	return run->command_status;
}

int run_not_opening(const char *function)
{
	return attar_fail(-EINVAL, "%s(): may only be called from a profiler's open()", function);
}

int run_add_source(struct attar_run *run, const char *name, const struct perf_event_attr *attr,
	attar_event_fn *fn)
{
	struct source s = {.name = strdup(name), .attr = *attr, .fn = fn};

	if (!s.name || vec_push(&run->sources, s) < 0) {
		free(s.name);
		return base_oom();
	}
	return 0;
}

int attar_run_source(struct attar_run *run, const char *name, const struct perf_event_attr *attr,
	attar_event_fn *fn)
{
	CHECK_OWN(run, "run");
	CHECK_ARG(name, "name");
	CHECK_ARG(attr, "attr");
	CHECK_ARG(fn, "fn");
	CHECK_OPENING(run);

	return run_add_source(run, name, attr, fn);
}

struct attar_symbols *attar_run_symbols(struct attar_run *run)
{
	CHECK_ARG_OR(run, "run", NULL);

	return run->symbols;
}

const char *attar_run_source_name(const struct attar_run *run, uint32_t i)
{
	CHECK_ARG_OR(run, "run", "?");

	return i < run->sources.n ? run->sources.at[i].name : "?";
}

const struct perf_event_attr *attar_run_source_attr(const struct attar_run *run, uint32_t i)
{
	CHECK_ARG_OR(run, "run", NULL);

	return i < run->sources.n ? &run->sources.at[i].attr : NULL;
}

enum attar_target_kind attar_run_target_kind(const struct attar_run *run)
{
	CHECK_ARG_OR(run, "run", ATTAR_TARGET_SYSTEM);

	if (run->opts.cgroups)
		return ATTAR_TARGET_CGROUPS;
	return run_watches_system(run) ? ATTAR_TARGET_SYSTEM : ATTAR_TARGET_TASKS;
}

uint64_t attar_run_interval(const struct attar_run *run)
{
	CHECK_ARG_OR(run, "run", 0);

	return run->opts.interval;
}

uint64_t attar_run_freq(const struct attar_run *run)
{
	CHECK_ARG_OR(run, "run", 0);

	return run->opts.freq;
}

struct attar_section *attar_run_lines(
	struct attar_run *run, const char *name, void (*columns)(struct attar_section *section))
{
	CHECK_ARG_OR(run, "run", NULL);
	CHECK_ARG_OR(name, "name", NULL);
	CHECK_ARG_OR(columns, "columns", NULL);

	if (run->lines)
		return run->lines_section;
	run->lines = attar_report_new(run->profiler->name);
	if (!run->lines) {
		base_oom();
		return NULL;
	}
	run->lines_section = attar_report_events(run->lines, name);
	columns(run->lines_section);
	return run->lines_section;
}

/* Modules are "[name]" in the cache; the kernel's print formats put the brackets themselves. */
static const char *module_of(struct attar_run *run, const char *dso)
{
	size_t n = strlen(dso);

	if (n < 2 || dso[0] != '[' || !strcmp(dso, "[kernel.kallsyms]"))
		return NULL;
	return intern_bytes(&run->texts, dso + 1, n - 2);
}

/*
 * Resolves an address for %pS and similar conversions of the kernel's print formats. The size is
 * omitted: the symbol cache includes the padding before the next function in it.
 */
static bool name_function(void *ctx, uint64_t address, struct attar_kernel_name *ret_name)
{
	struct attar_run *run = ctx;
	struct attar_symbols *symbols = attar_run_symbols(run);
	struct attar_symbol symbol;

	if ((int64_t)address >= 0 || !symbols ||
		attar_symbols_resolve(symbols, attar_location_kernel(address), &symbol) < 0)
		return false;
	*ret_name = (struct attar_kernel_name){.name = symbol.mangled,
		.module = module_of(run, symbol.dso),
		.start = address - symbol.offset};
	return true;
}

struct attar_catalog *attar_run_catalog(struct attar_run *run)
{
	CHECK_ARG_OR(run, "run", NULL);

	struct attar_catalog_opts opts = {.size = sizeof(opts),
		.mount = true,
		.stop = &run->stop_asked,
		.inherited = !run_watches_system(run) && !run->opts.cgroups};

	if (run->catalog)
		return run->catalog;
	if (attar_catalog_new(&opts, &run->catalog) < 0)
		return NULL;
	attar_catalog_resolver(run->catalog, name_function, run);
	return run->catalog;
}

void attar_run_unresolved(struct attar_run *run, double share)
{
	CHECK_ARG_OR(run, "run", );

	run->unresolved = share;
}

uint64_t attar_run_realtime(const struct attar_run *run, uint64_t time)
{
	CHECK_ARG_OR(run, "run", 0);

	return time + run->realtime_offset;
}

int attar_run_command_times(const struct attar_run *run, uint64_t *ret_user, uint64_t *ret_system)
{
	CHECK_ARG(run, "run");
	CHECK_ARG(ret_user, "ret_user");
	CHECK_ARG(ret_system, "ret_system");

	if (!run->target)
		return attar_fail(-ENOENT, "no command has ended");
	return attar_target_command_times(run->target, ret_user, ret_system);
}

const char *attar_run_cgroup(const struct attar_run *run, int i)
{
	CHECK_ARG_OR(run, "run", "");

	const char *name = i >= 0 ? attar_target_cgroup(run->target, (size_t)i) : NULL;

	return name ? name : "";
}

uint64_t attar_run_elapsed(const struct attar_run *run)
{
	CHECK_ARG_OR(run, "run", 0);

	return (run->ended ? run->ended : base_now()) - run->began;
}

uint64_t attar_run_recent(const struct attar_run *run)
{
	CHECK_ARG_OR(run, "run", 0);

	return run->recent;
}

bool attar_run_wants_tree(const struct attar_run *run)
{
	CHECK_ARG_OR(run, "run", false);

	return run->hooks.want_tree;
}

const struct attar_event_spec *attar_run_source_spec(const struct attar_run *run, uint32_t i)
{
	CHECK_ARG_OR(run, "run", NULL);

	return i < run->sources.n ? run->sources.at[i].spec : NULL;
}

bool attar_run_wants_values(const struct attar_run *run)
{
	CHECK_ARG_OR(run, "run", false);

	return run->hooks.want_values;
}

bool attar_run_wants_lines(const struct attar_run *run)
{
	CHECK_ARG_OR(run, "run", false);

	return run->hooks.report && !run->hooks.no_line_output;
}
