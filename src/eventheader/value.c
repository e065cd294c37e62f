/* SPDX-License-Identifier: MIT */
/*
 * Format a value of a self-describing event: the encoding determines its bytes, the format its
 * text.
 */
#include <arpa/inet.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "eventheader/eventheader.h"

uint64_t eventheader_number(const uint8_t *at, size_t n, bool big_endian)
{
	uint64_t number = 0;

	for (size_t i = 0; i < n; i++)
		number = number << 8 | at[big_endian ? i : n - 1 - i];
	return number;
}

static void put_hex(struct print_run *run, const uint8_t *at, size_t n)
{
	for (size_t i = 0; i < n; i++)
		print_form(run, "%02x", at[i]);
}

void eventheader_uuid(struct print_run *run, const uint8_t *bytes)
{
	for (size_t i = 0; i < 16; i++)
		print_form(
			run, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", bytes[i]);
}

/* ---- text ---- */

static void put_code_point(struct print_run *run, uint32_t c)
{
	char utf[4];
	size_t n = 0;

	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		c = 0xfffd;
	if (c < 0x80) {
		utf[n++] = (char)c;
	} else if (c < 0x800) {
		utf[n++] = (char)(0xc0 | c >> 6);
	} else if (c < 0x10000) {
		utf[n++] = (char)(0xe0 | c >> 12);
		utf[n++] = (char)(0x80 | (c >> 6 & 0x3f));
	} else {
		utf[n++] = (char)(0xf0 | c >> 18);
		utf[n++] = (char)(0x80 | (c >> 12 & 0x3f));
		utf[n++] = (char)(0x80 | (c >> 6 & 0x3f));
	}
	if (c >= 0x80)
		utf[n++] = (char)(0x80 | (c & 0x3f));
	print_text(run, utf, n);
}

/* n units of `unit` bytes: UTF-16 or UTF-32. */
static void put_wide(
	struct print_run *run, const uint8_t *at, size_t n, size_t unit, bool big_endian)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t c = (uint32_t)eventheader_number(at + i * unit, unit, big_endian), low;

		if (unit == 2 && c >= 0xd800 && c < 0xdc00 && i + 1 < n) {
			low = (uint32_t)eventheader_number(at + (i + 1) * 2, 2, big_endian);
			if (low >= 0xdc00 && low < 0xe000) {
				c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
				i++;
			}
		}
		put_code_point(run, c);
	}
}

/* Skips a byte order mark; for wide text it determines the byte order. */
static void put_string(struct print_run *run, const uint8_t *at, size_t n, size_t unit,
	unsigned format, bool big_endian)
{
	bool mark = format == FORMAT_UTF_BOM || format == FORMAT_XML || format == FORMAT_JSON;

	if (format == FORMAT_BYTES) {
		put_hex(run, at, n * unit);
	} else if (unit > 1) {
		if (mark && n && eventheader_number(at, unit, !big_endian) == 0xfeff)
			big_endian = !big_endian;
		if (mark && n && eventheader_number(at, unit, big_endian) == 0xfeff)
			at += unit, n--;
		put_wide(run, at, n, unit, big_endian);
	} else if (format == FORMAT_LATIN1) {
		for (size_t i = 0; i < n; i++)
			put_code_point(run, at[i]);
	} else {
		if (mark && n >= 3 && !memcmp(at, "\xef\xbb\xbf", 3))
			at += 3, n -= 3;
		print_text(run, (const char *)at, n);
	}
}

/* Takes text up to and including a zero unit, or up to the end. */
static enum eventheader_kind zero_ended(
	struct print_run *run, size_t unit, unsigned format, struct span *data)
{
	const uint8_t *start = data->at, *end;

	while (span_left(data) >= unit && eventheader_number(data->at, unit, false))
		data->at += unit;
	end = data->at;
	put_string(run, start, (size_t)(end - start) / unit, unit, format, data->big_endian);
	return span_take(data, unit) ? VALUE_TEXT : VALUE_MISSING;
}

/* ---- numbers ---- */

/* The shortest text that parses to the same number. */
static enum eventheader_kind put_float(struct print_run *run, uint64_t bits, size_t n)
{
	uint32_t low = (uint32_t)bits;
	double value;
	float narrow;
	char text[40];
	int digits;

	memcpy(&narrow, &low, sizeof(narrow));
	memcpy(&value, &bits, sizeof(value));
	value = n == 4 ? (double)narrow : value;
	for (digits = n == 4 ? 6 : 15;; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (digits >= (n == 4 ? 9 : 17) ||
			(n == 4 ? strtof(text, NULL) == narrow : strtod(text, NULL) == value))
			break;
	}
	print_text(run, text, strlen(text));
	return isfinite(value) ? VALUE_NUMBER : VALUE_TEXT;
}

/* Seconds since 1970. */
static enum eventheader_kind put_time(struct print_run *run, int64_t seconds)
{
	time_t t = (time_t)seconds;
	struct tm tm;
	char text[80];

	if (gmtime_r(&t, &tm) && strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm))
		print_text(run, text, strlen(text));
	else
		print_form(run, "%lld", (long long)seconds);
	return VALUE_TEXT;
}

static enum eventheader_kind put_errno(struct print_run *run, int error)
{
	const char *name = strerrorname_np(error);

	if (name)
		print_form(run, "%s", name);
	else
		print_form(run, "%d", error);
	return VALUE_TEXT;
}

