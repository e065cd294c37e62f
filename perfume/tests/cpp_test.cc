/* SPDX-License-Identifier: CC0-1.0 */
/* The header in C++: strings of every sort, events in namespaces, the dynamic interface. */
#include "perfume.h"

#include <cstdarg>
#include <cstdint>
#include <csetjmp>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <unistd.h>
extern "C" {
#include <cmocka.h>
}

PERFUME_EVENT(cpp_plain)
PERFUME_EVENT(shop_closed, (u64, when))
namespace shop
{
PERFUME_EVENT(cpp_order, (u64, id), (str, symbol), (bool, urgent))
}

static int ends[2];

/* The text of the next event, which a pipe received in the kernel's place. */
static std::string next_text()
{
	char got[256];
	ssize_t n = read(ends[0], got, sizeof(got));

	/* write index 4, id 8, place 4, urgent 1 */
	return n < 18 ? "" : std::string(got + 17, size_t(n) - 18);
}

static void a_string_may_be_of_any_sort(void **)
{
	std::string own = "own";
	const char *nothing = nullptr;

	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	shop::perfume_event_cpp_order.target = uint64_t(ends[1]) << 32;
	shop::perfume_word_cpp_order = PERFUME_WORD_KERNEL;
	assert_true(shop::perfume_cpp_order(1, "literal", true) == 8 + 4 + 1 + 8);
	assert_string_equal(next_text().c_str(), "literal");
	shop::perfume_cpp_order(2, own, false);
	assert_string_equal(next_text().c_str(), "own");
	shop::perfume_cpp_order(3, std::string_view("a view of more", 6), 7);
	assert_string_equal(next_text().c_str(), "a view");
	shop::perfume_cpp_order(4, own + " temporary", false);
	assert_string_equal(next_text().c_str(), "own temporary");
	shop::perfume_cpp_order(5, nothing, false);
	assert_string_equal(next_text().c_str(), "(null)");
	shop::perfume_cpp_order(6, std::string_view(), false);
	assert_string_equal(next_text().c_str(), "");
	shop::perfume_word_cpp_order = 0;
	shop::perfume_event_cpp_order.target = PERFUME_NO_TARGET;
}

static void arguments_are_not_evaluated_without_a_listener(void **)
{
	int evaluated = 0;

	assert_int_equal(PERFUME(cpp_plain), 0);
	assert_int_equal(perfume_cpp_plain(), 0);
	assert_int_equal(PERFUME(shop_closed, std::uint64_t(++evaluated)), 0);
	assert_int_equal(evaluated, 0);
}

static void the_dynamic_interface_is_the_same(void **)
{
	perfume_ctx *ctx = perfume_init(0);
	perfume_probe *probe = perfume_register(ctx, "cpp_dynamic", "u32 a", nullptr);
	std::uint32_t a = 1;

	assert_non_null(probe);
	assert_int_equal(perfume_write(probe, &a, sizeof(a)), 0);
	perfume_free(ctx);
}

int main()
{
	const CMUnitTest tests[] = {
		cmocka_unit_test(a_string_may_be_of_any_sort),
		cmocka_unit_test(arguments_are_not_evaluated_without_a_listener),
		cmocka_unit_test(the_dynamic_interface_is_the_same),
	};

	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
