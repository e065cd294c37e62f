/* SPDX-License-Identifier: MIT */
/*
 * Stacks that no program has, in turns: the stack pointer points to memory that is not mapped, or
 * memory of the kernel; a page of the return address of a function, as of endless callers; the same
 * page again and again, by code whose callers are found by frame pointers. x86-64.
 * usage: wildstacks [CYCLES]
 */
#include <string.h>
#include <sys/mman.h>

#include "workload.h"

#if defined(__x86_64__)

enum { PAGES = 256, PAGE = 4096 };

/* Runs with this stack pointer and frame pointer, without a use of the stack. */
static KEEP void spin(uint64_t sp, uint64_t fp)
{
	__asm__ volatile("mov %%rsp, %%r12\n\t"
			 "mov %%rbp, %%r13\n\t"
			 "mov %0, %%rsp\n\t"
			 "mov %1, %%rbp\n\t"
			 "mov $400000, %%rcx\n"
			 "1: dec %%rcx\n\t"
			 "jnz 1b\n\t"
			 "mov %%r12, %%rsp\n\t"
			 "mov %%r13, %%rbp"
			 :
			 : "r"(sp), "r"(fp)
			 : "rcx", "r12", "r13", "memory");
}

/* Code without call frame information: mov $400000, %ecx; 1: dec %ecx; jnz 1b; ret, with a frame
 * pointer that refers to itself, and a return address in this code. */
static const uint8_t code[] = {0xb9, 0x80, 0x1a, 0x06, 0x00, 0xff, 0xc9, 0x75, 0xfc, 0xc3};

static KEEP void spin_in(const uint8_t *at, uint64_t fp)
{
	__asm__ volatile("mov %%rbp, %%r13\n\t"
			 "mov %1, %%rbp\n\t"
			 "call *%0\n\t"
			 "mov %%r13, %%rbp"
			 :
			 : "r"(at), "r"(fp)
			 : "rcx", "r13", "memory");
}

int main(int argc, char **argv)
{
	uint64_t *words = mmap(
		NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *jit = mmap(
		NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (words == MAP_FAILED || jit == MAP_FAILED)
		return 1;
	memcpy(jit, code, sizeof(code));
	for (size_t i = 0; i < PAGES * PAGE / 8; i += 2) { /* frame pointers up to the end */
		words[i] = (uintptr_t)&words[i + 2];
		words[i + 1] = (uintptr_t)jit + 5;
	}
	for (uint64_t left = argument(argc, argv, 1, 300); left; left--) {
		spin(8, 16);
		spin(UINT64_C(0xffff800000000000), UINT64_C(0xffff800000000000));
		spin((uintptr_t)words, (uintptr_t)words);
		spin(UINT64_MAX - 7, UINT64_MAX - 15);
		spin_in(jit, (uintptr_t)words);
		words[64] = (uintptr_t)words; /* goes round */
		spin_in(jit, (uintptr_t)words);
		words[64] = (uintptr_t)&words[66];
	}
	return 0;
}

#else

int main(void)
{
	return 0;
}

#endif
