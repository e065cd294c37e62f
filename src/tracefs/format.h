/* SPDX-License-Identifier: MIT */
/* Formats: what stands behind a struct attar_format. */
#ifndef TRACEFS_FORMAT_H
#define TRACEFS_FORMAT_H

#include "tracefs/tracefs.h"

enum { FORMAT_TEXT_MAX = 1 << 20, FORMAT_FIELDS_MAX = 1024 };

struct print_program;

struct format {
	struct attar_format pub; /* first: a struct attar_format * is this */
	VEC(struct attar_field) fields;
	char *strings; /* every name and type; never larger than the text they came from */
	size_t strings_len, strings_size;
	struct tracefs *tracefs;       /* that it was read from; NULL: none */
	struct print_program *program; /* NULL: printed field by field, or not yet parsed */
	void (*free_program)(struct print_program *program); /* set with program */
	bool print_parsed;
	bool is_eventheader; /* records are in the EventHeader encoding */
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

/*
 * Numbers that the kernel knows no type for, as libperfume describes them: "struct f64",
 * "struct u32x4", "__rel_loc f32[]".
 */
struct perfume_type {
	uint8_t size; /* of one, bytes */
	bool is_signed, is_float, is_array;
};

/* True when the field is one. */
bool perfume_type_of(const struct attar_field *field, struct perfume_type *ret_described);

/* The value at that place, which need not be aligned. */
double perfume_type_double(const struct perfume_type *described, const void *at);

#endif
