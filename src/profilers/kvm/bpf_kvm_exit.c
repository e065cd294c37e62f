/* SPDX-License-Identifier: MIT */
/*
 * bpf:kvm_exit: the time of long exits of KVM guests, split into waiting, waiting for a CPU, and
 * the rest. From scheduling events, so that it needs no BPF.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "attar/builtin.h"
#include "kvm/kvm_exits.h"
#include "lib/prev_state.h"

enum { WAIT = KVM_SUMS, RUN_DELAY, SWITCHES, SUMS };
enum { VCPUS_MAX = 1 << 14 };

/* What the thread of a virtual CPU has done since the exit. */
struct vcpu {
	uint64_t wait, run_delay, switches;
	uint64_t left;  /* when it left the CPU, ns; 0: it runs */
	uint64_t ready; /* when it could have run again; 0: it waits */
	bool is_out;    /* of the guest */
};

struct bpf_kvm_exit {
	struct kvm_exits exits; /* first */
	uint64_t than, threshold;
	bool perins, detail;
	const char *output2;

	struct attar_keytable *vcpus;   /* struct vcpu by tid */
	struct attar_keytable *longest; /* of each process */
	FILE *file;
};

/* ---- events ---- */

static struct vcpu *bpf_kvm_exit_find(const struct bpf_kvm_exit *b, uint64_t tid)
{
	const struct attar_keyrow *row = attar_keytable_find(b->vcpus, &tid, sizeof(tid));
	struct vcpu *vcpu = row ? row->value : NULL;

	return vcpu && vcpu->is_out ? vcpu : NULL;
}

static int on_begin(void *self, const struct attar_event *ev)
{
	struct bpf_kvm_exit *b = self;
	struct attar_keyrow *row = attar_keytable_at_u64(b->vcpus, (uint64_t)ev->thread->tid);

	if (!row)
		return -ENOMEM;
	*(struct vcpu *)row->value = (struct vcpu){.is_out = true};
	return 0;
}

enum { PREV_PID, PREV_STATE, NEXT_PID };

static int on_switch(struct attar_run *run, void *self, const struct attar_event *ev)
{
	const struct bpf_kvm_exit *b = self;
	struct vcpu *prev = bpf_kvm_exit_find(b, attar_arg_u64(ev, PREV_PID)),
		    *next = bpf_kvm_exit_find(b, attar_arg_u64(ev, NEXT_PID));

	if (!prev && !next)
		attar_run_pass_over(run);
	if (prev) {
		prev->left = ev->time;
		prev->ready = prev_is_runnable(attar_arg_u64(ev, PREV_STATE)) ? ev->time : 0;
		prev->switches++;
	}
	if (next && next->left) {
		if (next->ready)
			next->run_delay += ev->time - next->ready;
		else
			next->wait += ev->time - next->left;
		next->left = 0;
	}
	return 0;
}

static int on_wakeup(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct vcpu *vcpu = bpf_kvm_exit_find(self, attar_arg_u64(ev, 0));

	if (!vcpu)
		attar_run_pass_over(run);
	if (vcpu && vcpu->left && !vcpu->ready) {
		vcpu->wait += ev->time - vcpu->left;
		vcpu->ready = ev->time;
	}
	return 0;
}

static void line_columns(struct attar_section *lines)
{
	kvm_exit_line_columns(lines);
	attar_section_column(lines, "run_delay", ATTAR_UNIT_NS);
	attar_section_column(lines, "wait", ATTAR_UNIT_NS);
	attar_section_column(lines, "switches", ATTAR_UNIT_COUNT);
}

static int add_line(struct attar_run *run, struct bpf_kvm_exit *b, const struct attar_event *ev,
	const struct kvm_exit *exit, uint64_t latency, const struct vcpu *vcpu)
{
	struct attar_section *lines = attar_run_lines(run, "long exits", line_columns);

	if (!lines)
		return -ENOMEM;
	kvm_exit_line_cells(run, &b->exits, lines, ev, exit, latency);
	attar_cell_u64(lines, vcpu->run_delay);
	attar_cell_u64(lines, vcpu->wait);
	attar_cell_u64(lines, vcpu->switches);
	return 0;
}

/* For the exit of an idle guest, only the delay until it ran again counts. */
static int on_end(struct attar_run *run, void *self, const struct attar_event *ev,
	const struct kvm_exit *exit, uint64_t latency)
{
	struct bpf_kvm_exit *b = self;
	struct vcpu *vcpu = bpf_kvm_exit_find(b, (uint64_t)ev->thread->tid);
	struct attar_keyrow *row, *process;
	uint64_t delay;

	if (run_emits(run))
		return latency >= b->threshold && !kvm_exit_is_idle(exit);
	if (!vcpu)
		return 0;
	vcpu->is_out = false;
	if (latency < b->threshold)
		return 0;
	delay = kvm_exit_is_idle(exit) ? vcpu->run_delay : latency;
	row = kvm_exits_add(&b->exits, ev->thread, exit, latency);
	process = attar_keytable_at_u64(b->longest,
		(uint64_t)(ev->thread->process ? ev->thread->process->pid : ev->thread->tid));
	if (!row || !process || attar_hist_add(&process->interval.hists[0], delay) < 0)
		return -ENOMEM;
	row->interval.sums[WAIT] += vcpu->wait;
	row->interval.sums[RUN_DELAY] += vcpu->run_delay;
	row->interval.sums[SWITCHES] += vcpu->switches;
	if (!b->than || delay <= b->than || !attar_run_wants(run, ATTAR_WANT_LINES))
		return 0;
	return add_line(run, b, ev, exit, latency, vcpu);
}

/* ---- reporting ---- */

