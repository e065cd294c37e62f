/* SPDX-License-Identifier: MIT */
/* Internals of the EventHeader decoder. */
#ifndef EVENTHEADER_EVENTHEADER_H
#define EVENTHEADER_EVENTHEADER_H

#include "attar/eventheader.h"
#include "base/buf.h"
#include "expr/print.h"

/* How a value is encoded. The numbers are the numbers of the encoding, see attar/eventheader.h. */
enum {
	ENCODING_STRUCT = 1,
	ENCODING_VALUE8,
	ENCODING_VALUE16,
	ENCODING_VALUE32,
	ENCODING_VALUE64,
	ENCODING_VALUE128,
	ENCODING_ZSTRING8,
	ENCODING_ZSTRING16,
	ENCODING_ZSTRING32,
	ENCODING_STRING8,
	ENCODING_STRING16,
	ENCODING_STRING32,
	ENCODING_BINARY, /* as ENCODING_STRING8, but bytes by default */
};

/* How a value is formatted. */
enum {
	FORMAT_DEFAULT,
	FORMAT_UNSIGNED,
	FORMAT_SIGNED,
	FORMAT_HEX,
	FORMAT_ERRNO,
	FORMAT_PID,
	FORMAT_TIME,
	FORMAT_BOOLEAN,
	FORMAT_FLOAT,
	FORMAT_BYTES,
	FORMAT_LATIN1,
	FORMAT_UTF,
	FORMAT_UTF_BOM,
	FORMAT_XML,
	FORMAT_JSON,
	FORMAT_UUID,
	FORMAT_PORT,
	FORMAT_IP,     /* of 4 or 16 bytes */
	FORMAT_IP_OLD, /* the same; was IPv6 only */
};

/* A bounded reader of bytes. */
struct span {
	const uint8_t *at, *end;
	bool big_endian;
};

static inline size_t span_left(const struct span *span)
{
	return (size_t)(span->end - span->at);
}

/* Returns the next n bytes, or NULL if there are fewer. */
static inline const uint8_t *span_take(struct span *span, size_t n)
{
	const uint8_t *at = span->at;

	if (span_left(span) < n)
		return NULL;
	span->at += n;
	return at;
}

/* Reads a number of 1, 2, 4 or 8 bytes. */
uint64_t eventheader_number(const uint8_t *at, size_t n, bool big_endian);

enum eventheader_kind {
	VALUE_MISSING, /* truncated, or of an unknown encoding */
	VALUE_TEXT,
	VALUE_NUMBER, /* or true, false, null: its text is a literal of JSON */
};

/* Reads a value from the data and writes it as text. */
enum eventheader_kind eventheader_value(
	struct print_run *run, unsigned encoding, unsigned format, struct span *data);

/*
 * Appends the name and the fields of the event that follows the common fields in the raw bytes, as
 * the members "name" and "payload" of a JSON object, each after a comma.
 */
void eventheader_json(struct buf *b, const uint8_t *raw, size_t size);

/*
 * Writes the event that follows the common fields in the run's record. name: of the tracepoint, or
 * NULL.
 */
void eventheader_print(struct print_run *run, const char *name);

/* Writes 16 bytes as a UUID. */
void eventheader_uuid(struct print_run *run, const uint8_t *bytes);

#endif
