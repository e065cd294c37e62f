/* SPDX-License-Identifier: MIT */
/* Print formats: each conversion and operator, applied to one record. */
#include "unit.h"

#include <inttypes.h>
#include <linux/btf.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

#include "attar/event.h"
#include "attar/private/event.h"
#include "event/catalog.h"
#include "base/base.h"
#include "base/buf.h"
#include "base/file.h"
#include "tracefs/format.h"
#include "expr/print.h"
#include "folder.h"

static const char head[] =
	"name: thing\nID: 23\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:u8 byte;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:s8 small;\toffset:3;\tsize:1;\tsigned:1;\n"
	"\tfield:int number;\toffset:4;\tsize:4;\tsigned:1;\n"
	"\tfield:u64 big;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:char comm[8];\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:u8 bytes[16];\toffset:24;\tsize:16;\tsigned:0;\n"
	"\tfield:__data_loc char[] name;\toffset:40;\tsize:4;\tsigned:0;\n"
	"\tfield:__data_loc u32[] list;\toffset:44;\tsize:4;\tsigned:0;\n"
	"\tfield:__rel_loc char[] rel;\toffset:48;\tsize:4;\tsigned:0;\n"
	"\tfield:void * at;\toffset:56;\tsize:8;\tsigned:0;\n"
	"\tfield:__data_loc unsigned long[] mask;\toffset:64;\tsize:4;\tsigned:0;\n"
	"\tfield:u8 v4[28];\toffset:68;\tsize:28;\tsigned:0;\n"
	"\tfield:u8 v6[28];\toffset:96;\tsize:28;\tsigned:0;\n"
	"\tfield:u32 flags;\toffset:124;\tsize:4;\tsigned:0;\n"
	"\tfield:long error;\toffset:128;\tsize:8;\tsigned:1;\n"
	"\nprint fmt: ";

static uint8_t raw[200];

static void put(size_t at, const void *bytes, size_t n)
{
	memcpy(raw + at, bytes, n);
}

static int make_record(void **state)
{
	struct sockaddr_in v4 = {
		.sin_family = AF_INET, .sin_port = htons(80), .sin_addr.s_addr = htonl(0x7f000001)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6,
		.sin6_port = htons(443),
		.sin6_addr.s6_addr = {0x20, 1, [15] = 1}};

	memset(raw, 0, sizeof(raw));
	put(0, &(uint16_t){23}, 2);
	raw[2] = 200;
	raw[3] = 0xfe; /* -2 */
	put(4, &(int32_t){-5}, 4);
	put(8, &(uint64_t){0xffffffff00000001}, 8);
	put(16, "comm\0xyz", 8);
	for (uint8_t i = 0; i < 16; i++)
		raw[24 + i] = (uint8_t)(0x10 + i);
	put(40, &(uint32_t){136 | 6 << 16}, 4);
	put(136, "hello", 6);
	put(44, &(uint32_t){144 | 12 << 16}, 4);
	put(144, (uint32_t[]){1, 0x20, 0xffffffff}, 12);
	put(48, &(uint32_t){(156 - 52) | 4 << 16}, 4);
	put(156, "rel", 4);
	put(56, &(uint64_t){0xffff888000001000}, 8);
	put(64, &(uint32_t){160 | 16 << 16}, 4);
	put(160, (uint64_t[]){0x8000000f, 3}, 16);
	put(68, &v4, sizeof(v4));
	put(96, &v6, sizeof(v6));
	put(124, &(uint32_t){0x85}, 4);
	put(128, &(int64_t){-22}, 8);
	return 0;
}

static struct attar_format *format_of_text(const char *print)
{
	struct attar_format *f = NULL;
	char text[4096];

	snprintf(text, sizeof(text), "%s%s\n", head, print);
	assert_int_equal(attar_format_parse("sys", text, strlen(text), &f), 0);
	return f;
}

