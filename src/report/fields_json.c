/* SPDX-License-Identifier: MIT */
/*
 * The fields of a record as members of a JSON object. What depends on the format alone is computed
 * once: names are escaped, and numbers at fixed offsets are found.
 */
#include <math.h>

#include "base/digits.h"
#include "base/escape.h"
#include "report/fields.h"
#include "report/number.h"
#include "tracefs/format.h"

/* A field, and the text before its value: `,"name":`, with '[' for a list. */
struct json_field {
	const struct attar_field *field;
	struct attar_number_type type;
	bool has_numbers;
	bool is_fixed; /* an integer, or a list of integers, at a fixed offset */
	uint32_t prefix, prefix_len;
};

struct json_fields {
	VEC(struct json_field) list;
	struct buf prefixes;
};

static void free_fields(struct json_fields *fields)
{
	vec_done(&fields->list);
	buf_done(&fields->prefixes);
	free(fields);
}

static bool is_fixed(const struct json_field *f)
{
	return f->has_numbers && !f->type.is_float && f->field->place == ATTAR_FIELD_FIXED &&
	       f->type.size && f->type.size <= 8 && !(f->type.size & (f->type.size - 1));
}

static int add_field(struct json_fields *fields, const struct attar_field *field)
{
	struct json_field f = {.field = field, .prefix = (uint32_t)fields->prefixes.len};
	struct buf *b = &fields->prefixes;

	f.has_numbers = attar_field_number_type(field, &f.type);
	f.is_fixed = is_fixed(&f);
	buf_str(b, ",\"");
	escape_json(b, field->name, strlen(field->name));
	buf_str(b, f.type.is_array ? "\":[" : "\":");
	f.prefix_len = (uint32_t)b->len - f.prefix;
	return vec_push(&fields->list, f);
}

/* NULL: out of memory. */
static struct json_fields *fields_of(const struct attar_format *format)
{
	struct format *f = format_of(format);
	struct json_fields *fields;
	int r = 0;

	if (likely(f->json))
		return f->json;
	fields = calloc(1, sizeof(*fields));
	if (!fields)
		return NULL;
	for (size_t i = 0; r == 0 && i < format->n_fields; i++)
		if (!format->fields[i].is_common)
			r = add_field(fields, &format->fields[i]);
	if (r < 0 || buf_failed(&fields->prefixes)) {
		free_fields(fields);
		return NULL;
	}
	f->json = fields;
	f->free_json = free_fields;
	return fields;
}

static void add_real(struct buf *b, double real)
{
	if (isfinite(real))
		number_double(b, real);
	else
		buf_str(b, "null");
}

static inline char *put_integer(char *to, const struct attar_number_type *type, const void *at)
{
	uint64_t word;

	if (likely(type->size == sizeof(word) && !type->is_signed)) {
		memcpy(&word, at, sizeof(word));
		return digits_u64(to, word);
	}
	return type->is_signed ? digits_i64(to, attar_number_i64(type, at))
			       : digits_u64(to, attar_number_u64(type, at));
}

static void add_number(struct buf *b, const struct attar_number_type *type, const void *at)
{
	if (type->is_float) {
		add_real(b, attar_number_double(type, at));
		return;
	}
	if (!buf_reserve(b, DIGITS_MAX))
		return;
	b->len = (size_t)(put_integer(b->data + b->len, type, at) - b->data);
	b->data[b->len] = '\0';
}

static void add_numbers(
	struct buf *b, const struct attar_number_type *type, const char *at, size_t len)
{
	for (size_t i = 0; type->size && i + type->size <= len; i += type->size) {
		if (i)
			buf_char(b, ',');
		add_number(b, type, at + i);
	}
}

/* A field at a fixed offset, and the text before it. */
static void add_fixed(struct buf *b, const struct json_field *f, const char *prefix,
	size_t prefix_len, const struct fields *fields)
{
	const char *at = (const char *)fields->raw + f->field->offset;
	size_t size = f->type.size, len = f->type.is_array ? f->field->size / size * size : size;
	char *to;

	if (!buf_reserve(b, prefix_len + len / size * (DIGITS_MAX + 1) + 1))
		return;
	to = b->data + b->len;
	base_copy_short(to, prefix, prefix_len);
	to += prefix_len;
	for (size_t i = 0; i < len; i += size) {
		if (i)
			*to++ = ',';
		to = put_integer(to, &f->type, at + i);
	}
	if (f->type.is_array)
		*to++ = ']';
	*to = '\0';
	b->len = (size_t)(to - b->data);
}

static void add_bytes(struct buf *b, const uint8_t *at, size_t len)
{
	buf_char(b, '"');
	for (size_t i = 0; i < len; i++) {
		buf_char(b, "0123456789abcdef"[at[i] >> 4]);
		buf_char(b, "0123456789abcdef"[at[i] & 15]);
	}
	buf_char(b, '"');
}

static void add_value(struct buf *b, const struct json_field *f, const struct fields *fields)
{
	size_t len;
	const char *at = attar_field_bytes(f->field, fields->raw, fields->size, &len);

	if (f->type.is_array) {
		if (at)
			add_numbers(b, &f->type, at, len);
	} else if (!at || (f->has_numbers && len < f->type.size)) {
		buf_str(b, "null");
	} else if (f->has_numbers) {
		add_number(b, &f->type, at);
	} else if (f->field->kind == ATTAR_FIELD_STRING) {
		escape_json_string(b, at, strnlen(at, len));
	} else {
		add_bytes(b, (const uint8_t *)at, len);
	}
}

bool fields_json(struct buf *b, const struct fields *fields, bool is_first)
{
	struct json_fields *json = fields_of(fields->format);

	if (!json) {
		b->failed = true;
		return false;
	}
	vec_each (&json->list, f) {
		const char *prefix = json->prefixes.data + f->prefix + is_first;
		size_t prefix_len = f->prefix_len - is_first;

		is_first = false;
		if (f->is_fixed && (size_t)f->field->offset + f->field->size <= fields->size) {
			add_fixed(b, f, prefix, prefix_len, fields);
			continue;
		}
		buf_add(b, prefix, prefix_len);
		add_value(b, f, fields);
		if (f->type.is_array)
			buf_char(b, ']');
	}
	return json->list.n > 0;
}
