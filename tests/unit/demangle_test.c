/* SPDX-License-Identifier: MIT */
/* Expected forms: c++filt -p and the examples of the Rust RFC 2603. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "symbol/demangle.h"

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
}

/* Names made to unfold without end, or to nest deeply, come back as they are, and soon. */
static void test_hostile(void **state)
{
	static char text[65536];
	struct buf b _cleanup_(buf_done) = {0};
	size_t n;

	memcpy(text, "_Z1f", 4);
	memset(text + 4, 'P', 60000);
	text[60004] = 'i';
	assert_false(demangle(text, &b) && b.len > 8192);
	buf_reset(&b);

	/* Each substitution doubles the one before: 2^60 names if written out. */
	n = (size_t)sprintf(text, "_Z1fI1aE");
	for (int i = 0; i < 60; i++)
		n += (size_t)sprintf(text + n, "S%c%c_IS%c%c_S%c%c_E", i / 36 + '0',
			"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i % 36], i / 36 + '0',
			"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i % 36], i / 36 + '0',
			"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i % 36]);
	demangle(text, &b);
	assert_true(b.len <= 8192);
	buf_reset(&b);

	memcpy(text, "_R", 2);
	memset(text + 2, 'N', 60000);
	text[60002] = '\0';
	assert_false(demangle(text, &b));
	for (size_t i = 2; i < 60002; i += 2)
		memcpy(text + i, "Nv", 2);
	assert_false(demangle(text, &b));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cxx),
		cmocka_unit_test(test_rust),
		cmocka_unit_test(test_not_mangled),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests_name("demangle", tests, NULL, NULL);
}