static enum eventheader_kind put_number(
	struct print_run *run, const uint8_t *at, size_t n, unsigned format, bool big_endian)
{
	uint64_t number = eventheader_number(at, n, big_endian);
	int64_t as_signed = (int64_t)(number << (64 - 8 * n)) >> (64 - 8 * n);

	if (format == FORMAT_HEX) {
		print_form(run, "0x%llx", (unsigned long long)number);
		return VALUE_TEXT;
	}
	if (format == FORMAT_ERRNO && n == 4)
		return put_errno(run, (int)as_signed);
	if (format == FORMAT_TIME && n >= 4)
		return put_time(run, as_signed);
	if (format == FORMAT_FLOAT && n >= 4)
		return put_float(run, number, n);
	if ((format == FORMAT_LATIN1 && n == 1) || (format == FORMAT_UTF && n <= 4)) {
		put_code_point(run, (uint32_t)number);
		return VALUE_TEXT;
	}
	if (format == FORMAT_SIGNED || format == FORMAT_PID)
		print_form(run, "%lld", (long long)as_signed);
	else if (format == FORMAT_BOOLEAN && n <= 4 && number <= 1)
		print_form(run, "%s", number ? "true" : "false");
	else if (format == FORMAT_PORT && n == 2)
		print_form(run, "%u", (unsigned)eventheader_number(at, n, true));
	else
		print_form(run, "%llu", (unsigned long long)number);
	return VALUE_NUMBER;
}

static enum eventheader_kind put_fixed(
	struct print_run *run, const uint8_t *at, size_t n, unsigned format, bool big_endian)
{
	bool is_ip = format == FORMAT_IP || format == FORMAT_IP_OLD;
	char address[INET6_ADDRSTRLEN];

	if (is_ip && n == 4)
		print_form(run, "%u.%u.%u.%u", at[0], at[1], at[2], at[3]);
	else if (is_ip && n == 16)
		print_form(run, "%s", inet_ntop(AF_INET6, at, address, sizeof(address)));
	else if (format == FORMAT_UUID && n == 16)
		eventheader_uuid(run, at);
	else if (format == FORMAT_BYTES || n == 16)
		put_hex(run, at, n);
	else
		return put_number(run, at, n, format, big_endian);
	return VALUE_TEXT;
}

/* ---- values with their length ---- */

/* The lengths of a value of this format, as a sum of powers of two; 0: any. */
static unsigned lengths_of(unsigned format)
{
	static const uint8_t lengths[] = {
		[FORMAT_UNSIGNED] = 1 | 2 | 4 | 8,
		[FORMAT_SIGNED] = 1 | 2 | 4 | 8,
		[FORMAT_HEX] = 1 | 2 | 4 | 8,
		[FORMAT_ERRNO] = 4,
		[FORMAT_PID] = 4,
		[FORMAT_TIME] = 4 | 8,
		[FORMAT_BOOLEAN] = 1 | 2 | 4,
		[FORMAT_FLOAT] = 4 | 8,
		[FORMAT_UUID] = 16,
		[FORMAT_PORT] = 2,
		[FORMAT_IP] = 4 | 16,
		[FORMAT_IP_OLD] = 4 | 16,
	};

	return format < ARRAY_SIZE(lengths) ? lengths[format] : 0;
}

/* A format of fixed length makes it a value that can be null. */
static enum eventheader_kind put_bytes(struct print_run *run, const uint8_t *at, size_t n,
	bool is_binary, unsigned format, bool big_endian)
{
	unsigned lengths = lengths_of(format);

	if (lengths && !n) {
		print_form(run, "null");
		return VALUE_NUMBER;
	}
	if (n <= 16 && !(n & (n - 1)) && lengths & n)
		return put_fixed(run, at, n, format, big_endian);
	if (is_binary && (lengths || format == FORMAT_DEFAULT || format > FORMAT_IP_OLD))
		format = FORMAT_BYTES;
	put_string(run, at, n, 1, format, big_endian);
	return VALUE_TEXT;
}

static enum eventheader_kind counted(
	struct print_run *run, size_t unit, bool is_binary, unsigned format, struct span *data)
{
	const uint8_t *count = span_take(data, 2), *at;
	size_t n = count ? (size_t)eventheader_number(count, 2, data->big_endian) : 0;

	at = count ? span_take(data, n * unit) : NULL;
	if (!at)
		return VALUE_MISSING;
	if (unit == 1)
		return put_bytes(run, at, n, is_binary, format, data->big_endian);
	put_string(run, at, n, unit, format, data->big_endian);
	return VALUE_TEXT;
}

enum eventheader_kind eventheader_value(
	struct print_run *run, unsigned encoding, unsigned format, struct span *data)
{
	const uint8_t *at;
	size_t n;

	if (encoding >= ENCODING_ZSTRING8 && encoding <= ENCODING_ZSTRING32)
		return zero_ended(run, (size_t)1 << (encoding - ENCODING_ZSTRING8), format, data);
	if (encoding >= ENCODING_STRING8 && encoding <= ENCODING_STRING32)
		return counted(
			run, (size_t)1 << (encoding - ENCODING_STRING8), false, format, data);
	if (encoding == ENCODING_BINARY)
		return counted(run, 1, true, format, data);
	if (encoding < ENCODING_VALUE8 || encoding > ENCODING_VALUE128)
		return VALUE_MISSING;
	n = (size_t)1 << (encoding - ENCODING_VALUE8);
	at = span_take(data, n);
	return at ? put_fixed(run, at, n, format, data->big_endian) : VALUE_MISSING;
}
