/* SPDX-License-Identifier: MIT */
/*
 * Self-describing events: bytes assembled according to eventheader.h of LinuxTracepoints, truncated
 * at every offset and corrupted.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "attar/private/eventheader.h"
#include "eventheader/eventheader.h"
#include "unit.h"

static struct {
	uint8_t bytes[4096];
	size_t n;
} event;

static void put(const void *bytes, size_t n)
{
	memcpy(event.bytes + event.n, bytes, n);
	event.n += n;
}

#define PUT(text) put(text, sizeof(text) - 1)

static char text[16384];

/* Formats the event from a buffer of exactly its size. */
static const char *printed(void)
{
	uint8_t *copy = malloc(event.n ? event.n : 1);
	size_t n;

	memcpy(copy, event.bytes, event.n);
	n = attar_eventheader_print(copy, event.n, text, sizeof(text));
	assert_int_equal(n, strlen(text));
	free(copy);
	event.n = 0;
	return text;
}

/* flags: 64-bit pointers, little endian, extensions follow; information. */
#define PLAIN "\7\0\0\0\0\0\0\4"

/* An event of one field named f. */
#define ONE(length, definition, data) (PUT(PLAIN length "\0\1\0e\0f\0" definition data), printed())
#define FIELD(length, definition, data, expected)                                                  \
	assert_string_equal(ONE(length, definition, data), "e level=information: f=" expected)

static void test_header(void **state)
{
	struct attar_eventheader header;

	PUT("\7\2\3\1\4\0\1\3"
	    "\40\0\2\200"
	    "ABCDEFGHIJKLMNOP"
	    "abcdefghijklmnop"
	    "\177\0\1\0"
	    "order;a=b\0"
	    "id\0\4"
	    "\7\0\0\0\0");
	assert_int_equal(attar_eventheader_parse(event.bytes, event.n, &header), -EBADMSG);
	event.bytes[44] = 14;
	assert_int_equal(attar_eventheader_parse(event.bytes, event.n, &header), 0);
	assert_int_equal(header.version, 2);
	assert_int_equal(header.id, 0x103);
	assert_int_equal(header.tag, 4);
	assert_int_equal(header.opcode, 1);
	assert_int_equal(header.level, 3);
	assert_false(header.big_endian);
	assert_memory_equal(header.activity, "ABCD", 4);
	assert_memory_equal(header.related, "abcd", 4);
	assert_int_equal(header.name_len, 5);
	assert_memory_equal(header.name, "order", 5);
	assert_int_equal(header.fields_len, 4);
	assert_int_equal(header.data_len, 5);
	assert_string_equal(printed(), "order level=warning id=259.2 tag=0x4 opcode=start "
				       "activity=41424344-4546-4748-494a-4b4c4d4e4f50 "
				       "related=61626364-6566-6768-696a-6b6c6d6e6f70: id=7");
}

static void test_number_formats(void **state)
{
	FIELD("\5", "\2", "\377", "255");
	FIELD("\6", "\202\2", "\377", "-1");
	FIELD("\6", "\203\3", "\xcd\xab", "0xabcd");
	FIELD("\6", "\204\4", "\2\0\0\0", "ENOENT");
	FIELD("\6", "\204\5", "\xff\xff\xff\xff", "-1");
	FIELD("\6", "\204\6", "\0\361\123\145", "2023-11-14T22:13:20Z");
	FIELD("\6", "\202\7", "\1", "true");
	FIELD("\6", "\204\7", "\0\0\0\0", "false");
	FIELD("\6", "\204\10", "\315\314\314\75", "0.1");
	FIELD("\6", "\205\10", "\232\231\231\231\231\231\271\77", "0.1");
	FIELD("\6", "\204\11", "\1\2\3\4", "01020304");
	FIELD("\6", "\203\20", "\0\120", "80");
	FIELD("\6", "\204\21", "\177\0\0\1", "127.0.0.1");
	FIELD("\6", "\206\22", "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1", "::1");
	FIELD("\6", "\206\21", "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1", "::1");
	FIELD("\6", "\204\22", "\177\0\0\1", "127.0.0.1");
	FIELD("\6", "\206\17", "0123456789ABCDEF", "30313233-3435-3637-3839-414243444546");
	FIELD("\5", "\6", "0123456789ABCDEF", "30313233343536373839414243444546");
	FIELD("\6", "\203\13", "\344\0", "ä");
	/* An unknown format is treated as the default. */
	FIELD("\6", "\202\176", "\7", "7");
}

