/* SPDX-License-Identifier: CC0-1.0 */
/* Validation of names and fields, and their syntax for the kernel. */
#include "internal.h"

int perfume_check_name(const char *name, const char **ret_reason)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
	const char *reason = NULL, *none;
	int ret = -EINVAL;

	if (!name || !*name)
		reason = "the name is empty";
	else if (strlen(name) >= COMMAND_MAX)
		reason = "the name is longer than the kernel's 511 bytes";
	else if (strchr(name, ':'))
		reason = "the name contains a ':', after which the kernel expects flags";
	else if (strchr(name, '/') || !strcmp(name, ".") || !strcmp(name, ".."))
		reason = "the name contains '/' or is '.' or '..', which a directory in tracefs "
			 "cannot have";
	for (none = name; !reason && *none; none++)
		if ((unsigned char)*none <= ' ' || *none == 0x7f)
			reason = "the name contains a space or a control character";
	if (!reason)
		ret = PERFUME_NAME_OK;
	if (!reason && (name[strspn(name, plain)] || isdigit((unsigned char)*name))) {
		ret = PERFUME_NAME_RISKY;
		reason = "the kernel accepts the name, but tools expect letters, digits and '_': "
			 "some versions of perf crash on '.' and '-'";
	}
	if (ret_reason)
		*ret_reason = reason;
	return ret;
}

/* The words of one field. */
struct field {
	const char *word[5];
	size_t size[5];
	unsigned n;
};

static int word_is(const struct field *field, unsigned i, const char *text)
{
	return i < field->n && field->size[i] == strlen(text) &&
	       !memcmp(field->word[i], text, field->size[i]);
}

/*
 * Parses a number of at most 7 characters up to `end`, as the kernel does. Returns -1 if it is
 * invalid.
 */
static long number(const char *text, size_t n, int base, char end)
{
	char digits[8], *stop;
	long value;

	if (!n || n >= sizeof(digits) || !isdigit((unsigned char)*text))
		return -1;
	memcpy(digits, text, n);
	digits[n] = 0;
	value = strtol(digits, &stop, base);
	return *stop == end ? value : -1;
}

static int no_such_type(const struct field *field, unsigned i)
{
	if (word_is(field, i, "float") || word_is(field, i, "double"))
		return fail(-EINVAL,
			"the kernel does not support 'float' and 'double': use f32 and f64");
	if (word_is(field, i, "long"))
		return fail(-EINVAL,
			"the kernel does not support 'long', whose size varies: use s64 or u64");
	return fail(-EINVAL,
		"a field has an unknown type: use s8 to s64, u8 to u64, f32 or f64, an array of "
		"these, char[N], int, short, char, __rel_loc, __data_loc or struct");
}

struct type {
	const char *name;
	int size;
	int of_c;    /* allowed after "unsigned" */
	int foreign; /* unknown to the kernel: described as a struct */
};

static const struct type *find_type(const struct field *field, unsigned i, size_t n)
{
	static const struct type types[] = {{"u8", 1, 0, 0}, {"s8", 1, 0, 0}, {"u16", 2, 0, 0},
		{"s16", 2, 0, 0}, {"u32", 4, 0, 0}, {"s32", 4, 0, 0}, {"u64", 8, 0, 0},
		{"s64", 8, 0, 0}, {"int", 4, 1, 0}, {"short", 2, 1, 0}, {"char", 1, 1, 0},
		{"f32", 4, 0, 1}, {"f64", 8, 0, 1}};
	size_t t;

	for (t = 0; t < sizeof(types) / sizeof(types[0]); t++)
		if (strlen(types[t].name) == n && !memcmp(types[t].name, field->word[i], n))
			return &types[t];
	return NULL;
}

/*
 * Returns the size of the type at word i, or a negative errno. *ret_length is N for an array of a
 * type other than char.
 */
