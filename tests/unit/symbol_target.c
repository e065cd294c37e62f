/* SPDX-License-Identifier: MIT */
/*
 * A program to be inspected: prints "name address" of some of its functions, then ".", and waits
 * until its input ends. Its functions only serve as names.
 */
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#define FUNCTION(linkage, name)                                                                    \
	linkage int name(int a)                                                                    \
	{                                                                                          \
		__asm__ volatile("" : "+r"(a));                                                    \
		return a + __COUNTER__;                                                            \
	}

int target_global(int a);
int target_weak(int a);
int _ZN6target6methodEi(int a);

FUNCTION(static __attribute__((noinline)), target_local)
FUNCTION(__attribute__((noinline)), target_global)
FUNCTION(__attribute__((noinline, weak)), target_weak)
FUNCTION(__attribute__((noinline)), _ZN6target6methodEi)

static void print_function(const char *name, int (*function)(int))
{
	printf("%s %lx\n", name, (unsigned long)(uintptr_t)function);
}

int main(void)
{
	char c;

	print_function("target_local", target_local);
	print_function("target_global", target_global);
	print_function("target_weak", target_weak);
	print_function("target::method", _ZN6target6methodEi);
	puts(".");
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	return target_local(0) + target_global(0) > 100;
}
