/* SPDX-License-Identifier: MIT */
/*
 * Source: perf_copy_attr() and perf_event_open() in kernel/events/core.c, arch_build_bp_info() of
 * each architecture.
 */
#include "perf/attr_check.h"

#include <time.h>
#include <linux/hw_breakpoint.h>

#include "base/base.h"

enum { STACK_USER_MAX = 65528, FLAGS_WORD = 5 };

#define BRANCH_PRIVILEGES                                                                          \
	(PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_HV)
#define BRANCHES_KNOWN ((1ULL << 20) - 1)

/* Returns a description of what is invalid, or NULL. */
typedef const char *rule_fn(const struct perf_event_attr *a);

static const char *period(const struct perf_event_attr *a)
{
	return !a->freq && a->sample_period >> 63 ? "attr.sample_period must be at most 2^63 - 1"
						  : NULL;
}

static const char *sample_bits(const struct perf_event_attr *a)
{
	if (a->sample_type & ~UAPI_SAMPLE_KNOWN)
		return "attr.sample_type has unknown bits set";
	if (a->sample_type & PERF_SAMPLE_WEIGHT && a->sample_type & PERF_SAMPLE_WEIGHT_STRUCT)
		return "PERF_SAMPLE_WEIGHT and PERF_SAMPLE_WEIGHT_STRUCT are mutually exclusive";
	return NULL;
}

static const char *read_bits(const struct perf_event_attr *a)
{
	return a->read_format & ~(uint64_t)(PERF_FORMAT_LOST_ * 2 - 1)
		       ? "attr.read_format has unknown bits set"
		       : NULL;
}

static const char *user_stack(const struct perf_event_attr *a)
{
	if (!(a->sample_type & PERF_SAMPLE_STACK_USER))
		return NULL;
	return a->sample_stack_user % 8 || a->sample_stack_user > STACK_USER_MAX
		       ? "attr.sample_stack_user must be a multiple of 8, at most 65528 bytes"
		       : NULL;
}

static const char *branches(const struct perf_event_attr *a)
{
	if (!(a->sample_type & PERF_SAMPLE_BRANCH_STACK))
		return NULL;
	if (a->branch_sample_type & ~BRANCHES_KNOWN)
		return "attr.branch_sample_type has unknown bits set";
	return a->branch_sample_type & ~(uint64_t)BRANCH_PRIVILEGES
		       ? NULL
		       : "attr.branch_sample_type sets privilege levels but no branch "
			 "types" ATTAR_FIX "add PERF_SAMPLE_BRANCH_ANY for all branches";
}

static const char *signals(const struct perf_event_attr *a)
{
	const union uapi_attr *whole = (const union uapi_attr *)a;

	if (a->sigtrap && !a->remove_on_exec)
		return "attr.sigtrap requires attr.remove_on_exec: the signal would kill the "
		       "program that exec starts";
	if (a->remove_on_exec && a->enable_on_exec)
		return "attr.remove_on_exec and attr.enable_on_exec are mutually exclusive";
	return whole->sig_data_ && !a->sigtrap ? "attr.sig_data requires attr.sigtrap" : NULL;
}

static const char *inheritance(const struct perf_event_attr *a)
{
	if (a->inherit_thread && !a->inherit)
		return "attr.inherit_thread requires attr.inherit, which it restricts to threads";
	if (!a->inherit || !(a->sample_type & PERF_SAMPLE_READ))
		return NULL;
	if (!(a->sample_type & PERF_SAMPLE_TID))
		return "PERF_SAMPLE_READ of an inherited event requires PERF_SAMPLE_TID: values "
		       "are reported per thread";
	return NULL;
}

static const char *clocks(const struct perf_event_attr *a)
{
	static const int known[] = {
		CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_REALTIME, CLOCK_BOOTTIME, CLOCK_TAI};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (a->clockid == known[i])
			return NULL;
	return a->use_clockid ? "attr.clockid must be CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, "
				"CLOCK_REALTIME, CLOCK_BOOTTIME or CLOCK_TAI"
			      : NULL;
}

static const char *aux(const struct perf_event_attr *a)
{
	const uint32_t both = UAPI_AUX_PAUSE | UAPI_AUX_RESUME;
	const union uapi_attr *whole = (const union uapi_attr *)a;

	return (whole->aux_action & both) == both
		       ? "attr.aux_action can either pause or resume the AUX output, not both"
		       : NULL;
}

static const char *breakpoint_kind(const struct perf_event_attr *a)
{
#if defined(__x86_64__)
	if (a->bp_type == HW_BREAKPOINT_R)
		return "attr.bp_type: x86 has no read-only breakpoints;" ATTAR_FIX
		       "use HW_BREAKPOINT_RW";
	if (a->bp_type == HW_BREAKPOINT_X && a->bp_len != sizeof(long))
		return "attr.bp_len of an execution breakpoint must be sizeof(long) on x86-64";
	if (a->bp_len & (a->bp_len - 1) || a->bp_len > 8)
		return "attr.bp_len must be 1, 2, 4 or 8 bytes on x86";
	if (a->bp_type != HW_BREAKPOINT_X && a->bp_addr % a->bp_len)
		return "the address of a breakpoint (attr.bp_addr) must be a multiple of its "
		       "length (attr.bp_len)";
#else
	if (a->bp_type == HW_BREAKPOINT_X && a->bp_len != 4)
		return "attr.bp_len of an execution breakpoint must be 4 bytes on arm64";
	if (a->bp_len > 8)
		return "attr.bp_len must be 1 to 8 bytes on arm64";
#endif
	return NULL;
}

static const char *breakpoints(const struct perf_event_attr *a)
{
	if (a->type != PERF_TYPE_BREAKPOINT)
		return NULL;
	if (!a->bp_type || a->bp_type & ~(uint32_t)(HW_BREAKPOINT_RW | HW_BREAKPOINT_X) ||
		(a->bp_type & HW_BREAKPOINT_X && a->bp_type != HW_BREAKPOINT_X))
		return "attr.bp_type must be HW_BREAKPOINT_R, _W, _RW or _X";
	if (!a->bp_len)
		return "attr.bp_len of a breakpoint must not be 0";
	return breakpoint_kind(a);
}

static rule_fn *const rules[] = {period, sample_bits, read_bits, user_stack, branches, signals,
	inheritance, clocks, aux, breakpoints};

int attr_check(const char *event, const union uapi_attr *attr)
{
	if (attr->words[FLAGS_WORD] & ~UAPI_ATTR_FLAGS_KNOWN)
		return attar_fail(-EINVAL,
			"'%s': attr has flags set that this version of libattar does not support",
			CLIP(event));
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		const char *wrong = rules[i](&attr->attr);

		if (wrong)
			return attar_context(base_fail_text(-EINVAL, wrong), "'%s'", CLIP(event));
	}
	return 0;
}
