/* SPDX-License-Identifier: MIT */
/*
 * The fields of a record as members of a JSON object. What depends on the format alone is computed
 * once: names are escaped, and numbers at fixed offsets are found.
 */
#include <math.h>

#include "attar/private/eventheader.h"
#include "base/digits.h"
#include "base/escape.h"
#include "base/recent.h"
#include "eventheader/eventheader.h"
#include "report/model/fields.h"
#include "report/model/number.h"
#include "tracefs/format.h"

/* A field, and the text before its value: `,"name":`, with '[' for a list. */
struct json_field {
	const struct attar_field *field;
	struct attar_number_type type;
	bool has_numbers;
	bool is_fixed; /* integers at a fixed offset */
	uint32_t n;    /* of them */
	uint32_t prefix, prefix_len;
	uint32_t recent, n_recent; /* the newest texts of its first numbers */
};

struct json_fields {
	VEC(struct json_field) list;
	VEC(struct recent_text) recent;
	struct buf prefixes;
	bool is_eventheader; /* more fields are described in each record */
};

static void free_fields(struct json_fields *fields)
{
	vec_done(&fields->list);
	vec_done(&fields->recent);
	buf_done(&fields->prefixes);
	free(fields);
}

static bool is_fixed(const struct json_field *f)
{
	return f->has_numbers && !f->type.is_float && f->field->place == ATTAR_FIELD_FIXED &&
	       f->type.size && f->type.size <= 8 && !(f->type.size & (f->type.size - 1));
}

enum { RECENT_NUMBERS = 8 /* of a list */ };

static int add_recent(struct json_fields *fields, struct json_field *f)
{
	f->n = f->type.is_array ? f->field->size / f->type.size : 1;
	f->recent = (uint32_t)fields->recent.n;
	f->n_recent = MIN(f->n, (uint32_t)RECENT_NUMBERS);
	for (uint32_t i = 0; i < f->n_recent; i++)
		if (!vec_add(&fields->recent))
			return -ENOMEM;
	return 0;
}

static int add_field(struct json_fields *fields, const struct attar_field *field)
{
	struct json_field f = {.field = field, .prefix = (uint32_t)fields->prefixes.len};
	struct buf *b = &fields->prefixes;

	f.has_numbers = attar_field_number_type(field, &f.type);
	f.is_fixed = is_fixed(&f);
	if (f.is_fixed && add_recent(fields, &f) < 0)
		return -ENOMEM;
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
	fields->is_eventheader = eventheader_format(format);
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

static inline uint64_t load_integer(const struct attar_number_type *type, const void *at)
{
	uint64_t word;

	if (likely(type->size == sizeof(word))) {
		memcpy(&word, at, sizeof(word));
		return word;
	}
	return type->is_signed ? (uint64_t)attar_number_i64(type, at) : attar_number_u64(type, at);
}

static inline char *put_integer(char *to, const struct attar_number_type *type, uint64_t value)
{
	return type->is_signed ? digits_i64(to, (int64_t)value) : digits_u64(to, value);
}

/* The same, with the newest text of this number. */
static inline char *put_recent(
	char *to, const struct attar_number_type *type, uint64_t value, struct recent_text *recent)
{
	char *end;

	if (value < 10) {
		*to = (char)('0' + value);
		return to + 1;
	}
	end = recent_text_put(recent, value, to);
	if (!end) {
		end = put_integer(to, type, value);
		recent_text_keep(recent, value, to, end);
	}
	return end;
}

static void add_number(struct buf *b, const struct attar_number_type *type, const void *at)
{
	if (type->is_float) {
		add_real(b, attar_number_double(type, at));
		return;
	}
	if (!buf_reserve(b, DIGITS_MAX))
		return;
	b->len = (size_t)(put_integer(b->data + b->len, type, load_integer(type, at)) - b->data);
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
	size_t prefix_len, struct recent_text *recent, const struct fields *fields)
{
	const char *at = (const char *)fields->raw + f->field->offset;
	uint32_t n = f->n;
	char *to;

	if (!buf_reserve(b, prefix_len + n * (DIGITS_MAX + 1) + RECENT_TEXT_MAX + 1))
		return;
	to = b->data + b->len;
	base_copy_short(to, prefix, prefix_len);
	to += prefix_len;
	for (uint32_t i = 0; i < n; i++, at += f->type.size) {
		uint64_t value = load_integer(&f->type, at);

		if (i)
			*to++ = ',';
		to = i < f->n_recent ? put_recent(to, &f->type, value, &recent[i])
				     : put_integer(to, &f->type, value);
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
			add_fixed(b, f, prefix, prefix_len, json->recent.at + f->recent, fields);
			continue;
		}
		buf_add(b, prefix, prefix_len);
		add_value(b, f, fields);
		if (f->type.is_array)
			buf_char(b, ']');
	}
	if (json->is_eventheader)
		eventheader_json(b, fields->raw, fields->size);
	return json->list.n > 0;
}
