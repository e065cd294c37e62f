/* SPDX-License-Identifier: CC0-1.0 */
/* Names and fields: what the kernel takes, and in which spelling. */
#include "inside.h"

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
		reason = "the name has a ':', behind which the kernel expects flags";
	else if (strchr(name, '/') || !strcmp(name, ".") || !strcmp(name, ".."))
		reason = "the name cannot be that of a directory in tracefs";
	for (none = name; !reason && *none; none++)
		if ((unsigned char)*none <= ' ' || *none == 0x7f)
			reason = "the name has a blank or a control character";
	if (!reason)
		ret = PERFUME_NAME_OK;
	if (!reason && (name[strspn(name, plain)] || isdigit((unsigned char)*name))) {
		ret = PERFUME_NAME_RISKY;
		reason = "the kernel takes the name, but tools expect letters, digits and '_': "
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

/* A number as the kernel reads it from at most 7 characters, up to `end`; -1 when it is none. */
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
			"the kernel knows no floating point: describe the field by its "
			"size, 'struct f64 price 8'");
	if (word_is(field, i, "long"))
		return fail(-EINVAL,
			"the kernel refuses 'long', which has no certain size: use s64 "
			"or u64");
	if (memchr(field->word[i], '[', field->size[i]))
		return fail(-EINVAL,
			"the kernel knows arrays of char only: describe others by their "
			"size, 'struct u32x4 counts 16'");
	return fail(-EINVAL, "a field has a type that the kernel does not know");
}

/* The size of the type at word i; or a negative errno. */
static int basic_size(const struct field *field, unsigned i, int is_unsigned)
{
	static const struct {
		const char *name;
		int size;
		int takes_unsigned;
	} types[] = {{"u8", 1}, {"s8", 1}, {"u16", 2}, {"s16", 2}, {"u32", 4}, {"s32", 4},
		{"u64", 8}, {"s64", 8}, {"int", 4, 1}, {"short", 2, 1}, {"char", 1, 1}};
	long n;
	size_t t;

	for (t = 0; t < sizeof(types) / sizeof(types[0]); t++)
		if (word_is(field, i, types[t].name) && (types[t].takes_unsigned || !is_unsigned))
			return types[t].size;
	if (strncmp(field->word[i], "char[", 5))
		return no_such_type(field, i);
	n = number(field->word[i] + 5, field->size[i] - 5, 0, ']');
	if (n < 1 || n > ARRAY_MAX)
		return fail(-EINVAL, "the length of a char array is a number from 1 to 1024");
	return (int)n;
}

/* Of the field's value; or a negative errno. */
static int field_size(const struct field *field)
{
	unsigned dynamic = word_is(field, 0, "__data_loc") || word_is(field, 0, "__rel_loc");
	unsigned is_unsigned = word_is(field, dynamic, "unsigned");
	long n;

	if (word_is(field, 0, "struct")) {
		n = field->n == 4 ? number(field->word[3], field->size[3], 10, 0) : -1;
		if (n < 1 || n > PERFUME_PAYLOAD_MAX)
			return fail(-EINVAL, "a struct is described by 'struct NAME field SIZE'");
		return (int)n;
	}
	if (field->n != dynamic + is_unsigned + 2)
		return fail(-EINVAL, "a field is a type, a blank and a name");
	if (dynamic)
		return (int)sizeof(uint32_t);
	return basic_size(field, is_unsigned, (int)is_unsigned);
}

/* Takes the words up to the next ';' and returns where it stopped, or NULL when they are too many.
 */
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

static int put_fields(char **out, const char *start, const char *text)
{
	struct field field;
	int total = 0, size;
	unsigned i;

	for (; *text; text += *text == ';') {
		text = take_words(text, &field);
		if (!text)
			return fail(-EINVAL, "a field is a type, a blank and a name");
		if (!field.n)
			continue;
		size = field_size(&field);
		if (size < 0)
			return size;
		total += size;
		*out += sprintf(*out, "%s", *out > start ? "; " : "");
		for (i = 0; i < field.n; i++)
			*out += sprintf(
				*out, "%s%.*s", i ? " " : "", (int)field.size[i], field.word[i]);
	}
	return total;
}
