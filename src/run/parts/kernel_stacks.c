/* SPDX-License-Identifier: MIT */
#include "run/parts/kernel_stacks.h"

#include "attar/private/report.h"
#include "bpf/stacks.h"
#include "perf/kernel.h"
#include "source/modes.h"
#include "run/parts.h"
#include "run/parts/sample_filter.h"
#include "run/record/recorder.h"
#include "run/rings.h"
#include "run/run.h"
#include "run/events/sources.h"

enum {
	MEMORY_DEFAULT = 128 << 20,
	NEW_WAIT_MS = 20, /* at most, while stacks are copied that the program may soon walk */
};

#define STEP (UINT64_C(1) << PART_KERNEL_STACKS)

struct kernel_stacks {
	struct stacks *stacks; /* NULL: there is no program */
	bool is_used;          /* by a source */
	int wait_ms;           /* of the rings otherwise */
};

PART_STATE(kernel_stacks_of, struct kernel_stacks, PART_KERNEL_STACKS)

int kernel_stacks_open(struct attar_run *run)
{
	struct stacks_opts opts = {.own_pid = run->select.keeps_own ? 0 : getpid(),
		.memory = run->opts.unwind_memory ?: MEMORY_DEFAULT};

	/* before, a sample has no time yet when the program runs */
	if (kernel_get()->version < KERNEL_VERSION_OF(6, 3))
		return attar_fail(-EOPNOTSUPP, "walking stacks in the kernel needs Linux 6.3");
	return stacks_new(&opts, &kernel_stacks_of(run)->stacks);
}

/*
 * The program of a tracepoint would run for its other users, too. Recordings and receivers of
 * --push have the samples as the kernel wrote them, and rings that overwrite their oldest samples
 * are read late. max-stack= is for call chains of the kernel.
 */
bool kernel_stacks_suit(const struct attar_run *run, const struct source *s)
{
	return s->attr.type != PERF_TYPE_TRACEPOINT && !modes_are_of_code(source_spec(s)) &&
	       !s->attr.sample_max_stack && !s->use->timer && !s->use->pushes &&
	       !run_records(run) && !run->opts.push && !rings_of(run)->overwritten &&
	       !sample_filter_has_program(run, s);
}

bool kernel_stacks_can_take(const struct attar_run *run, const struct source *s)
{
	return kernel_stacks_of(run)->stacks && kernel_stacks_suit(run, s);
}

void kernel_stacks_take(
	const struct attar_run *run, const struct source *s, struct perf_event_attr *attr)
{
	kernel_stacks_of(run)->is_used = true;
	s->use->steps |= STEP;
	attr->exclude_callchain_user = true;
}

int kernel_stacks_attach(struct attar_run *run, const struct source *s)
{
	if (!(s->use->steps & STEP))
		return 0;
	return attar_counter_attach_bpf(s->counter, stacks_program(kernel_stacks_of(run)->stacks));
}

struct kernel_stacks_callers kernel_stacks_get_callers(const struct attar_run *run)
{
	const struct kernel_stacks *kernel = kernel_stacks_of(run);
	struct stacks_stats stats = {0};

	if (kernel->stacks)
		stacks_get_stats(kernel->stacks, &stats);
	return (struct kernel_stacks_callers){
		.by_cfi = stats.callers - stats.fp_callers, .by_fp = stats.fp_callers};
}

static int kernel_stacks_opened(struct attar_run *run, void *self)
{
	struct kernel_stacks *kernel = self;

	kernel->wait_ms = rings_of(run)->wait_ms;
	return 0;
}

static int kernel_stacks_sample(struct attar_run *run, void *self, struct attar_event *event)
{
	struct kernel_stacks *kernel = self;

	stacks_add(kernel->stacks, event);
	return 0;
}

static int kernel_stacks_record(struct attar_run *run, void *self, const struct attar_event *event)
{
	const struct kernel_stacks *kernel = self;
	const struct attar_record *record = event->record;

	if (kernel->stacks &&
		(record->type == PERF_RECORD_MMAP || record->type == PERF_RECORD_MMAP2))
		stacks_forget(kernel->stacks, (pid_t)record->mmap.pid);
	return 0;
}

static int kernel_stacks_drained(struct attar_run *run, void *self)
{
	struct kernel_stacks *kernel = self;
	struct run_rings *rings = rings_of(run);

	if (!kernel->stacks || !run->stream)
		return 0;
	if (stacks_update(kernel->stacks, run->stream))
		rings->wait_ms = MIN(kernel->wait_ms, NEW_WAIT_MS);
	else
		rings->wait_ms = kernel->wait_ms;
	return 0;
}

static void kernel_stacks_remark(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	const struct kernel_stacks *kernel = self;
	struct stacks_stats stats;

	if (!kernel->stacks || !kernel->is_used)
		return;
	stacks_get_stats(kernel->stacks, &stats);
	attar_report_remark(report,
		"user stacks by call frame information: %llu walked in the kernel, %llu copied and "
		"unwound by attar, %llu lost",
		(unsigned long long)(stats.walked + stats.unended + stats.limited),
		(unsigned long long)stats.copied, (unsigned long long)stats.lost);
	if (stats.unended)
		attar_report_remark(report,
			"user stacks walked in the kernel that end at code without call frame "
			"information or frame pointer: %llu",
			(unsigned long long)stats.unended);
	if (stats.limited)
		attar_report_remark(report,
			"user stacks cut because they have more than 512 frames: %llu",
			(unsigned long long)stats.limited);
	if (stats.left)
		report_detail(report,
			"call frame information of %llu binaries made room for other binaries in "
			"the memory of --unwind-memory",
			(unsigned long long)stats.left);
	if (stats.refused)
		attar_report_remark(report,
			"call frame information of %llu binaries exceeds the %llu KiB of "
			"--unwind-memory: stacks that go through them are copied",
			(unsigned long long)stats.refused,
			(unsigned long long)(run->opts.unwind_memory ?: MEMORY_DEFAULT) >> 10);
}

static void kernel_stacks_free(struct attar_run *run, void *self)
{
	struct kernel_stacks *kernel = self;

	kernel->stacks = stacks_free(kernel->stacks);
}

const struct run_part part_kernel_stacks = {.size = sizeof(struct kernel_stacks),
	.opened = kernel_stacks_opened,
	.sample = kernel_stacks_sample,
	.record = kernel_stacks_record,
	.drained = kernel_stacks_drained,
	.remark = kernel_stacks_remark,
	.free = kernel_stacks_free};
