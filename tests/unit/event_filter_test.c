/* SPDX-License-Identifier: MIT */
/* Filters evaluated by attar, in the kernel's filter syntax. */
#include "unit.h"

#include <math.h>
#include <stdio.h>

#include "base/buf.h"
#include "expr/filter.h"
#include "event/user_event.h"

static struct attar_format *format;
static char raw[128];
static size_t raw_size;

/*
 * After the 8 bytes common to all records: id = 7, change = -3, price = 2.5, four = {1, 2, 3, 250},
 * text = "ACME".
 */
static int make_record(void **state)
{
	uint64_t id = 7;
	int32_t change = -3;
	double price = 2.5;
	uint32_t place = 5 << 16 | 4;

	assert_int_equal(userevent_format("order",
				 "u64 id; s32 change; struct f64 price 8; __rel_loc char[] text; "
				 "struct u8x4 four 4",
				 1, &format),
		0);
	memcpy(raw + 8, &id, 8);
	memcpy(raw + 16, &change, 4);
	memcpy(raw + 20, &price, 8);
	memcpy(raw + 28, &place, 4);
	memcpy(raw + 32, "\1\2\3\372", 4);
	memcpy(raw + 36, "ACME", 5);
	raw_size = 41;
	return 0;
}

static int free_format(void **state)
{
	attar_format_free(format);
	return 0;
}

static bool keeps_of(const char *text, size_t size)
{
	struct filter *filter;
	bool keeps;

	assert_int_equal(filter_parse(text, format, &filter), 0);
	keeps = filter_keeps(filter, &(struct attar_expr_record){.raw = raw, .raw_size = size});
	filter_free(filter);
	return keeps;
}

static void test_comparisons(void **state)
{
	static const char *const kept[] = {"id==7", "id == 0x7", "id!=8", "id<=7", "id>=7", "id<8",
		"id>6", "id&3", "change==-3", "change<0", "change > -4", "price==2.5", "price>2",
		"price<2.51", "text==ACME", "text == \"ACME\"", "text != 'acme'", "text ~ \"A*E\"",
		"common_pid == 0", "!id==8", "! (id==8 || id==9)", "id==1 && id==2 || id==7",
		"(id==7)&&(text~ACM?)"};
	static const char *const dropped[] = {"id==8", "id!=7", "id<7", "id>7", "id&8", "change>0",
		"price>2.5", "text==ACM", "text ~ B*", "!id==7", "id==7 && (id==1 || id==2)"};

	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		if (!keeps_of(kept[i], raw_size))
			fail_msg("'%s' drops it", kept[i]);
	for (size_t i = 0; i < ARRAY_SIZE(dropped); i++)
		if (keeps_of(dropped[i], raw_size))
			fail_msg("'%s' keeps it", dropped[i]);
}

/* Comparisons with floating-point constants give the results of C, also at the limits. */
static void test_reals(void **state)
{
	static const double values[] = {
		2.5, -2.5, 0, -0.0, INFINITY, -INFINITY, NAN, 1e-300, 1e308};
	static const char *const texts[] = {
		"2.5", "-2.5", "0", "-0", "inf", "-inf", "nan", "1e-300", "1e308"};

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		memcpy(raw + 20, &values[i], 8);
		for (size_t k = 0; k < ARRAY_SIZE(texts); k++) {
			double a = values[i], b = strtod(texts[k], NULL);
			const struct {
				const char *op;
				bool result;
			} ops[] = {{"==", a == b}, {"!=", a != b}, {"<", a < b}, {"<=", a <= b},
				{">", a > b}, {">=", a >= b}};

			for (size_t o = 0; o < ARRAY_SIZE(ops); o++) {
				char text[64];

				snprintf(text, sizeof(text), "price %s %s", ops[o].op, texts[k]);
				if (keeps_of(text, raw_size) != ops[o].result)
					fail_msg("%s is wrong for %g", text, a);
			}
		}
	}
	memcpy(raw + 20, &(double){2.5}, 8);
}

/* A truncated record has no fields after the end. */
static void test_truncated_records(void **state)
{
	for (size_t size = 0; size < raw_size; size++) {
		assert_int_equal(keeps_of("id==7", size), size >= 16);
		assert_int_equal(keeps_of("text==ACME", size), false);
		keeps_of("change<0 || price>0", size);
	}
}

