/* SPDX-License-Identifier: MIT */
/* Decodes a self-describing event, as .NET and OpenTelemetry write them to user_events. */
#include <stdio.h>
#include <string.h>

#include <attar/attar.h>

/*
 * Header: little endian, 64 bits, extensions follow; version 0, id 3, no tag, no opcode, level 4.
 */
static const char payload[] =
	"\x07\x00\x03\x00\x00\x00\x00\x04"
	/* One extension of 22 bytes: the metadata. */
	"\x16\x00\x01\x00"
	/* The event's name, then its fields with their encodings: 5 is 64 bits. */
	"order_placed\0"
	"id\0\x05"
	"qty\0\x04"
	/* Their values. */
	"\x2a\0\0\0\0\0\0\0"
	"\x07\0\0\0";

int main(void)
{
	struct attar_eventheader header;
	char text[256];
	uint64_t keyword;

	if (attar_eventheader_parse(payload, sizeof(payload) - 1, &header) < 0 ||
		attar_eventheader_keyword("Shop_L4K2", &keyword) < 0)
		return fprintf(stderr, "%s\n", attar_error()), 1;
	printf("%.*s, level %d, keyword %llu\n", (int)header.name_len, header.name, header.level,
		(unsigned long long)keyword);
	attar_eventheader_print(payload, sizeof(payload) - 1, text, sizeof(text));
	puts(text);
	return strcmp(text, "order_placed level=information id=3.0: id=42 qty=7") != 0;
}
