/* SPDX-License-Identifier: MIT */
/*
 * Counting in the kernel: decides whether a program counts the events of a profiler, and runs it.
 * The sources of the profiler are removed then, so that nothing is delivered.
 */
#include "attar/builtin.h"
#include "base/check_arg.h"
#include "base/map.h"
#include "base/proc.h"
#include "base/proc_tree.h"
#include "bpf/counting.h"
#include "run/parts.h"
#include "run/parts/task_select.h"
#include "run/run.h"
#include "run/events/open.h"
#include "run/events/sources.h"

enum { PID_MAX = 4 << 20, SCANS_MAX = 64 };

struct in_kernel {
	bool is_asked;             /* by the profiler */
	struct counting *counting; /* NULL: the events are delivered */
	bool selects_tasks;
	struct map known;  /* threads that were selected, while the target is looked up */
	size_t added;      /* in this scan */
	uint64_t no_row;   /* calls, up to the last interval */
	uint64_t no_start; /* completions, up to the last interval */
	uint64_t missed;   /* switches, up to the last interval */
};

PART_STATE(in_kernel_of, struct in_kernel, PART_IN_KERNEL)

/* ---- the decision ---- */

static bool is_set(const struct attar_run *run, const char *value)
{
	return run->opts.in_kernel && !strcmp(run->opts.in_kernel, value);
}

static int in_kernel_prepare(struct attar_run *run, void *self)
{
	if (!run->opts.in_kernel || is_set(run, "auto") || is_set(run, "yes") || is_set(run, "no"))
		return 0;
	return attar_fail(
		-EINVAL, "--in-kernel %s: auto, yes or no is expected", CLIP(run->opts.in_kernel));
}

/* What of the common options needs the events themselves; NULL: nothing. */
static const char *needs_events(const struct attar_run *run)
{
	const struct common_opts *o = &run->opts;

	return o->input                                 ? "--input"
	       : o->pulls.n                             ? "--pull"
	       : o->push                                ? "--push"
	       : o->cgroups                             ? "--cgroups"
	       : run->select.has_names                  ? "selecting processes by name"
	       : o->pids && o->tids                     ? "--pids with --tids"
	       : o->count                               ? "--count"
	       : o->sampling_limit                      ? "--sampling-limit"
	       : o->perfeval_cpus || o->perfeval_pids   ? "--perfeval-cpus or --perfeval-pids"
	       : run_emits(run)                         ? "a profiler as an event"
	       : attar_run_wants(run, ATTAR_WANT_SPANS) ? "a time line"
							: NULL;
}

static int refuse(const struct attar_run *run, const char *why)
{
	return attar_fail(-EINVAL,
		"--in-kernel yes: %s needs each event" ATTAR_FIX
		"leave out one of both; --in-kernel auto decides itself",
		why);
}

/* Which tasks the program is to select. */
static void choose_tasks(const struct attar_run *run, struct counting_opts *opts)
{
	const struct common_opts *o = &run->opts;

	opts->selects_tasks = run->select.is_on
				      ? o->pids || o->tids || (run->command.argv && !o->all_cpus)
				      : !run_watches_system(run);
	opts->adds_children = opts->selects_tasks && !o->tids && !o->no_children;
	opts->adds_threads = opts->selects_tasks && !o->tids;
}

/* Interrupts and requests of devices are of no task. */
static int check_tasks(
	const struct attar_run *run, enum counting_kind kind, const struct counting_opts *opts)
{
	bool are_requests = kind == COUNTING_REQUESTS;

	if (are_requests && run->opts.cpus)
		return attar_fail(-EOPNOTSUPP,
			"counting in the kernel: requests are counted on all CPUs only" ATTAR_FIX
			"leave out --cpus");
	if (opts->selects_tasks &&
		(are_requests || kind == COUNTING_SOFTIRQS || kind == COUNTING_HARDIRQS))
		return attar_fail(-EOPNOTSUPP,
			"counting in the kernel: %s are counted for the whole system "
			"only" ATTAR_FIX "leave out the choice of tasks",
			are_requests ? "requests" : "interrupts");
	return 0;
}

