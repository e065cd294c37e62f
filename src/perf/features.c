/* SPDX-License-Identifier: MIT */
#include "perf/features.h"

#include "perf/kernel.h"

/* Words of struct perf_event_attr. */
enum {
	CONFIG = 1,
	PERIOD = 2,
	SAMPLE_TYPE = 3,
	READ_FORMAT = 4,
	FLAGS = 5,
	CONFIG2 = 8,
	BRANCHES = 9,
	REGS_USER = 10,
	STACK_AND_CLOCK = 11,
	REGS_INTR = 12,
	AUX_AND_MAX_STACK = 13,
	AUX_SAMPLE = 14,
	SIG_DATA = 15,
	CONFIG3 = 16,
	CONFIG4 = 17,
};

#define ALL    UINT64_MAX
#define LOW    0xffffffffULL
#define HIGH   (LOW << 32)
#define BIT(n) (1ULL << (n)) /* in the flags; bit 0 is `disabled` */
#define SAMPLE(x)                                                                                  \
	{                                                                                          \
		SAMPLE_TYPE, PERF_SAMPLE_##x                                                       \
	}
#define BRANCH(x)                                                                                  \
	{                                                                                          \
		BRANCHES, PERF_SAMPLE_BRANCH_##x                                                   \
	}
#define SINCE(a, b) KERNEL_VERSION_OF(a, b)

