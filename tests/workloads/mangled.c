/* SPDX-License-Identifier: MIT */
/*
 * Expected: a quarter of the time each, by demangled name (c++filt agrees):
 *	shop::Cart<16>::total(int) const	C++
 *	core::ptr::drop_in_place		Rust, legacy scheme (its hash is not shown)
 *	mycrate::example			Rust, v0 scheme
 *	_ZNotMangledAtAll			no scheme: shown as it is
 */
#include "workload.h"

static KEEP void cxx(uint64_t n) __asm__("_ZNK4shop4CartILi16EE5totalEi");
static KEEP void rust_legacy(uint64_t n) __asm__("_ZN4core3ptr13drop_in_place17h0123456789abcdefE");
static KEEP void rust_v0(uint64_t n) __asm__("_RNvCs15kBYyAo9fc_7mycrate7example");
static KEEP void neither(uint64_t n) __asm__("_ZNotMangledAtAll");

static KEEP void cxx(uint64_t n)
{
	turns(n);
}

static KEEP void rust_legacy(uint64_t n)
{
	turns(n);
}

static KEEP void rust_v0(uint64_t n)
{
	turns(n);
}

static KEEP void neither(uint64_t n)
{
	turns(n);
}

int main(int argc, char **argv)
{
	uint64_t seed = 1;

	for (uint64_t left = argument(argc, argv, 1, 2000); left; left--) {
		uint64_t n = 20000 * uneven(&seed);

		cxx(n);
		rust_legacy(n);
		rust_v0(n);
		neither(n);
	}
	return 0;
}