static void expect(const char *print, const char *want)
{
	struct attar_format *f = format_of_text(print);
	char line[512];

	attar_format_print(f, raw, sizeof(raw), line, sizeof(line));
	if (!format_of(f)->program)
		fail_msg("cannot parse: %s", print);
	if (strcmp(line, want))
		fail_msg("%s\n  gives '%s'\n  not   '%s'", print, line, want);
	attar_format_free(f);
}

static void refuse(const char *print)
{
	struct attar_format *f = format_of_text(print);

	assert_null(print_parse(f, NULL));
	attar_format_free(f);
}

static void test_numbers(void **state)
{
	expect("\"%d %u %i|%5d|%-5d|%05d|%+d\", REC->number, REC->number, REC->small, 7, 7, 7, 7",
		"-5 4294967291 -2|    7|7    |00007|+7");
	/* numbers of a field as larger and smaller ones, signed and unsigned */
	expect("\"%ld %lu %lx %u\", REC->number, REC->number, REC->small, REC->number",
		"-5 18446744073709551611 fffffffffffffffe 4294967291");
	expect("\"%hhu %hhd %hd\", REC->number, REC->byte, REC->byte", "251 -56 200");
	expect("\"%x %X %#x %#x %#08x %lx %llx\", 255, 255, 255, 0, 0, REC->number, REC->big",
		"ff FF 0xff 0x0 0x000000 fffffffffffffffb ffffffff00000001");
	expect("\"%hhd %hx %zu %ld %%\", 300, 0x12345, sizeof(u64), (long)REC->small",
		"44 2345 8 -2 %");
	expect("\"%c%c %o %.3d %*d\", 'a', 98, 8, 7, 4, 9", "ab 10 007    9");
	expect("\"plain\"", "plain");
	expect("\"two\" \" parts %d\", 1", "two parts 1");
	expect("\"\\x41\\102\\t\\\"%d\", 1", "AB\t\"1");
}

/* Numbers of fields have a fast path; a sum is evaluated and formatted by printf. */
static void test_numbers_of_fields(void **state)
{
	static const char *const fields[] = {"byte", "small", "number", "big", "flags", "error",
		"bytes[0]", "bytes[15]", "v4[2]"};
	static const char *const flags[] = {
		"", "0", "1", "3", "9", "03", "009", "024", "64", "064", "65", "-9"};
	static const char *const lengths[] = {"hh", "h", "", "l", "ll"};

	for (size_t i = 0; i < ARRAY_SIZE(fields) * ARRAY_SIZE(flags) * ARRAY_SIZE(lengths) * 3;
		i++) {
		const char *field = fields[i % ARRAY_SIZE(fields)];
		size_t rest = i / ARRAY_SIZE(fields);
		char print[256], line[512], conversion[16], *half;
		struct attar_format *f;

		snprintf(conversion, sizeof(conversion), "%%%s%s%c",
			flags[rest % ARRAY_SIZE(flags)],
			lengths[rest / ARRAY_SIZE(flags) % ARRAY_SIZE(lengths)],
			"dux"[rest / ARRAY_SIZE(flags) / ARRAY_SIZE(lengths)]);
		snprintf(print, sizeof(print), "\"<%s>|<%s>\", REC->%s, REC->%s + 0", conversion,
			conversion, field, field);
		f = format_of_text(print);
		attar_format_print(f, raw, sizeof(raw), line, sizeof(line));
		half = strchr(line, '|');
		assert_non_null(half);
		*half = '\0';
		if (strcmp(line, half + 1))
			fail_msg("%s gives '%s' and '%s'", print, line, half + 1);
		attar_format_free(f);
	}
	expect("\"%d %u\", REC->bytes[16], REC->bytes[15]", "0 31"); /* outside the array */
}

