/* SPDX-License-Identifier: MIT */
/*
 * Expected: main() calls fam_a(N) 3 times, fam_b() 5 times, fam_outer() 11 times, which calls
 * fam_inner() twice, and other() 13 times; N is 1 to 3. fam_alias is a second name of fam_b().
 * fam_locked(), called twice, begins with a byte that the kernel does not probe (x86). fam_chosen()
 * is chosen by a resolver, and fam_b.cold is a part of fam_b() that is not called.
 */
#include "workload.h"

static KEEP int fam_a(int n)
{
	turns(1);
	return n;
}

KEEP int fam_b(int n);
int fam_alias(int n) __attribute__((alias("fam_b")));

KEEP int fam_b(int n)
{
	turns(1);
	return n;
}

__asm__(".type \"fam_b.cold\", @function\n.set \"fam_b.cold\", fam_b + 1\n");

static KEEP void fam_inner(void)
{
	turns(1);
}

static KEEP void fam_outer(void)
{
	fam_inner();
	fam_inner();
	turns(1);
}

static KEEP void other(void)
{
	turns(1);
}

#ifdef __x86_64__
void fam_locked(void);
__asm__(".text\n.globl fam_locked\n.type fam_locked, @function\nfam_locked:\n"
	"lock orl $0, -64(%rsp)\nret\n.size fam_locked, .-fam_locked\n");
#else
static KEEP void fam_locked(void)
{
	turns(1);
}
#endif

static void (*choose_other(void))(void)
{
	return other;
}
void fam_chosen(void) __attribute__((ifunc("choose_other")));

int main(int argc, char **argv)
{
	for (int i = 1; i <= 3; i++)
		fam_a(i);
	for (int i = 0; i < 5; i++)
		fam_b(i);
	for (int i = 0; i < 11; i++)
		fam_outer();
	for (int i = 0; i < 13; i++)
		other();
	fam_locked();
	fam_locked();
	if (argc > 5)
		fam_chosen();
	return 0;
}
