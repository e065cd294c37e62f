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

static void test_words_of_shells(void **state)
{
	static const char *const words[][2] = {{"", "''"}, {"/a/b-c.d:e=f,g@h%i+j^k_1", NULL},
		{"ä", NULL}, {"a b", "'a b'"}, {"it's", "'it'\\''s'"}, {"$(id)", "'$(id)'"},
		{"a`id`", "'a`id`'"}, {"a\nid", "'a\nid'"}, {"a\rid", "'a\rid'"},
		{"\033[31m", "'\033[31m'"}, {"#a", "'#a'"}, {"~", "'~'"}, {"a;b", "'a;b'"}};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		struct buf b = {0};

		escape_shell(&b, words[i][0]);
		assert_string_equal(buf_text(&b), words[i][1] ?: words[i][0]);
		buf_done(&b);
	}
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

	static escape_fn *const of_files[] = {
		escape_utf8, escape_file_text, escape_json, escape_csv, escape_html, escape_folded};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_escaped(escape_text, bad[i][0], bad[i][1]);
	/* The same in files of all formats. */
	for (size_t f = 0; f < ARRAY_SIZE(of_files); f++)
		for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
			struct buf expected = {0};

			for (const char *c = bad[i][0]; *c; c++)
				buf_str(&expected, *c == 'a' ? "a" : "\ufffd");
			assert_escaped(of_files[f], bad[i][0], buf_text(&expected));
			buf_done(&expected);
		}
	assert_escaped(escape_json,
		"a\xff\xe6\xbc"
		"b",
		"a\ufffd\ufffd\ufffd"
		"b");
	assert_escaped(escape_utf8,
		"\"a\n\xff\xe6\xbc"
		"\u6f22",
		"\"a\n\ufffd\ufffd\ufffd"
		"\u6f22");
}

static void test_formats(void **state)
{
	assert_escaped(escape_json, "\"\\/\n\x01\x7f", "\\\"\\\\/\\u000a\\u0001\\u007f");
	assert_escaped(escape_json, "a\xc2\x9b\u202e\u2066\u00e4", "a\\u009b\\u202e\\u2066\u00e4");
	assert_escaped(escape_csv, "a,b", "\"a,b\"");
	assert_escaped(escape_csv, "say \"x\"", "\"say \"\"x\"\"\"");
	assert_escaped(escape_csv, "=1+1", "'=1+1");
	assert_escaped(escape_csv, "@x", "'@x");
	assert_escaped(escape_csv, "-", "'-");
	assert_escaped(escape_csv, "-1.5", "-1.5");
	assert_escaped(escape_csv, "+1.5e-05 %", "+1.5e-05 %");
	assert_escaped(escape_csv, "-2+3", "'-2+3");
	assert_escaped(escape_csv, "+1+cmd|' /C calc'!A0", "'+1+cmd|' /C calc'!A0");
	assert_escaped(escape_csv, "-1-e", "'-1-e");
	assert_escaped(escape_csv, "a\r\nb", "a\\x0d\\x0ab");
	assert_escaped(escape_html, "<a href=\"x\">'&'\x01",
		"&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;\\x01");
	assert_escaped(escape_folded, "a;b 17 ", "a:b 17");
	assert_escaped(escape_file_text, "a\n\u202e\xc2\x9b", "a\\x0a\\xe2\\x80\\xae\\xc2\\x9b");
}

/*
 * Characters and invalid bytes in any order give the same as each of them alone, wherever they lie
 * in the words that plain text is compared by.
 */
static const char *const units[] = {"a", "~", " ", "\"", "\\", ",", "=", "\x1f", "\x01", "\x7f",
	"\x80", "\xff", "\xc0", "\xc2\x9b", "\u00e4", "\u202e", "\u6f22", "\U0001f600", "<", ";"};

static void add_random_text(struct buf *b, size_t picks[], size_t *n)
{
	*n = (size_t)rand() % 40;
	for (size_t i = 0; i < *n; i++) {
		/* mostly plain text, so that some words have one special character only */
		picks[i] = rand() % 8 ? 0 : (size_t)rand() % ARRAY_SIZE(units);
		/* a byte that continues a sequence must not complete an invalid one */
		if (i && *units[picks[i]] == '\x80' && *units[picks[i - 1]] == '\xc0')
			picks[i] = 0;
		buf_str(b, units[picks[i]]);
	}
}

static void test_every_mix_of_characters(void **state)
{
	static escape_fn *const escapes[] = {
		escape_text, escape_utf8, escape_file_text, escape_json, escape_html};

	for (size_t round = 0; round < unit_rounds(20000); round++) {
		struct buf text = {0}, expected = {0}, escaped = {0};
		size_t picks[40], n;

		add_random_text(&text, picks, &n);
		for (size_t f = 0; f < ARRAY_SIZE(escapes); f++) {
			buf_reset(&expected);
			buf_reset(&escaped);
			for (size_t i = 0; i < n; i++)
				escapes[f](&expected, units[picks[i]], strlen(units[picks[i]]));
			escapes[f](&escaped, buf_text(&text), text.len);
			assert_string_equal(buf_text(&escaped), buf_text(&expected));
		}
		buf_done(&text);
		buf_done(&expected);
		buf_done(&escaped);
	}
}

/* By RFC 4180 from the escaped text. */
static void expect_csv(struct buf *b, const char *text, size_t n)
{
	struct buf field = {0};
	bool quoted;

	if (n && strchr("=+-@", *text))
		buf_char(&field, '\'');
	escape_file_text(&field, text, n);
	quoted = strpbrk(buf_text(&field), ",\"") != NULL;
	buf_str(b, quoted ? "\"" : "");
	for (const char *p = buf_text(&field); *p; p++)
		buf_printf(b, *p == '"' ? "\"\"" : "%c", *p);
	buf_str(b, quoted ? "\"" : "");
	buf_done(&field);
}

static void test_every_csv_field(void **state)
{
	for (size_t round = 0; round < unit_rounds(20000); round++) {
		struct buf text = {0}, expected = {0}, escaped = {0};
		size_t picks[40], n;

		add_random_text(&text, picks, &n);
		expect_csv(&expected, buf_text(&text), text.len);
		escape_csv(&escaped, buf_text(&text), text.len);
		assert_string_equal(buf_text(&escaped), buf_text(&expected));
		buf_done(&text);
		buf_done(&expected);
		buf_done(&escaped);
	}
}

static void test_plain_ends_at_the_first_special_byte(void **state)
{
	for (size_t n = 0; n < 40; n++)
		for (unsigned byte = 0; byte < 256; byte++) {
			char text[64];

			memset(text, ' ' + (int)n, sizeof(text));
			text[n] = (char)byte;
			assert_int_equal(escape_plain(text, sizeof(text)),
				byte >= 0x20 && byte < 0x7f ? sizeof(text) : n);
			assert_int_equal(escape_plain(text, n), n);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_is_escaped),
		cmocka_unit_test(test_invalid_utf8),
		cmocka_unit_test(test_words_of_shells),
		cmocka_unit_test(test_formats),
		cmocka_unit_test(test_every_mix_of_characters),
		cmocka_unit_test(test_every_csv_field),
		cmocka_unit_test(test_plain_ends_at_the_first_special_byte),
	};

	return cmocka_run_group_tests_name("escape", tests, NULL, NULL);
}