static int in_kernel_load(struct attar_run *run, const struct counting_what *what)
{
	struct in_kernel *in_kernel = in_kernel_of(run);
	struct counting_opts opts = {.kind = what->kind,
		.requests = what->requests,
		.field = what->field,
		.own_pid = run->select.keeps_own ? 0 : getpid()};
	int r = select_parse_cpus(run);

	if (r < 0)
		return r;
	if (!proc_has_first_pids())
		return attar_fail(-EOPNOTSUPP,
			"counting in the kernel: this process is in another PID namespace, whose "
			"numbers of processes the kernel does not use");
	choose_tasks(run, &opts);
	r = check_tasks(run, what->kind, &opts);
	if (r < 0)
		return r;
	if (run->opts.cpus)
		opts.cpus = &run->select.cpus;
	in_kernel->selects_tasks = opts.selects_tasks;
	r = counting_new(&opts, &in_kernel->counting);
	if (r == 0)
		r = counting_attach(in_kernel->counting, what->field);
	if (r < 0)
		in_kernel->counting = counting_free(in_kernel->counting);
	return r;
}

int run_count_in_kernel(struct attar_run *run, const struct counting_what *what, const char *single)
{
	CHECK_OWN(run, "run");
	CHECK_OPENING(run);
	CHECK_ARG(what, "what");

	const char *why = needs_events(run) ?: single;
	int r;

	in_kernel_of(run)->is_asked = true;
	if (is_set(run, "no"))
		return 0;
	if (why)
		return is_set(run, "yes") ? refuse(run, why) : 0;
	r = in_kernel_load(run, what);
	if (r < 0 && r != -ENOMEM && !is_set(run, "yes")) {
		log_debug("%s", attar_error());
		attar_error_clear();
		return 0;
	}
	if (r < 0)
		return r;
	run->notes.in_kernel = true;
	while (run->sources.list.n)
		sources_drop_last(&run->sources);
	return 1;
}

static int in_kernel_complete(struct attar_run *run, void *self)
{
	const struct in_kernel *in_kernel = self;

	if (in_kernel->is_asked || !is_set(run, "yes"))
		return 0;
	return attar_fail(-EOPNOTSUPP,
		"--in-kernel yes: %s with these options cannot be counted in the kernel" ATTAR_FIX
		"leave it out",
		run->profiler->name);
}

/* ---- the target ---- */

static int add_thread(void *ctx, int tid)
{
	struct attar_run *run = ctx;
	struct in_kernel *in_kernel = in_kernel_of(run);

	if (map_get(&in_kernel->known, (uint64_t)tid))
		return 0;
	if (map_put(&in_kernel->known, (uint64_t)tid, 1) < 0)
		return base_oom();
	in_kernel->added++;
	return counting_select(in_kernel->counting, tid);
}

/* Threads of processes that end meanwhile do not matter. */
static int add_process(struct attar_run *run, pid_t pid)
{
	int r = proc_each_thread(pid, add_thread, run);

	if (r != -ENOENT)
		return r;
	attar_error_clear();
	return 0;
}

/* The program adds what these create from now on; scans go on until one finds no other. */
static int add_processes(struct attar_run *run)
{
	struct in_kernel *in_kernel = in_kernel_of(run);
	parse_ints pids = {0};
	int r = parse_list(run->opts.pids, PID_MAX, &pids);

	for (int i = 0; r == 0 && i < SCANS_MAX; i++) {
		in_kernel->added = 0;
		if (!run->opts.no_children)
			r = proc_add_descendants(&pids);
		for (size_t at = 0; r == 0 && at < pids.n; at++)
			r = add_process(run, pids.at[at]);
		if (!in_kernel->added)
			break;
	}
	vec_done(&pids);
	return r;
}

