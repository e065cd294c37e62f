/* SPDX-License-Identifier: MIT */
/*
 * attar/eventheader.h - events that describe themselves.
 *
 * .NET, OpenTelemetry and libperfume's PERFUME_HEADER_EVENT write events in the EventHeader
 * encoding: tracepoints are shared by all events of one provider, level and keyword, and each
 * record carries its own name and the names and types of its fields. The encoding is defined by
 * eventheader.h of github.com/microsoft/LinuxTracepoints.
 *
 * Pure over bytes: nothing is allocated or kept, and no record makes it read outside of it.
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

/* One event. Pointers are borrowed from its payload. */
struct attar_eventheader {
	uint8_t version;
	uint16_t id;  /* that of the provider's documentation; 0: none */
	uint16_t tag; /* the provider's own */
	uint8_t opcode;
	uint8_t level;    /* 1 critical, 2 error, 3 warning, 4 information, 5 verbose */
	bool big_endian;  /* its numbers */
	const char *name; /* UTF-8 without NUL; NULL when the event does not describe itself */
	size_t name_len;
	const uint8_t *activity, *related; /* 16 bytes each, NULL: none */
	const uint8_t *fields;             /* their definitions */
	size_t fields_len;
	const uint8_t *data; /* their values */
	size_t data_len;
};

/* True when the tracepoint's records are in this encoding: its fields are those of the header. */
ATTAR_API bool attar_eventheader_format(const struct attar_format *format);

/*
 * The keyword in a tracepoint's name, "Provider_L4K2a" or "Provider_L4K2aGgroup"; each bit is a
 * category of the provider's. 0; -EINVAL for another name, without an error text.
 */
ATTAR_API int attar_eventheader_keyword(const char *name, uint64_t *ret_keyword);

/*
 * Reads the header and finds the parts of the event; ret_header points into the payload. 0;
 * -EBADMSG when header or extensions do not lie inside its n bytes, without an error text.
 */
ATTAR_API int attar_eventheader_parse(
	const void *payload, size_t n, struct attar_eventheader *ret_header);

/*
 * "order_placed level=information id=3.0: id=7 price=2.5 legs={a=1 b=2} prices=[1,2]", in one line.
 * What lies outside of the payload is shown as "?", and no field begins after 64 KiB of text.
 * Writes at most max bytes with the NUL and returns the length of the whole text. It holds what
 * processes wrote: escape it for where it goes.
 */
ATTAR_API size_t attar_eventheader_print(const void *payload, size_t n, char *ret_text, size_t max);

#ifdef __cplusplus
}
#endif

#endif