/* A dynamic field has its own length, which may be less than the size of the declared number. */
static void test_short_numbers(void **state)
{
	static const char text[] = "name: odd\nID: 1\nformat:\n"
				   "\tfield:__rel_loc f32 real;\toffset:8;\tsize:4;\tsigned:0;\n"
				   "\tfield:__rel_loc u32 whole;\toffset:8;\tsize:4;\tsigned:0;\n";
	uint32_t place = 1 << 16;
	char *record = calloc(1, 13); /* exact size, so that the sanitizer detects overreads */
	struct attar_format *odd;
	struct filter *filter;

	assert_int_equal(attar_format_parse("user_events", text, strlen(text), &odd), 0);
	memcpy(record + 8, &place, 4);
	assert_int_equal(filter_parse("real<1 || real>=1 || whole==0", odd, &filter), 0);
	assert_false(
		filter_keeps(filter, &(struct attar_expr_record){.raw = record, .raw_size = 13}));
	filter_free(filter);
	attar_format_free(odd);
	free(record);
}

static void test_errors(void **state)
{
	static const char *const wrong[] = {"", "id", "id=7", "id==", "id==x", "id==7 &&", "(id==7",
		"id==7)", "nofield==7", "id ~ 7", "text<3", "text==\"open", "four==1", "==7",
		"id==7 id==8", "id==99999999999999999999", "price==1.2.3"};
	struct filter *filter = NULL;
	struct buf deep = {0};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		if (filter_parse(wrong[i], format, &filter) != -EINVAL)
			fail_msg("'%s' is accepted", wrong[i]);
	filter_parse("nofield==7", format, &filter);
	assert_string_equal(attar_error(), "filter 'nofield==7': 'user_events:order' has no field "
					   "'nofield'; its fields are id, "
					   "change, price, text, four");
	for (int i = 0; i < 100000; i++)
		buf_char(&deep, "!("[i % 2]);
	assert_int_equal(filter_parse(buf_text(&deep), format, &filter), -EINVAL);
	buf_done(&deep);
}

static void test_positions(void **state)
{
	static const struct {
		const char *filter, *place;
	} errors[] = {
		{"", "column 1: expected a field name"},
		{"id==7 && ", "column 10: expected a field name"},
		{"id = 7", "column 4: expected one of == != < <= > >= & ~"},
		{"id == x", "column 7: expected a number"},
		{"(id==7 && change<0", "column 19: expected ')'"},
		{"id==7 id==8", "column 7: expected && or ||"},
		{"id==7 ? 1 : 2", "column 7: expected && or ||"},
		{"text < 3", "column 7: strings can only be compared with ==, != or ~"},
		{"id ~ 7", "column 5: ~ can only compare strings"},
		{"price & 1", "column 8: & can only test bits of integers"},
		{"text == \"open", "column 10: missing closing quote"},
		{"four==1", "column 1: cannot compare an array"},
		{"((((((((((((((((((((((((((((((((id==1))))))))))))))))))))))))))))))))",
			"column 33: the expression is nested too deeply"},
	};
	struct filter *filter = NULL;
	char expected[256];

	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		assert_int_equal(filter_parse(errors[i].filter, format, &filter), -EINVAL);
		snprintf(expected, sizeof(expected), "filter '%s' of 'user_events:order', %s",
			errors[i].filter, errors[i].place);
		assert_string_equal(attar_error(), expected);
	}
}

/* As many comparisons as fit in 512 nodes, in a chain that nests to one side. */
static void test_long_filters(void **state)
{
	struct buf b = {0};

	for (int i = 0; i < 255; i++)
		buf_str(&b, i % 2 ? "id==8 || " : "text ~ x* || ");
	buf_str(&b, "id==7");
	assert_true(keeps_of(buf_text(&b), raw_size));
	buf_done(&b);
}

static const char fields[] = "name: all\nID: 1\nformat:\n"
			     "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
			     "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
			     "\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
			     "\tfield:u8 byte;\toffset:28;\tsize:1;\tsigned:0;\n"
			     "\tfield:u64 big;\toffset:32;\tsize:8;\tsigned:0;\n"
			     "\tfield:__data_loc char[] name;\toffset:40;\tsize:4;\tsigned:0;\n"
			     "\tfield:const char * path;\toffset:48;\tsize:8;\tsigned:0;\n"
			     "\tfield:void * ip;\toffset:56;\tsize:8;\tsigned:0;\n"
			     "\tfield:char tag[4];\toffset:64;\tsize:4;\tsigned:0;\n";

