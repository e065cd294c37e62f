/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <string.h>

#include "base/escape.h"

typedef void escape_fn(struct buf *b, const char *text, size_t n);

static void assert_escaped(escape_fn *escape, const char *text, const char *expected)
{
	struct buf b = {0};

	escape(&b, text, strlen(text));
	assert_string_equal(buf_text(&b), expected);
	buf_done(&b);
}

static void test_text_is_escaped(void **state)
{
	assert_escaped(escape_text, "plain C:\\x äöü 漢字 😀", "plain C:\\x äöü 漢字 😀");
	assert_escaped(escape_text, "\033[2J\a\x7f\t\n", "\\x1b[2J\\x07\\x7f\\x09\\x0a");
	assert_escaped(escape_text,
		"\xc2\x9b"
		"1m\u00a0",
		"\\xc2\\x9b1m\u00a0");
	assert_escaped(escape_text, "\u202egnp.exe\u2066\u2028",
		"\\xe2\\x80\\xaegnp.exe\\xe2\\x81\\xa6\\xe2\\x80\\xa8");
	assert_escaped(escape_text, "\u2027\u202f\u2065\u206a", "\u2027\u202f\u2065\u206a");
}

/* Overlong, surrogate, beyond Unicode, truncated, alone. */
static void test_invalid_utf8(void **state)
{
	static const char *const bad[][2] = {
		{"\xc0\xaf", "\\xc0\\xaf"},
		{"\xe0\x80\xaf", "\\xe0\\x80\\xaf"},
		{"\xed\xa0\x80", "\\xed\\xa0\\x80"},
		{"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
		{"\xe6\xbc", "\\xe6\\xbc"},
		{"\x80", "\\x80"},
		{"\xff", "\\xff"},
		{"\xf0\x9f\x98"
		 "a",
			"\\xf0\\x9f\\x98"
			"a"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_escaped(escape_text, bad[i][0], bad[i][1]);
	assert_escaped(escape_json,
		"a\xff\xe6\xbc"
		"b",
		"a\ufffd\ufffd\ufffd"
		"b");
}

static void test_formats(void **state)
{
	assert_escaped(escape_json, "\"\\/\n\x01\x7f", "\\\"\\\\/\\u000a\\u0001\\u007f");
	assert_escaped(escape_csv, "a,b", "\"a,b\"");
	assert_escaped(escape_csv, "say \"x\"", "\"say \"\"x\"\"\"");
	assert_escaped(escape_csv, "=1+1", "'=1+1");
	assert_escaped(escape_csv, "@x", "'@x");
	assert_escaped(escape_csv, "-", "'-");
	assert_escaped(escape_csv, "-1.5", "-1.5");
	assert_escaped(escape_csv, "a\r\nb", "a\\x0d\\x0ab");
	assert_escaped(escape_html, "<a href=\"x\">'&'\x01",
		"&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;\\x01");
	assert_escaped(escape_folded, "a;b 17 ", "a:b 17");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_is_escaped),
		cmocka_unit_test(test_invalid_utf8),
		cmocka_unit_test(test_formats),
	};

	return cmocka_run_group_tests_name("escape", tests, NULL, NULL);
}
