/* SPDX-License-Identifier: MIT */
/* Fields of user events whose type name is a convention of libperfume and its readers. */
#include "tracefs/format.h"

static const char *behind(const char *text, const char *prefix)
{
	size_t n = strlen(prefix);

	return strncmp(text, prefix, n) ? NULL : text + n;
}

/* Parses "u8" to "u64", "s8" to "s64", "f32", "f64". Returns the rest of the text, or NULL. */
static const char *take_type(const char *p, struct perfume_type *d)
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

bool perfume_type_of(const struct attar_field *field, struct perfume_type *ret_described)
{
	struct perfume_type d = {0};
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
	*ret_described = d;
	return true;
}

double perfume_type_double(const struct perfume_type *described, const void *at)
{
	double f64;
	float f32;

	if (described->size == 4) {
		memcpy(&f32, at, 4);
		return f32;
	}
	memcpy(&f64, at, 8);
	return f64;
}