static void test_operators(void **state)
{
	expect("\"%d %d %d %d\", 2 + 3 * 4, (2 + 3) * 4, 10 - 3 - 2, 100 / 7 % 5", "14 20 5 4");
	expect("\"%d %d %d %d\", 1 << 2 + 1, 6 & 3 == 3, 1 | 2 ^ 3, !0 && !1 || 1", "8 0 1 1");
	expect("\"%d %d %d\", REC->number < 0, REC->number > REC->big, REC->byte > 100", "1 1 1");
	expect("\"%d %d\", -1 < 0u, (int)-1 < (long)0u", "0 1"); /* as in C */
	expect("\"%d %llu %d\", REC->number / 2, (u64)-1 / 2, -7 % 3", "-2 9223372036854775807 -1");
	expect("\"%d %d\", 5 / (REC->byte - 200), 5 % 0", "0 0"); /* never a trap */
	expect("\"%llx %x %d\", 1ULL << 40, 1 << 40, ~0", "10000000000 0 -1");
	expect("\"%d %s\", REC->byte ? 1 : 2, REC->byte == 200 ? \"yes\" : \"no\"", "1 yes");
	expect("\"%x %d\", (unsigned char)0x1ff, (s8)0xff", "ff -1");
	expect("\"%u %u\", ((unsigned int) ((REC->flags) >> 4)), ((unsigned int) ((REC->flags) & "
	       "((1U << 4) - 1)))",
		"8 5");
	expect("\"%lu\", (unsigned long)(void *)(REC->at) >= (unsigned long)-4095", "0");
	expect("\"%d\", __builtin_expect(!!(REC->byte), 0)", "1");
	expect("\"%d\", -9223372036854775807L / -1 < 0", "0");
}

static void test_text(void **state)
{
	expect("\"[%s] [%s] [%s]\", REC->comm, __get_str(name), __get_rel_str(rel)",
		"[comm] [hello] [rel]");
	expect("\"[%7s] [%-7s] [%.2s] [%.*s] [%*s]\", __get_str(name), __get_str(name), REC->comm, "
	       "3, __get_str(name), 6, REC->comm",
		"[  hello] [hello  ] [co] [hel] [  comm]");
	expect("\"%s %c%c\", REC->comm[0] == 'c' ? \"c\" : \"?\", REC->comm[1], __get_str(name)[4]",
		"c oo");
	expect("\"%s\", REC->byte ? REC->comm : __get_str(name)", "comm");
	expect("\"%s\", (char *)__get_dynamic_array(name)", "hello");
	expect("\"%s|%s|%s\", __print_symbolic(REC->byte, { 1, \"one\" }, { 200, \"many\" }), "
	       "__print_symbolic(REC->number, {1, \"one\"}, { -1, ((void *)0) }), "
	       "__print_symbolic(REC->small, { -2, \"minus two\" })",
		"many|0xfffffffffffffffb|minus two");
	expect("\"%s|%s|%s|%s\", __print_flags(REC->flags, \"|\", { 0x80, \"HIGH\" }, { (1 << 2), "
	       "\"FOUR\" }), "
	       "__print_flags(0, \"|\", {1, \"X\"}), __print_flags(3, \"\", {1, \"a\"}, {2, "
	       "\"b\"}), __print_flags(8, \",\", { })",
		"HIGH|FOUR|0x1||ab|0x8");
	expect("\"%-8s|\", __print_symbolic(1, {1, \"one\"})", "one     |");
	expect("\"%s %s\", __print_hex(REC->bytes, 3), __print_hex_str(REC->bytes, 300)",
		"10 11 12 101112131415161718191a1b1c1d1e1f");
	expect("\"%s\", __print_array(__get_dynamic_array(list), __get_dynamic_array_len(list) / "
	       "sizeof(u32), sizeof(u32))",
		"{0x1,0x20,0xffffffff}");
	expect("\"%s\", __print_dynamic_array(list, 4)", "{0x1,0x20,0xffffffff}");
	expect("\"%u %x\", ((u32 *)__get_dynamic_array(list))[1], *(u32 "
	       "*)__get_dynamic_array(list)",
		"32 1");
	expect("\"%u\", ((u32 *)__get_dynamic_array(list))[3]", "0"); /* out of bounds */
	expect("\"%s %s\", __get_bitmask(mask), __get_cpumask(mask)",
		"00000000,00000003,00000000,8000000f 00000000,00000003,00000000,8000000f");
	expect("\"%llu.%09u\", __print_ns_to_secs(1500000000), __print_ns_without_secs(1500000000)",
		"1.500000000");
	expect("\"%s\", (char *)REC->at", "0xffff888000001000"); /* an unknown string */
	expect("\"%s\", NULL", "(null)");
}

