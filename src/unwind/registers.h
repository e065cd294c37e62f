/* SPDX-License-Identifier: MIT */
/*
 * Registers as perf samples them (asm/perf_regs.h of each architecture) and as DWARF numbers them.
 */
#ifndef UNWIND_REGISTERS_H
#define UNWIND_REGISTERS_H

#include "attar/record.h"
#include "dwarf/cfi_table.h"

/* Two numbers of registers without a DWARF number, as long as sampled registers are taken. */
enum { UNWIND_PC = CFI_REGISTERS, UNWIND_NONE, UNWIND_REGISTERS };

/* The registers of a frame by their DWARF numbers. */
struct unwind_frame {
	uint64_t reg[UNWIND_REGISTERS];
	uint64_t known; /* bit i: reg[i] is known */
	uint64_t pc;
	const struct unwind_machine *machine;
};

struct unwind_machine {
	uint16_t elf;          /* EM_* */
	uint8_t sp, fp;        /* DWARF numbers */
	uint8_t pc;            /* DWARF number that expressions use for the pc; 0: none */
	uint8_t link;          /* DWARF number of that with the return address at entry; 0: at sp */
	uint64_t address_mask; /* bits of an address; others are a signature of the pointer */
	uint64_t sampled;      /* mask of perf_event_attr.sample_regs_user */
	/*
	 * Offset from sp to the first register in the frame of a signal handler, where the
	 * registers of the interrupted code are in the order of their DWARF numbers up to sp, then
	 * pc; 0: call frame information describes it.
	 */
	uint16_t signal_frame;
	/*
	 * Offset from sp to the return address in the code through which Python 3.12 and later call
	 * a function (-X perf; Python/asm_trampoline.S); 0: it keeps a frame pointer.
	 */
	uint16_t python_frame;
};

/* The architecture of this build; NULL: it is not supported. */
const struct unwind_machine *unwind_machine_native(void);

/* The architecture of an EM_* number; NULL: it is not supported. */
const struct unwind_machine *unwind_machine_of(uint16_t elf);

/* Whether stacks of this architecture, named as by uname(2), can be unwound. */
bool unwind_supports(const char *arch);

/* The registers that samples have, which are the same ones in most of them. */
struct unwind_sampled {
	uint64_t mask; /* of the registers as perf numbers them; 0: unused */
	const struct unwind_machine *machine;
	uint64_t known; /* mask of DWARF numbers */
	uint8_t n;
	uint8_t number[64]; /* of the register of each value */
	bool has_needed;    /* stack pointer and pc */
};

/*
 * Sets the frame from sampled registers. False if they are not registers of a 64-bit program.
 * *sampled is kept from one sample to the next, all zero before the first one.
 */
bool unwind_frame_init(
	struct unwind_frame *frame, const struct attar_regs *regs, struct unwind_sampled *sampled);

#endif
