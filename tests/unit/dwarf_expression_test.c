/* SPDX-License-Identifier: MIT */
/* DWARF expressions: their results, and what is refused. */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "base/base.h"
#include "dwarf/expression.h"

/* Memory at address A has the value A * 3. */
static bool read_memory(void *ctx, uint64_t address, size_t size, uint64_t *ret_value)
{
	const uint64_t *end = ctx;

	if (address >= *end)
		return false;
	*ret_value = address * 3 & (size == 8 ? UINT64_MAX : (1ULL << 8 * size) - 1);
	return true;
}

static int evaluate(const void *bytes, size_t n, uint64_t *ret_value)
{
	static uint64_t end = 1 << 20;
	const uint64_t registers[64] = {[7] = 1000, [16] = 0x40101b};
	const struct expression_input input = {.registers = registers,
		.known = 1 << 7 | 1 << 16,
		.read = read_memory,
		.ctx = &end};
	const uint64_t first = 77;

	*ret_value = 0;
	return expression_evaluate(bytes, n, &first, &input, ret_value);
}

#define EXPRESSION(...) .bytes = {__VA_ARGS__}, .n = sizeof((const uint8_t[]){__VA_ARGS__})

static void test_results(void **state)
{
	static const struct {
		uint8_t bytes[12];
		size_t n;
		uint64_t value;
	} cases[] = {
		{.n = 0, .value = 77}, /* what is on the stack at the start */
		/* of a PLT: rsp + 8 + ((rip & 15) >= 11) * 8 */
		{EXPRESSION(0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22),
			.value = 1016},
		{EXPRESSION(0x77, 0x7c, 0x06), .value = 996 * 3},     /* breg7 -4, deref */
		{EXPRESSION(0x77, 0, 0x94, 1), .value = 3000 & 0xff}, /* deref_size 1 */
		{EXPRESSION(0x08, 0xff), .value = 255},
		{EXPRESSION(0x09, 0xff), .value = UINT64_MAX},
		{EXPRESSION(0x0a, 0x34, 0x12), .value = 0x1234},
		{EXPRESSION(0x0b, 0x00, 0x80), .value = (uint64_t)-32768},
		{EXPRESSION(0x10, 0xe5, 0x8e, 0x26), .value = 624485},       /* constu */
		{EXPRESSION(0x11, 0x80, 0x7f), .value = (uint64_t)-128},     /* consts */
		{EXPRESSION(0x35, 0x32, 0x1c), .value = 3},                  /* 5 - 2 */
		{EXPRESSION(0x35, 0x32, 0x1b), .value = 2},                  /* 5 / 2 */
		{EXPRESSION(0x35, 0x32, 0x1d), .value = 1},                  /* 5 mod 2 */
		{EXPRESSION(0x35, 0x1f, 0x32, 0x1b), .value = (uint64_t)-2}, /* -5 / 2 */
		{EXPRESSION(0x35, 0x1f, 0x31, 0x26), .value = (uint64_t)-3}, /* -5 shra 1 */
		{EXPRESSION(0x31, 0x32, 0x33, 0x17), .value = 2},            /* 1 2 3 rot */
		{EXPRESSION(0x31, 0x32, 0x16), .value = 1},                  /* swap */
		{EXPRESSION(0x31, 0x32, 0x14), .value = 1},                  /* over */
		{EXPRESSION(0x31, 0x32, 0x33, 0x15, 2), .value = 1},         /* pick 2 */
		{EXPRESSION(0x30, 0x28, 1, 0, 0x34, 0x35), .value = 5},      /* bra not taken */
		{EXPRESSION(0x31, 0x28, 1, 0, 0x34, 0x36), .value = 6},      /* bra over lit4 */
		{EXPRESSION(0x2f, 1, 0, 0x34, 0x96), .value = 77},           /* skip over lit4 */
		{EXPRESSION(0x23, 3), .value = 80},                          /* plus_uconst */
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t value;

		assert_int_equal(evaluate(cases[i].bytes, cases[i].n, &value), 0);
		assert_int_equal(value, cases[i].value);
	}
}

static void test_refused(void **state)
{
	static const struct {
		uint8_t bytes[12];
		size_t n;
		int error;
	} cases[] = {
		{EXPRESSION(0x70, 0), .error = -ENODATA}, /* an unknown register */
		{EXPRESSION(0x0e, 0, 0, 0, 0, 0, 1, 0, 0, 0x06), .error = -ENODATA}, /* memory */
		{EXPRESSION(0x13, 0x13), .error = -EBADMSG},       /* drops too much */
		{EXPRESSION(0x22), .error = -EBADMSG},             /* one operand is missing */
		{EXPRESSION(0x30, 0x1b), .error = -EBADMSG},       /* divides by zero */
		{EXPRESSION(0x2f, 0xfd, 0xff), .error = -EBADMSG}, /* jumps to itself for ever */
		{EXPRESSION(0x2f, 0x10, 0), .error = -EBADMSG},    /* jumps beyond the end */
		{EXPRESSION(0x12, 0x2f, 0xfc, 0xff), .error = -EBADMSG}, /* fills the stack */
		{EXPRESSION(0x0a, 1), .error = -EBADMSG},                /* is cut */
		{EXPRESSION(0x10, 0x80), .error = -EBADMSG},
		{EXPRESSION(0x94, 9), .error = -EBADMSG},
		{EXPRESSION(0x9f), .error = -EBADMSG}, /* DW_OP_stack_value: not of frames */
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t value;

		assert_int_equal(evaluate(cases[i].bytes, cases[i].n, &value), cases[i].error);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_results),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests_name("dwarf expressions", tests, NULL, NULL);
}
