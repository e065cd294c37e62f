/* SPDX-License-Identifier: MIT */
#include "unwind/registers.h"

#include <elf.h>
#include <string.h>

/* enum perf_event_x86_regs, enum perf_event_arm_regs: the same on every build machine. */
enum {
	X86_IP = 8,
	X86_REGS = 24,
	ARM64_SP = 31,
	ARM64_PC = 32, /* UNWIND_PC */
	ARM64_REGS = 33,
	PC = UNWIND_PC,
	NONE = UNWIND_NONE,
};

/* The DWARF number of each register of perf (System V ABI for x86-64, figure 3.36). */
static const uint8_t x86_dwarf[X86_REGS] = {
	0, 3, 2, 1, 4, 5, 6, 7,                       /* ax bx cx dx si di bp sp */
	PC, NONE, NONE, NONE, NONE, NONE, NONE, NONE, /* ip flags cs ss ds es fs gs */
	8, 9, 10, 11, 12, 13, 14, 15,                 /* r8 to r15 */
};

static const struct unwind_machine x86_64 = {
	.elf = EM_X86_64,
	.sp = 7,
	.fp = 6,
	.pc = 16,
	.address_mask = UINT64_MAX,
	.sampled = 0xff01ff, /* ax to ip, r8 to r15 */
	.python_frame = 8,   /* sub $8,%rsp; call *%rcx; add $8,%rsp; ret */
};

/* x0 to x30 and sp have the same numbers in both. */
static const struct unwind_machine arm64 = {
	.elf = EM_AARCH64,
	.sp = 31,
	.fp = 29,
	.link = 30,
	.address_mask = 0xffffffffffffULL, /* above: pointer authentication, memory tags */
	.sampled = (1ULL << ARM64_REGS) - 1,
	/*
	 * struct rt_sigframe of arch/arm64/kernel/signal.c: siginfo_t, then a ucontext_t with the
	 * machine context at 176 (aligned to 16), in which the fault address precedes x0. The vdso
	 * has no call frame information for the return from it since Linux 5.8.
	 */
	.signal_frame = 128 + 176 + 8,
};

const struct unwind_machine *unwind_machine_native(void)
{
#if defined(__x86_64__)
	return &x86_64;
#elif defined(__aarch64__)
	return &arm64;
#else
	return NULL;
#endif
}

const struct unwind_machine *unwind_machine_of(uint16_t elf)
{
	return elf == x86_64.elf ? &x86_64 : elf == arm64.elf ? &arm64 : NULL;
}

bool unwind_supports(const char *arch)
{
	return !strcmp(arch, "x86_64") || !strcmp(arch, "aarch64");
}

/* The DWARF number of a register of perf. */
static unsigned number_of(const struct unwind_machine *machine, unsigned perf_number)
{
	if (machine == &arm64)
		return perf_number < ARM64_REGS ? perf_number : NONE;
	return perf_number < X86_REGS ? x86_dwarf[perf_number] : NONE;
}

/* A recording may be of the other architecture: only arm64 has a register 32, its pc. */
static void find_sampled(struct unwind_sampled *sampled, uint64_t perf_mask)
{
	const struct unwind_machine *machine = perf_mask >> ARM64_PC & 1 ? &arm64 : &x86_64;
	uint64_t known = 0;

	*sampled = (struct unwind_sampled){.mask = perf_mask, .machine = machine};
	for (uint64_t mask = perf_mask; mask; mask &= mask - 1) {
		unsigned number = number_of(machine, (unsigned)__builtin_ctzll(mask));

		sampled->number[sampled->n++] = (uint8_t)number;
		known |= 1ULL << number;
	}
	sampled->has_needed = known >> machine->sp & known >> PC & 1;
	sampled->known = known & ((1ULL << CFI_REGISTERS) - 1);
}

bool unwind_frame_init(
	struct unwind_frame *frame, const struct attar_regs *regs, struct unwind_sampled *sampled)
{
	if (regs->abi != PERF_SAMPLE_REGS_ABI_64 || !regs->nr)
		return false;
	if (unlikely(regs->mask != sampled->mask))
		find_sampled(sampled, regs->mask);
	for (unsigned i = 0, n = sampled->n; i < n; i++)
		frame->reg[sampled->number[i]] = regs->values[i];
	frame->machine = sampled->machine;
	frame->known = sampled->known;
	frame->pc = frame->reg[PC];
	return sampled->has_needed;
}