static const struct feature all[] = {
	{"attr.config4", "fifth config word", SINCE(6, 19), FEATURE_KEEP, {{CONFIG4, ALL}}},
	{"attr.defer_callchain", "user call chains in separate records", SINCE(6, 19),
		FEATURE_QUIET, {{FLAGS, BIT(38)}}},
	{"attr.defer_output", "records of deferred call chains", SINCE(6, 19), FEATURE_QUIET,
		{{FLAGS, BIT(39)}}},
	{"attr.aux_action", "AUX output paused or resumed by events", SINCE(6, 13), FEATURE_KEEP,
		{{AUX_SAMPLE, HIGH}}},
	{"PERF_SAMPLE_BRANCH_COUNTERS", "counters of each branch", SINCE(6, 8), FEATURE_KEEP,
		{BRANCH(COUNTERS_)}},
	{"attr.config3", "fourth config word", SINCE(6, 3), FEATURE_KEEP, {{CONFIG3, ALL}}},
	{"PERF_SAMPLE_BRANCH_PRIV_SAVE", "privilege level of each branch", SINCE(6, 1),
		FEATURE_KEEP, {BRANCH(PRIV_SAVE_)}},
	{"PERF_FORMAT_LOST", "counts of lost records", SINCE(6, 0), FEATURE_ALWAYS,
		{{READ_FORMAT, PERF_FORMAT_LOST_}}},
	{"attr.sigtrap", "a signal on each sample", SINCE(5, 13), FEATURE_KEEP,
		{{FLAGS, BIT(37)}, {SIG_DATA, ALL}}},
	{"attr.remove_on_exec", "removal at exec", SINCE(5, 13), FEATURE_KEEP, {{FLAGS, BIT(36)}}},
	{"attr.inherit_thread", "inheritance by threads only", SINCE(5, 13), FEATURE_KEEP,
		{{FLAGS, BIT(35)}}},
	{"attr.build_id", "build IDs of mappings", SINCE(5, 12), FEATURE_QUIET, {{FLAGS, BIT(34)}}},
	{"PERF_SAMPLE_WEIGHT_STRUCT", "weights in three fields", SINCE(5, 12), FEATURE_KEEP,
		{SAMPLE(WEIGHT_STRUCT)}},
	{"PERF_SAMPLE_CODE_PAGE_SIZE", "code page sizes", SINCE(5, 11), FEATURE_KEEP,
		{SAMPLE(CODE_PAGE_SIZE)}},
	{"PERF_SAMPLE_DATA_PAGE_SIZE", "data page sizes", SINCE(5, 11), FEATURE_KEEP,
		{SAMPLE(DATA_PAGE_SIZE)}},
	{"attr.text_poke", "records of changed kernel code", SINCE(5, 9), FEATURE_QUIET,
		{{FLAGS, BIT(33)}}},
	{"attr.cgroup", "records of control groups", SINCE(5, 7), FEATURE_QUIET,
		{{FLAGS, BIT(32)}}},
	{"PERF_SAMPLE_CGROUP", "the control group of samples", SINCE(5, 7), FEATURE_KEEP,
		{SAMPLE(CGROUP)}},
	{"PERF_SAMPLE_BRANCH_HW_INDEX", "start index of the branch stack", SINCE(5, 7),
		FEATURE_KEEP, {BRANCH(HW_INDEX)}},
	{"PERF_SAMPLE_AUX", "AUX data in samples", SINCE(5, 5), FEATURE_KEEP,
		{SAMPLE(AUX), {AUX_SAMPLE, LOW}}},
	{"attr.aux_output", "output to the leader's AUX area", SINCE(5, 4), FEATURE_KEEP,
		{{FLAGS, BIT(31)}}},
	{"attr.bpf_event", "records of BPF programs", SINCE(5, 1), FEATURE_QUIET,
		{{FLAGS, BIT(30)}}},
	{"attr.ksymbol", "records of new kernel symbols", SINCE(5, 1), FEATURE_QUIET,
		{{FLAGS, BIT(29)}}},
	{"PERF_SAMPLE_PHYS_ADDR", "physical addresses", SINCE(4, 14), FEATURE_KEEP,
		{SAMPLE(PHYS_ADDR)}},
	{"PERF_SAMPLE_BRANCH_TYPE_SAVE", "the type of each branch", SINCE(4, 14), FEATURE_KEEP,
		{BRANCH(TYPE_SAVE)}},
	{"attr.namespaces", "records of namespaces", SINCE(4, 12), FEATURE_QUIET,
		{{FLAGS, BIT(28)}}},
	{"attr.sample_max_stack", "a stack depth limit", SINCE(4, 8), FEATURE_QUIET,
		{{AUX_AND_MAX_STACK, 0xffffULL << 32}}},
	{"attr.write_backward", "backward-written rings", SINCE(4, 7), FEATURE_KEEP,
		{{FLAGS, BIT(27)}}},
	{"PERF_SAMPLE_BRANCH_NO_CYCLES", "branch records without cycle counts", SINCE(4, 5),
		FEATURE_KEEP, {BRANCH(NO_CYCLES)}},
	{"PERF_SAMPLE_BRANCH_NO_FLAGS", "branch records without flags", SINCE(4, 5), FEATURE_KEEP,
		{BRANCH(NO_FLAGS)}},
	{"PERF_SAMPLE_BRANCH_CALL", "branch filter for direct calls", SINCE(4, 4), FEATURE_KEEP,
		{BRANCH(CALL)}},
	{"attr.context_switch", "records of context switches", SINCE(4, 3), FEATURE_KEEP,
		{{FLAGS, BIT(26)}}},
	{"PERF_SAMPLE_BRANCH_IND_JUMP", "branch filter for indirect jumps", SINCE(4, 2),
		FEATURE_KEEP, {BRANCH(IND_JUMP)}},
	{"attr.use_clockid", "a selectable clock", SINCE(4, 1), FEATURE_QUIET,
		{{FLAGS, BIT(25)}, {STACK_AND_CLOCK, HIGH}}},
	{"attr.aux_watermark", "AUX area watermark", SINCE(4, 1), FEATURE_KEEP,
		{{AUX_AND_MAX_STACK, LOW}}},
	{"PERF_SAMPLE_BRANCH_CALL_STACK", "call stacks from branch records", SINCE(4, 1),
		FEATURE_KEEP, {BRANCH(CALL_STACK)}},
	{"PERF_SAMPLE_REGS_INTR", "registers at the interrupt", SINCE(3, 19), FEATURE_KEEP,
		{SAMPLE(REGS_INTR), {REGS_INTR, ALL}}},
	{"attr.comm_exec", "the exec flag of COMM records", SINCE(3, 16), FEATURE_QUIET,
		{{FLAGS, BIT(24)}}},
	{"attr.mmap2", "inode numbers of mappings", SINCE(3, 16), FEATURE_QUIET,
		{{FLAGS, BIT(23)}}},
	{"PERF_SAMPLE_TRANSACTION", "transactions", SINCE(3, 13), FEATURE_KEEP,
		{SAMPLE(TRANSACTION)}},
	{"PERF_SAMPLE_IDENTIFIER", "event ids at a fixed offset in records", SINCE(3, 12),
		FEATURE_KEEP, {SAMPLE(IDENTIFIER)}},
	{"PERF_SAMPLE_DATA_SRC", "data sources", SINCE(3, 10), FEATURE_KEEP, {SAMPLE(DATA_SRC)}},
	{"PERF_SAMPLE_WEIGHT", "weights", SINCE(3, 10), FEATURE_KEEP, {SAMPLE(WEIGHT)}},
	{"PERF_SAMPLE_STACK_USER", "user stack copies", SINCE(3, 7), FEATURE_KEEP,
		{SAMPLE(STACK_USER), {STACK_AND_CLOCK, LOW}}},
	{"PERF_SAMPLE_REGS_USER", "registers of user code", SINCE(3, 7), FEATURE_KEEP,
		{SAMPLE(REGS_USER), {REGS_USER, ALL}}},
	{"attr.exclude_callchain_user", "call chains without user code", SINCE(3, 7), FEATURE_KEEP,
		{{FLAGS, BIT(22)}}},
	{"attr.exclude_callchain_kernel", "call chains without kernel code", SINCE(3, 7),
		FEATURE_KEEP, {{FLAGS, BIT(21)}}},
	{"PERF_SAMPLE_BRANCH_STACK", "branch stacks", SINCE(3, 4), FEATURE_KEEP,
		{SAMPLE(BRANCH_STACK), {BRANCHES, ALL}}},
	{"attr.exclude_guest, attr.exclude_host", "excluding guests or the host", SINCE(3, 2),
		FEATURE_QUIET, {{FLAGS, BIT(19) | BIT(20)}}},
	{"attr.precise_ip", "addresses without skid", SINCE(2, 6), FEATURE_KEEP,
		{{FLAGS, BIT(15) | BIT(16)}}},
	{"attr.config2", "third config word", SINCE(2, 6), FEATURE_KEEP, {{CONFIG2, ALL}}},
	{"attr.exclude_idle", "excluding the idle task", SINCE(2, 6), FEATURE_KEEP,
		{{FLAGS, BIT(7)}}},
	{"attr.exclude_user, attr.exclude_kernel, attr.exclude_hv", "excluding privilege levels",
		SINCE(2, 6), FEATURE_KEEP, {{FLAGS, BIT(4) | BIT(5) | BIT(6)}}},
	{"attr.exclusive", "exclusive use of the PMU", SINCE(2, 6), FEATURE_KEEP,
		{{FLAGS, BIT(3)}}},
	{"attr.pinned", "always on a hardware counter", SINCE(2, 6), FEATURE_KEEP,
		{{FLAGS, BIT(2)}}},
	{"attr.inherit", "inheritance by children", SINCE(2, 6), FEATURE_KEEP, {{FLAGS, BIT(1)}}},
	{"attr.sample_period", "sampling", SINCE(2, 6), FEATURE_KEEP,
		{{PERIOD, ALL}, {FLAGS, BIT(10)}}},
};

