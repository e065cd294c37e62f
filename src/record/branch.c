/* SPDX-License-Identifier: MIT */
/*
 * Decode branch stack entries: struct perf_branch_entry of linux/perf_event.h, bits 0 to 32 of its
 * last word.
 */
#include "attar/private/sample.h"
#include "attar/sample.h"
#include "base/base.h"
#include "record/record.h"

struct attar_branch attar_branch_at(const struct attar_sample *sample, uint32_t index)
{
	const record_word *words = (const record_word *)sample->branches + 3ULL * index;
	const record_word *counters = (const record_word *)sample->branch_counters;
	uint64_t info = words[2];

	return (struct attar_branch){
		.from = words[0],
		.to = words[1],
		.mispredicted = info & 1,
		.predicted = info >> 1 & 1,
		.in_tx = info >> 2 & 1,
		.abort = info >> 3 & 1,
		.cycles = (uint16_t)(info >> 4),
		.type = info >> 20 & 0xf,
		.spec = info >> 24 & 0x3,
		.new_type = info >> 26 & 0xf,
		.priv = info >> 30 & 0x7,
		.counters = counters ? counters[index] : 0,
	};
}

const char *attar_branch_type_name(const struct attar_branch *branch)
{
	static const char *const types[] = {"", "COND", "UNCOND", "IND", "CALL", "IND_CALL", "RET",
		"SYSCALL", "SYSRET", "COND_CALL", "COND_RET", "ERET", "IRQ", "SERROR", "NO_TX"};
	static const char *const new_types[] = {"FAULT_ALGN", "FAULT_DATA", "FAULT_INST", "ARCH_1",
		"ARCH_2", "ARCH_3", "ARCH_4", "ARCH_5"};

	if (branch->type < ARRAY_SIZE(types))
		return types[branch->type];
	return branch->new_type < ARRAY_SIZE(new_types) ? new_types[branch->new_type] : "";
}

const char *attar_branch_spec_name(const struct attar_branch *branch)
{
	static const char *const specs[] = {
		"", "SPEC_WRONG_PATH", "NON_SPEC_CORRECT_PATH", "SPEC_CORRECT_PATH"};

	return branch->spec < ARRAY_SIZE(specs) ? specs[branch->spec] : "";
}

enum attar_code_context branch_context(const struct attar_branch *branch)
{
	static const enum attar_code_context contexts[] = {
		ATTAR_CONTEXT_UNKNOWN, ATTAR_CONTEXT_USER, ATTAR_CONTEXT_KERNEL, ATTAR_CONTEXT_HV};

	return branch->priv < ARRAY_SIZE(contexts) ? contexts[branch->priv] : ATTAR_CONTEXT_UNKNOWN;
}

uint64_t branch_counter(const struct attar_branch *branch, unsigned event, unsigned width)
{
	if (width == 0 || width > 64 || event >= 64 / width)
		return 0;
	return branch->counters >> (event * width) & (UINT64_MAX >> (64 - width));
}
