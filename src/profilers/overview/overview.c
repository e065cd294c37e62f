/* SPDX-License-Identifier: MIT */
/*
 * overview: where the time of the system, or of some processes, goes, and what is beyond a limit:
 * the first look at something that is slow. Cheap events only, and fewer of them when they are too
 * many.
 */
#include "overview/overview.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attar/builtin.h"

enum {
	FAULTS_PERIOD = 100,
	ERRNO_MAX = 4095,
	RESTART_MIN = 512, /* numbers that only the kernel uses, such as ERESTARTSYS */
	RESTART_MAX = 531,
	NS_PER_S = 1000000000,
	DURATION_S = 10,
};

/* For events. Reading the kernel's names and the report come on top of it: 0.1 s of CPU time. */
static const double cpu_share = 0.004;

/* ---- threads ---- */

static int add_stack(struct overview *o, const struct attar_thread *thread, enum overview_part part,
	const attar_location *locations, size_t n, uint64_t weight)
{
	attar_location stack[THREAD_DEPTH_MAX + 1];

	if (!o->stacks)
		return 0;
	memcpy(stack, locations, n * sizeof(*stack));
	stack[n] = o->labels[part];
	return attar_stacks_add(o->stacks, thread, stack, n + 1, weight);
}

int overview_add_latency(struct overview *o, enum overview_latency which, uint64_t duration)
{
	struct attar_keyrow *row = attar_keytable_at_u64(o->latencies, which);

	return row ? attar_hist_add(&row->interval.hists[0], duration) : -ENOMEM;
}

static int on_segment(struct attar_run *run, void *self, const struct thread_segment *segment)
{
	struct overview *o = self;
	bool is_wait = segment->state != THREAD_RUNNING;
	int r = duty_event(&o->duty, run);

	if (r < 0 || overview_is_own(o, run, segment->thread))
		return r;
	r = overview_slices_add(
		run, o, segment, is_wait ? overview_sum_of_wait(run, o, segment) : -1);
	if (r < 0 || segment->state != THREAD_READY || !segment->is_end ||
		segment->block->group.is_kernel_thread)
		return r;
	return overview_add_latency(o, LATENCY_RUN, segment->to - segment->since);
}

/* ---- samples ---- */

static enum overview_part part_of_sample(const struct frame_summary *frames, bool is_kernel)
{
	if (!is_kernel)
		return PART_USER;
	if (frames->is_perf) /* the locks that it spins on are none of the program */
		return PART_KERNEL;
	switch (frames->runs) {
	case FRAME_FAULT:
		return PART_FAULT;
	case FRAME_IRQ:
		return PART_IRQ;
	case FRAME_SPIN:
		return PART_SPIN;
	default:
		return PART_KERNEL;
	}
}

/* Where the time of a part was spent: for faults, the code that touched the page. */
static attar_location place_of(enum overview_part part, const struct frame_summary *frames,
	const attar_location *stack, size_t n)
{
	if (part == PART_KERNEL && frames->syscall)
		return frames->syscall;
	if (part != PART_FAULT)
		return n ? stack[0] : 0;
	for (size_t i = 0; i < n; i++)
		if (attar_location_dso(stack[i]) != ATTAR_DSO_KERNEL)
			return stack[i];
	return n ? stack[0] : 0;
}

static void group_of(struct overview *o, const struct attar_thread *thread,
	const struct frame_summary *frames, struct thread_group *ret_group)
{
	uint64_t key = (uint64_t)thread->tid;
	const struct attar_state *state = attar_states_get(o->times.states, &key, sizeof(key));

	memset(ret_group, 0, sizeof(*ret_group));
	if (state && ((const struct thread_block *)state->value)->group.tid == thread->tid) {
		*ret_group = ((const struct thread_block *)state->value)->group;
		return;
	}
	ret_group->tid = thread->tid;
	ret_group->pid = thread->process ? thread->process->pid : 0;
	ret_group->started = thread->process ? thread->process->started : 0;
	ret_group->is_kernel_thread = frames->is_kernel_thread;
	strncpy(ret_group->comm, thread->comm, THREAD_COMM_BYTES - 1);
}

/* Samples of cycles have no duration. */
static uint64_t weight_of(
	const struct overview *o, const struct attar_run *run, const struct attar_event *ev)
{
	const struct perf_event_attr *attr = attar_run_source_attr(run, o->sampler);

	if (attr && attar_attr_is_clock(attr) && ev->record->sample.period > 1)
		return ev->record->sample.period;
	return NS_PER_S / run_freq(run);
}

