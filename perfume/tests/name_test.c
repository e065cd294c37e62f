/* SPDX-License-Identifier: CC0-1.0 */
/* Names and fields, compared with what the kernel's own tests of user_events accept and refuse. */
#include "tests.h"

static void invalid_names_are_refused_with_a_reason(void **state)
{
	static const struct {
		const char *name;
		int verdict;
		const char *reason;
	} cases[] = {
		{"order_placed", PERFUME_NAME_OK, NULL},
		{"_x9", PERFUME_NAME_OK, NULL},
		{"a.b", PERFUME_NAME_RISKY, "crash"},
		{"a-b", PERFUME_NAME_RISKY, "crash"},
		{"9lives", PERFUME_NAME_RISKY, "letters"},
		{"caf\xc3\xa9", PERFUME_NAME_RISKY, "letters"},
		{"a:b", -EINVAL, "flags"},
		{"a b", -EINVAL, "space"},
		{"a\tb", -EINVAL, "space"},
		{"a\nb", -EINVAL, "space"},
		{"a/b", -EINVAL, "directory"},
		{".", -EINVAL, "directory"},
		{"..", -EINVAL, "directory"},
		{"", -EINVAL, "empty"},
		{NULL, -EINVAL, "empty"},
	};
	const char *reason;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(perfume_check_name(cases[i].name, &reason), cases[i].verdict);
		assert_int_equal(perfume_check_name(cases[i].name, NULL), cases[i].verdict);
		if (cases[i].reason)
			assert_non_null(strstr(reason, cases[i].reason));
		else
			assert_null(reason);
	}
}

static void name_and_fields_together_have_511_bytes(void **state)
{
	struct perfume_event event = {.fields = ""};
	char name[600], command[COMMAND_MAX];

	event.name = memset(name, 'n', sizeof(name));
	name[512] = 0;
	assert_int_equal(perfume_check_name(name, NULL), -EINVAL);
	name[511] = 0;
	assert_int_equal(perfume_check_name(name, NULL), PERFUME_NAME_OK);
	assert_int_equal(spell(&event, command), 0);
	event.fields = "u32 a";
	assert_int_equal(spell(&event, command), -EINVAL);
	assert_non_null(strstr(perfume_error(), "511"));
	name[505] = 0;
	assert_int_equal(spell(&event, command), 0);
	assert_int_equal(strlen(command), 511);
}

/* Returns the fields as the library formats them, or NULL with the message in perfume_error(). */
static const char *spelled(const char *text, int *ret_size)
{
	static struct fields fields;

	fields = (struct fields){0};
	*ret_size = put_fields(&fields, text);
	return *ret_size < 0 ? NULL : fields.text;
}

static void fields_have_one_spelling(void **state)
{
	static const struct {
		const char *text, *spelling;
		int size;
	} cases[] = {
		{"", "", 0},
		{";", "", 0},
		{"u32 a", "u32 a", 4},
		{"  u32\ta ;", "u32 a", 4},
		{"u32 a;u64 b", "u32 a; u64 b", 12},
		{"u32 a;;  u64 b; ;", "u32 a; u64 b", 12},
		{"s8 a;u8 b;s16 c;u16 d;s32 e;u32 f;s64 g;u64 h",
			"s8 a; u8 b; s16 c; u16 d; s32 e; u32 f; s64 g; u64 h", 30},
		{"int a;short b;char c", "int a; short b; char c", 7},
		{"unsigned int a; unsigned short b; unsigned char c",
			"unsigned int a; unsigned short b; unsigned char c", 7},
		{"char[20] a", "char[20] a", 20},
		{"unsigned  char[0x14] a", "unsigned char[0x14] a", 20},
		{"char[1024] a", "char[1024] a", 1024},
		{"__data_loc char[] a", "__data_loc char[] a", 4},
		{"__rel_loc unsigned char[] a", "__rel_loc unsigned char[] a", 4},
		{"__rel_loc u32[] a", "__rel_loc u32[] a", 4},
		{"struct custom a 20", "struct custom a 20", 20},
		{"f64 a;f32 b", "struct f64 a 8; struct f32 b 4", 12},
		{"u32[4] a", "struct u32x4 a 16", 16},
		{"f64[0x10] a", "struct f64x16 a 128", 128},
	};
	size_t i;
	int size;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_string_equal(spelled(cases[i].text, &size), cases[i].spelling);
		assert_int_equal(size, cases[i].size);
	}
}

static void fields_that_the_kernel_refuses_are_refused_with_the_reason(void **state)
{
	static const struct {
		const char *text, *reason;
	} cases[] = {
		{"u32", "TYPE NAME"},
		{"unsigned int", "TYPE NAME"},
		{"__rel_loc char[]", "TYPE NAME"},
		{"u32 a b", "TYPE NAME"},
		{"u32 a 4", "TYPE NAME"},
		{"a b c d e f", "TYPE NAME"},
		{"char a 20", "TYPE NAME"},
		{"long a", "s64"},
		{"unsigned long a", "s64"},
		{"float a", "f32"},
		{"double a", "f64"},
		{"int[4] a", "unknown type"},
		{"u32[0] a", "length"},
		{"u32[] a", "length"},
		{"u32[1025] a", "length"},
		{"string a", "unknown type"},
		{"unsigned u32 a", "unknown type"},
		{"char[aa] a", "length"},
		{"char[] a", "length"},
		{"char[0] a", "length"},
		{"char[-1] a", "length"},
		{"char[1025] a", "length"},
		{"char[9999] a", "length"},
		{"char[0x0000000000001] a", "length"},
		{"struct custom a", "struct NAME"},
		{"struct custom a 0", "struct NAME"},
		{"struct custom a x", "struct NAME"},
		{"struct custom a 99999", "struct NAME"},
		{"struct custom a 20 30", "struct NAME"},
	};
	size_t i;
	int size;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (spelled(cases[i].text, &size))
			fail_msg("'%s' was accepted", cases[i].text);
		assert_int_equal(size, -EINVAL);
		if (!strstr(perfume_error(), cases[i].reason))
			fail_msg("'%s': %s", cases[i].text, perfume_error());
	}
}

static void fields_longer_than_an_event_are_refused(void **state)
{
	struct perfume_ctx *ctx = perfume_init(0);

	assert_null(perfume_register(ctx, "perfume_big", "u64[500] a", "u8 b", NULL));
	assert_non_null(strstr(perfume_error(), "longer than 4000 bytes"));
	assert_null(perfume_register(ctx, "perfume_big", "char[1024] a", "char[1024] b",
		"char[1024] c", "char[1024] d", NULL));
	assert_int_equal(errno, EINVAL);
	assert_non_null(strstr(perfume_error(), "longer than 4000 bytes"));
	perfume_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(invalid_names_are_refused_with_a_reason),
		cmocka_unit_test(name_and_fields_together_have_511_bytes),
		cmocka_unit_test(fields_have_one_spelling),
		cmocka_unit_test(fields_that_the_kernel_refuses_are_refused_with_the_reason),
		cmocka_unit_test(fields_longer_than_an_event_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
