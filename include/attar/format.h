/* SPDX-License-Identifier: MIT */
/*
 * attar/format.h - the fields of a tracepoint's raw record.
 *
 * A struct attar_format describes the record of one tracepoint, as its "format" file in tracefs
 * does: name, offset, size and type of each field, and the kernel's print format.
 *
 *	const struct attar_field *prio;
 *	if (attar_format_need(format, "prio", &prio) < 0)
 *		return report(attar_error());
 *	use(attar_field_i64(prio, sample->raw, sample->raw_size));
 *
 * Source: Documentation/trace/events.rst.
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
	ATTAR_FIELD_STRING, /* chars: a fixed array, or of dynamic length */
	ATTAR_FIELD_ARRAY,  /* of numbers, `element` bytes each */
	ATTAR_FIELD_BYTES,  /* a struct, a bitmap: anything else */
};

/* Where the bytes of a field are. */
enum attar_field_storage {
	ATTAR_FIELD_FIXED,    /* at offset */
	ATTAR_FIELD_DATA_LOC, /* at offset lies a word: where in the record, and bytes << 16 */
	ATTAR_FIELD_REL_LOC,  /* the same, but counted from the end of the word (since 5.17) */
};

/* One field, resolved once: reading it is a load. Borrowed from its format. */
struct attar_field {
	uint16_t offset;  /* bytes from the start of the raw record */
	uint16_t size;    /* bytes; of the word when the place is not FIXED */
	uint16_t element; /* bytes of one number, of the array's too; 1 for chars */
	uint8_t kind;     /* enum attar_field_kind */
	uint8_t place;    /* enum attar_field_storage */
	bool is_signed;
	bool is_pointer; /* an address: shown as hexadecimal */
	bool is_common;  /* of every tracepoint: common_type, common_pid, ... */
	const char *name;
	const char *type; /* as the kernel declares it: "pid_t", "char[16]", "__data_loc char[]" */
};

/* A tracepoint: its id, its fields and how the kernel prints it. */
struct attar_format {
	const char *system; /* "sched" */
	const char *name;   /* "sched_switch" */
	uint64_t id;        /* perf_event_attr.config; common_type of its records */
	size_t n_fields;
	const struct attar_field *fields; /* in record order, common fields first */
	const char *print; /* as the kernel gives it: a C format string and its arguments */
	uint32_t size;     /* bytes of a record without its dynamic part */
};

/*
 * The text of a tracefs "format" file (len bytes, from anywhere) as a format, for attar_format_free().
 * `system` and the text are copied. 0; -EBADMSG with the line at fault; -ENOMEM.
 */
ATTAR_API int attar_format_parse(
	const char *system, const char *text, size_t len, struct attar_format **ret_format);

/* Of attar_format_parse() alone. NULL, for the caller's variable. Takes NULL. */
ATTAR_API struct attar_format *attar_format_free(struct attar_format *format);

/* The field of that name, or NULL. Borrowed from the format. */
ATTAR_API const struct attar_field *attar_format_field(
	const struct attar_format *format, const char *name);

/* The same; without it -ENOENT, and the error text names the tracepoint and suggests a field. */
ATTAR_API int attar_format_need(
	const struct attar_format *format, const char *name, const struct attar_field **ret_field);

/*
 * A number out of a raw record of `size` bytes, sign-extended when the field is signed. 0 for a
 * field that is no number or does not lie inside the record.
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
	switch (field->size) {
	case 8:
		memcpy(&u64, at, 8);
		return u64;
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

/* The same as a signed number. */
static inline int64_t attar_field_i64(const struct attar_field *field, const void *raw, size_t size)
{
	return ATTAR_CAST(int64_t, attar_field_u64(field, raw, size));
}

/*
 * The bytes of a field of any kind and their number; NULL and 0 when they do not lie inside the
 * record. Borrowed from raw, not aligned.
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
 * The text of a string field and its length, up to its NUL or its end: it may lack the NUL. NULL
 * and 0 when it is no string or does not lie inside the record. Borrowed from raw.
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

/*
 * The record as one line of text, by the kernel's own print format; as "name=value ..." where
 * that says what only the kernel can. Writes at most max bytes with the NUL and returns the
 * length that the whole text has, as snprintf() does. No record and no format makes it read
 * outside of them. The text holds what processes wrote: escape it for where it goes.
 */
ATTAR_API size_t attar_format_print(const struct attar_format *format, const void *raw, size_t size,
	char *ret_text, size_t max);

/* A function of the kernel. Strings are borrowed until the next call of who gave them. */
struct attar_kernel_name {
	const char *name;
	const char *module;   /* NULL: none */
	uint64_t start, size; /* size in bytes; 0: unknown */
};

/* Tells the function that an address lies in; false when it is not known. */
typedef bool attar_address_fn(void *ctx, uint64_t address, struct attar_kernel_name *ret_name);

#ifdef __cplusplus
}
#endif

#endif
