/* SPDX-License-Identifier: MIT */
/* Formats: what stands behind a struct attar_format. */
#ifndef EVENT_FORMAT_H
#define EVENT_FORMAT_H

#include "event/catalog.h"

enum { FORMAT_TEXT_MAX = 1 << 20, FORMAT_FIELDS_MAX = 1024 };

struct format {
	struct attar_format pub; /* first: a struct attar_format * is this */
	VEC(struct attar_field) fields;
	char *strings; /* every name and type; never larger than the text they came from */
	size_t strings_len, strings_size;
	char *text; /* the text it was parsed from, for who prints by it; text_len bytes and a NUL
		     */
	size_t text_len;
	void *printer; /* owned by print.c */
};

static inline struct format *format_of(const struct attar_format *pub)
{
	return (struct format *)pub;
}

#endif