/* Where a filter runs: in the kernel if its language says exactly this. */
static void test_where_filters_run(void **state)
{
	enum { KERNEL, EITHER, ATTAR, NOWHERE };
	static const struct {
		const char *filter;
		int where;
	} cases[] = {
		{"pid == 5", EITHER}, {"pid == -5 && (comm == \"x\" || !byte & 3)", EITHER},
		{"comm ~ \"x*\" && comm ~ \"*x*\" && comm ~ \"x*y\" && name ~ \"*x\"", EITHER},
		{"common_pid != 7", EITHER}, {"big == 0xffffffffffffffff", EITHER},
		{"byte & 0x80", EITHER}, {"comm ~ \"!x*\"", EITHER}, {"path ~ \"*.c\"", KERNEL},
		{"path.ustring == \"x\" && pid == 5", KERNEL}, {"ip.function == schedule", KERNEL},
		{"pid & CPUS{1-3,5}", KERNEL}, {"cpu == 1 && pid < 9", KERNEL},
		{"CPU & CPUS{2}", KERNEL}, {"comm == x", ATTAR}, {"comm ~ \"*x\"", ATTAR},
		{"name ~ \"0*\"", ATTAR}, {"name ~ \"\"", ATTAR}, {"byte == 256", ATTAR},
		{"byte == -1", ATTAR}, {"byte & 0x100", ATTAR}, {"big < -1", ATTAR},
		{"pid == 0xffffffff", ATTAR}, {"pid == +5", ATTAR}, {"pid < common_pid", ATTAR},
		{"common_pid+1>10", ATTAR}, {"(pid & 4) == 4", ATTAR}, {"comm[0] == 'x'", ATTAR},
		{"name == comm", ATTAR}, {"pid", ATTAR}, {"strlen(name) > 3", ATTAR},
		{"path ~ \"*.c\" && pid < common_pid", NOWHERE},
		{"path.ustring == \"x\" && byte == 256", NOWHERE},
		{"cpu == 1 && pid + 1 > 2", NOWHERE}, {"comm", NOWHERE}, {"pid == \"x\"", NOWHERE},
		{"other == 1", NOWHERE}, {"", NOWHERE},
		{"ksymbol(ip) ~ \"a*\"", NOWHERE}, /* without symbols */
	};
	struct attar_format *all;

	assert_int_equal(attar_format_parse("sys", fields, strlen(fields), &all), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		for (int has_kernel = 0; has_kernel < 2; has_kernel++) {
			int where = cases[i].where;
			bool runs = where != NOWHERE && (where != KERNEL || has_kernel);
			struct filter_choice choice = {0};
			int r = filter_choose(cases[i].filter, all, has_kernel, NULL, &choice);

			if (r != (runs ? 0 : -EINVAL) ||
				(runs && choice.in_kernel != (has_kernel && where <= EITHER)) ||
				(runs && !choice.keep != (where == KERNEL)) ||
				(runs && !choice.why != choice.in_kernel))
				fail_msg("'%s', %d: %d %d %s", cases[i].filter, has_kernel, r,
					choice.in_kernel, runs ? choice.why : attar_error());
			filter_free(choice.keep);
		}
	}
	attar_format_free(all);
}

/* Why attar applies a filter that the kernel would treat differently. */
static void test_reasons(void **state)
{
	static const struct {
		const char *filter, *why;
	} cases[] = {
		{"name ~ \"\"", "the kernel's filters cannot have an empty pattern"},
		{"comm ~ \"*x\"",
			"the kernel compares the end of a fixed-size field, not of its text"},
		{"pid == +5", "the kernel's filters cannot have a number with a '+'"},
	};
	struct attar_format *all;

	assert_int_equal(attar_format_parse("sys", fields, strlen(fields), &all), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct filter_choice choice = {0};

		assert_int_equal(filter_choose(cases[i].filter, all, true, NULL, &choice), 0);
		assert_string_equal(choice.why, cases[i].why);
		filter_free(choice.keep);
	}
	attar_format_free(all);
}

static size_t name_thread(void *ctx, const struct attar_expr_record *record, uint64_t number,
	char *ret_text, size_t max)
{
	const char *name = number == 5 ? "9worker" : "swapper";

	memcpy(ret_text, name, strlen(name));
	return strlen(name);
}

/* The name of the task, of events without a field of this name: the patterns that differ. */
static void test_names_of_tasks(void **state)
{
	static const struct {
		const char *filter;
		bool in_kernel, keeps, keeps_idle;
	} cases[] = {
		{"comm ~ \"9work*\"", false, true, false},
		{"COMM ~ \"*ker\"", false, true, false},
		{"comm ~ \"*ker*\"", true, true, false},
		{"comm ~ \"?worker\"", true, true, false},
		{"comm ~ \"!*ker\"", false, false, true},
		{"comm == \"9worker\"", true, true, false},
		{"comm != \"9worker\"", true, false, true},
		{"comm ~ \"\"", false, false, false},
		{"comm == 9worker", false, true, false},
		{"comm == \"9work\"", true, false, false},
		{"comm ~ \"swapper/3\"", true, false, true},
		{"comm ~ \"*3\" || id == 7", false, true, true},
		{"id == 8 && comm ~ \"9*\"", false, false, false},
	};
	struct attar_expr_opts opts = {.size = sizeof(opts), .comm_get = name_thread};
	struct attar_expr_record task = {.raw = raw, .raw_size = raw_size, .tid = 5},
				 idle = {.raw = raw, .raw_size = raw_size, .cpu = 3};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct filter_choice choice = {0};

		if (filter_choose(cases[i].filter, format, true, &opts, &choice) < 0)
			fail_msg("'%s': %s", cases[i].filter, attar_error());
		if (choice.in_kernel != cases[i].in_kernel ||
			filter_keeps(choice.keep, &task) != cases[i].keeps ||
			filter_keeps(choice.keep, &idle) != cases[i].keeps_idle)
			fail_msg("'%s'", cases[i].filter);
		filter_free(choice.keep);
	}
}