/* The definition of a field of the encodings 10 and 13, by the format. */
#define SIZED(definition, data, expected) FIELD("\6", definition, data, expected)

static void test_values_with_their_length(void **state)
{
	FIELD("\5", "\15", "\3\0\1\2\377", "0102ff");
	SIZED("\215\11", "\2\0\1\2", "0102");
	SIZED("\215\176", "\2\0ab", "6162");
	SIZED("\215\13", "\2\0ab", "ab");
	SIZED("\215\12", "\1\0\344", "ä");
	SIZED("\215\15", "\4\0\357\273\277x", "x");
	SIZED("\215\1", "\1\0\377", "255");
	SIZED("\215\2", "\1\0\377", "-1");
	SIZED("\215\2", "\2\0\377\377", "-1");
	SIZED("\212\2", "\10\0\376\377\377\377\377\377\377\377", "-2");
	SIZED("\212\3", "\4\0\xcd\xab\0\0", "0xabcd");
	SIZED("\215\4", "\4\0\2\0\0\0", "ENOENT");
	SIZED("\215\5", "\4\0\7\0\0\0", "7");
	SIZED("\215\6", "\4\0\0\361\123\145", "2023-11-14T22:13:20Z");
	SIZED("\215\7", "\1\0\1", "true");
	SIZED("\215\10", "\4\0\315\314\314\75", "0.1");
	SIZED("\212\17", "\20\0000123456789ABCDEF", "30313233-3435-3637-3839-414243444546");
	SIZED("\215\20", "\2\0\0\120", "80");
	SIZED("\215\21", "\4\0\177\0\0\1", "127.0.0.1");
	SIZED("\212\22", "\20\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1", "::1");
	/* no value */
	SIZED("\215\1", "\0\0", "null");
	SIZED("\212\10", "\0\0", "null");
	SIZED("\215\21", "\0\0", "null");
	SIZED("\215\11", "\0\0", "");
	FIELD("\5", "\12", "\0\0", "");
	/* a length that the format does not have: as without a format */
	SIZED("\215\1", "\3\0abc", "616263");
	SIZED("\212\1", "\3\0abc", "abc");
	SIZED("\215\5", "\2\0\1\2", "0102");
	SIZED("\212\20", "\4\0port", "port");
	/* arrays, and what follows */
	PUT(PLAIN "\11\0\1\0e\0f\0\315\2g\0\2"
		  "\2\0\1\0\5\0\0\7");
	assert_string_equal(printed(), "e level=information: f=[5,null] g=7");
	FIELD("\6", "\215\1", "\4\0\1", "?");
}

static void test_tags_of_fields(void **state)
{
	PUT(PLAIN "\10\0\1\0e\0f\0\202\201\42\21\7");
	assert_string_equal(printed(), "e level=information: f;tag=0x1122=7");
}

static void test_text_encodings(void **state)
{
	FIELD("\5", "\7", "abc\0", "abc");
	FIELD("\5", "\12", "\2\0abc", "ab");
	FIELD("\6", "\212\12", "\1\0\344", "ä");
	FIELD("\6", "\212\11", "\2\0\1\377", "01ff");
	FIELD("\6", "\212\15", "\4\0\357\273\277x", "x");
	FIELD("\5", "\10", "a\0\344\0\0\0", "aä");
	FIELD("\5", "\13", "\2\0\75\330\0\336", "😀");
	FIELD("\5", "\13", "\2\0\75\330a\0", "\357\277\275a");
	FIELD("\6", "\213\14", "\2\0\376\377\0a", "a");
	FIELD("\5", "\14", "\1\0\0\366\1\0", "😀");
	FIELD("\5", "\11", "a\0\0\0\0\0\0\0", "a");
}

static void test_nested_arrays_and_structs(void **state)
{
	FIELD("\7", "\42\2\0", "\1\2", "[1,2]");
	FIELD("\5", "\103", "\2\0\1\0\2\0", "[1,2]");
	FIELD("\5", "\102", "\0\0", "[]");
	FIELD("\5", "\112", "\2\0\1\0a\0\0", "[a,]");
	PUT(PLAIN "\17\0\1\0e\0f\0\201\2a\0\2b\0\2c\0\2\1\2\3");
	assert_string_equal(printed(), "e level=information: f={a=1 b=2} c=3");
	/* two of {a, {b}}, then c */
	PUT(PLAIN "\23\0\1\0e\0f\0\301\2a\0\2s\0\201\1b\0\2c\0\2\2\0\1\2\3\4\5");
	assert_string_equal(printed(), "e level=information: f=[{a=1 s={b=2}},{a=3 s={b=4}}] c=5");
	/* a struct of three members, of which two are defined */
	PUT(PLAIN "\14\0\1\0e\0f\0\201\3a\0\2b\0\2\1\2");
	assert_string_equal(printed(), "e level=information: f={a=1 b=2}");
	/* no elements, then c */
	PUT(PLAIN "\23\0\1\0e\0f\0\301\2a\0\2s\0\201\1b\0\2c\0\2\0\0\5");
	assert_string_equal(printed(), "e level=information: f=[] c=5");
}

