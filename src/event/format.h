/* SPDX-License-Identifier: MIT */
/* Formats: what stands behind a struct attar_format. */
#ifndef EVENT_FORMAT_H
#define EVENT_FORMAT_H

#include "event/catalog.h"

enum { FORMAT_TEXT_MAX = 1 << 20, FORMAT_FIELDS_MAX = 1024 };

struct print_program;

struct format {
	struct attar_format pub; /* first: a struct attar_format * is this */
	VEC(struct attar_field) fields;
	char *strings; /* every name and type; never larger than the text they came from */
	size_t strings_len, strings_size;
	struct attar_catalog *catalog; /* of whose kernel it is; NULL: of none */
	struct print_program *program; /* NULL: printed field by field, or not yet parsed */
	bool print_parsed;
};

/*
 * Bytes of a C type such as "unsigned int"; 0 when its name does not tell. The n bytes need no
 * NUL.
 */
unsigned format_type_size(const char *type, size_t n, bool *ret_signed);

static inline struct format *format_of(const struct attar_format *pub)
{
	return (struct format *)pub;
}

#endif
