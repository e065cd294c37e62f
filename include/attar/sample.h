/* SPDX-License-Identifier: MIT */
/*
 * attar/sample.h - what the packed words inside a sample mean.
 *
 * Branches, the source of data, transactions, weights: pure functions over values of struct
 * attar_sample. Bits and names are the kernel's (linux/perf_event.h), also those that are newer
 * than the headers of the machine that builds. A text is cut to fit and always terminated; its
 * whole length is what the function gives, as snprintf(3) does.
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
	uint16_t cycles;              /* since the branch before it; 0: not told */
	uint8_t type;                 /* PERF_BR_*; PERF_BR_EXTEND_ABI: see new_type */
	uint8_t new_type;             /* PERF_BR_NEW_* */
	uint8_t spec;                 /* PERF_BR_SPEC_* */
	uint8_t priv;                 /* PERF_BR_PRIV_* of where it went */
	bool mispredicted, predicted; /* neither: not told */
	bool in_tx, abort;            /* inside a hardware transaction; its abort */
	uint64_t counters;            /* packed occurrences of events, see attar_branch_counter() */
};

/* Entry number index, newest first; it must be below sample->branch_nr. */
ATTAR_API struct attar_branch attar_branch_at(const struct attar_sample *sample, uint32_t index);

/* "COND", "IND_CALL", "RET", "FAULT_DATA" ...; "" when the type was not told. Static strings. */
ATTAR_API const char *attar_branch_type_name(const struct attar_branch *branch);
/* "SPEC_WRONG_PATH", "NON_SPEC_CORRECT_PATH", "SPEC_CORRECT_PATH"; "" when not told. */
ATTAR_API const char *attar_branch_spec_name(const struct attar_branch *branch);
/* Of whose code the target is. */
ATTAR_API enum attar_code_context attar_branch_context(const struct attar_branch *branch);

/*
 * How often event number `event` of the group occurred between this branch and the one before: one
 * of the counters of `width` bits (1 to 64, the PMU's caps/branch_counter_width in sysfs) that
 * share the word. A counter with all bits set may stand for more. 0 beyond the word.
 */
ATTAR_API uint64_t attar_branch_counter(
	const struct attar_branch *branch, unsigned event, unsigned width);

/*
 * Where the data of a memory access came from: the fields of union perf_mem_data_src, PERF_MEM_*.
 */
struct attar_data_src {
	uint8_t op;
	uint16_t lvl;
	uint8_t snoop, lock, tlb;
	uint8_t lvl_num;
	bool remote;
	uint8_t snoopx, blk, hops;
	uint8_t region; /* 7.0 */
};

/* The fields of the word, for sample->data_src. */
ATTAR_API struct attar_data_src attar_data_src_decode(uint64_t data_src);

/*
 * The source of data in words: what is known, separated by ", ": operation, where it hit or missed,
 * snoop, TLB, lock, what blocked it, region. "unknown" when nothing is. Returns the length of the
 * whole text.
 */
ATTAR_API size_t attar_data_src_text(uint64_t data_src, char *text, size_t size);

/*
 * PERF_SAMPLE_TRANSACTION in words: "transaction, conflict, retry, abort code 0x5"; "none" for 0.
 */
ATTAR_API size_t attar_transaction_text(uint64_t transaction, char *text, size_t size);

/*
 * The parts of PERF_SAMPLE_WEIGHT_STRUCT (union perf_sample_weight). What they mean is the PMU's:
 * on x86 var1 is the latency of the access and var2 of the instruction, both in cycles.
 */
struct attar_weight {
	uint32_t var1;
	uint16_t var2, var3;
};

/* The parts of the word, for sample->weight of an event with PERF_SAMPLE_WEIGHT_STRUCT. */
static inline struct attar_weight attar_weight_decode(uint64_t weight)
{
	struct attar_weight parts;

	parts.var1 = ATTAR_CAST(uint32_t, weight);
	parts.var2 = ATTAR_CAST(uint16_t, weight >> 32);
	parts.var3 = ATTAR_CAST(uint16_t, weight >> 48);
	return parts;
}

/*
 * The kind of a NAMESPACES record's link number index, as in /proc/PID/ns: "net", "uts", ...; "?"
 * beyond.
 */
ATTAR_API const char *attar_namespace_name(uint64_t index);

#ifdef __cplusplus
}
#endif

#endif
