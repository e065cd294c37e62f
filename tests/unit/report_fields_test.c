/* SPDX-License-Identifier: MIT */
/*
 * Cells with the fields of a record: they are formatted directly into text, CSV and JSON, or
 * expanded into text and named values for all other readers. Both must give the same.
 */
#include "unit.h"

#include "attar/format.h"
#include "attar/private/report.h"
#include "base/base.h"
#include "drawing.h"

static const char text[] =
	"name: thing\nID: 23\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:u8 byte;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:s8 small;\toffset:3;\tsize:1;\tsigned:1;\n"
	"\tfield:int number;\toffset:4;\tsize:4;\tsigned:1;\n"
	"\tfield:u64 big;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:char comm[8];\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long args[2];\toffset:24;\tsize:16;\tsigned:0;\n"
	"\tfield:__data_loc char[] name;\toffset:40;\tsize:4;\tsigned:0;\n"
	"\tfield:__data_loc s16[] list;\toffset:44;\tsize:4;\tsigned:1;\n"
	"\tfield:struct odd thing;\toffset:48;\tsize:3;\tsigned:0;\n"
	"\tfield:struct f64 real;\toffset:56;\tsize:8;\tsigned:0;\n"
	"\nprint fmt: \"n=%d %s \\\"%s\\\" (%lx, %lx)\", REC->number, REC->comm, __get_str(name), "
	"REC->args[0], REC->args[1]\n";

static uint8_t raw[80];
static struct attar_format *format;

static int make(void **state)
{
	memcpy(raw + 2, &(uint8_t){200}, 1);
	memcpy(raw + 3, &(int8_t){-2}, 1);
	memcpy(raw + 4, &(int32_t){-5}, 4);
	memcpy(raw + 8, &(uint64_t){UINT64_MAX}, 8);
	memcpy(raw + 16, "c\"\n\xff", 5);
	memcpy(raw + 24, (uint64_t[]){10, 1ULL << 40}, 16);
	memcpy(raw + 40, &(uint32_t){64 | 6 << 16}, 4);
	memcpy(raw + 64, "h,ll\0", 6);
	memcpy(raw + 44, &(uint32_t){72 | 5 << 16}, 4); /* a byte too many */
	memcpy(raw + 72, (int16_t[]){-1, 2}, 4);
	memcpy(raw + 48, "\x01\xab\xff", 3);
	memcpy(raw + 56, &(double){0.25}, 8);
	return attar_format_parse("sys", text, strlen(text), &format);
}

static int unmake(void **state)
{
	attar_format_free(format);
	return 0;
}

/* A line of one event; values are named in front of the fields, too. */
static struct attar_report *lines(size_t size, bool values)
{
	struct attar_report *report = attar_report_new("trace");
	struct attar_section *s = attar_report_events(report, "events");

	attar_section_column(s, "time", ATTAR_UNIT_TIME);
	attar_section_column(s, "comm", ATTAR_UNIT_TEXT);
	attar_section_column(s, "first", ATTAR_UNIT_TEXT);
	attar_section_column(s, "tid", ATTAR_UNIT_ID);
	attar_section_column(s, "fields", ATTAR_UNIT_TEXT);
	for (int row = 0; row < 3; row++) {
		attar_section_row(s);
		attar_cell_u64(s, 1700000000000000000 + (uint64_t)row * 700000001);
		attar_cell_text(s, row ? "plain" : "\u6f22\x1b");
		if (row == 1)
			cell_fields(s, format, raw, size, values);
		else
			attar_cell_text(s, row ? "" : "first");
		if (row < 2)
			attar_cell_u64(s, row ? 7 : 123456);
		else
			attar_cell_none(s);
		cell_fields(s, format, raw, size, values && row < 2);
		attar_row_value(s, "more", true);
		attar_row_value_u64(s, (uint64_t)row);
	}
	return report;
}

static char *draw_expanded(const char *name, size_t size, bool values)
{
	struct attar_report *report = lines(size, values);
	const struct attar_section *s = attar_report_find_section(report, "events");

	assert_int_equal(attar_section_get_cell(s, 0, 4).kind, ATTAR_CELL_TEXT);
	return draw_one(name, (struct attar_render_opts){0}, report);
}

