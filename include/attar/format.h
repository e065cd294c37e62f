/* SPDX-License-Identifier: MIT */
/*
 * attar/format.h - fields of raw tracepoint records.
 *
 * A struct attar_format describes the records of a tracepoint, as its "format" file in tracefs
 * does: name, offset, size and type of each field, and the kernel's print format.
 *
 *	const struct attar_field *prio;
 *	if (attar_format_need(format, "prio", &prio) < 0)
 *		return report(attar_error());
 *	use(attar_field_i64(prio, sample->raw, sample->raw_size));
 *
 * See Documentation/trace/events.rst of the kernel.
 */
#ifndef ATTAR_FORMAT_H
#define ATTAR_FORMAT_H

#include <string.h>

#include "attar/base.h"

#ifdef __cplusplus
extern "C" {
#endif

enum attar_field_kind {
	ATTAR_FIELD_NUMBER,
	ATTAR_FIELD_STRING, /* characters: fixed-size array or dynamic length */
	ATTAR_FIELD_ARRAY,  /* numbers of `element` bytes each */
	ATTAR_FIELD_BYTES,  /* anything else, such as a struct or a bitmap */
};

/* Where the bytes of a field are stored. */
enum attar_field_storage {
	ATTAR_FIELD_FIXED,    /* at offset */
	ATTAR_FIELD_DATA_LOC, /* u32 at offset: offset in the record | size in bytes << 16 */
	ATTAR_FIELD_REL_LOC,  /* as DATA_LOC, but relative to the end of that u32 (since 5.17) */
};

/* A field of a tracepoint. Borrowed from its format. */
struct attar_field {
	uint16_t offset;  /* bytes from the start of the raw record */
	uint16_t size;    /* bytes; 4 for the location word if place is not FIXED */
	uint16_t element; /* bytes of a number or an array element; 1 for characters */
	uint8_t kind;     /* enum attar_field_kind */
	uint8_t place;    /* enum attar_field_storage */
	bool is_signed;
	bool is_pointer; /* an address, printed in hexadecimal */
	bool is_common;  /* common to all tracepoints: common_type, common_pid, ... */
	const char *name;
	const char *type; /* as declared by the kernel: "pid_t", "char[16]", "__data_loc char[]" */
};

/* A tracepoint: its id, fields and print format. */
struct attar_format {
	const char *system; /* "sched" */
	const char *name;   /* "sched_switch" */
	uint64_t id;        /* perf_event_attr.config; common_type of its records */
	size_t n_fields;
	const struct attar_field *fields; /* in record order, common fields first */
	const char *print; /* "print fmt" of the kernel: a C format string and its arguments */
	uint32_t size;     /* bytes of a record without dynamic fields */
};

/*
 * Parses the text of a tracefs "format" file (len bytes, from any source). `system` and the text
 * are copied. Free the result with attar_format_free(). Returns 0; -EBADMSG if the text is
 * malformed, with an error message that names the line; or -ENOMEM.
 */
ATTAR_API int attar_format_parse(
	const char *system, const char *text, size_t len, struct attar_format **ret_format);

/*
 * Frees a format created by attar_format_parse(), and no other. Accepts NULL. Returns NULL, to
 * assign to the caller's variable.
 */
ATTAR_API struct attar_format *attar_format_free(struct attar_format *format);

/* Returns the field with this name, or NULL. Borrowed from the format. */
ATTAR_API const struct attar_field *attar_format_field(
	const struct attar_format *format, const char *name);

/*
 * Like attar_format_field(), but returns -ENOENT if there is no such field; the error message names
 * the tracepoint and suggests a field.
 */
ATTAR_API int attar_format_need(
	const struct attar_format *format, const char *name, const struct attar_field **ret_field);

/*
 * Reads a number from a raw record of `size` bytes, sign-extended if the field is signed. Returns 0
 * if the field is not a number or exceeds the record.
 */
static inline uint64_t attar_field_u64(
	const struct attar_field *field, const void *raw, size_t size)
{
	const char *at = ATTAR_CAST(const char *, raw) + field->offset;
	size_t start = field->offset;
	uint64_t u64 = 0;
	uint32_t u32;
	uint16_t u16;
	uint8_t u8;

	if (start + field->size > size || field->kind != ATTAR_FIELD_NUMBER)
		return 0;
	if (field->size == 8) { /* the usual case */
		memcpy(&u64, at, 8);
		return u64;
	}
	switch (field->size) {
	case 4:
		memcpy(&u32, at, 4);
		return field->is_signed ? ATTAR_CAST(uint64_t, ATTAR_CAST(int32_t, u32)) : u32;
	case 2:
		memcpy(&u16, at, 2);
		return field->is_signed ? ATTAR_CAST(uint64_t, ATTAR_CAST(int16_t, u16)) : u16;
	case 1:
		memcpy(&u8, at, 1);
		return field->is_signed ? ATTAR_CAST(uint64_t, ATTAR_CAST(int8_t, u8)) : u8;
	}
	return 0;
}

/* As attar_field_u64(), as a signed number. */
static inline int64_t attar_field_i64(const struct attar_field *field, const void *raw, size_t size)
{
	return ATTAR_CAST(int64_t, attar_field_u64(field, raw, size));
}

/*
 * Returns the bytes of a field of any kind and stores their number in *ret_len; NULL and 0 if they
 * exceed the record. Borrowed from raw, unaligned.
 */
static inline const void *attar_field_bytes(
	const struct attar_field *field, const void *raw, size_t size, size_t *ret_len)
{
	size_t at = field->offset, len = field->size;
	uint32_t word;

	*ret_len = 0;
	if (at + len > size)
		return NULL;
	if (field->place != ATTAR_FIELD_FIXED) {
		if (len < 4)
			return NULL;
		memcpy(&word, ATTAR_CAST(const char *, raw) + at, 4);
		at = (word & 0xffff) + (field->place == ATTAR_FIELD_REL_LOC ? at + 4 : 0);
		len = word >> 16;
		if (at + len > size)
			return NULL;
	}
	*ret_len = len;
	return ATTAR_CAST(const char *, raw) + at;
}

/*
 * Returns the text of a string field and stores its length in *ret_len. The text ends at its NUL
 * or, if it has none, at the end of the field. NULL and 0 if the field is not a string or exceeds
 * the record. Borrowed from raw.
 */
static inline const char *attar_field_string(
	const struct attar_field *field, const void *raw, size_t size, size_t *ret_len)
{
	const void *bytes = attar_field_bytes(field, raw, size, ret_len);
	const char *text = ATTAR_CAST(const char *, bytes), *end;

	if (!text || field->kind != ATTAR_FIELD_STRING) {
		*ret_len = 0;
		return NULL;
	}
	end = ATTAR_CAST(const char *, memchr(text, '\0', *ret_len));
	if (end)
		*ret_len = ATTAR_CAST(size_t, end - text);
	return text;
}

/* The type of the numbers in a field. */
struct attar_number_type {
	uint8_t size; /* bytes of each: 1, 2, 4 or 8; numbers of another size are read as 0 */
	bool is_signed, is_float;
	bool is_array; /* the field holds any number of them, one after the other */
};

/*
 * Returns the type of the numbers in a field of kind NUMBER or ARRAY, or of a numeric type of
 * libperfume that the kernel does not support ("struct f64", "struct u32x4", "__rel_loc f32[]").
 * Returns false if the field does not hold numbers.
 */
ATTAR_API bool attar_field_number_type(
	const struct attar_field *field, struct attar_number_type *ret_type);

/*
 * Reads an integer (is_float is false) of this type, sign-extended if it is signed. `at` is
 * unaligned, usually from attar_field_bytes().
 */
static inline uint64_t attar_number_u64(const struct attar_number_type *type, const void *at)
{
	struct attar_field field;

	memset(&field, 0, sizeof(field)); /* kind: ATTAR_FIELD_NUMBER */
	field.size = type->size;
	field.is_signed = type->is_signed;
	return attar_field_u64(&field, at, type->size);
}

/* As attar_number_u64(), as a signed number. */
static inline int64_t attar_number_i64(const struct attar_number_type *type, const void *at)
{
	return ATTAR_CAST(int64_t, attar_number_u64(type, at));
}

/* Reads a floating-point number (is_float is true) of this type. `at` is unaligned. */
static inline double attar_number_double(const struct attar_number_type *type, const void *at)
{
	double f64;
	float f32;

	if (type->size == 4) {
		memcpy(&f32, at, 4);
		return ATTAR_CAST(double, f32);
	}
	memcpy(&f64, at, 8);
	return f64;
}

/*
 * How many numbers a field has: 1, or one for each element of an array; 0 if the field holds none
 * or exceeds the record. Numbers of a size other than 1, 2, 4 or 8 bytes are not counted.
 */
ATTAR_API size_t attar_field_count(const struct attar_field *field, const void *raw, size_t size);

/*
 * Number i of a field, from 0, sign-extended if it is signed; of a field that is one number, i is
 * 0. Floating-point numbers are truncated. 0 if there is no such number, it exceeds the record or
 * does not fit in 64 bits.
 */
ATTAR_API uint64_t attar_field_u64_at(
	const struct attar_field *field, const void *raw, size_t size, size_t i);

/* The same as a floating-point number; 0 if there is no such number or it exceeds the record. */
ATTAR_API double attar_field_double_at(
	const struct attar_field *field, const void *raw, size_t size, size_t i);

/* As attar_field_u64_at(), as a signed number. */
static inline int64_t attar_field_i64_at(
	const struct attar_field *field, const void *raw, size_t size, size_t i)
{
	return ATTAR_CAST(int64_t, attar_field_u64_at(field, raw, size, i));
}

/*
 * Reads a number from a raw record of `size` bytes as a floating-point number: one of libperfume's
 * f32 and f64, or an integer. 0 if the field is not one number or exceeds the record.
 */
static inline double attar_field_double(
	const struct attar_field *field, const void *raw, size_t size)
{
	return attar_field_count(field, raw, size) == 1 ? attar_field_double_at(field, raw, size, 0)
							: 0;
}

/*
 * Formats a record as one line of text using the kernel's print format, or as "name=value ..." if
 * that can only be evaluated in the kernel. Writes at most max bytes including the NUL and returns
 * the length of the complete text, as snprintf() does. Never reads outside the record, even if
 * record or format are malformed. The text contains data written by processes: escape it before
 * output.
 */
ATTAR_API size_t attar_format_print(const struct attar_format *format, const void *raw, size_t size,
	char *ret_text, size_t max);

/* A kernel function. Strings are borrowed until the next call of the attar_address_fn. */
struct attar_kernel_name {
	const char *name;
	const char *module;   /* NULL for the kernel itself */
	uint64_t start, size; /* size in bytes; 0: unknown */
};

/* Looks up the function that contains an address; returns false if it is unknown. */
typedef bool attar_address_fn(void *ctx, uint64_t address, struct attar_kernel_name *ret_name);

#ifdef __cplusplus
}
#endif

#endif
