/* SPDX-License-Identifier: MIT */
/* What a probe fetches: offsets by the compiler, types by BTF of the same structs. */
#include "unit.h"

#include <stddef.h>
#include <stdio.h>

#include "attar/base.h"
#include "event/fetch.h"
#include "fetch_types.h"
#include "fetch_types_btf.h"

static struct btf types;

static int set_up(void **state)
{
	struct buf bytes = {0};

	buf_add(&bytes, types_btf, sizeof(types_btf));
	return btf_take(&types, bytes, NULL);
}

static int tear_down(void **state)
{
	btf_done(&types);
	return 0;
}

static int compile(const char *function, const char *text, struct buf *fetch, const char **wrong)
{
	struct fetch_names names = {.btf = &types, .function = function};

	names.is_return = *function == '<';
	names.function += names.is_return;
	assert_true(fetch_is_c(text, strlen(text)));
	return fetch_compile(&names, text, strlen(text), fetch, wrong);
}

/* Of a function: the text is fetched as `format` says, with numbers of the compiler. */
__attribute__((format(printf, 3, 4))) static void is(
	const char *function, const char *text, const char *format, ...)
{
	struct buf fetch = {0};
	const char *wrong;
	char truth[256];
	va_list args;

	va_start(args, format);
	vsnprintf(truth, sizeof(truth), format, args);
	va_end(args);
	if (compile(function, text, &fetch, &wrong) < 0)
		fail_msg("%s: %s", text, attar_error());
	assert_string_equal(buf_text(&fetch), truth);
	buf_done(&fetch);
}

/* The error has these words, and is at the character that `at` begins with. */
static void fails(const char *function, const char *text, const char *words, const char *at)
{
	struct buf fetch = {0};
	const char *wrong = text;

	assert_true(compile(function, text, &fetch, &wrong) < 0);
	if (!strstr(attar_error(), words) || strncmp(wrong, at, strlen(at)) != 0)
		fail_msg("%s: at '%s': %s", text, wrong, attar_error());
	assert_int_equal(fetch.len, 0);
	attar_error_clear();
	buf_done(&fetch);
}

#define AT(member) offsetof(struct opened, member)

static void test_members(void **state)
{
	const size_t name = offsetof(struct dentry, d_name) + offsetof(struct qstr, name);

	is("vfs_open", "file->port", "+%zu($arg2):u16", AT(port));
	is("vfs_open", "file->other", "+%zu($arg2):u16", AT(other));
	is("vfs_open", "file->both", "+%zu($arg2):u64", AT(both));
	is("vfs_open", "file->small", "+%zu($arg2):s8", AT(small));
	is("vfs_open", "file->kind", "+%zu($arg2):u32", AT(kind));
	is("vfs_open", "file->is_on", "+%zu($arg2):u8", AT(is_on));
	is("vfs_open", "file->big", "+%zu($arg2):u64", AT(big));
	is("vfs_open", "file->call", "+%zu($arg2):x64", AT(call));
	is("vfs_open", "file -> inner . value", "+%zu($arg2):s32",
		AT(inner) + offsetof(struct inner, value));
	is("vfs_open", "(*file).port", "+%zu($arg2):u16", AT(port));
	is("vfs_open", "file->f_path.dentry->d_name.hash", "+%zu(+%zu($arg2)):u32",
		offsetof(struct dentry, d_name.hash), AT(f_path.dentry));
	is("module:vfs_open", "file->port", "+%zu($arg2):u16", AT(port));
	is("vfs_open", "path->dentry->d_parent->d_name.name", "+0(+%zu(+%zu(+%zu($arg1)))):string",
		name, offsetof(struct dentry, d_parent), offsetof(struct path, dentry));
}

static void test_types_that_are_written(void **state)
{
	is("vfs_open", "file->port:x16", "+%zu($arg2):x16", AT(port));
	is("vfs_open", "file->f_path.dentry->d_name.name:ustring", "+0(+%zu(+%zu($arg2))):ustring",
		offsetof(struct dentry, d_name.name), AT(f_path.dentry));
	is("vfs_open", "file->comm", "+%zu($arg2):string", AT(comm));
	is("vfs_open", "file->comm:string", "+%zu($arg2):string", AT(comm));
	is("vfs_open", "file->comm:u8[16]", "+%zu($arg2):u8[16]", AT(comm));
	is("vfs_open", "flags", "$arg3:s64");
	is("vfs_open", "file", "$arg2:x64");
}

static void test_arrays(void **state)
{
	is("vfs_open", "file->numbers[3]", "+%zu($arg2):s32", AT(numbers[3]));
	is("vfs_open", "*file->numbers", "+%zu($arg2):s32", AT(numbers));
	is("vfs_open", "file->many[1]->value", "+%zu(+%zu($arg2)):s32",
		offsetof(struct inner, value), AT(many[1]));
	is("vfs_open", "file->row[2].value", "+%zu($arg2):s32", AT(row[2].value));
	is("vfs_open", "file[1].port", "+%zu($arg2):u16", sizeof(struct opened) + AT(port));
	is("vfs_open", "file->comm[4]", "+%zu($arg2):s8", AT(comm[4]));
}

