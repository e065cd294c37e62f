/* SPDX-License-Identifier: MIT */
/*
 * attar/sample.h - decode packed words of samples.
 *
 * Branches, data source, transactions and weights: pure functions on values of struct attar_sample.
 * Bits and names are taken from linux/perf_event.h, including ones newer than the build machine's
 * headers. Text is truncated to fit and always NUL-terminated; as with snprintf(3), the return
 * value is the length of the complete text.
 *
 *	for (uint32_t i = 0; i < sample->branch_nr; i++) {
 *		struct attar_branch b = attar_branch_at(sample, i);
 *		printf("%llx -> %llx %s\n", b.from, b.to, attar_branch_type_name(&b));
 *	}
 *	attar_data_src_text(sample->data_src, text, sizeof(text));	// "load, L3 hit, snoop hit"
 */
#ifndef ATTAR_SAMPLE_H
#define ATTAR_SAMPLE_H

#include "attar/record.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One entry of a branch stack (LBR, BRBE). */
struct attar_branch {
	uint64_t from, to;
	uint16_t cycles;              /* since the previous branch; 0: unknown */
	uint8_t type;                 /* PERF_BR_*; PERF_BR_EXTEND_ABI: see new_type */
	uint8_t new_type;             /* PERF_BR_NEW_* */
	uint8_t spec;                 /* PERF_BR_SPEC_* */
	uint8_t priv;                 /* PERF_BR_PRIV_* of the target */
	bool mispredicted, predicted; /* neither: unknown */
	bool in_tx, abort;            /* inside a hardware transaction; its abort */
	uint64_t counters;            /* event counts, packed */
};

/* The entry at index, newest first; index must be less than sample->branch_nr. */
ATTAR_API struct attar_branch attar_branch_at(const struct attar_sample *sample, uint32_t index);

/* "COND", "IND_CALL", "RET", "FAULT_DATA" ...; "" if the type is unknown. Static strings. */
ATTAR_API const char *attar_branch_type_name(const struct attar_branch *branch);
/* "SPEC_WRONG_PATH", "NON_SPEC_CORRECT_PATH", "SPEC_CORRECT_PATH"; "" if unknown. */
ATTAR_API const char *attar_branch_spec_name(const struct attar_branch *branch);

/* Data source of a memory access: the fields of union perf_mem_data_src, PERF_MEM_*. */
struct attar_data_src {
	uint8_t op;
	uint16_t lvl;
	uint8_t snoop, lock, tlb;
	uint8_t lvl_num;
	bool remote;
	uint8_t snoopx, blk, hops;
	uint8_t region; /* 7.0 */
};

/* Decodes sample->data_src. */
ATTAR_API struct attar_data_src attar_data_src_decode(uint64_t data_src);

/*
 * The data source as text. Known parts are separated by ", ": operation, hit or miss level, snoop,
 * TLB, lock, blocking reason, region. "unknown" if there are none. Returns the length of the
 * complete text.
 */
ATTAR_API size_t attar_data_src_text(uint64_t data_src, char *text, size_t size);

/*
 * The parts of PERF_SAMPLE_WEIGHT_STRUCT (union perf_sample_weight). Their meaning depends on the
 * PMU: on x86 var1 is the latency of the access and var2 the latency of the instruction, both in
 * cycles.
 */
struct attar_weight {
	uint32_t var1;
	uint16_t var2, var3;
};

/* Decodes sample->weight of an event with PERF_SAMPLE_WEIGHT_STRUCT. */
static inline struct attar_weight attar_weight_decode(uint64_t weight)
{
	struct attar_weight parts;

	parts.var1 = ATTAR_CAST(uint32_t, weight);
	parts.var2 = ATTAR_CAST(uint16_t, weight >> 32);
	parts.var3 = ATTAR_CAST(uint16_t, weight >> 48);
	return parts;
}

#ifdef __cplusplus
}
#endif

#endif
