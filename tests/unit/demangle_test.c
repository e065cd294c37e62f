/* SPDX-License-Identifier: MIT */
/* Expected forms: c++filt -p and the examples of the Rust RFC 2603. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "elf/demangle.h"

static void check(const char *mangled, const char *plain)
{
	struct buf b _cleanup_(buf_done) = {0};

	assert_int_equal(demangle(mangled, &b), plain != NULL);
	assert_string_equal(buf_text(&b), plain ?: "");
}

static void test_cxx(void **state)
{
	check("_Z3foov", "foo");
	check("_ZN2ns5Class6methodEi", "ns::Class::method");
	check("_ZN2ns5ClassC1ERKS0_", "ns::Class::Class");
	check("_ZNSt6vectorIiSaIiEE9push_backEOi",
		"std::vector<int, std::allocator<int> >::push_back");
	check("_ZNK3abcclEi", "abc::operator()");
	check("_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()");
	check("_ZL6statici", "static");
	check("_Z3foov.cold", "foo [clone .cold]");
	check("_Z3foov.constprop.0.isra.1", "foo [clone .constprop.0.isra.1]");
}

static void test_rust(void **state)
{
	check("_ZN4core3fmt9Formatter3pad17h05af221e174051e9E", "core::fmt::Formatter::pad");
	check("_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$"
	      "3bar17h930b740aa94f1d3aE",
		"<Test + 'static as foo::Bar<Test>>::bar");
	check("_ZN4core3fmt9Formatter3pad17h05af221e174051e9E.llvm.1234",
		"core::fmt::Formatter::pad");
	check("_RNvC6_123foo3bar", "123foo::bar");
	check("_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar");
	check("_RINbNbCskIICzLVDPPb_5alloc5alloc8box_freeDINbNiB4_5boxed5FnBoxuEp6OutputuEL_"
	      "ECs1iopQbuBiw2_3std",
		"alloc::alloc::box_free::<dyn alloc::boxed::FnBox<(), Output = ()>>");
}

static void check_whole(const char *mangled, const char *expected)
{
	struct buf b _cleanup_(buf_done) = {0};

	assert_true(demangle_whole(mangled, &b));
	assert_string_equal(buf_text(&b), expected);
}

/* As LLVM writes them, with their hash. */
static void test_whole_legacy_rust(void **state)
{
	check_whole("_ZN4core3fmt9Formatter3pad17h05af221e174051e9E",
		"core::fmt::Formatter::pad::h05af221e174051e9");
	check_whole("_ZN4core3ptr42drop_in_place$LT$alloc..string..String$GT$17hff7697b598cdd8cfE",
		"core::ptr::drop_in_place$LT$alloc..string..String$GT$::hff7697b598cdd8cf");
	check_whole("_ZN4core3ptr35drop_in_place$LT$std..env..Args$GT$17h721a76565333cc5dE.llvm.77",
		"core::ptr::drop_in_place$LT$std..env..Args$GT$::h721a76565333cc5d (.llvm.77)");
	check_whole("_ZN1a17h05af221e174051e9Ev", "a::h05af221e174051e9()");
	check_whole("_ZN1a1bEv", "a::b()");
}

static void test_d(void **state)
{
	struct buf b _cleanup_(buf_done) = {0};

	check("_D1t4mainFZ9__lambda4MFNfiLAyaZv", "t.main.__lambda4");
	check("_D1t6Square6__ctorMFdZCQvQv", "t.Square.this");
	check("_D1t__T5PointTdZQj3dotMxFNaNbNiNfKxSQBi__TQBjTdZQBpZd",
		"t.Point!(double).Point.dot");
	check("_D12TypeInfo_Aya6__initZ", "initializer for TypeInfo_Aya");
	check("_D3foo3barFZv.part.0", "foo.bar [clone .part.0]");
	check("_Dmain", "D main");
	assert_true(demangle_whole("_D1t4mainFZ9__lambda4MFNfiLAyaZv", &b));
	assert_string_equal(buf_text(&b), "t.main().__lambda4(int, lazy immutable(char)[])");
	buf_reset(&b);
	assert_true(demangle_whole("_D1t1fFMDFiZAyaPUNbhZvHiG3kJbYv", &b));
	assert_string_equal(buf_text(&b),
		"t.f(scope immutable(char)[](int) delegate, extern(C) "
		"void(ubyte) nothrow function, uint[3][int], out bool, ...)");
	buf_reset(&b);
	assert_true(demangle_whole("_D1t__T1gVai97Vbi1ViN3VAyaa2_680aVde0CP3Z1gxi", &b));
	assert_string_equal(buf_text(&b), "t.g!('a', true, -3, \"h\\n\", 0x0.Cp3).g");
}