/* Samples are taken during pauses, too. */
static bool is_watched(const struct overview *o, uint64_t time)
{
	return (!o->duty.paused_at || time < o->duty.paused_at) && time >= o->times.seen_from;
}

static int add_run(struct overview *o, const struct frame_summary *frames, uint64_t weight)
{
	struct attar_keyrow *row;

	if (!frames->syscall)
		return 0;
	row = overview_call_at(o, frames->syscall, 0, THREAD_RUNNING);
	if (!row)
		return -ENOMEM;
	row->interval.sums[CALL_RUNS] += weight;
	return 0;
}

/* The functions of a stack of user code, each address once: a function may call itself. */
static int add_callers(struct overview *o, int32_t pid, const attar_location *stack, size_t n)
{
	struct overview_place key = {.pid = pid, .part = PART_USER};

	for (size_t i = 0; i < n; i++) {
		struct attar_keyrow *row;
		size_t before = 0;

		while (before < i && stack[before] != stack[i])
			before++;
		if (before < i)
			continue;
		key.location = stack[i];
		row = attar_keytable_at(o->callers, &key, sizeof(key));
		if (!row)
			return -ENOMEM;
		row->interval.sums[CALLER_DEPTH] += i;
		row->interval.sums[CALLER_SAMPLES]++;
	}
	return 0;
}

static int on_sample(struct attar_run *run, void *self, const struct attar_event *ev)
{
	attar_location stack[THREAD_DEPTH_MAX];
	struct overview *o = self;
	struct frame_summary frames;
	struct thread_group group;
	struct attar_keyrow *row;
	enum overview_part part;
	uint64_t weight;
	size_t n;
	int r;

	o->events++;
	if (ev->cpu < 1 << 16 && ev->cpu >= o->cpus)
		o->cpus = ev->cpu + 1;
	r = is_watched(o, ev->time) ? thread_times_runs(run, &o->times, ev) : 0;
	if (r < 0 || ev->thread->tid <= 0 || !attar_run_is_selected(run, ev->thread) ||
		overview_is_own(o, run, ev->thread))
		return r;
	n = attar_event_stack(ev, stack, THREAD_DEPTH_MAX);
	frames_read(o->times.frames, stack, n, &frames);
	part = part_of_sample(&frames, n && attar_location_dso(stack[0]) == ATTAR_DSO_KERNEL);
	weight = weight_of(o, run, ev);
	group_of(o, ev->thread, &frames, &group);
	row = attar_keytable_at(o->threads, &group, sizeof(group));
	if (!row)
		return -ENOMEM;
	row->interval.sums[SUM_SAMPLES + part] += weight;
	row->interval.sums[SUM_NUMBER + part]++;
	r = add_run(o, &frames, weight);
	if (r == 0 && part == PART_USER)
		r = add_callers(o, group.pid, stack, n);
	if (r == 0)
		r = overview_add_place(o->places, group.pid, part,
			place_of(part, &frames, stack, n), weight, true);
	if (r == 0 && n)
		r = overview_add_place(o->functions, 0, 0, stack[0], weight, true);
	return r < 0 ? r : add_stack(o, ev->thread, part, stack, n, weight);
}

/* ---- other events ---- */

int overview_count(struct overview *o, enum overview_count which, uint64_t n)
{
	struct attar_keyrow *row = attar_keytable_at_u64(o->counts, which);

	if (!row)
		return -ENOMEM;
	row->interval.sums[0] += n;
	return 0;
}

static int on_fault(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct overview *o = self;
	int r = thread_times_seen(run, &o->times, ev);

	if (r < 0 || !attar_run_is_selected(run, ev->thread) || overview_is_own(o, run, ev->thread))
		return r;
	return overview_count(o, COUNT_FAULTS, ev->record->sample.period);
}

static int on_major(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct overview *o = self;

	if (!attar_run_is_selected(run, ev->thread) || overview_is_own(o, run, ev->thread))
		return 0;
	return overview_count(o, COUNT_MAJOR, ev->record->sample.period);
}

enum { CALL, RESULT };

/*
 * The end of a signal handler is no call, but has the result of the interrupted one, or of what the
 * program computed: rt_sigreturn(2) restores the register.
 */
static const uint64_t NO_CALL = UINT64_MAX;