static void test_pointers(void **state)
{
	expect("\"%p %px %pK\", REC->at, REC->at, REC->at",
		"ffff888000001000 ffff888000001000 ffff888000001000");
	expect("\"%pM %pMF %pm %pMR\", REC->bytes, REC->bytes, REC->bytes, REC->bytes",
		"10:11:12:13:14:15 10-11-12-13-14-15 101112131415 15:14:13:12:11:10");
	expect("\"%pI4 %pi4 %pI6 %pI6c\", REC->bytes, &REC->bytes, REC->bytes, REC->bytes",
		"16.17.18.19 016.017.018.019 1011:1213:1415:1617:1819:1a1b:1c1d:1e1f "
		"1011:1213:1415:1617:1819:1a1b:1c1d:1e1f");
	expect("\"%pI4\", &REC->number", "251.255.255.255");
	expect("\"%pISpc %pISpc %pIS\", REC->v4, REC->v6, REC->v4",
		"127.0.0.1:80 [2001::1]:443 127.0.0.1");
	expect("\"%pU %pUB %pUl\", REC->bytes, REC->bytes, REC->bytes",
		"10111213-1415-1617-1819-1a1b1c1d1e1f 10111213-1415-1617-1819-1A1B1C1D1E1F "
		"13121110-1514-1716-1819-1a1b1c1d1e1f");
	expect("\"%*ph|%*phN|%4phC|%*phD\", 3, REC->bytes, 2, REC->bytes, REC->bytes, 99, "
	       "__get_dynamic_array(name)",
		"10 11 12|1011|10:11:12:13|68-65-6c-6c-6f-00");
	expect("\"%*pb %*pbl\", 40, __get_dynamic_array(mask), 128, __get_dynamic_array(mask)",
		"00,8000000f 0-3,31,64-65");
	expect("\"%pa %pe %pe\", &REC->big, REC->error, REC->at",
		"0xffffffff00000001 -EINVAL 0xffff888000001000");
	expect("\"%pS %ps\", REC->at, (void *)REC->at", "0xffff888000001000 0xffff888000001000");
}

static bool name_it(void *ctx, uint64_t address, struct attar_kernel_name *ret_name)
{
	*ret_name = (struct attar_kernel_name){
		ctx, address & 0x1000 ? "mod" : NULL, address & ~0xfffULL, 0x40};
	return address != 0;
}

static void test_functions(void **state)
{
	struct attar_catalog *catalog;
	struct attar_format *f = format_of_text("\"%pS|%ps|%pS\", REC->at + 4, REC->at, 0");
	char line[256], name[] = "do_it";

	assert_int_equal(attar_catalog_new(NULL, &catalog), 0);
	catalog_resolver(catalog, name_it, name);
	format_of(f)->tracefs = &catalog->tracefs;
	attar_format_print(f, raw, sizeof(raw), line, sizeof(line));
	assert_string_equal(line, "do_it+0x4/0x40 [mod]|do_it [mod]|0x0");
	attar_format_free(f);
	attar_catalog_free(catalog);
}

static void test_unknown(void **state)
{
	expect("\"a=%d b=%d\", REC->byte + SOME_CONSTANT, REC->byte", "a=? b=200");
	expect("\"%s\", __print_symbolic(REC->byte, { ENUM_OF_NOBODY, \"x\" }, { 200, \"known\" })",
		"known");
	expect("\"%d\", REC->byte ? REC->number : SOME_CONSTANT", "-5");
	expect("\"page=%p\", REC->byte != 1 ? (((struct page *)vmemmap_base) + (REC->byte)) : "
	       "((void *)0)",
		"page=pfn:0xc8");
	expect("\"%p\", ((struct page *)-(1 << 3) - (memstart_addr >> 12)) + REC->byte",
		"pfn:0xc8");
	expect("\"%p\", SOME_BASE + REC->byte", "?");
	for (const char *const *bad = (const char *const[]){"\"%d\"", "\"%d\", REC->nothing",
		     "\"%d\", foo(1)", "\"%d\", ({ int x = 1; x; })", "\"%d\", 1 +", "\"%d\", (1",
		     "\"%d\", 1, 2", "%d", "\"%n\", 1", "\"%d\", REC->number.x", "\"open",
		     "\"%s\", __print_flags(1, 2)", "\"%5000d\", 1", "\"%d\", 12ab", "\"%q", "\"%",
		     "\"\\", "\"%d\", 'a", "\"%d\", \"a", "\"%d\", __get_str(nothing)", NULL};
		*bad; bad++)
		refuse(*bad);
}