/* Text that is longer than what it is compared with: no event, or each, would match. */
static void test_text_that_never_matches(void **state)
{
#define FIFTEEN "0123456789abcde"
	static const char name[] =
		"filter: the names of threads have at most 15 characters, and this text has more: "
		"use the first 15 characters";
	static const char field[] =
		"filter: this text is longer than the field that it is compared with";
	static const struct {
		const char *filter, *error; /* error NULL: it is accepted */
		unsigned column;
	} cases[] = {
		{"comm == \"" FIFTEEN "\"", NULL, 0},
		{"comm == \"" FIFTEEN "f\"", name, 9},
		{"pid == 1 || comm != \"" FIFTEEN "f\"", name, 21},
		{"comm ~ \"*" FIFTEEN "*\"", NULL, 0},
		{"comm ~ \"?" FIFTEEN "*\"", name, 8},
		{"comm ~ \"!" FIFTEEN "*\"", NULL, 0},
		{"comm ~ \"!" FIFTEEN "f*\"", name, 8},
		{"comm ~ \"0123456789abcd[e-z]\"", NULL, 0},
		{"comm ~ \"" FIFTEEN "[f-z]\"", name, 8},
		{"name == \"" FIFTEEN "f\"", NULL, 0},
		{"path == \"" FIFTEEN "f\"", NULL, 0},
		{"tag == \"abcd\"", NULL, 0},
		{"tag == \"abcde\"", field, 8},
		{"comm == " FIFTEEN "f", name, 9},
		/* expressions of users */
		{"pid < common_pid && comm == \"" FIFTEEN "f\"", name, 26},
		{"\"" FIFTEEN "f\" != comm", name, 20},
		{"comm_get(pid) == \"" FIFTEEN "\"", NULL, 0},
		{"comm_get(pid) == \"" FIFTEEN "f\"", name, 15},
		{"_comm ~ \"" FIFTEEN "\\\\*\"", name, 7},
	};
	static const char *const of_all[] = {
		"comm == \"" FIFTEEN "f\"", "COMM ~ \"*" FIFTEEN "f*\""};
	unsigned column;
	struct attar_expr_opts opts = {
		.size = sizeof(opts), .comm_get = name_thread, .ret_column = &column};
	struct filter_choice choice;
	struct attar_format *all;

	assert_int_equal(attar_format_parse("sys", fields, strlen(fields), &all), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int r = filter_choose(cases[i].filter, all, true, &opts, &choice);

		if (r != (cases[i].error ? -EINVAL : 0) ||
			(r < 0 && (strcmp(attar_error(), cases[i].error) != 0 ||
					  column != cases[i].column)))
			fail_msg("'%s': %d, column %u: %s", cases[i].filter, r, column,
				attar_error());
		if (r == 0)
			filter_free(choice.keep);
	}
	/* the name of the task, of events without such a field: in attar, or only in the kernel */
	for (size_t i = 0; i < 2 * ARRAY_SIZE(of_all); i++) {
		opts.comm_get = i % 2 ? name_thread : NULL;
		assert_int_equal(
			filter_choose(of_all[i / 2], format, true, &opts, &choice), -EINVAL);
		assert_string_equal(attar_error(), name);
	}
	attar_format_free(all);
}

static void test_text(void **state)
{
	char text[256];

	attar_format_print(format, raw, raw_size, text, sizeof(text));
	assert_string_equal(text, "id=7 change=-3 price=2.5 text=ACME four={1,2,3,250}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_comparisons),
		cmocka_unit_test(test_reals),
		cmocka_unit_test(test_truncated_records),
		cmocka_unit_test(test_short_numbers),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_positions),
		cmocka_unit_test(test_long_filters),
		cmocka_unit_test(test_where_filters_run),
		cmocka_unit_test(test_reasons),
		cmocka_unit_test(test_names_of_tasks),
		cmocka_unit_test(test_text_that_never_matches),
		cmocka_unit_test(test_text),
	};

	return cmocka_run_group_tests(tests, make_record, free_format);
}