static void test_not_mangled(void **state)
{
	check("main", NULL);
	check("", NULL);
	check("_", NULL);
	check("_Z", NULL);
	check("_ZN", NULL);
	check("_R", NULL);
	check("_start", NULL);
	check("_ZN3foo", NULL);
	check("_RNvNtNtNtNt", NULL);
	check("_D", NULL);
	check("_D3foo", NULL);
	check("_D3foo3ba", NULL);
	check("_D3fooQa", NULL); /* a reference to itself */
	check("_D99foo", NULL);
	check("_D1fFQbZv", NULL); /* a type that is a part of itself */
}

/* A substitution of the Itanium ABI: S_, S0_ ... SZ_, S10_ ... */
static size_t substitution(char *to, int i)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	i--;
	return (size_t)(i < 36 ? sprintf(to, "S%c_", digits[i])
			       : sprintf(to, "S%c%c_", digits[i / 36], digits[i % 36]));
}

/* Each argument is a template of the previous one, twice: 2^80 names if written out. */
static void test_doubling(void **state)
{
	static char text[8192];
	struct buf b _cleanup_(buf_done) = {0};
	size_t n = (size_t)sprintf(text, "_Z1fI1aIiE1bIS1_S1_E");

	for (int i = 4; i < 84; i++) {
		n += substitution(text + n, 3);
		text[n++] = 'I';
		n += substitution(text + n, i);
		n += substitution(text + n, i);
		text[n++] = 'E';
	}
	memcpy(text + n, "Evv", 4);
	assert_false(demangle(text, &b));
	assert_string_equal(buf_text(&b), "");
	/* The same in Rust, where an argument is a tuple of the previous one. */
	check("_RIC1aThhETB3_B3_ETB7_B7_EE",
		"a::<(u8, u8), ((u8, u8), (u8, u8)), (((u8, u8), (u8, u8)), "
		"((u8, u8), (u8, u8)))>");
	check("_RIC1aThhETB3_B3_ETB7_B7_ETBf_Bf_ETBn_Bn_ETBv_Bv_ETBD_BD_ETBL_BL_ETBT_BT_ETB11_B11_E"
	      "TB19_B19_ETB1j_B1j_ETB1t_B1t_ETB1D_B1D_ETB1N_B1N_EE",
		NULL);
	/* In D, an argument is an associative array of the type before, twice. */
	n = (size_t)sprintf(text, "_D1fFHii");
	for (int i = 0; i < 60; i++)
		n += (size_t)sprintf(text + n, i ? "HQgQi" : "HQeQg");
	memcpy(text + n, "Zv", 3);
	assert_false(demangle_whole(text, &b));
	assert_string_equal(buf_text(&b), "");
}

static void test_deep(void **state)
{
	static char text[65536];
	struct buf b _cleanup_(buf_done) = {0};

	memcpy(text, "_Z1fI", 5);
	memset(text + 5, 'P', 60000);
	memcpy(text + 60005, "iEvv", 5);
	assert_false(demangle(text, &b));
	memset(text + 2, 'N', 60000);
	assert_false(demangle(text, &b));
	memcpy(text, "_R", 2);
	text[60002] = '\0';
	assert_false(demangle(text, &b));
	for (size_t i = 2; i < 60002; i += 2)
		memcpy(text + i, "Nv", 2);
	assert_false(demangle(text, &b));
	memcpy(text, "_D1f", 4);
	memset(text + 4, 'A', 60000);
	assert_false(demangle(text, &b));
	memset(text + 4, 'F', 60000);
	assert_false(demangle(text, &b));
	assert_string_equal(buf_text(&b), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cxx),
		cmocka_unit_test(test_rust),
		cmocka_unit_test(test_whole_legacy_rust),
		cmocka_unit_test(test_d),
		cmocka_unit_test(test_not_mangled),
		cmocka_unit_test(test_doubling),
		cmocka_unit_test(test_deep),
	};

	return cmocka_run_group_tests_name("demangle", tests, NULL, NULL);
}