static int basic_size(const struct field *field, unsigned i, int is_unsigned, long *ret_length)
{
	const char *text = field->word[i], *bracket = memchr(text, '[', field->size[i]);
	size_t n = bracket ? (size_t)(bracket - text) : field->size[i];
	const struct type *type = find_type(field, i, n);
	long length;

	if (!type || (is_unsigned && !type->of_c))
		return no_such_type(field, i);
	*ret_length = type->foreign;
	if (!bracket)
		return type->size;
	length = number(bracket + 1, field->size[i] - n - 1, 0, ']');
	if (length < 1 || length > ARRAY_MAX)
		return fail(-EINVAL, "the length of an array must be a number from 1 to 1024");
	if (strncmp(text, "char", 4)) {
		if (type->of_c)
			return no_such_type(field, i);
		*ret_length = length;
	}
	return (int)length * type->size;
}

/*
 * Returns the size of the field's value, or a negative errno. *ret_length as above; 0: the kernel
 * supports the type.
 */
static int field_size(const struct field *field, long *ret_length)
{
	unsigned dynamic = word_is(field, 0, "__data_loc") || word_is(field, 0, "__rel_loc");
	unsigned is_unsigned = word_is(field, dynamic, "unsigned") != 0;
	long n;

	if (word_is(field, 0, "struct")) {
		n = field->n == 4 ? number(field->word[3], field->size[3], 10, 0) : -1;
		if (n < 1 || n > PERFUME_PAYLOAD_MAX)
			return fail(-EINVAL,
				"the syntax of a struct field is 'struct NAME field SIZE'");
		return (int)n;
	}
	if (field->n != dynamic + is_unsigned + 2)
		return fail(-EINVAL, "the syntax of a field is 'TYPE NAME'");
	if (dynamic)
		return (int)sizeof(uint32_t);
	return basic_size(field, is_unsigned, (int)is_unsigned, ret_length);
}

/* Parses the words up to the next ';'. Returns the end, or NULL if there are too many words. */
static const char *take_words(const char *text, struct field *field)
{
	field->n = 0;
	for (text += strspn(text, " \t"); *text && *text != ';'; text += strspn(text, " \t")) {
		if (field->n == 5)
			return NULL;
		field->word[field->n] = text;
		field->size[field->n] = strcspn(text, " \t;");
		text += field->size[field->n++];
	}
	return text;
}

static void put_text(struct fields *out, const char *text, size_t n)
{
	size_t room = sizeof(out->text) - 1 - out->n;

	if (n > room) {
		out->too_long = 1;
		n = room;
	}
	memcpy(out->text + out->n, text, n);
	out->n += n;
	out->text[out->n] = 0;
}

/* "f64 x" becomes "struct f64 x 8", "u32[4] x" becomes "struct u32x4 x 16". */
static void put_as_struct(struct fields *out, const struct field *field, long length, int size)
{
	size_t n = strcspn(field->word[0], " \t[");
	char text[32];

	put_text(out, "struct ", 7);
	put_text(out, field->word[0], n);
	if (n < field->size[0])
		put_text(out, text, (size_t)sprintf(text, "x%ld", length));
	put_text(out, " ", 1);
	put_text(out, field->word[1], field->size[1]);
	put_text(out, text, (size_t)sprintf(text, " %d", size));
}

static int put_field(struct fields *out, const struct field *field)
{
	long length = 0;
	int size = field_size(field, &length);
	unsigned i;

	if (size < 0)
		return size;
	put_text(out, "; ", out->n ? 2 : 0);
	if (length)
		put_as_struct(out, field, length, size);
	for (i = 0; i < field->n && !length; i++) {
		put_text(out, " ", i ? 1 : 0);
		put_text(out, field->word[i], field->size[i]);
	}
	return size;
}

static int put_fields(struct fields *out, const char *text)
{
	struct field field;
	int total = 0, size;

	for (; *text; text += *text == ';') {
		text = take_words(text, &field);
		if (!text)
			return fail(-EINVAL, "the syntax of a field is 'TYPE NAME'");
		if (!field.n)
			continue;
		size = put_field(out, &field);
		if (size < 0)
			return size;
		total += size;
	}
	if (out->too_long)
		return fail(-EINVAL, "name and fields are longer than the kernel's 511 bytes");
	return total;
}
