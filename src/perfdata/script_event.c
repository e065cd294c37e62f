/* SPDX-License-Identifier: MIT */
#include <strings.h>

#include "base/parse.h"
#include "perfdata/script_internal.h"

static const struct script_type types[] = {
	{"u8", "unsigned char", 1, false, false},
	{"s8", "signed char", 1, true, false},
	{"u16", "unsigned short", 2, false, false},
	{"s16", "short", 2, true, false},
	{"u32", "unsigned int", 4, false, false},
	{"s32", "int", 4, true, false},
	{"int", "int", 4, true, false},
	{"pid_t", "pid_t", 4, true, false},
	{"u64", "unsigned long", 8, false, false},
	{"s64", "long", 8, true, false},
	{"long", "long", 8, true, false},
	{"string", "__data_loc char[]", 4, false, true},
	{"char", "char", 0, false, true},
	{0},
};

static const struct script_type *find_type(const char *name, size_t n)
{
	for (const struct script_type *t = types; t->name; t++)
		if (strlen(t->name) == n && !memcmp(t->name, name, n))
			return t;
	return NULL;
}

const char *script_add_field(struct script_event *event, const char *word)
{
	const char *colon = strchr(word, ':'), *open;
	struct script_field f = {0};

	if (!colon)
		return "the syntax of a field is NAME:TYPE";
	open = strchr(colon, '[');
	f.type = find_type(colon + 1, open ? (size_t)(open - colon - 1) : strlen(colon + 1));
	if (!f.type || !f.type->size != (open != NULL))
		return "types are u8 s8 u16 s16 u32 s32 int pid_t u64 s64 long, string, char[N]";
	f.size = open ? strtoul(open + 1, NULL, 10) : f.type->size;
	if (!f.size || f.size > 256)
		return "the size of an array is 1 to 256";
	f.offset = f.type->size ? (event->size + f.size - 1) / f.size * f.size : event->size;
	f.name = strndup(word, (size_t)(colon - word));
	if (!f.name || vec_push(&event->fields, f) < 0) {
		free(f.name);
		return "out of memory";
	}
	event->size = f.offset + f.size;
	return NULL;
}

static void add_field_line(struct buf *b, const struct script_field *f)
{
	if (f->type->size)
		buf_printf(b, "\tfield:%s %s;", f->type->c_name, f->name);
	else
		buf_printf(b, "\tfield:char %s[%zu];", f->name, f->size);
	buf_printf(b, "\toffset:%zu;\tsize:%zu;\tsigned:%d;\n", f->offset, f->size,
		f->type->is_signed);
}

static void add_print(struct buf *b, const struct script_event *event)
{
	buf_str(b, "\nprint fmt: \"");
	vec_each (&event->fields, f)
		buf_printf(b, "%s%s=%%%s", f == event->fields.at ? "" : " ", f->name,
			f->type->is_string   ? "s"
			: f->size == 8       ? f->type->is_signed ? "ld" : "lu"
			: f->type->is_signed ? "d"
					     : "u");
	buf_char(b, '"');
	vec_each (&event->fields, f)
		buf_printf(b, f->type->is_string && f->type->size ? ", __get_str(%s)" : ", REC->%s",
			f->name);
	buf_char(b, '\n');
}

int script_make_format(struct script_event *event, unsigned number)
{
	struct buf *b = &event->format;

	buf_printf(
		b, "name: %s\nID: %u\nformat:\n", event->name + strlen(event->system) + 1, number);
	buf_str(b, "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		   "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		   "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
		   "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n");
	vec_each (&event->fields, f)
		add_field_line(b, f);
	add_print(b, event);
	return buf_failed(b) ? base_oom() : 0;
}

static const struct script_field *find_field(
	const struct script_event *event, const char *name, size_t n)
{
	vec_each (&event->fields, f)
		if (strlen(f->name) == n && !memcmp(f->name, name, n))
			return f;
	return NULL;
}

/* The byte common_flags, which all tracepoints have. */
static const char *set_flags(struct buf *raw, const char *value)
{
	uint64_t number;

	if (parse_u64(value, &number) < 0 || number > UINT8_MAX) {
		attar_error_clear();
		return "common_flags is a number up to 255";
	}
	raw->data[2] = (char)number;
	return NULL;
}

/* Decimal numbers must be of the type; hexadecimal ones can also be the bytes of a negative one. */
static const char *parse_number(
	const char *text, const struct script_field *f, uint64_t *ret_number)
{
	unsigned bits = (unsigned)f->size * 8, unused = 64 - bits;
	bool is_negative = *text == '-', is_hex = !strncasecmp(text, "0x", 2), fits;
	char *end;

	errno = 0;
	*ret_number = is_negative ? (uint64_t)strtoll(text, &end, 0) : strtoull(text, &end, 0);
	if (end == text || *end || (errno && errno != ERANGE))
		return "the value is not a number";
	if (is_negative)
		fits = f->type->is_signed && (int64_t)*ret_number >= INT64_MIN >> unused;
	else
		fits = *ret_number <= UINT64_MAX >> unused >> (f->type->is_signed && !is_hex);
	return fits && !errno ? NULL : "the value does not fit in the type of the field";
}

const char *script_set_field(const struct script_event *event, struct buf *raw, const char *word)
{
	static const char flags[] = "common_flags=";
	const char *equals = strchr(word, '='), *value;
	const struct script_field *f;
	const char *why;
	uint64_t number;

	if (!equals)
		return "the syntax of a value is FIELD=VALUE";
	value = equals + 1;
	f = find_field(event, word, (size_t)(equals - word));
	if (!f && event->system && !strncmp(word, flags, sizeof(flags) - 1))
		return set_flags(raw, value);
	if (!f)
		return "the event has no such field";
	if (f->type->is_string && f->type->size) {
		uint32_t location = (uint32_t)raw->len | (uint32_t)(strlen(value) + 1) << 16;

		memcpy(raw->data + f->offset, &location, sizeof(location));
		buf_add(raw, value, strlen(value) + 1);
		return NULL;
	}
	if (f->type->is_string) {
		if (strlen(value) > f->size)
			return "the string is longer than the field";
		memcpy(raw->data + f->offset, value, strlen(value));
		return NULL;
	}
	why = parse_number(value, f, &number);
	if (why)
		return why;
	memcpy(raw->data + f->offset, &number, f->size); /* little endian */
	return NULL;
}

void script_event_done(struct script_event *event)
{
	vec_each (&event->fields, f)
		free(f->name);
	vec_done(&event->fields);
	vec_done(&event->counted);
	free(event->name);
	free(event->system);
	buf_done(&event->format);
}
