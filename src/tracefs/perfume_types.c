/* SPDX-License-Identifier: MIT */
/* Fields of user events whose type name is a convention of libperfume and its readers. */
#include "base/check_arg.h"
#include "tracefs/format.h"

static const char *behind(const char *text, const char *prefix)
{
	size_t n = strlen(prefix);

	return strncmp(text, prefix, n) ? NULL : text + n;
}

/* Parses "u8" to "u64", "s8" to "s64", "f32", "f64". Returns the rest of the text, or NULL. */
static const char *take_type(const char *p, struct attar_number_type *d)
{
	char kind = *p;
	char *end;
	unsigned long bits;

	if (kind != 'u' && kind != 's' && kind != 'f')
		return NULL;
	bits = strtoul(p + 1, &end, 10);
	if (bits != 32 && bits != 64 && (kind == 'f' || (bits != 8 && bits != 16)))
		return NULL;
	d->size = (uint8_t)(bits / 8);
	d->is_signed = kind == 's';
	d->is_float = kind == 'f';
	return end;
}

bool perfume_type_of(const struct attar_field *field, struct attar_number_type *ret_type)
{
	struct attar_number_type d = {0};
	const char *p = behind(field->type, "struct "), *end;

	if (!p)
		p = behind(field->type, "__rel_loc ");
	if (!p)
		p = behind(field->type, "__data_loc ");
	end = p ? take_type(p, &d) : NULL;
	if (!end || (*end && *end != 'x' && *end != '['))
		return false;
	d.is_array = *end != '\0';
	if (!d.is_array && field->size != d.size)
		return false;
	*ret_type = d;
	return true;
}

bool attar_field_number_type(const struct attar_field *field, struct attar_number_type *ret_type)
{
	CHECK_ARG_OR(field, "field", false);
	CHECK_ARG_OR(ret_type, "ret_type", false);

	if (field->type && perfume_type_of(field, ret_type))
		return true;
	if (field->kind != ATTAR_FIELD_NUMBER && field->kind != ATTAR_FIELD_ARRAY)
		return false;
	*ret_type = (struct attar_number_type){
		.size = (uint8_t)(field->kind == ATTAR_FIELD_ARRAY ? field->element : field->size),
		.is_signed = field->is_signed,
		.is_array = field->kind == ATTAR_FIELD_ARRAY};
	return true;
}
