/* SPDX-License-Identifier: MIT */
/*
 * attar/eventheader.h - decode self-describing events.
 *
 * .NET, OpenTelemetry and libperfume's PERFUME_HEADER_EVENT write events in the EventHeader
 * encoding. All events with the same provider, level and keyword share a tracepoint; each record
 * contains the event's name and the names and types of its fields. The encoding is defined by
 * eventheader.h of github.com/microsoft/LinuxTracepoints.
 *
 * Pure functions on bytes: they allocate nothing, keep no state and never read outside the record.
 *
 *	struct attar_eventheader header;
 *	char text[4096];
 *
 *	if (attar_eventheader_parse(payload, n, &header) == 0)
 *		printf("%.*s: level %d\n", (int)header.name_len, header.name, header.level);
 *	attar_eventheader_print(payload, n, text, sizeof(text));
 */
#ifndef ATTAR_EVENTHEADER_H
#define ATTAR_EVENTHEADER_H

#include "attar/event.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An event. Pointers are borrowed from its payload. */
struct attar_eventheader {
	uint8_t version;
	uint16_t id;  /* assigned by the provider; 0: none */
	uint16_t tag; /* provider-defined */
	uint8_t opcode;
	uint8_t level;    /* 1 critical, 2 error, 3 warning, 4 information, 5 verbose */
	bool big_endian;  /* byte order of its numbers */
	const char *name; /* UTF-8 without NUL; NULL if the event has no metadata */
	size_t name_len;
	const uint8_t *activity, *related; /* UUIDs of 16 bytes each; NULL: none */
	const uint8_t *fields;             /* field definitions */
	size_t fields_len;
	const uint8_t *data; /* field values */
	size_t data_len;
};

/*
 * Gets the keyword from a tracepoint's name, "Provider_L4K2a" or "Provider_L4K2aGgroup". Each bit
 * is a category defined by the provider. Returns 0, or -EINVAL without an error message for other
 * names.
 */
ATTAR_API int attar_eventheader_keyword(const char *name, uint64_t *ret_keyword);

/*
 * Parses the header and extensions of an event; ret_header points into the payload of n bytes.
 * Returns 0, or -EBADMSG without an error message if they exceed the payload.
 */
ATTAR_API int attar_eventheader_parse(
	const void *payload, size_t n, struct attar_eventheader *ret_header);

/*
 * "order_placed level=information id=3.0: id=7 price=2.5 legs={a=1 b=2} prices=[1,2]", as one line.
 * Values outside the payload are shown as "?"; fields that would begin after 64 KiB of text are
 * omitted. Writes at most max bytes including the NUL and returns the length of the complete text.
 * The text contains data written by processes: escape it before output.
 */
ATTAR_API size_t attar_eventheader_print(const void *payload, size_t n, char *ret_text, size_t max);

#ifdef __cplusplus
}
#endif

#endif