static void test_big_endian(void **state)
{
	PUT("\5\0\0\7\0\0\0\1\0\10\0\1e\0f\0\4g\0\12\0\0\1\0\0\2hi");
	assert_string_equal(printed(), "e level=critical id=7.0: f=256 g=hi");
}

static const char *as_json(void)
{
	struct buf b = {0};

	/* the common fields come first */
	memmove(event.bytes + 8, event.bytes, event.n);
	assert_true(event.n + 8 <= sizeof(event.bytes));
	eventheader_json(&b, event.bytes, event.n + 8);
	event.n = 0;
	assert_false(buf_failed(&b));
	snprintf(text, sizeof(text), "%s", buf_text(&b));
	buf_done(&b);
	return text;
}

static void test_json(void **state)
{
	PUT("\5\0\0\7\0\0\0\1\0\10\0\1e\0f\0\4g\0\12\0\0\1\0\0\2h\"");
	assert_string_equal(as_json(), ",\"name\":\"e\",\"payload\":{\"f\":256,\"g\":\"h\\\"\"}");
	PUT(PLAIN "\32\0\1\0e\0f\0\301\2a\0\2s\0\201\1b\0\102c\0\202\203\2\0d\0\204\10"
		  "\2\0\1\1\0\2\3\0\0\5\0\0\0\77");
	assert_string_equal(as_json(),
		",\"name\":\"e\",\"payload\":{\"f\":[{\"a\":1,\"s\":{\"b\":[2]}},"
		"{\"a\":3,\"s\":{\"b\":[]}}],\"c;tag=0x2\":\"0x5\",\"d\":0.5}");
	PUT(PLAIN "\24\0\1\0e\0n\0\215\1b\0\202\7i\0\204\10q\0\4z\0\2"
		  "\0\0\1\0\0\200\177\1");
	assert_string_equal(as_json(), ",\"name\":\"e\",\"payload\":{\"n\":null,\"b\":true,"
				       "\"i\":\"inf\",\"q\":null}");
	PUT("\3\0\7\0\0\0\360\377\1\2\3");
	assert_string_equal(as_json(), ",\"payload\":\"010203\"");
	PUT("\7\0");
	assert_string_equal(as_json(), "");
}

static void test_event_without_metadata(void **state)
{
	PUT("\3\0\7\0\0\0\360\377\1\2\3");
	assert_string_equal(printed(), "level=255 id=7.0 opcode=receive: data=010203");
	PUT("\7\0");
	assert_string_equal(printed(), "level=?");
}

static void test_missing_values(void **state)
{
	FIELD("\5", "\4", "\1\2", "?");
	FIELD("\5", "\102", "\2\0\1", "[1,?]");
	FIELD("\5", "\37", "\1\2", "?");
	FIELD("\6", "\201\0", "", "{}?");
	/* A constant array is never empty, and never also a counted one. */
	assert_string_equal(ONE("\7", "\42\0\0", "\1"), "e level=information");
	assert_string_equal(ONE("\7", "\142\1\0", "\1"), "e level=information");
}

/*
 * A thousand empty elements of structs that claim 100 members: little text, but many definitions to
 * skip.
 */
static void test_limit_of_skipped_definitions(void **state)
{
	const char *end;

	PUT(PLAIN "\73\1\1\0e\0f\0\241\1\350\3a\0\301\144");
	for (int i = 0; i < 100; i++)
		PUT("x\0\2");
	for (int i = 0; i < 1000; i++)
		PUT("\0\0");
	end = strrchr(printed(), '{');
	assert_string_equal(end, "{a=[]}?]");
	assert_in_range(end - text, 600 * sizeof("{a=[]}"), 700 * sizeof("{a=[]}"));
}