static int add_failure_of(struct overview *o, const struct attar_event *ev,
	const struct overview_error *error, int sum)
{
	const struct attar_thread *thread = ev->thread;
	struct overview_failure key = {.call = error->call,
		.error = error->error,
		.pid = thread->process ? thread->process->pid : thread->tid};
	struct attar_keyrow *row;

	strncpy(key.comm, thread->comm, sizeof(key.comm) - 1);
	row = attar_keytable_at(o->failures, &key, sizeof(key));
	if (!row)
		return -ENOMEM;
	row->interval.sums[sum == ERROR_SEEN ? FAILURE_SEEN : FAILURE_SAMPLES]++;
	return 0;
}

static int add_error(
	struct attar_run *run, struct overview *o, const struct attar_event *ev, int sum)
{
	struct overview_error key = {attar_arg_u64(ev, CALL), -attar_arg_i64(ev, RESULT)};
	struct attar_keyrow *row;
	int r = thread_times_seen(run, &o->times, ev);

	o->events++;
	if (r < 0 || key.error < 1 || key.error > ERRNO_MAX || key.call == NO_CALL ||
		(key.error >= RESTART_MIN && key.error <= RESTART_MAX) ||
		!attar_run_is_selected(run, ev->thread) || overview_is_own(o, run, ev->thread))
		return r;
	row = attar_keytable_at(o->errors, &key, sizeof(key));
	if (!row)
		return -ENOMEM;
	row->interval.sums[sum]++;
	return add_failure_of(o, ev, &key, sum);
}

static int on_failed(struct attar_run *run, void *self, const struct attar_event *ev)
{
	return add_error(run, self, ev, ERROR_SEEN);
}

/* During pauses, samples show which calls fail; how many is counted. */
static int on_failed_sample(struct attar_run *run, void *self, const struct attar_event *ev)
{
	return is_watched(self, ev->time) ? 0 : add_error(run, self, ev, ERROR_SAMPLES);
}

static int on_exited(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct overview *o = self;
	int r;

	if (run_is_before_range(run))
		return 0;
	r = overview_add_exit(run, o, ev);
	if (ev->thread && ev->record->type == PERF_RECORD_EXIT)
		overview_slices_exited(o, ev->thread->tid, ev->time);
	return r < 0 ? r : thread_times_exited(run, &o->times, ev);
}

static int on_lost(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct overview *o = self;

	o->lost += ev->record->lost.lost;
	attar_pairs_lost(o->requests, -1, ev->lost_from, ev->lost_to);
	return thread_times_lost(run, &o->times, ev);
}

/* What happened during a pause is as unknown as after a loss. */
static int overview_turn(struct attar_run *run, void *self)
{
	struct overview *o = self;
	uint64_t from, to;
	int r = 0;

	if (!o->slices.now.from)
		o->slices.now.from = attar_run_began(run);
	if (attar_run_is_live(run) && !o->scheds_began.time)
		r = thread_scheds_read(run, &o->scheds_began);
	if (r == 0 && attar_run_is_live(run))
		r = usage_turn(run, &o->usage);
	if (r == 0 && attar_run_is_live(run) && o->has_selection) {
		peers_look(&o->usage.began, &o->peers);
		languages_look(&o->usage.began, &o->languages);
	}
	if (r == 0 && attar_run_is_live(run) && !o->networks_began.time) {
		overview_read_networks(&o->usage.began, &o->networks_began);
		overview_read_groups(&o->usage.began, &o->groups_began);
	}
	if (r == 0)
		r = duty_turn(&o->duty, run, o->times.events + o->events, &from, &to);
	if (r == DUTY_PAUSED) {
		r = overview_slices_pause(run, o);
	} else if (r == DUTY_RESUMES) {
		r = overview_slices_resume(run, o, from, to);
		attar_pairs_lost(o->requests, -1, from, to);
		o->duty.is_flooded = o->duty.is_heavy; /* divided segments are no events */
	} else if (r == DUTY_SAME && !o->duty.paused_at) {
		r = overview_slices_turn(run, o);
	}
	return r < 0 || o->duty.paused_at ? r : overview_slices_scan(run, o);
}

static int overview_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct overview_sums sums = {0};
	struct overview *o = self;
	int r = thread_times_scan(run, &o->times);

	if (r == 0)
		r = thread_times_divide(run, &o->times, duty_until(&o->duty, attar_run_until(run)));
	if (r == 0)
		r = overview_slices_report(run, o);
	if (r == 0)
		r = overview_add_up(run, o, report, scope, &sums);
	if (r == 0)
		r = overview_fill(&sums, report);
	overview_sums_done(&sums);
	o->reports++;
	return r;
}

