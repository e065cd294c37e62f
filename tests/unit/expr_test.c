/* SPDX-License-Identifier: MIT */
/* Expressions: types, operators, faults and limits, in a dialect whose names are fields. */
#include "unit.h"

#include "base/buf.h"
#include "expr/build.h"
#include "failing.h"

static const char text[] = "name: all\nID: 1\nformat:\n"
			   "\tfield:u8 byte;\toffset:0;\tsize:1;\tsigned:0;\n"
			   "\tfield:s8 small;\toffset:1;\tsize:1;\tsigned:1;\n"
			   "\tfield:s16 half;\toffset:2;\tsize:2;\tsigned:1;\n"
			   "\tfield:int number;\toffset:4;\tsize:4;\tsigned:1;\n"
			   "\tfield:u64 big;\toffset:8;\tsize:8;\tsigned:0;\n"
			   "\tfield:char comm[8];\toffset:16;\tsize:8;\tsigned:0;\n"
			   "\tfield:u32 list[2];\toffset:24;\tsize:8;\tsigned:0;\n"
			   "\tfield:__data_loc char[] name;\toffset:32;\tsize:4;\tsigned:0;\n"
			   "\tfield:u32 word;\toffset:36;\tsize:4;\tsigned:0;\n"
			   "\tfield:long wide;\toffset:40;\tsize:8;\tsigned:1;\n";

/* byte 200, small -2, half -300, number -5, big 2^63 + 1, list {1, 2^32 - 1}, name "comm". */
static struct record {
	uint8_t byte;
	int8_t small;
	int16_t half;
	int32_t number;
	uint64_t big;
	char comm[8];
	uint32_t list[2];
	uint32_t name;
	uint32_t word;
	int64_t wide;
	char text[8];
} record = {200, -2, -300, -5, (1ULL << 63) + 1, "comm", {1, UINT32_MAX}, 48 | 5 << 16, 7,
	INT64_MIN, "comm"};

static struct attar_format *format;

static int parse_format(void **state)
{
	return attar_format_parse("sys", text, strlen(text), &format);
}

static int free_format(void **state)
{
	format = attar_format_free(format);
	return 0;
}

static bool operand(struct expr_parser *p, int32_t *ret_node)
{
	const struct attar_field *field;
	char name[32];

	if (!lex_copy_name(&p->p, name, sizeof(name)))
		return false;
	field = attar_format_field(p->format, name);
	*ret_node = field ? expr_add_field(p,
				    field->kind == ATTAR_FIELD_NUMBER ? EXPR_FIELD : EXPR_BYTES,
				    field, false)
			  : expr_fail(p, "no such field");
	return true;
}

static int32_t parse(const char *line, struct expr *expr, struct expr_parser *ret_parser)
{
	static const struct expr_dialect dialect = {
		.operand = operand, .is_c = true, .depth_max = 50};
	int32_t root;

	*ret_parser = (struct expr_parser){
		.text = line, .p = line, .dialect = &dialect, .format = format, .expr = expr};
	root = expr_parse(ret_parser);
	return root >= 0 && *ret_parser->p ? expr_fail(ret_parser, "trailing text") : root;
}

/* Evaluates an expression on the first `size` bytes of the record. */
static uint64_t value_of(const char *line, size_t size, struct expr_run *ret_run)
{
	struct expr expr = {0};
	struct expr_parser parser;
	int32_t root = parse(line, &expr, &parser);
	struct expr_run run = {.expr = &expr, .size = size};
	void *raw = malloc(size + 1); /* so that the sanitizer detects overreads */
	uint64_t value;
	size_t before;

	if (root < 0)
		fail_msg("%s: %s", line, parser.reason);
	run.raw = memcpy(raw, &record, size);
	before = failing_calls;
	value = expr_number(&run, root);
	assert_int_equal(expr_is_true(&run, root), value || expr_eval(&run, root).bytes);
	assert_int_equal(failing_calls, before);
	free(raw);
	expr_done(&expr);
	*ret_run = run;
	return value;
}

