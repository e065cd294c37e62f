/* SPDX-License-Identifier: MIT */
#include "lib/registers.h"

#include <inttypes.h>
#include <stdio.h>

/* arch/x86/include/uapi/asm/perf_regs.h and arch/arm64/include/uapi/asm/perf_regs.h */
#if defined(__x86_64__)
enum { STACK_POINTER = 7, REGISTERS = 24 };
/* Segments ds, es, fs and gs cannot be sampled. */
static const uint64_t all = 0xff0fff;
static const unsigned char arguments[] = {5, 4, 3, 18, 16, 17}; /* di si dx r10 r8 r9 */
static const char *const names[REGISTERS] = {"ax", "bx", "cx", "dx", "si", "di", "bp", "sp", "ip",
	"flags", "cs", "ss", "ds", "es", "fs", "gs", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
	"r15"};
#elif defined(__aarch64__)
enum { STACK_POINTER = 31, REGISTERS = 33 };
static const uint64_t all = 0x1ffffffff;
static const unsigned char arguments[] = {0, 1, 2, 3, 4, 5};
static const char *const names[REGISTERS] = {"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8",
	"x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21",
	"x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29", "lr", "sp", "pc"};
#else
enum { STACK_POINTER = 63, REGISTERS = 1 };
static const uint64_t all = 0;
static const unsigned char arguments[] = {0, 0, 0, 0, 0, 0};
static const char *const names[REGISTERS] = {""};
#endif

uint64_t registers_all(void)
{
	return all;
}

uint64_t registers_stack_pointer_mask(void)
{
	return UINT64_C(1) << STACK_POINTER & all;
}

bool registers_get(const struct attar_regs *regs, unsigned number, uint64_t *ret_value)
{
	uint64_t bit = UINT64_C(1) << number;

	if (!regs->abi || !regs->nr || !(regs->mask & bit))
		return false;
	*ret_value = regs->values[__builtin_popcountll(regs->mask & (bit - 1))];
	return true;
}

bool registers_stack_pointer(const struct attar_regs *regs, uint64_t *ret_value)
{
	return registers_get(regs, STACK_POINTER, ret_value);
}

uint64_t registers_syscall_argument_mask(unsigned n)
{
	return UINT64_C(1) << arguments[n] & all;
}

bool registers_syscall_argument(const struct attar_regs *regs, unsigned n, uint64_t *ret_value)
{
	return registers_get(regs, arguments[n], ret_value);
}

void registers_text(const struct attar_regs *regs, char text[REGISTERS_TEXT_MAX])
{
	size_t n = 0;
	uint64_t value;

	text[0] = '\0';
	for (unsigned i = 0; i < REGISTERS && n < REGISTERS_TEXT_MAX; i++)
		if (registers_get(regs, i, &value))
			n += (size_t)snprintf(text + n, REGISTERS_TEXT_MAX - n, "%s%s=0x%" PRIx64,
				n ? " " : "", names[i], value);
}