/* ---- life ---- */

/* The kernel drops calls that succeed. */
static const struct attar_input failures = {.event = "raw_syscalls:sys_exit/ret<0/",
	.fields = {"id", "ret"},
	.on_event = on_failed,
	.optional = true};

/*
 * Few samples, which are never paused. The period is a prime, so that no pattern of calls repeats
 * with it. With a frequency, the kernel's periods can be a thousand times too long.
 */
static const struct attar_input failure_samples = {
	.event = "raw_syscalls:sys_exit/ret<0/period=4999/",
	.fields = {"id", "ret"},
	.on_event = on_failed_sample,
	.optional = true};

/* Counts n of enum overview_count that follow each other, also during pauses. */
static int count_events(struct attar_run *run, struct overview *o, enum overview_count first, int n,
	const char *events)
{
	int r = run_count_selected(run, events);

	for (int i = 0; i < n && r == 0; i++)
		o->counters[first + i] = ++o->n_counters;
	return r;
}

#ifdef SYS_readlink
enum { CALL_READLINK = SYS_readlink };
#else
enum { CALL_READLINK = SYS_readlinkat };
#endif

/* Those that add_error() takes, without those of this process. */
static int count_failures(struct attar_run *run, struct overview *o)
{
	const int *expected = overview_expected;
	int own = (int)getpid();
	char text[320];

	snprintf(text, sizeof(text),
		"{raw_syscalls:sys_exit/ret<0 && ret>=-%d && (ret>-%d || ret<-%d) && id!=-1 && "
		"common_pid!=%d/,raw_syscalls:sys_exit/ret<0 && id!=-1 && "
		"(ret==-%d || ret==-%d || ret==-%d || ret==-%d || "
		"(ret==-%d && (id==%ld || id==%ld))) && common_pid!=%d/}",
		ERRNO_MAX, RESTART_MIN, RESTART_MAX, own, expected[0], expected[1], expected[2],
		expected[3], EINVAL, (long)CALL_READLINK, (long)SYS_readlinkat, own);
	return count_events(run, o, COUNT_ERRORS, 2, text);
}

/*
 * Switches of threads: a CPU that leaves its idle task has not switched between threads. Also
 * migrations and page faults. Of selected tasks, a filter for each would only cost time.
 */
static int count_switches(struct attar_run *run, struct overview *o)
{
	if (!attar_run_is_live(run))
		return 0;
	return count_events(run, o, COUNT_SWITCHES, 3,
		!attar_run_is_selected(run, NULL)
			? "{sched:sched_switch,cpu-migrations,page-faults}"
			: "{sched:sched_switch/prev_pid!=0/,cpu-migrations,page-faults}");
}

static int open_events(struct attar_run *run, struct overview *o)
{
	int r = thread_times_open(run, &o->times);
	uint32_t n;

	if (r == 0)
		r = count_switches(run, o);
	if (r == 0)
		r = overview_open_requests(run, o);
	n = attar_run_sources(run);
	if (r == 0 && !o->no_errors)
		r = attar_run_input(run, &failures);
	if (r == 0)
		duty_add(&o->duty, run, 0);
	if (r == 0 && attar_run_is_live(run) && attar_run_sources(run) > n)
		r = attar_run_input(run, &failure_samples);
	if (r == 0 && attar_run_is_live(run) && attar_run_sources(run) > n)
		r = count_failures(run, o);
	if (r == 0 && !o->no_errors)
		r = overview_open_ends(run, o);
	o->sampler = attar_run_sources(run);
	if (r == 0)
		r = attar_run_sampler(run, true, on_sample);
	return r;
}

static const struct attar_input recorded_faults = {
	.event = "page-faults", .on_event = on_fault, .optional = true};

/*
 * A sample for each FAULTS_PERIOD faults; with PERF_SAMPLE_PERIOD the kernel would sample each.
 * Recordings seldom have them.
 */
static int open_faults(struct attar_run *run, struct overview *o)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = FAULTS_PERIOD,
		.sample_type = PERF_SAMPLE_IP};
	int r;

	if (!attar_run_is_live(run)) {
		r = attar_run_input(run, &recorded_faults);
		o->has_faults = attar_run_sources(run) > o->sampler + 1;
		return r;
	}
	r = attar_run_source(run, "page-faults", &attr, on_fault);
	attr.config = PERF_COUNT_SW_PAGE_FAULTS_MAJ;
	attr.sample_period = 1;
	return r == 0 ? attar_run_source(run, "major-faults", &attr, on_major) : r;
}