static int64_t value(const char *line)
{
	struct expr_run run;
	uint64_t v = value_of(line, sizeof(record), &run);

	assert_int_equal(run.absent, 0);
	return (int64_t)v;
}

/* The text and its value by the compiler. */
#define SAME(...)                                                                                  \
	do {                                                                                       \
		if (value(#__VA_ARGS__) != (int64_t)(__VA_ARGS__))                                 \
			fail_msg("%s is %lld, not %lld", #__VA_ARGS__,                             \
				(long long)value(#__VA_ARGS__), (long long)(__VA_ARGS__));         \
	} while (0)

#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Wtype-limits"
#pragma GCC diagnostic ignored "-Woverflow"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wbool-compare"
#else
#pragma GCC diagnostic ignored "-Wtautological-compare"
#pragma GCC diagnostic ignored "-Wconstant-logical-operand"
#pragma GCC diagnostic ignored "-Wlogical-not-parentheses"
#endif

typedef uint8_t u8;
typedef int8_t s8;
typedef uint16_t u16;
typedef int16_t s16;
typedef uint32_t u32;
typedef int32_t s32;
typedef uint64_t u64;
typedef int64_t s64;

/* The fields of the record as variables of C. */
#define FIELDS_OF_RECORD                                                                           \
	u8 byte = record.byte;                                                                     \
	s8 small = record.small;                                                                   \
	s16 half = record.half;                                                                    \
	int number = record.number;                                                                \
	u64 big = record.big;                                                                      \
	u32 word = record.word;                                                                    \
	long wide = record.wide

static void test_operators_as_in_c(void **state)
{
	FIELDS_OF_RECORD;

	SAME(1 + 2 * 3 - 4 / 3 % 2);
	SAME(byte + small);
	SAME(byte * byte * byte * byte / 3);
	SAME(number / 2);
	SAME(number % 3);
	SAME(number / word);
	SAME(number + big);
	SAME(number + word);
	SAME(-word);
	SAME(-byte);
	SAME(~byte);
	SAME(~word);
	SAME(!number + !0);
	SAME(big >> 1);
	SAME(wide >> 1);
	SAME(half >> 2);
	SAME(word << 30);
	SAME(1ULL << 40);
	SAME(byte & 0x0f | word ^ 3);
	SAME(number & 0xffffffff);
	SAME(number & 0xfffffffffUL);
	SAME(number & word);
	SAME(number | word);
	SAME(number ^ word);
	SAME((u8)number);
	SAME((s8)byte);
	SAME((u16)half);
	SAME((s16)(half * 1000));
	SAME((unsigned int)number);
	SAME((long)(int)word);
	SAME((u8)0x1ff + (s8)0xff);
	SAME((int)(byte + 8));
	SAME(byte ? number : word);
	SAME((byte ? -1 : 0u) > 0);
	SAME(number < 0 ? 1 : 2);
	SAME(2 && 3);
	SAME(0 || 7);
	SAME(0 || 0);
	SAME(byte && small && !0);
	SAME(word == 7 || number == 7);
	SAME('a' + '\n' + '\x41');
	SAME((byte * 2) + (word * word));
}

static void test_comparisons_as_in_c(void **state)
{
	FIELDS_OF_RECORD;

#define COMPARED(a_, b_)                                                                           \
	do {                                                                                       \
		SAME(a_ == b_);                                                                    \
		SAME(a_ != b_);                                                                    \
		SAME(a_ < b_);                                                                     \
		SAME(a_ <= b_);                                                                    \
		SAME(a_ > b_);                                                                     \
		SAME(a_ >= b_);                                                                    \
		SAME(b_ < a_);                                                                     \
	} while (0)
#define COMPARED_WITH_CONSTANTS(a_)                                                                \
	do {                                                                                       \
		COMPARED(a_, 0);                                                                   \
		COMPARED(a_, 200);                                                                 \
		COMPARED(a_, -1);                                                                  \
		COMPARED(a_, -5);                                                                  \
		COMPARED(a_, 0u);                                                                  \
		COMPARED(a_, 0xfffffffb);                                                          \
		COMPARED(a_, 0x8000000000000001);                                                  \
		COMPARED(a_, 0xffffffffffffffff);                                                  \
		COMPARED(a_, 0x7fffffffffffffff);                                                  \
		COMPARED(a_, -0x7fffffffffffffff - 1);                                             \
		COMPARED((a_ & 0xf0), 0);                                                          \
		COMPARED((a_ & -4), -8);                                                           \
	} while (0)
	COMPARED_WITH_CONSTANTS(byte);
	COMPARED_WITH_CONSTANTS(small);
	COMPARED_WITH_CONSTANTS(half);
	COMPARED_WITH_CONSTANTS(number);
	COMPARED_WITH_CONSTANTS(word);
	COMPARED_WITH_CONSTANTS(big);
	COMPARED_WITH_CONSTANTS(wide);
	COMPARED(number, word);
	COMPARED(number, big);
	COMPARED(small, byte);
	COMPARED(wide, big);
	COMPARED(half, wide);
}

static void test_bytes(void **state)
{
	struct expr_run run;

	assert_int_equal(value("comm == name"), 1);
	assert_int_equal(value("comm != name"), 0);
	assert_int_equal(value("comm == \"comm\""), 1);
	assert_int_equal(value("comm == \"com\""), 0);
	assert_int_equal(value("comm == \"comma\""), 0);
	assert_int_equal(value("\"com\" \"m\" == name"), 1);
	assert_int_equal(value("(byte ? comm : name) == \"comm\""), 1);
	assert_int_equal(value("comm[1] == 'o'"), 1);
	assert_int_equal(value("list[1]"), UINT32_MAX);
	assert_int_equal(value("((u8 *)list)[4]"), 255);
	assert_int_equal(value("((s8 *)list)[4]"), -1);
	assert_int_equal(value("*list"), 1);
	assert_int_equal(value("*&number"), (uint32_t)-5);
	assert_int_equal(value_of("list[2] + list[-1]", sizeof(record), &run), 0); /* outside */
	assert_true(run.absent > 0);
	assert_int_equal(value("(byte ? comm : 0) ? 1 : 2"), 1);
	assert_int_equal(value("(byte ? 0 : comm) ? 1 : 2"), 2);
}

/* The values of absent fields are 0 or empty; these and divisions by zero are counted. */
static void test_faults(void **state)
{
	struct expr_run run;

	assert_int_equal(value_of("1 / (byte - 200) + 7 % 0", sizeof(record), &run), 0);
	assert_int_equal(run.by_zeros, 3 * 2); /* evaluated as number, truth and value */
	assert_int_equal(value_of("0 && 1 / 0 || byte || 1 / 0", sizeof(record), &run), 1);
	assert_int_equal(run.by_zeros, 0);
	for (size_t size = 0; size <= sizeof(record); size++) {
		assert_int_equal(value_of("number", size, &run), size >= 8 ? (uint64_t)-5 : 0);
		assert_int_equal(run.absent != 0, size < 8);
		value_of("name == \"comm\"", size, &run);
		assert_int_equal(run.absent != 0, size < 48 + 5);
		value_of("comm[7] + list[1] + *&big + (byte ? name : comm)[3]", size, &run);
	}
	assert_int_equal(value_of("-9223372036854775807L - 1 == wide && wide / -1 == wide",
				 sizeof(record), &run),
		1);
}

/* Constants are folded, and comparisons with them need no second operand. */
static void test_folding(void **state)
{
	static const char *const constants[] = {"(1 << 4) - 1", "-(5 + 3) * 2", "(u8)~0", "!3",
		"1 < 2u", "(1 + 1) * (2 + 2) % (3 + 3)"};
	struct expr expr = {0};
	struct expr_parser parser;

	for (size_t i = 0; i < ARRAY_SIZE(constants); i++) {
		assert_int_equal(parse(constants[i], &expr, &parser), 0);
		assert_int_equal(expr.nodes.n, 1);
		expr_done(&expr);
	}
	assert_int_equal(parse("byte & 1 << 3", &expr, &parser), 2);
	expr_done(&expr);
}

static void refuses(const char *line, const char *reason, size_t column)
{
	struct expr expr = {0};
	struct expr_parser parser;

	if (parse(line, &expr, &parser) >= 0)
		fail_msg("'%s' is accepted", line);
	if (strcmp(parser.reason, reason) || parser.at != line + column - 1)
		fail_msg("'%s' fails at column %zu: %s", line, (size_t)(parser.at - line) + 1,
			parser.reason);
	expr_done(&expr);
}

static void test_errors(void **state)
{
	refuses("", "expected an operand", 1);
	refuses("1 +", "expected an operand", 4);
	refuses("(1", "expected ')'", 3);
	refuses("nofield", "no such field", 8);
	refuses("1 2", "trailing text", 3);
	refuses("\"open", "missing closing quote", 1);
	refuses("12ab", "this is not a number", 1);
	refuses("1 + 18446744073709551616", "the number does not fit in 64 bits", 5);
	refuses("&1", "& needs a field", 3);
	refuses("1 ? 2", "expected ':'", 6);
}

/* Nesting and size are limited, whatever is nested. */
static void test_limits(void **state)
{
	static const char *const nested[] = {
		"(", "~", "!", "(u8)", "byte+(", "1?", "1?2:", "comm["};
	struct expr expr = {0};
	struct expr_parser parser;
	struct buf b = {0};

	for (size_t i = 0; i < ARRAY_SIZE(nested); i++) {
		buf_reset(&b);
		for (int n = 0; n < 10000; n++)
			buf_str(&b, nested[i]);
		assert_int_equal(parse(buf_text(&b), &expr, &parser), -1);
		assert_string_equal(parser.reason, "the expression is nested too deeply");
		expr_done(&expr);
	}
	buf_reset(&b);
	buf_str(&b, "byte");
	for (int n = 0; n < 10000; n++)
		buf_str(&b, "+byte");
	assert_int_equal(parse(buf_text(&b), &expr, &parser), -1);
	assert_string_equal(parser.reason, "the expression is nested too deeply");
	expr_done(&expr);
	buf_reset(&b);
	buf_str(&b, "1"); /* constants do not add up */
	for (int n = 0; n < 10000; n++)
		buf_str(&b, "+1");
	assert_int_equal(value(buf_text(&b)), 10001);
	buf_done(&b);
}

static void test_globs(void **state)
{
	static const char *const matches[][2] = {{"", ""}, {"*", ""}, {"*", "abc"}, {"a*c", "abc"},
		{"a*c", "ac"}, {"*b*", "abc"}, {"a?c", "abc"}, {"[a-c]bc", "abc"},
		{"[!d]bc", "abc"}, {"[]a]", "]"}, {"[a-]", "-"}, {"[^a]", "^"}, {"[abc", "[abc"},
		{"\\*", "*"}, {"*a*a*a*b", "aaaaaaaaab"}, {"**", "x"}, {"[a\\]]", "\\]"},
		{"*.[ch]", "expr.c"}};
	static const char *const differs[][2] = {{"", "a"}, {"a", ""}, {"?", ""}, {"a*c", "abd"},
		{"[a-c]", "d"}, {"[!a-c]", "b"}, {"\\*", "a"}, {"a\\", "a"}, {"*b", "abc"},
		{"b*", "abc"}, {"[^a]", "b"}, {"[", "a"}, {"*a*a*a*b", "aaaaaaaaac"}};

	for (size_t i = 0; i < ARRAY_SIZE(matches); i++)
		if (!expr_glob(matches[i][0], strlen(matches[i][0]), matches[i][1],
			    strlen(matches[i][1])))
			fail_msg("'%s' does not match '%s'", matches[i][0], matches[i][1]);
	for (size_t i = 0; i < ARRAY_SIZE(differs); i++)
		if (expr_glob(differs[i][0], strlen(differs[i][0]), differs[i][1],
			    strlen(differs[i][1])))
			fail_msg("'%s' matches '%s'", differs[i][0], differs[i][1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_operators_as_in_c),
		cmocka_unit_test(test_comparisons_as_in_c),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_folding),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_globs),
	};

	return cmocka_run_group_tests_name("expr", tests, parse_format, free_format);
}