_Static_assert(PERF_SAMPLE_BRANCH_COUNTERS_ == 1U << 19, "BRANCH(COUNTERS_)");

const struct feature *features_all(size_t *ret_n)
{
	*ret_n = ARRAY_SIZE(all);
	return all;
}

/* The attributes are words of 8 bytes throughout, and both architectures are little-endian. */
static uint64_t *word_of(const union uapi_attr *attr, unsigned word)
{
	return (uint64_t *)attr->words + word;
}

bool feature_is_in(const struct feature *f, const union uapi_attr *attr)
{
	return *word_of(attr, f->bits[0].word) & f->bits[0].mask;
}

void feature_drop(const struct feature *f, union uapi_attr *attr)
{
	for (size_t i = 0; i < ARRAY_SIZE(f->bits); i++)
		*word_of(attr, f->bits[i].word) &= ~f->bits[i].mask;
}

void feature_put(const struct feature *f, const union uapi_attr *from, union uapi_attr *attr)
{
	for (size_t i = 0; i < ARRAY_SIZE(f->bits); i++)
		*word_of(attr, f->bits[i].word) |=
			*word_of(from, f->bits[i].word) & f->bits[i].mask;
}

size_t feature_past(const struct feature *f, const union uapi_attr *attr, size_t size)
{
	for (size_t i = 0; i < ARRAY_SIZE(f->bits); i++) {
		const struct feature_bits *b = &f->bits[i];
		size_t at = b->word * sizeof(uint64_t) + (b->mask & LOW ? 0 : 4);

		if (at >= size && *word_of(attr, b->word) & b->mask)
			return at;
	}
	return SIZE_MAX;
}
