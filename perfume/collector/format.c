/* SPDX-License-Identifier: CC0-1.0 */
/*
 * The tracefs `format` file of an event, so that parsers of format files can decode ring records.
 */
#include "writer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER 8 /* bytes of the common fields of all events */

/* A bounded text buffer; the length counts truncated text, too. */
struct text {
	char *at;
	size_t room, n;
};

struct field {
	char type[AREA_TEXT], name[AREA_TEXT];
	int size;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *text, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text->at, text->room, format, args);
	va_end(args);
	text->n += (size_t)n;
	n = (size_t)n < text->room ? n : (int)text->room;
	if (n)
		text->at += n;
	text->room -= (size_t)n;
}

static int begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static int size_of(const char *type)
{
	static const struct {
		const char *name;
		int size;
	} types[] = {{"u8", 1}, {"s8", 1}, {"u16", 2}, {"s16", 2}, {"u32", 4}, {"s32", 4},
		{"u64", 8}, {"s64", 8}, {"int", 4}, {"unsigned int", 4}, {"short", 2},
		{"unsigned short", 2}, {"char", 1}, {"unsigned char", 1}};
	size_t i;

	if (begins(type, "__data_loc ") || begins(type, "__rel_loc "))
		return 4;
	if (begins(type, "char[") || begins(type, "unsigned char["))
		return (int)strtol(strchr(type, '[') + 1, NULL, 0);
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(type, types[i].name))
			return types[i].size;
	return 0;
}

/*
 * Parses one field, "type name" or "struct type name size", up to ';'. Returns NULL if it is
 * invalid.
 */
static const char *take_field(const char *text, struct field *ret_field)
{
	char *blank;
	size_t n;

	text += strspn(text, " ");
	n = strcspn(text, ";");
	if (n >= sizeof(ret_field->type))
		return NULL;
	memcpy(ret_field->type, text, n);
	ret_field->type[n] = 0;
	ret_field->size = 0;
	blank = strrchr(ret_field->type, ' ');
	if (blank && begins(ret_field->type, "struct ")) {
		ret_field->size = atoi(blank + 1);
		*blank = 0;
		blank = strrchr(ret_field->type, ' ');
	}
	if (!blank)
		return NULL;
	*blank = 0;
	strcpy(ret_field->name, blank + 1);
	if (!ret_field->size)
		ret_field->size = size_of(ret_field->type);
	if (ret_field->size < 1 || ret_field->size > 65536)
		return NULL;
	return text + n + (text[n] == ';');
}

static void put_field(struct text *out, const struct field *field, int offset)
{
	const char *bracket = begins(field->type, "__data_loc") ? NULL : strchr(field->type, '[');
	int n = bracket ? (int)(bracket - field->type) : (int)strlen(field->type);

	put(out, "\tfield:%.*s %s%s;\toffset:%d;\tsize:%d;\tsigned:%d;\n", n, field->type,
		field->name, bracket ? "[]" : "", offset, field->size, field->type[0] != 'u');
}

static const char *conversion(const char *type)
{
	if (!strcmp(type, "s64"))
		return "%lld";
	if (strstr(type, "char["))
		return "%s";
	if (begins(type, "struct ") || begins(type, "__") || !strcmp(type, "u64"))
		return "%llu";
	return type[0] == 'u' ? "%u" : "%d";
}

static void put_value(struct text *out, const struct field *field)
{
	if (begins(field->type, "__rel_loc ") && strstr(field->type, "char"))
		put(out, ", __get_rel_str(%s)", field->name);
	else if (begins(field->type, "__data_loc ") && strstr(field->type, "char"))
		put(out, ", __get_str(%s)", field->name);
	else
		put(out, ", REC->%s", field->name);
}

int perfume_collector_format(const char *name, const char *fields, int id, char *text, size_t n)
{
	struct text out = {text, n, 0};
	struct field field;
	const char *rest;
	int offset = HEADER;

	put(&out,
		"name: %s\nID: %d\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
		"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n",
		name, id);
	for (rest = fields; *rest; offset += field.size) {
		rest = take_field(rest, &field);
		if (!rest || offset > 65536)
			return -EINVAL;
		put_field(&out, &field, offset);
	}
	put(&out, "\nprint fmt: \"");
	for (rest = fields; *rest; offset = 0) {
		rest = take_field(rest, &field);
		put(&out, "%s%s=%s", offset ? "" : " ", field.name, conversion(field.type));
	}
	put(&out, "\"");
	for (rest = fields; *rest;) {
		rest = take_field(rest, &field);
		put_value(&out, &field);
	}
	put(&out, "\n");
	return (int)out.n;
}
