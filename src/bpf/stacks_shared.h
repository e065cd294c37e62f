/* SPDX-License-Identifier: MIT */
/*
 * What the program that walks user stacks reads and writes, as the program and attar see it. The
 * call frame information (dwarf/cfi_table.h) that attar gives to it has only the rules for the
 * stack pointer, the frame pointer and the return address of x86-64.
 */
#ifndef BPF_STACKS_SHARED_H
#define BPF_STACKS_SHARED_H

#include <stdint.h>

enum {
	STACKS_FRAMES = 512,
	STACKS_CHUNK = 256,         /* bytes, in which a stack is copied */
	STACKS_COPY = 8192,         /* bytes of a copied stack at most, with a part of a chunk */
	STACKS_REGISTERS = 17,      /* by their DWARF numbers; 16: the pc */
	STACKS_PROCESSES = 1 << 14, /* of which stacks are walked */
	STACKS_MAPPINGS = 1 << 16,  /* of all of them */
	STACKS_TABLES = 1 << 14,    /* since the beginning */
	STACKS_RULES = 1 << 16,
};

enum { STACKS_FP = 6, STACKS_SP = 7, STACKS_PC = 16 };

/* Why a walk ended. */
enum stacks_end {
	STACKS_COMPLETE, /* at the start of the thread */
	STACKS_LOST,     /* no valid frame pointer, or memory that cannot be read */
	STACKS_LIMIT,    /* after STACKS_FRAMES */
	STACKS_32BIT,
	/* The stack is copied. */
	STACKS_COPIES,
	STACKS_NO_PROCESS = STACKS_COPIES, /* it is unknown, or its mappings have changed */
	STACKS_NO_MAPPING,
	STACKS_NO_TABLE,
	STACKS_NO_RULE, /* rules that the program does not have */
	STACKS_ENDS
};

/* How the CFA is computed. */
enum stacks_cfa {
	STACKS_CFA_OTHER,    /* not known to the program */
	STACKS_CFA_REGISTER, /* register + cfa */
	STACKS_CFA_AT,       /* at the address register + cfa */
	STACKS_CFA_PLT,    /* sp + cfa, and 8 more from byte `ra` of 16 on: in an entry of a PLT */
	STACKS_CFA_SIGNAL, /* all registers are in the ucontext_t at sp */
	STACKS_CFA_END,    /* there is no caller */
	STACKS_CFA_FP,     /* no call frame information: code with frame pointers */
};

/* Where the frame pointer of the caller is. */
enum stacks_fp { STACKS_FP_SAME, STACKS_FP_AT_CFA, STACKS_FP_AT_FP, STACKS_FP_UNKNOWN };

struct stacks_rule {
	int32_t cfa, fp, ra; /* offsets; of the return address: from the CFA */
	uint8_t cfa_register;
	uint8_t how_cfa, how_fp;
	uint8_t unused;
};

/* Rules of code from a file offset up to the next range; a table is an array of them. */
struct stacks_range {
	uint32_t start;
	uint32_t rule;
};

enum { STACKS_UNREAD = 0 }; /* no table: stacks that go through this mapping are copied */

struct stacks_mapping {
	uint64_t start, size;
	uint64_t offset; /* of the start, in the file */
	uint64_t serial; /* as of its process */
	uint32_t table;  /* STACKS_UNREAD, or its number */
	uint32_t ranges; /* of the table; 0: all code has frame pointers */
};

/* A process, whose mappings are sorted and together. */
struct stacks_process {
	uint64_t stamp; /* of the address space, as the program computes it */
	uint64_t serial;
	uint32_t first, n; /* mappings */
};

/* What the program writes for a sample: a part of this, up to the last address or byte. */
struct stacks_record {
	uint64_t time; /* of the sample */
	uint64_t stamp;
	uint32_t tid;
	uint16_t n; /* addresses; bytes of `stack` are in chunks: see below */
	uint8_t end;
	uint8_t unused;
	union {
		/* innermost first; return addresses but for the first, or one more than an address
		 * that was interrupted */
		uint64_t addresses[STACKS_FRAMES];
		/* with an end from STACKS_COPIES on: n chunks from the one that sp is in */
		struct {
			uint64_t registers[STACKS_REGISTERS];
			uint8_t stack[STACKS_COPY];
		};
	};
};

/* Of a CPU. */
struct stacks_counts {
	uint64_t lost; /* records that found no room */
	uint64_t walks[STACKS_ENDS];
	uint64_t callers, fp_callers; /* of walks whose stack is not copied; by frame pointers */
};

#endif