/* The bits that the compiler sets for all ones in a field. */
#define BITS(member, text)                                                                         \
	do {                                                                                       \
		union {                                                                            \
			struct opened of;                                                          \
			unsigned char bytes[sizeof(struct opened)];                                \
		} u = {.bytes = {0}};                                                              \
		unsigned first = 0, n = 0, size, ones = ~0U;                                       \
                                                                                                   \
		u.of.member = ones;                                                                \
		while (!(u.bytes[first / 8] >> first % 8 & 1))                                     \
			first++;                                                                   \
		while (u.bytes[(first + n) / 8] >> (first + n) % 8 & 1)                            \
			n++;                                                                       \
		for (size = 8; first % 8 + n > size;)                                              \
			size *= 2;                                                                 \
		is("vfs_open", text, "+%u($arg2):b%u@%u/%u", first / 8, n, first % 8, size);       \
	} while (0)

static void test_bit_fields(void **state)
{
	BITS(low, "file->low");
	BITS(wide, "file->wide");
	BITS(apart, "file->apart");
	fails("vfs_open", "file->low->x", "no pointer", "->x");
}

static void test_casts(void **state)
{
	is("vfs_open", "((struct opened *)flags)->port", "+%zu($arg3):u16", AT(port));
	is("vfs_open", "((struct opened *)$arg1)->port", "+%zu($arg1):u16", AT(port));
	is("vfs_open", "((struct opened *)path->mnt)->big", "+%zu(+%zu($arg1)):u64", AT(big),
		offsetof(struct path, mnt));
	is("vfs_open", "((struct inner *)((struct opened *)flags)->many[1])->value",
		"+%zu(+%zu($arg3)):s32", offsetof(struct inner, value), AT(many[1]));
	is("vfs_open", "(&file->inner)->value", "+%zu($arg2):s32", AT(inner.value));
	is("vfs_open", "((struct qstr *)&file->inner)->hash", "+%zu($arg2):u32", AT(inner));
	is("get_file", "container_of(inner, struct opened, inner)->port", "%+ld($arg1):u16",
		(long)AT(port) - (long)AT(inner));
	is("get_file", "container_of(inner, struct opened, inner)->numbers[1]", "%+ld($arg1):s32",
		(long)AT(numbers[1]) - (long)AT(inner));
	is("vfs_open", "$arg2->port", "+%zu($arg2):u16", AT(port));
}

static void test_returns(void **state)
{
	is("<get_file", "$retval->port", "+%zu($retval):u16", AT(port));
	is("<vfs_open", "((struct opened *)$retval)->port", "+%zu($retval):u16", AT(port));
	fails("<vfs_open", "file->port", "at the entry of the function only", "file");
	fails("<vfs_open", "$retval->port", "no pointer to a struct", "->port");
}

static void test_errors(void **state)
{
	fails("vfs_open", "file->porte", "struct opened has no member 'porte'", "porte");
	fails("vfs_open", "file->porte", "did you mean 'port'?", "porte");
	fails("vfs_open", "file->f_path.dentri->d_name", "struct path has no member 'dentri'",
		"dentri");
	fails("vfs_open", "fle->port", "no parameter 'fle'", "fle");
	fails("vfs_open", "fle->port", "did you mean 'file'?", "fle");
	fails("absent", "file->port", "has no function 'absent'", "file");
	fails("vfs_open", "((struct opend *)file)->port", "no struct opend", "opend");
	fails("vfs_open", "flags->port", "'long' is no pointer to a struct", "->port");
	fails("vfs_open", "file.port", "use ->", "port");
	fails("vfs_open", "file->inner", "'struct inner' is no number", "");
	fails("vfs_open", "&file->port", "cannot fetch an address", "");
	fails("vfs_open", "file->port extra", "'extra' is not understood", "extra");
	fails("vfs_open", "file->", "a name is expected", "");
	fails("vfs_open", "(file->port", "missing ')'", "");
	fails("vfs_open", "file->numbers[x]", "is a number", "x]");
	fails("vfs_open", "container_of(file, struct opened, nothing)->port", "no member 'nothing'",
		"nothing");
}

static void test_what_is_c(void **state)
{
	static const char *const others[] = {"$arg1", "$arg1:u32", "%di", "+8(%si):u32", "@symbol",
		"-8($stack0)", "$retval:s32", "\\3", "$arg1:u8[3]"};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(fetch_is_c(others[i], strlen(others[i])));
}

/* Damaged types are refused, or are other types: whatever is compiled ends. */
static void test_damaged_types(void **state)
{
	for (size_t i = 24; i < sizeof(types_btf) * 2; i++) {
		const struct fetch_names names = {.btf = &types, .function = "vfs_open"};
		struct buf bytes = {0}, fetch = {0};
		struct btf damaged;
		struct fetch_names with = names;
		const char *wrong, *text = "file->f_path.dentry->d_name.name";

		buf_add(&bytes, types_btf, sizeof(types_btf));
		bytes.data[i / 2] = (char)(i % 2 ? 0xff : bytes.data[i / 2] ^ 1);
		if (btf_take(&damaged, bytes, NULL) == 0) {
			with.btf = &damaged;
			fetch_compile(&with, text, strlen(text), &fetch, &wrong);
		}
		attar_error_clear();
		btf_done(&damaged);
		buf_done(&fetch);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_members),
		cmocka_unit_test(test_types_that_are_written),
		cmocka_unit_test(test_arrays),
		cmocka_unit_test(test_bit_fields),
		cmocka_unit_test(test_casts),
		cmocka_unit_test(test_returns),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_what_is_c),
		cmocka_unit_test(test_damaged_types),
	};

	return cmocka_run_group_tests_name("fetch", tests, set_up, tear_down);
}
