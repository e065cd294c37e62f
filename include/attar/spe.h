/* SPDX-License-Identifier: MIT */
/*
 * attar/spe.h - decode the samples of Arm's Statistical Profiling Extension.
 *
 * The CPU writes a sample of an operation as a sequence of packets into the AUX area of a counter
 * of the PMU arm_spe_0 (attar_aux_read()). The format is defined in the chapter "The Statistical
 * Profiling Extension Sample Record Specification" of the Arm Architecture Reference Manual for
 * A-profile architecture (DDI 0487).
 *
 * Pure functions on bytes: they allocate nothing and never read outside the data, which may hold
 * anything.
 *
 *	struct attar_spe spe;
 *	struct attar_spe_sample sample;
 *
 *	attar_spe_init(&spe, data.parts[0].bytes, data.parts[0].size, data.parts[1].bytes,
 *		data.parts[1].size, data.offset);
 *	while (attar_spe_next(&spe, &sample))
 *		use(sample.pc, sample.latency);
 *	lost += spe.malformed;
 */
#ifndef ATTAR_SPE_H
#define ATTAR_SPE_H

#include "attar/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The members that a sample has, in attar_spe_sample.has; the others are 0. */
enum attar_spe_has {
	ATTAR_SPE_PC = 1 << 0,
	ATTAR_SPE_TARGET = 1 << 1,
	ATTAR_SPE_VA = 1 << 2,
	ATTAR_SPE_PA = 1 << 3,
	ATTAR_SPE_PREVIOUS_TARGET = 1 << 4,
	ATTAR_SPE_LATENCY = 1 << 5,
	ATTAR_SPE_ISSUE_LATENCY = 1 << 6,
	ATTAR_SPE_TRANSLATION_LATENCY = 1 << 7,
	ATTAR_SPE_CONTEXT = 1 << 8,
	ATTAR_SPE_OPERATION = 1 << 9,
	ATTAR_SPE_EVENTS = 1 << 10,
	ATTAR_SPE_SOURCE = 1 << 11,
	ATTAR_SPE_TIME = 1 << 12,
};

/* What happened to the operation: bits of attar_spe_sample.events. */
enum attar_spe_event {
	ATTAR_SPE_EV_EXCEPTION = 1 << 0,
	ATTAR_SPE_EV_RETIRED = 1 << 1,
	ATTAR_SPE_EV_L1D_ACCESS = 1 << 2,
	ATTAR_SPE_EV_L1D_REFILL = 1 << 3,
	ATTAR_SPE_EV_TLB_ACCESS = 1 << 4,
	ATTAR_SPE_EV_TLB_WALK = 1 << 5,
	ATTAR_SPE_EV_NOT_TAKEN = 1 << 6,
	ATTAR_SPE_EV_MISPREDICTED = 1 << 7,
	ATTAR_SPE_EV_LLC_ACCESS = 1 << 8,
	ATTAR_SPE_EV_LLC_MISS = 1 << 9,
	ATTAR_SPE_EV_REMOTE_ACCESS = 1 << 10,
	ATTAR_SPE_EV_MISALIGNED = 1 << 11,
	ATTAR_SPE_EV_PARTIAL_PREDICATE = 1 << 17,
	ATTAR_SPE_EV_EMPTY_PREDICATE = 1 << 18,
};

/* The class of the operation; attar_spe_sample.operation has details that depend on it. */
enum attar_spe_class {
	ATTAR_SPE_OTHER = 0,
	ATTAR_SPE_LOAD_STORE = 1, /* with the bits of enum attar_spe_access */
	ATTAR_SPE_BRANCH = 2,     /* bit 0: conditional, bit 1: indirect */
	ATTAR_SPE_RESERVED = 3,
};

/* Bits of attar_spe_sample.access; 0 for other classes. */
enum attar_spe_access {
	ATTAR_SPE_LOAD = 1 << 0,
	ATTAR_SPE_STORE = 1 << 1,
	ATTAR_SPE_ATOMIC = 1 << 2,
	ATTAR_SPE_EXCLUSIVE = 1 << 3,
	ATTAR_SPE_ACQUIRE_RELEASE = 1 << 4,
};

struct attar_spe_sample {
	/*
	 * Addresses of the instruction, of a branch's target, of the data, and of the target of the
	 * branch before. Virtual ones are sign-extended from bit 55, without the tag of data.
	 */
	uint64_t pc, target, va, previous_target;
	uint64_t pa;      /* physical address of the data */
	uint64_t events;  /* bits of enum attar_spe_event, and others of the CPU */
	uint64_t time;    /* ticks of the generic timer */
	uint32_t has;     /* bits of enum attar_spe_has */
	uint32_t context; /* CONTEXTIDR: the thread, with the kernel's CONFIG_PID_IN_CONTEXTIDR */
	uint16_t latency; /* cycles from dispatch to completion */
	uint16_t issue;   /* cycles from dispatch to issue */
	uint16_t translation; /* cycles of the translation of the data's address */
	uint16_t source;      /* where the data came from; its meaning depends on the CPU */
	uint8_t level;        /* exception level at pc: 0 user, 1 kernel, 2 hypervisor */
	uint8_t op_class;     /* enum attar_spe_class */
	uint16_t operation;   /* details, as written by the CPU */
	uint32_t access;      /* bits of enum attar_spe_access */
};

/* A position in the data. Read the counts, use the rest only with the functions. */
struct attar_spe {
	const unsigned char *parts[2];
	size_t sizes[2];
	uint64_t offset; /* of the first byte in the trace, for packets that align */
	size_t at;
	uint64_t samples;   /* returned */
	uint64_t malformed; /* samples left out: with an invalid packet, or cut off at the end */
};

/*
 * Begins to decode the two parts of a range of an AUX area, which are borrowed; the second may be
 * empty. offset is the offset of attar_aux_data.
 */
ATTAR_API void attar_spe_init(struct attar_spe *spe, const void *first, size_t first_size,
	const void *second, size_t second_size, uint64_t offset);

/* The next sample; false after the last one. */
ATTAR_API bool attar_spe_next(struct attar_spe *spe, struct attar_spe_sample *ret_sample);

#ifdef __cplusplus
}
#endif

#endif
