/* SPDX-License-Identifier: MIT */
/* kvm-exit: how long the exits of KVM guests take, by reason. */
#include <errno.h>

#include "attar/builtin.h"
#include "kvm/kvm_exits.h"

enum { IN_KERNEL = KVM_SUMS, SUMS }; /* exits from code of the guest's kernel */

struct kvm_exit_state {
	struct kvm_exits exits; /* first */
	uint64_t than;
	bool perins;
};

static int add_span(struct attar_run *run, const struct kvm_exits *k, const struct attar_event *ev,
	const struct kvm_exit *exit)
{
	char name[KVM_NAME_BYTES];
	const struct attar_span span = {.begin = exit->time,
		.end = ev->time,
		.thread = ev->thread,
		.cpu = (int32_t)ev->cpu,
		.category = "pair",
		.name = name};

	kvm_exit_name(k, exit->reason, name);
	return attar_run_add_span(run, &span);
}

static bool is_slow(const struct kvm_exit_state *s, const struct kvm_exit *exit, uint64_t latency)
{
	return latency > s->than && !kvm_exit_is_idle(exit);
}

static int on_end(struct attar_run *run, void *self, const struct attar_event *ev,
	const struct kvm_exit *exit, uint64_t latency)
{
	struct kvm_exit_state *s = self;
	struct attar_section *lines;
	struct attar_keyrow *row;

	if (run_emits(run))
		return !s->than || is_slow(s, exit, latency);
	row = kvm_exits_add(&s->exits, ev->thread, exit, latency);
	if (!row)
		return -ENOMEM;
	row->interval.sums[IN_KERNEL] += exit->address >> 63;
	if (attar_run_wants(run, ATTAR_WANT_SPANS) && add_span(run, &s->exits, ev, exit) < 0)
		return -ENOMEM;
	if (!s->than || !is_slow(s, exit, latency) || !attar_run_wants(run, ATTAR_WANT_LINES))
		return 0;
	lines = attar_run_lines(run, "slow exits", kvm_exit_line_columns);
	if (!lines)
		return -ENOMEM;
	kvm_exit_line_cells(run, &s->exits, lines, ev, exit, latency);
	return 0;
}

static void columns(struct attar_section *table)
{
	attar_section_column(table, "%gsys", ATTAR_UNIT_PERCENT);
}

static void cells(struct attar_section *table, const struct attar_keysums *sums)
{
	attar_cell_double(
		table, 100 * (double)sums->sums[IN_KERNEL] / (double)sums->hists[0].count);
}

static int kvm_exit_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct kvm_exit_state *s = self;

	(void)run;
	return kvm_exits_report(run, &s->exits, report, scope, columns, cells);
}

static int kvm_exit_open(struct attar_run *run, void *self)
{
	struct kvm_exit_state *s = self;

	s->exits.by = s->perins ? KVM_BY_THREAD : KVM_BY_REASON;
	s->exits.ends = on_end;
	return kvm_exits_open(run, &s->exits, SUMS);
}

static void kvm_exit_close(void *self)
{
	struct kvm_exit_state *s = self;

	kvm_exits_close(&s->exits);
}

static const struct attar_option options[] = {
	ATTAR_FLAG(struct kvm_exit_state, perins, 0, "perins", "a row for each virtual CPU"),
	ATTAR_TIME(struct kvm_exit_state, than, 0, "than", "TIME",
		"print exits that take longer, except HLT: nanoseconds, or with a unit: 1ms",
		ATTAR_BARE(1)),
	ATTAR_TEXT(struct kvm_exit_state, exits.heatmap_path, 0, "heatmap", "FILE",
		"write time and latency of each exit to FILE-kvm_exit.lat, in ns",
		ATTAR_COMPLETE("file")),
	ATTAR_TEXT(struct kvm_exit_state, exits.filter, 0, "filter", "FILTER",
		"only exits that pass this filter on the fields of kvm:kvm_exit"),
	{0}};

static const struct attar_example examples[] = {
	{"kvm-exit -p 1234 -i 1s", "the exits of a virtual machine, each second"},
	{"kvm-exit -p 1234 --than 1ms --perins",
		"exits by virtual CPU, and each exit longer than 1 ms"},
	{"kvm-exit --filter 'exit_reason==48' -d 10s", "EPT violations of all machines (Intel)"},
	{0}};

const struct attar_profiler profiler_kvm_exit = {
	.name = "kvm-exit",
	.group = "Virtual machines",
	.summary = "duration of KVM guest exits, by reason",
	.uses = ATTAR_USES_RINGS | ATTAR_REDRAWS | ATTAR_GIVES_SPANS,
	.needs = "perf events, whole system, tracefs!",
	.self_size = sizeof(struct kvm_exit_state),
	.options = options,
	.examples = examples,
	.open = kvm_exit_open,
	.lost = kvm_exits_lost,
	.exited = kvm_exits_exited,
	.ended = kvm_exits_ended,
	.report = kvm_exit_report,
	.close = kvm_exit_close,
	.emits = kvm_exits_emits,
};