static void columns(struct attar_section *table)
{
	attar_section_column(table, "total wait", ATTAR_UNIT_NS);
	attar_section_column(table, "run_delay", ATTAR_UNIT_NS);
	attar_section_column(table, "switches", ATTAR_UNIT_COUNT);
}

static void cells(struct attar_section *table, const struct attar_keysums *sums)
{
	for (int i = WAIT; i < SUMS; i++)
		attar_cell_u64(table, sums->sums[i]);
}

/* --output2: PID NS, after a line with the time in seconds. */
static int write_longest(struct attar_run *run, struct bpf_kvm_exit *b)
{
	const struct attar_keyrow *row = NULL;

	fprintf(b->file, "# %.6f\n", (double)attar_run_realtime(run, attar_run_until(run)) / 1e9);
	while ((row = attar_keytable_next(b->longest, row)))
		if (row->interval.hists[0].count)
			fprintf(b->file, "%llu %llu\n", (unsigned long long)row->number,
				(unsigned long long)row->interval.hists[0].max);
	if (fflush(b->file) == EOF || ferror(b->file))
		return attar_fail(
			-errno, "--output2: cannot write '%s': %s", b->output2, strerror(errno));
	return 0;
}

static int bpf_kvm_exit_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct bpf_kvm_exit *b = self;
	int r = attar_keytable_end_interval(b->longest);

	if (r == 0)
		r = kvm_exits_report(run, &b->exits, report, scope, columns, cells);
	return r == 0 && b->file && (scope == ATTAR_SCOPE_INTERVAL || !run_has_intervals(run))
		       ? write_longest(run, b)
		       : r;
}

/* ---- life ---- */

static void bpf_kvm_exit_defaults(void *self)
{
	struct bpf_kvm_exit *b = self;

	b->threshold = 1000000;
}

static int bpf_kvm_exit_open(struct attar_run *run, void *self)
{
	static const struct attar_input sched[] = {
		{.event = "sched:sched_switch",
			.fields = {"prev_pid", "prev_state", "next_pid"},
			.on_event = on_switch},
		{.event = "sched:sched_wakeup", .fields = {"pid"}, .on_event = on_wakeup}, {0}};
	const struct attar_keytable_opts vcpus = {
		.size = sizeof(vcpus), .value_size = sizeof(struct vcpu), .keys_max = VCPUS_MAX};
	const struct attar_keytable_opts longest = {
		.size = sizeof(longest), .hists = 1, .keys_max = VCPUS_MAX};
	struct bpf_kvm_exit *b = self;
	bool emits = run_emits(run); /* exits, without what happens in them */
	int r = emits ? 0 : attar_run_select_tasks(run);

	if (r == 0 && b->detail && !b->perins)
		return attar_fail(-EINVAL, "--detail requires --perins, because it splits "
					   "processes into threads" ATTAR_FIX "add --perins");
	b->exits.by = !b->perins ? KVM_BY_REASON : b->detail ? KVM_BY_THREAD : KVM_BY_PROCESS;
	b->exits.begins = emits ? NULL : on_begin;
	b->exits.ends = on_end;
	b->exits.selects = !emits;
	if (r == 0)
		r = kvm_exits_open(run, &b->exits, SUMS);
	if (emits)
		return r;
	if (r == 0)
		r = attar_run_inputs(run, sched);
	if (r == 0)
		r = attar_keytable_new(&vcpus, &b->vcpus);
	if (r == 0)
		r = attar_keytable_new(&longest, &b->longest);
	if (r < 0 || !b->output2)
		return r;
	return run_append_file(run, "--output2", b->output2, &b->file);
}

static void bpf_kvm_exit_close(void *self)
{
	struct bpf_kvm_exit *b = self;

	kvm_exits_close(&b->exits);
	attar_keytable_free(b->vcpus);
	attar_keytable_free(b->longest);
	if (b->file)
		fclose(b->file);
}

#define T struct bpf_kvm_exit

static const struct attar_option options[] = {
	ATTAR_TIME(T, threshold, 0, "threshold", "TIME",
		"leave out exits that are shorter: nanoseconds, or with a unit (default 1ms)",
		ATTAR_BARE(1)),
	ATTAR_TIME(T, than, 0, "than", "TIME",
		"print exits that take longer, exits by HLT if their run delay does: nanoseconds, "
		"or with a unit",
		ATTAR_BARE(1)),
	ATTAR_FLAG(T, perins, 0, "perins", "show each process separately"),
	ATTAR_FLAG(T, detail, 0, "detail", "with --perins: show each virtual CPU separately"),
	ATTAR_TEXT(T, output2, 0, "output2", "FILE",
		"append the longest exit of each process to this file with each report",
		ATTAR_COMPLETE("file")),
	{0}};

static const struct attar_example examples[] = {
	{"bpf:kvm_exit -p 1234 -i 1s --than 50ms",
		"a virtual machine, and exits longer than 50 ms"},
	{"bpf:kvm_exit --perins --detail --threshold 10ms -d 10s", "long exits by virtual CPU"},
	{0}};

const struct attar_profiler profiler_bpf_kvm_exit = {
	.name = "bpf:kvm_exit",
	.group = "Virtual machines",
	.summary = "long exits of KVM guests, split into run delay, wait and the rest",
	.uses = ATTAR_USES_RINGS | ATTAR_REDRAWS,
	.needs = "perf events, whole system, tracefs!",
	.self_size = sizeof(struct bpf_kvm_exit),
	.options = options,
	.examples = examples,
	.defaults = bpf_kvm_exit_defaults,
	.open = bpf_kvm_exit_open,
	.lost = kvm_exits_lost,
	.exited = kvm_exits_exited,
	.ended = kvm_exits_ended,
	.report = bpf_kvm_exit_report,
	.close = bpf_kvm_exit_close,
	.emits = kvm_exits_emits,
};