static int add_tasks(struct attar_run *run)
{
	parse_ints tids = {0};
	int r = 0;

	if (run->opts.pids)
		r = add_processes(run);
	if (r == 0 && run->opts.tids)
		r = parse_list(run->opts.tids, PID_MAX, &tids);
	for (size_t i = 0; r == 0 && i < tids.n; i++)
		r = add_thread(run, tids.at[i]);
	vec_done(&tids);
	return r;
}

static int in_kernel_begin(struct attar_run *run, void *self)
{
	struct in_kernel *in_kernel = self;
	int r = 0;

	if (in_kernel->counting && in_kernel->selects_tasks) {
		counting_select_command(in_kernel->counting, select_command_pid(run));
		r = add_tasks(run);
	}
	map_done(&in_kernel->known);
	return r;
}

static int in_kernel_started(struct attar_run *run, void *self)
{
	struct in_kernel *in_kernel = self;

	if (in_kernel->counting)
		counting_enable(in_kernel->counting, true);
	return 0;
}

static int in_kernel_ended(struct attar_run *run, void *self)
{
	struct in_kernel *in_kernel = self;

	if (in_kernel->counting)
		counting_enable(in_kernel->counting, false);
	return 0;
}

/* ---- results ---- */

int run_read_counting(struct attar_run *run, counting_row_fn *fn, void *ctx)
{
	CHECK_OWN(run, "run");
	CHECK_ARG(fn, "fn");

	struct in_kernel *in_kernel = in_kernel_of(run);

	return in_kernel->counting ? counting_read(in_kernel->counting, fn, ctx) : 0;
}

static void in_kernel_stats(struct attar_run *run, void *self, struct attar_stream_stats *stats)
{
	struct in_kernel *in_kernel = self;
	struct counting_stats counted;

	if (!in_kernel->counting)
		return;
	counting_get_stats(in_kernel->counting, &counted);
	stats->samples += counted.events;
	stats->lost += counted.lost;
}

/* The count of this report: `before` has the count up to the last interval. */
static uint64_t count_of(uint64_t counted, uint64_t *before, enum attar_scope scope)
{
	uint64_t n = counted;

	if (scope == ATTAR_SCOPE_INTERVAL) {
		n -= *before;
		*before = counted;
	}
	return n;
}

static void in_kernel_remark(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct in_kernel *in_kernel = self;
	struct counting_stats counted;
	uint64_t missed, no_row, no_start;

	if (!in_kernel->counting)
		return;
	counting_get_stats(in_kernel->counting, &counted);
	missed = count_of(counted.missed, &in_kernel->missed, scope);
	no_row = count_of(counted.no_row, &in_kernel->no_row, scope);
	no_start = count_of(counted.no_start, &in_kernel->no_start, scope);
	if (no_row)
		attar_report_remark(report,
			"%llu call%s of a number that no system call has %s not shown: "
			"'--in-kernel no' shows %s",
			(unsigned long long)no_row, PLURAL_S(no_row), no_row == 1 ? "is" : "are",
			no_row == 1 ? "it" : "them");
	if (no_start)
		attar_report_remark(report,
			"completed requests whose start was missed, or before the measurement: "
			"%llu",
			(unsigned long long)no_start);
	if (missed)
		attar_report_remark(report,
			"the kernel did not report at least %llu switch%s between tasks: times "
			"that begin or end with %s are wrong; see 'delivery' in 'attar doctor'",
			(unsigned long long)missed, missed == 1 ? "" : "es",
			missed == 1 ? "it" : "them");
	if (scope == ATTAR_SCOPE_WHOLE)
		attar_report_remark(report, "the events were counted in the kernel");
}

static void in_kernel_free(struct attar_run *run, void *self)
{
	struct in_kernel *in_kernel = self;

	in_kernel->counting = counting_free(in_kernel->counting);
	map_done(&in_kernel->known);
}

const struct run_part part_in_kernel = {.size = sizeof(struct in_kernel),
	.prepare = in_kernel_prepare,
	.complete = in_kernel_complete,
	.begin = in_kernel_begin,
	.started = in_kernel_started,
	.ended = in_kernel_ended,
	.stats = in_kernel_stats,
	.remark = in_kernel_remark,
	.free = in_kernel_free};