static int open_names(struct attar_run *run, struct overview *o)
{
	static const struct attar_expr_variable variable = {.name = "number"};
	const struct attar_expr_opts opts = {
		.size = sizeof(opts), .n_variables = 1, .variables = &variable};
	struct attar_symbols *symbols = attar_run_symbols(run);

	for (int i = 0; i < PARTS; i++) {
		char label[64] = "[";

		strcat(strncat(label, overview_part_names[i], sizeof(label) - 3), "]");
		o->labels[i] = attar_symbols_label(symbols, label);
	}
	o->stopped = attar_symbols_label(symbols, OVERVIEW_STOPPED);
	return attar_run_expr(run, 0, "syscall_name(number)", &opts, &o->syscall_name);
}

static int overview_open(struct attar_run *run, void *self)
{
	struct overview *o = self;
	int r;

	o->times.segment = on_segment;
	o->duty.share = cpu_share;
	run_keep_frame_pointers(run);
	r = open_events(run, o);
	if (r == 0)
		r = open_faults(run, o);
	if (r == 0)
		r = overview_open_rates(run);
	if (r == 0)
		r = run_default_duration(run, (uint64_t)DURATION_S * NS_PER_S);
	if (r == 0)
		r = overview_open_tables(o);
	if (r == 0)
		r = open_names(run, o);
	if (r == 0 && attar_run_wants(run, ATTAR_WANT_TREE))
		r = attar_stacks_new(attar_run_symbols(run), &o->stacks);
	if (r == 0)
		r = overview_slices_open(o);
	o->has_selection = !attar_run_is_selected(run, NULL);
	if (attar_run_is_live(run)) {
		system_stat_read("", &o->began);
		kernel_log_open(&o->log, "/dev/kmsg", false);
	}
	o->last = o->began;
	return r;
}

static void overview_close(void *self)
{
	struct overview *o = self;

	duty_done(&o->duty);
	overview_slices_close(o);
	usage_done(&o->usage);
	languages_done(&o->languages);
	kernel_log_close(&o->log);
	thread_scheds_done(&o->scheds_began);
	thread_scheds_done(&o->scheds_last);
	thread_scheds_done(&o->scheds);
	thread_times_close(&o->times);
	overview_close_tables(o);
	attar_stacks_free(o->stacks);
	attar_expr_free(o->syscall_name);
}

static const struct attar_option options[] = {
	ATTAR_FLAG(struct overview, no_errors, 0, "no-errors",
		"do not count failing system calls and processes, which makes all system calls a "
		"little slower"),
	ATTAR_FLAG(
		struct overview, only_comm, 0, "only-comm", "add up processes with the same name"),
	ATTAR_FLAG(struct overview, all, 0, "all",
		"show all tables as text, not only those that a finding needs"),
	{0}};

static const struct attar_example examples[] = {
	{"overview", "ten seconds of the system: where the time goes, and suspicious values"},
	{"overview -p 1234 -d 30s", "a process and its children, for half a minute"},
	{"overview -- make", "a command, until it ends"},
	{"overview --only-comm -- make", "the same, with its processes added up by name"},
	{"overview -o slow.html", "an HTML page, with a flame graph of all time"}, {0}};

/* Room for 0.1 s of 50,000 switches a second, read as early as with rings of the default size. */
static const char *const preset[] = {"--freq=99", "--mmap-pages=512", "--watermark=6", NULL};

const struct attar_profiler profiler_overview = {
	.name = "overview",
	.group = "Overview",
	.summary = "where the time goes, values beyond a limit, and the command to run next",
	.uses = ATTAR_USES_SAMPLING | ATTAR_USES_RINGS | ATTAR_USES_STACKS | ATTAR_GIVES_TREE |
		ATTAR_READS_KERNEL_STACKS,
	.needs = "perf events, whole system, tracefs!, kernel names",
	.self_size = sizeof(struct overview),
	.options = options,
	.examples = examples,
	.preset = preset,
	.open = overview_open,
	.lost = on_lost,
	.record = overview_on_record,
	.exited = on_exited,
	.turn = overview_turn,
	.report = overview_report,
	.close = overview_close,
};
