/* SPDX-License-Identifier: MIT */
/*
 * Rows of one table and one day as RowBinary. The server stores a batch as one part: all of it or
 * nothing. Each row has the batch's number, by which one can ask whether it is stored.
 *
 * RowBinary is described in ClickHouse's documentation, "Formats for Input and Output Data":
 * numbers are little-endian, strings and arrays begin with their length as LEB128, and a value that
 * can be NULL with a byte that says whether it is.
 */
#ifndef REPORT_SINKS_CLICKHOUSE_BATCH_H
#define REPORT_SINKS_CLICKHOUSE_BATCH_H

#include <endian.h>

#include "base/buf.h"
#include "base/escape.h"

enum {
	BATCH_ROWS_MAX = 65536,
	BATCH_BYTES_MAX = 8 << 20,
	BATCH_DAY_SECONDS = 86400,
};

struct batch {
	struct batch *next;
	uint64_t id;
	uint64_t created; /* ns since 1970, ascending: the order of batches */
	uint64_t began;   /* base_now() of the first row */
	uint32_t rows;
	uint16_t date;      /* days since 1970 */
	bool may_be_stored; /* a former attempt failed: ask before sending it again */
	bool is_spooled;
	char *table; /* its name, and a line "NAME TYPE" for each column */
	struct buf body;
};

/* NULL with an error message: out of memory. */
struct batch *batch_new(const char *table, uint16_t date);
struct batch *batch_free(struct batch *batch);

/* A random number, not 0. */
uint64_t batch_random(void);

/* The day of a time in ns since 1970. */
static inline uint16_t batch_date(uint64_t time)
{
	return (uint16_t)(time / 1000000000 / BATCH_DAY_SECONDS);
}

static inline void row_u16(struct buf *b, uint16_t value)
{
	value = htole16(value);
	buf_add(b, &value, sizeof(value));
}

static inline void row_u32(struct buf *b, uint32_t value)
{
	value = htole32(value);
	buf_add(b, &value, sizeof(value));
}

static inline void row_u64(struct buf *b, uint64_t value)
{
	value = htole64(value);
	buf_add(b, &value, sizeof(value));
}

static inline void row_double(struct buf *b, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	row_u64(b, bits);
}

static inline void row_length(struct buf *b, size_t n)
{
	for (; n > 127; n >>= 7)
		buf_char(b, (char)(n | 128));
	buf_char(b, (char)n);
}

static inline void row_bytes(struct buf *b, const char *text, size_t n)
{
	row_length(b, n);
	buf_add(b, text, n);
}

/* Names of programs and files; see base/escape.h. */
static inline void row_name(struct buf *b, const char *text, size_t n)
{
	struct buf valid _cleanup_(buf_done) = {0};

	if (escape_plain(text, n) == n) {
		row_bytes(b, text, n);
		return;
	}
	escape_utf8(&valid, text, n);
	row_bytes(b, buf_text(&valid), valid.len);
	b->failed |= valid.failed;
}

static inline void row_text(struct buf *b, const char *text)
{
	row_name(b, text, strlen(text));
}

/* Before a value that can be NULL; after true there is none. */
static inline void row_null(struct buf *b, bool is_null)
{
	buf_char(b, is_null);
}

#endif