/* The kernel's tick counter; 0 if this user may not read it. */
static uint64_t kernel_jiffies(void)
{
	struct buf b _cleanup_(buf_done) = {0};
	const char *line;

	if (file_read("/proc/timer_list", 16 << 20, &b) < 0 ||
		!(line = strstr(buf_text(&b), "\njiffies: ")))
		return 0;
	return strtoull(line + strlen("\njiffies: "), NULL, 10);
}

/* The age of an inode that became dirty 7 s ago, as in the print formats of writeback. */
static void test_jiffies(void **state)
{
	struct attar_format *f = format_of_text("\"%lu %lu\", (jiffies - REC->big) / 250, jiffies");
	uint64_t before = kernel_jiffies(), big = before - 7 * 250, age, shown;
	char line[64];

	if (!before) {
		attar_format_free(f);
		print_message("cannot read the kernel's jiffies in /proc/timer_list\n");
		skip();
	}
	put(8, &big, sizeof(big));
	attar_format_print(f, raw, sizeof(raw), line, sizeof(line));
	assert_int_equal(sscanf(line, "%" SCNu64 " %" SCNu64, &age, &shown), 2);
	assert_in_range(shown, before, kernel_jiffies() + 10 * 1000);
	assert_in_range(age, 7, (shown - big) / 250);
	attar_format_free(f);
	make_record(state);
}

/* Nesting and length are limited. */
static void test_limits(void **state)
{
	struct buf b = {0};

	for (int kind = 0; kind < 4; kind++) {
		buf_reset(&b);
		buf_str(&b, "\"%d\", ");
		for (int i = 0; i < 900; i++)
			buf_str(&b, (const char *[]){"(", "REC->byte+", "~", "1?"}[kind]);
		buf_str(&b, "1");
		refuse(b.data);
	}
	buf_done(&b);
}

/* ---- constants of BTF ---- */

struct blob {
	struct btf_header h;
	struct btf_type integer;
	uint32_t integer_info;
	struct btf_type small;
	struct btf_enum small_values[2];
	struct btf_type wide;
	uint32_t wide_values[2][3];
	struct btf_type other;
	struct btf_enum other_values[2];
	char strings[40];
};

static uint64_t *look_up(struct map *values, const char *name)
{
	uint64_t h = 0xcbf29ce484222325ULL;

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 0x100000001b3ULL;
	return map_get(values, h);
}

/*
 * An element that is not a number evaluates to 0 of type int: its 31 bytes must not be used as a
 * shift width.
 */
static void test_odd_elements(void **state)
{
	static const char text[] = "name: odd\nID: 1\nformat:\n"
				   "\tfield:struct odd odd[2];\toffset:0;\tsize:62;\tsigned:0;\n"
				   "\nprint fmt: \"%llu\", (u64)((1 + REC->odd[0]) << 100)\n";
	struct attar_format *f = NULL;
	char line[64];

	assert_int_equal(attar_format_parse("sys", text, strlen(text), &f), 0);
	attar_format_print(f, raw, sizeof(raw), line, sizeof(line));
	assert_string_equal(line, "0");
	attar_format_free(f);
}

