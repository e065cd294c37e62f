/* SPDX-License-Identifier: MIT */
/* The parts of decoding the EventHeader encoding. */
#ifndef EVENTHEADER_EVENTHEADER_H
#define EVENTHEADER_EVENTHEADER_H

#include "attar/eventheader.h"
#include "expr/print.h"

/* Where a value is. The numbers are those of the encoding, see attar/eventheader.h. */
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
};

/* How it is to be shown. */
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
	FORMAT_IPV4,
	FORMAT_IPV6,
};

/* Bytes that are read one after another, up to their end. */
struct span {
	const uint8_t *at, *end;
	bool big_endian;
};

static inline size_t span_left(const struct span *span)
{
	return (size_t)(span->end - span->at);
}

/* The next n bytes, or NULL when there are fewer. */
static inline const uint8_t *span_take(struct span *span, size_t n)
{
	const uint8_t *at = span->at;

	if (span_left(span) < n)
		return NULL;
	span->at += n;
	return at;
}

/* A number of 1, 2, 4 or 8 bytes. */
uint64_t eventheader_number(const uint8_t *at, size_t n, bool big_endian);

/*
 * Takes one value off the data and writes it. False when it is not there, or is of no known
 * encoding.
 */
bool eventheader_value(
	struct print_run *run, unsigned encoding, unsigned format, struct span *data);

/*
 * Writes the event that lies in the run's record behind the common fields. name: of the tracepoint,
 * or NULL.
 */
void eventheader_print(struct print_run *run, const char *name);

/* Writes 16 bytes, in the order of a UUID's text. */
void eventheader_uuid(struct print_run *run, const uint8_t *bytes);

#endif