static void test_truncated_and_corrupted(void **state)
{
	static const char whole[] =
		"\7\2\3\1\4\0\1\3\40\0\2\200ABCDEFGHIJKLMNOPabcdefghijklmnop\62\0\1\0order\0"
		"f\0\301\2a\0\12s\0\201\1b\0\104c\0\42\2\0d\0\213\14x\0\205\210\1\1y\0\7z\0\206\17"
		"\2\0\1\0a\1\0\1\0\0\0\1\0b\0\0\1\2\1\0a\0\1\2\3\4\5\6\7\10y\0"
		"0123456789ABCDEF";
	uint32_t seed = 1;
	size_t n, i;

	for (n = 0; n < sizeof(whole); n++) {
		put(whole, n);
		as_json();
		put(whole, n);
		printed();
		put(whole, n);
		attar_eventheader_print(event.bytes, event.n, text, n % 50);
		event.n = 0;
	}
	for (i = 0; i < unit_rounds(100000); i++) {
		put(whole, sizeof(whole) - 1);
		for (n = 0; n < 1 + i % 3; n++) {
			seed = seed * 1664525 + 1013904223;
			event.bytes[(seed >> 8) % event.n] = (uint8_t)(seed >> 24);
		}
		attar_eventheader_print(event.bytes, event.n, text, sizeof(text));
		event.n = 0;
	}
}

static void test_keyword(void **state)
{
	uint64_t keyword = 1;

	assert_int_equal(attar_eventheader_keyword("MyProvider_L3K2a", &keyword), 0);
	assert_int_equal(keyword, 0x2a);
	assert_int_equal(attar_eventheader_keyword("OtherProvider_L5K0Gperf", &keyword), 0);
	assert_int_equal(keyword, 0);
	assert_int_equal(attar_eventheader_keyword("A_B_L5Kffffffffffffffff", &keyword), 0);
	assert_true(keyword == UINT64_MAX);
	assert_int_equal(attar_eventheader_keyword("MyProvider", &keyword), -EINVAL);
	assert_int_equal(attar_eventheader_keyword("MyProvider_L", &keyword), -EINVAL);
	assert_int_equal(attar_eventheader_keyword("MyProvider_L4", &keyword), -EINVAL);
	assert_int_equal(attar_eventheader_keyword("MyProvider_L4K", &keyword), -EINVAL);
	assert_int_equal(attar_eventheader_keyword("MyProvider_L4K1-", &keyword), -EINVAL);
}

static void test_recognize_format(void **state)
{
	static const char tracefs[] =
		"name: MyProvider_L4K2a\nID: 7\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
		"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
		"\tfield:u8 eventheader_flags;\toffset:8;\tsize:1;\tsigned:0;\n"
		"\tfield:u8 version;\toffset:9;\tsize:1;\tsigned:0;\n"
		"\tfield:u16 id;\toffset:10;\tsize:2;\tsigned:0;\n"
		"\tfield:u16 tag;\toffset:12;\tsize:2;\tsigned:0;\n"
		"\tfield:u8 opcode;\toffset:14;\tsize:1;\tsigned:0;\n"
		"\tfield:u8 level;\toffset:15;\tsize:1;\tsigned:0;\n\n"
		"print fmt: \"eventheader_flags=%u\", REC->eventheader_flags\n";
	struct attar_format *format;

	assert_int_equal(
		attar_format_parse("user_events", tracefs, sizeof(tracefs) - 1, &format), 0);
	assert_true(eventheader_format(format));
	PUT("\7\0\0\0\0\0\0\0" PLAIN "\5\0\1\0e\0f\0\2\3");
	attar_format_print(format, event.bytes, event.n, text, sizeof(text));
	assert_string_equal(text, "e level=information keyword=0x2a: f=3");
	attar_format_print(format, NULL, 0, text, sizeof(text));
	assert_string_equal(text, "level=?");
	attar_format_free(format);
	event.n = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_header),
		cmocka_unit_test(test_number_formats),
		cmocka_unit_test(test_values_with_their_length),
		cmocka_unit_test(test_tags_of_fields),
		cmocka_unit_test(test_text_encodings),
		cmocka_unit_test(test_nested_arrays_and_structs),
		cmocka_unit_test(test_big_endian),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_event_without_metadata),
		cmocka_unit_test(test_missing_values),
		cmocka_unit_test(test_limit_of_skipped_definitions),
		cmocka_unit_test(test_truncated_and_corrupted),
		cmocka_unit_test(test_keyword),
		cmocka_unit_test(test_recognize_format),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