/* The size of an element does not fit in a byte: it must not be used as a divisor of 0. */
static void test_large_elements(void **state)
{
	static const char text[] = "name: odd\nID: 1\nformat:\n"
				   "\tfield:struct odd odd;\toffset:0;\tsize:256;\tsigned:0;\n"
				   "\nprint fmt: \"%d %d\", REC->odd[0], *REC->odd\n";
	struct attar_format *f = NULL;
	char large[256] = {1}, line[64];

	assert_int_equal(attar_format_parse("sys", text, strlen(text), &f), 0);
	attar_format_print(f, large, sizeof(large), line, sizeof(line));
	assert_string_equal(line, "0 0");
	attar_format_free(f);
}

/* As written by kernel/trace/trace_printk.c: newline, tab and quote escaped with a backslash. */
static void test_kernel_strings(void **state)
{
	static const char text[] = "0xff01 : \"a\\tb\\n\"\n"
				   "0xff02 : \"say \\\"no\\\"\"\n"
				   "0xff03\n";
	char tracefs[128];
	struct attar_catalog_opts opts = {.size = sizeof(opts), .tracefs = tracefs};
	struct attar_catalog *catalog;

	snprintf(tracefs, sizeof(tracefs), "%s", folder_make());
	folder_put("printk_formats", text, sizeof(text) - 1);
	assert_int_equal(attar_catalog_new(&opts, &catalog), 0);
	assert_string_equal(tracefs_string(&catalog->tracefs, 0xff01), "a\tb\n");
	assert_string_equal(tracefs_string(&catalog->tracefs, 0xff02), "say \"no\"");
	assert_null(tracefs_string(&catalog->tracefs, 0xff03));
	attar_catalog_free(catalog);
	folder_remove();
}

static void test_btf(void **state)
{
	struct blob b = {.h = {.magic = BTF_MAGIC,
				 .version = 1,
				 .hdr_len = sizeof(b.h),
				 .type_len = offsetof(struct blob, strings) - sizeof(b.h),
				 .str_off = offsetof(struct blob, strings) - sizeof(b.h),
				 .str_len = sizeof(b.strings)},
		.integer = {.info = BTF_KIND_INT << 24, .size = 4},
		.small = {.info = BTF_KIND_ENUM << 24 | 2, .size = 4},
		.small_values = {{1, 5}, {5, -1}},
		.wide = {.info = 19U << 24 | 2, .size = 8},
		.wide_values = {{9, 1, 1}, {14, 7, 0}},
		.other = {.info = BTF_KIND_ENUM << 24 | 2, .size = 4},
		.other_values = {{14, 8}, {1, 5}},
		.strings = "\0ONE\0NEG\0WIDE\0TWICE"};
	struct map values = {0};

	btf_constants((char *)&b, sizeof(b), &values);
	assert_int_equal(*look_up(&values, "ONE"), 5); /* the same in both enums */
	assert_int_equal(*look_up(&values, "NEG"), UINT64_MAX);
	assert_int_equal(*look_up(&values, "WIDE"), 0x100000001);
	assert_null(look_up(&values, "TWICE")); /* two different values */
	map_done(&values);
	for (size_t n = 0; n < sizeof(b); n++) {
		char *cut =
			malloc(n ? n : 1); /* exact size, so that the sanitizer detects overreads */

		memcpy(cut, &b, n);
		btf_constants(cut, n, &values);
		assert_int_equal(values.n, 0);
		free(cut);
	}
	b.small.info = 31U << 24; /* an unknown, newer kind: the types before it are known */
	btf_constants((char *)&b, sizeof(b), &values);
	assert_int_equal(values.n, 0);
	b.small.info = BTF_KIND_ENUM << 24 | 0xffff;
	btf_constants((char *)&b, sizeof(b), &values);
	assert_int_equal(values.n, 0);
	map_done(&values);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_numbers_of_fields),
		cmocka_unit_test(test_operators),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_pointers),
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_jiffies),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_odd_elements),
		cmocka_unit_test(test_large_elements),
		cmocka_unit_test(test_kernel_strings),
		cmocka_unit_test(test_btf),
	};

	return cmocka_run_group_tests_name("event_printfmt", tests, make_record, NULL);
}