/* Also if the record was cut anywhere. */
static void test_direct_and_expanded_cells_are_equal(void **state)
{
	static const char *const names[] = {"text", "csv", "json"};

	for (size_t size = 0; size <= sizeof(raw); size++)
		for (size_t i = 0; i < 2 * ARRAY_SIZE(names); i++) {
			const char *name = names[i / 2];
			char *direct =
				draw_one(name, (struct attar_render_opts){0}, lines(size, i % 2));
			char *expanded = draw_expanded(name, size, i % 2);

			assert_string_equal(direct, expanded);
			free(direct);
			free(expanded);
		}
}

static void test_json_members(void **state)
{
	char *json = draw_one("json", (struct attar_render_opts){0}, lines(sizeof(raw), true));
	static const char members[] =
		"{\"byte\":200,\"small\":-2,\"number\":-5,\"big\":18446744073709551615,"
		"\"comm\":\"c\\\"\\u000a\ufffd\",\"args\":[10,1099511627776],\"name\":\"h,ll\","
		"\"list\":[-1,2],\"thing\":\"01abff\",\"real\":0.25,\"more\":[0]}";

	assert_non_null(strstr(json, members));
	assert_non_null(strstr(json, ",{\"more\":[2]}]")); /* without values of its fields */
	free(json);
}

static void test_lines(void **state)
{
	char *csv = draw_one("csv", (struct attar_render_opts){0}, lines(sizeof(raw), true));

	assert_non_null(strstr(csv, "\n2023-11-14T22:13:21.400000002Z,plain,,,"
				    "\"n=-5 c\"\"\\x0a\ufffd \"\"h,ll\"\" (a, 10000000000)\"\n"));
	free(csv);
}

/* Texts that need no quotes, quotes, and more, as the last cells before the end of a line. */
static void test_forms_of_csv(void **state)
{
	static const struct {
		const char *print, *field;
	} forms[] = {
		{"n=%d", "n=-5"},
		{"n=%d, a number of two words", "\"n=-5, a number of two words\""},
		{"%d", "-5"},
		{"=%d", "'=-5"},
		{",%d,,", "\",-5,,\""},
		{"say \\\"%d\\\", twice", "\"say \"\"-5\"\", twice\""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		struct attar_report *report = attar_report_new("trace");
		struct attar_section *s = attar_report_events(report, "events");
		struct attar_format *short_format;
		char about[300], expected[300];

		snprintf(about, sizeof(about),
			"name: e\nID: 1\nformat:\n"
			"\tfield:int number;\toffset:4;\tsize:4;\tsigned:1;\n"
			"\nprint fmt: \"%s\", REC->number\n",
			forms[i].print);
		assert_int_equal(attar_format_parse("s", about, strlen(about), &short_format), 0);
		attar_section_column(s, "time", ATTAR_UNIT_TIME);
		attar_section_column(s, "fields", ATTAR_UNIT_TEXT);
		for (int row = 0; row < 2; row++) {
			attar_section_row(s);
			attar_cell_none(s);
			cell_fields(s, short_format, raw, 8, false);
		}
		snprintf(expected, sizeof(expected), "time,fields\n,%s\n,%s\n", forms[i].field,
			forms[i].field);
		assert_drawn("csv", (struct attar_render_opts){0}, report, expected);
		attar_format_free(short_format);
	}
}

static void test_readers_get_text_and_values(void **state)
{
	struct attar_report *report = lines(sizeof(raw), true);
	const struct attar_section *s = attar_report_find_section(report, "events");
	bool is_list = false;
	size_t n = 0;

	assert_string_equal(attar_section_get_value(s, 0, 5, &n, &is_list), "args");
	assert_true(is_list);
	assert_int_equal(n, 2);
	assert_int_equal(attar_section_get_value_cell(s, 0, 5, 1).u64, 1ULL << 40);
	assert_string_equal(attar_section_get_value(s, 2, 0, NULL, NULL), "more");
	assert_null(attar_section_get_value(s, 2, 1, NULL, NULL));
	assert_string_equal(
		attar_section_get_cell(s, 2, 4).text, "n=-5 c\"\n\xff \"h,ll\" (a, 10000000000)");
	attar_report_free(report);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_direct_and_expanded_cells_are_equal),
		cmocka_unit_test(test_json_members),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_forms_of_csv),
		cmocka_unit_test(test_readers_get_text_and_values),
	};

	return cmocka_run_group_tests_name("report_fields", tests, make, unmake);
}
