/* SPDX-License-Identifier: MIT */
/* Internal representation of struct attar_format. */
#ifndef TRACEFS_FORMAT_H
#define TRACEFS_FORMAT_H

#include "tracefs/tracefs.h"

enum { FORMAT_TEXT_MAX = 1 << 20, FORMAT_FIELDS_MAX = 1024 };

struct print_program;
struct json_fields;

struct format {
	struct attar_format pub; /* must be first: struct attar_format * is cast to this */
	VEC(struct attar_field) fields;
	char *strings; /* all names and types; never larger than the parsed text */
	size_t strings_len, strings_size;
	struct tracefs *tracefs;       /* tracefs that it was read from; NULL: none */
	struct print_program *program; /* NULL: prints field by field, or not yet parsed */
	void (*free_program)(struct print_program *program); /* set together with program */
	bool print_parsed;
	struct json_fields *json; /* how the fields are written as JSON; NULL: not yet known */
	void (*free_json)(struct json_fields *json); /* set together with json */
	bool is_eventheader;                         /* records use the EventHeader encoding */
};

/*
 * Size of a C type such as "unsigned int" in bytes; 0 if the name does not determine it. The n
 * bytes need not be NUL-terminated.
 */
unsigned format_type_size(const char *type, size_t n, bool *ret_signed);

static inline struct format *format_of(const struct attar_format *pub)
{
	return (struct format *)pub;
}

/*
 * Returns true if the field has a numeric type of libperfume that the kernel does not support:
 * "struct f64", "struct u32x4", "__rel_loc f32[]".
 */
bool perfume_type_of(const struct attar_field *field, struct attar_number_type *ret_type);

#endif
