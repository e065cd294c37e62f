/* SPDX-License-Identifier: MIT */
/*
 * Parse the "format" files of tracefs. The kernel's Documentation/trace/events.rst describes the
 * syntax; field declarations are arbitrary C text from the tracepoint's macro.
 */
#include "tracefs/format.h"

#include <ctype.h>
#include <stdio.h>

#include "base/check_arg.h"
#include "base/suggest.h"
#include "tracefs/dynamic_event.h"

struct span {
	const char *at;
	size_t n;
};

static bool starts(struct span s, const char *word)
{
	size_t n = strlen(word);

	return s.n >= n && !memcmp(s.at, word, n);
}

static bool skip(struct span *s, const char *word)
{
	if (!starts(*s, word))
		return false;
	s->at += strlen(word);
	s->n -= strlen(word);
	return true;
}

static struct span trim(struct span s)
{
	while (s.n && isspace((unsigned char)s.at[0]))
		s.at++, s.n--;
	while (s.n && isspace((unsigned char)s.at[s.n - 1]))
		s.n--;
	return s;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static bool contains(struct span s, const char *text)
{
	return memmem(s.at, s.n, text, strlen(text)) != NULL;
}

/* Whether text contains a whole word. */
static bool has_word(struct span s, const char *word)
{
	size_t n = strlen(word);

	for (size_t i = 0; i + n <= s.n; i++)
		if (!memcmp(s.at + i, word, n) && (i == 0 || !is_word(s.at[i - 1])) &&
			(i + n == s.n || !is_word(s.at[i + n])))
			return true;
	return false;
}

/* Parses a decimal number up to max. Returns 0 or -EBADMSG without an error message. */
static int number(struct span *s, uint64_t max, uint64_t *ret_value)
{
	uint64_t value = 0;
	size_t digits = 0;

	for (; s->n && isdigit((unsigned char)s->at[0]); s->at++, s->n--, digits++) {
		value = value * 10 + (uint64_t)(s->at[0] - '0');
		if (value > max)
			return -EBADMSG;
	}
	if (!digits)
		return -EBADMSG;
	*ret_value = value;
	return 0;
}

static const char *format_keep(struct format *f, struct span a, struct span b)
{
	char *start = f->strings + f->strings_len;

	if (f->strings_len + a.n + b.n + 1 > f->strings_size)
		return NULL;
	memcpy(start, a.at, a.n);
	memcpy(start + a.n, b.at, b.n);
	start[a.n + b.n] = '\0';
	f->strings_len += a.n + b.n + 1;
	return start;
}

/* A parsed declaration: "type name dims", dynamic arrays have the dims in the type. */
struct decl {
	struct span type, name, dims;
};

static int split_function_pointer(struct span text, struct decl *ret_decl)
{
	const char *star = memmem(text.at, text.n, "(*", 2);
	struct span name;

	if (!star)
		return -EBADMSG;
	name.at = star + 2;
	for (name.n = 0; name.at + name.n < text.at + text.n && is_word(name.at[name.n]);)
		name.n++;
	*ret_decl = (struct decl){.type = text, .name = name, .dims = {text.at, 0}};
	return name.n ? 0 : -EBADMSG;
}

static int format_split(struct span text, struct decl *ret_decl)
{
	struct span rest = trim(text), name;
	const char *end = rest.at + rest.n;

	if (rest.n && rest.at[rest.n - 1] == ')')
		return split_function_pointer(rest, ret_decl);
	while (rest.n && rest.at[rest.n - 1] == ']') {
		while (rest.n && rest.at[rest.n - 1] != '[')
			rest.n--;
		if (!rest.n)
			return -EBADMSG;
		rest.n--;
		rest = trim(rest);
	}
	ret_decl->dims = (struct span){rest.at + rest.n, (size_t)(end - rest.at) - rest.n};
	name.at = rest.at + rest.n;
	for (name.n = 0; name.at > rest.at && is_word(name.at[-1]); name.n++)
		name.at--;
	ret_decl->name = name;
	ret_decl->type = trim((struct span){rest.at, (size_t)(name.at - rest.at)});
	return name.n && ret_decl->type.n ? 0 : -EBADMSG;
}

/* Type words and their sizes in bytes. The first one found in a type determines its size. */
static const struct {
	const char *word;
	unsigned size;
} type_sizes[] = {{"long", sizeof(long)}, {"size_t", sizeof(long)}, {"u64", 8}, {"s64", 8},
	{"__u64", 8}, {"__s64", 8}, {"uint64_t", 8}, {"int64_t", 8}, {"__be64", 8},
	{"dma_addr_t", 8}, {"short", 2}, {"u16", 2}, {"s16", 2}, {"__u16", 2}, {"__s16", 2},
	{"uint16_t", 2}, {"int16_t", 2}, {"__be16", 2}, {"char", 1}, {"u8", 1}, {"s8", 1},
	{"__u8", 1}, {"__s8", 1}, {"uint8_t", 1}, {"int8_t", 1}, {"bool", 1}, {"u32", 4},
	{"s32", 4}, {"__u32", 4}, {"__s32", 4}, {"uint32_t", 4}, {"int32_t", 4}, {"__be32", 4},
	{"int", 4}, {"unsigned", 4}, {"pid_t", 4}};

/* Size of an array element of this type in bytes, 0 if the name does not determine it. */
static unsigned element_size(struct span type)
{
	if (contains(type, "*"))
		return sizeof(void *);
	if (has_word(type, "struct") || has_word(type, "union"))
		return 0;
	if (contains(type, "long long"))
		return 8;
	for (size_t i = 0; i < ARRAY_SIZE(type_sizes); i++)
		if (has_word(type, type_sizes[i].word))
			return type_sizes[i].size;
	return 0;
}

static bool is_unsigned_type(struct span type)
{
	static const char *const words[] = {"unsigned", "size_t", "bool", "char", "u8", "u16",
		"u32", "u64", "__u8", "__u16", "__u32", "__u64", "uint8_t", "uint16_t", "uint32_t",
		"uint64_t"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (has_word(type, words[i]))
			return true;
	return contains(type, "*");
}

unsigned format_type_size(const char *type, size_t n, bool *ret_signed)
{
	struct span span = {type, n};

	*ret_signed = !is_unsigned_type(span);
	return element_size(span);
}

/* The product of dimensions such as "[6][2]"; 0 if one is not a plain number. */
static uint64_t element_count(struct span dims)
{
	uint64_t count = 1, n;

	while (dims.n) {
		if (!skip(&dims, "[") || number(&dims, UINT16_MAX, &n) < 0 || !skip(&dims, "]"))
			return 0;
		count *= n;
		if (!count || count > UINT16_MAX)
			return 0;
		dims = trim(dims);
	}
	return count;
}

static bool is_number_size(uint64_t size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

/*
 * Whether characters are text. Kernels built with -funsigned-char (since 6.2) report signed:0 for
 * plain char, so this depends on the declaration: "char" is text, "unsigned char" and "u8" are
 * numbers.
 */
static bool is_text(struct span type)
{
	return has_word(type, "char") && !has_word(type, "unsigned") && !has_word(type, "signed") &&
	       !contains(type, "*");
}

static void classify_array(struct attar_field *field, const struct decl *d)
{
	uint64_t count = d->dims.n ? element_count(d->dims) : 0;
	unsigned element = element_size(d->type);

	if (count && field->place == ATTAR_FIELD_FIXED && field->size % count == 0)
		element = (unsigned)(field->size / count);
	field->element = (uint16_t)element;
	field->kind = ATTAR_FIELD_ARRAY;
	if (is_text(d->type))
		field->kind = ATTAR_FIELD_STRING;
	else if (!is_number_size(element) || has_word(d->type, "struct"))
		field->kind = ATTAR_FIELD_BYTES;
	if (field->kind == ATTAR_FIELD_STRING)
		field->element = 1;
	field->is_pointer = contains(d->type, "*");
}

static void classify(struct attar_field *field, const struct decl *d)
{
	struct span type = d->type;

	if (skip(&type, "__data_loc"))
		field->place = ATTAR_FIELD_DATA_LOC;
	else if (skip(&type, "__rel_loc"))
		field->place = ATTAR_FIELD_REL_LOC;
	if (d->dims.n || contains(type, "[")) {
		classify_array(field, d);
		return;
	}
	field->element = field->size;
	field->is_pointer = contains(type, "*");
	if (field->place == ATTAR_FIELD_FIXED && is_number_size(field->size) &&
		(field->is_pointer || (!has_word(type, "struct") && !has_word(type, "union"))))
		field->kind = ATTAR_FIELD_NUMBER;
	else
		field->kind = ATTAR_FIELD_BYTES;
}

/* The "key:value;" pairs after the declaration. */
static int read_place(struct span rest, struct attar_field *field)
{
	bool has_offset = false, has_size = false;

	for (rest = trim(rest); rest.n; rest = trim(rest)) {
		uint64_t value;
		bool offset = skip(&rest, "offset:"), size = !offset && skip(&rest, "size:");
		bool sign = !offset && !size && skip(&rest, "signed:");

		if ((!offset && !size && !sign) || number(&rest, UINT16_MAX, &value) < 0 ||
			!skip(&rest, ";"))
			return -EBADMSG;
		if (offset)
			field->offset = (uint16_t)value;
		else if (size)
			field->size = (uint16_t)value;
		else
			field->is_signed = value != 0;
		has_offset |= offset;
		has_size |= size;
	}
	if (!has_offset || !has_size || field->offset + field->size > UINT16_MAX)
		return -EBADMSG;
	return 0;
}

/* Events of one probe with many places have its number for attar alone. */
static bool is_place(struct span name)
{
	return name.n == strlen(PROBE_PLACE) && !memcmp(name.at, PROBE_PLACE, name.n);
}

static void cut_text(char *text, const char *part)
{
	char *at = strstr(text, part);

	if (at)
		memmove(at, at + strlen(part), strlen(at + strlen(part)) + 1);
}

static int add_field(struct format *f, struct span line)
{
	const char *semicolon = memchr(line.at, ';', line.n);
	struct attar_field field = {0};
	struct decl d;
	size_t n;

	if (!semicolon || f->fields.n >= FORMAT_FIELDS_MAX)
		return -EBADMSG;
	n = (size_t)(semicolon - line.at);
	if (format_split((struct span){line.at, n}, &d) < 0)
		return -EBADMSG;
	if (read_place((struct span){semicolon + 1, line.n - n - 1}, &field) < 0)
		return -EBADMSG;
	if (is_place(d.name))
		return 0;
	classify(&field, &d);
	if (field.place != ATTAR_FIELD_FIXED && field.size < 4)
		return -EBADMSG;
	if (field.place != ATTAR_FIELD_FIXED && d.dims.n)
		d.dims = (struct span){"[]", 2}; /* kernels write an uninitialized number there */
	field.is_common = starts(d.name, "common_");
	field.name = format_keep(f, d.name, (struct span){d.name.at, 0});
	field.type = format_keep(f, d.type, d.dims);
	if (!field.name || !field.type)
		return -EBADMSG;
	f->pub.size = MAX(f->pub.size, (uint32_t)field.offset + field.size);
	return vec_push(&f->fields, field);
}

static int read_line(struct format *f, struct span line, bool *ret_has_id)
{
	struct span none = {line.at, 0};

	if (skip(&line, "name:")) {
		f->pub.name = format_keep(f, trim(line), none);
		return f->pub.name ? 0 : -EBADMSG;
	}
	if (skip(&line, "ID:")) {
		line = trim(line);
		*ret_has_id = true;
		return number(&line, UINT32_MAX, &f->pub.id) < 0 || line.n ? -EBADMSG : 0;
	}
	line = trim(line);
	return skip(&line, "field:") ? add_field(f, line) : 0;
}

static struct span cut_line(struct span *rest)
{
	const char *newline = memchr(rest->at, '\n', rest->n);
	struct span line = {rest->at, newline ? (size_t)(newline - rest->at) : rest->n};
	size_t used = line.n + (newline != NULL);

	rest->at += used;
	rest->n -= used;
	return line;
}

static int read_text(struct format *f, struct span rest)
{
	bool has_id = false;
	int r;

	for (unsigned row = 1; rest.n; row++) {
		struct span line;

		if (skip(&rest, "print fmt:")) { /* last line: arbitrary text */
			f->pub.print = format_keep(f, trim(rest), (struct span){rest.at, 0});
			if (f->pub.print) {
				cut_text((char *)f->pub.print, " " PROBE_PLACE "=%u");
				cut_text((char *)f->pub.print, ", REC->" PROBE_PLACE);
			}
			break;
		}
		line = cut_line(&rest);
		r = read_line(f, line, &has_id);
		if (r == -ENOMEM)
			return base_oom();
		if (r < 0)
			return attar_fail(r,
				"line %u of the tracepoint's format is malformed: '%.*s'", row,
				(int)MIN(line.n, 100), line.at);
	}
	if (!f->pub.name || !has_id)
		return attar_fail(-EBADMSG, "the tracepoint's format has no %s line",
			f->pub.name ? "ID" : "name");
	if (!f->pub.print)
		f->pub.print = "";
	f->pub.fields = f->fields.at;
	f->pub.n_fields = f->fields.n;
	return 0;
}

int attar_format_parse(
	const char *system, const char *text, size_t len, struct attar_format **ret_format)
{
	CHECK_ARG(system, "system");
	CHECK_ARG(text, "text");
	CHECK_ARG(ret_format, "ret_format");

	struct format *f;
	int r;

	if (len > FORMAT_TEXT_MAX)
		return attar_fail(
			-EBADMSG, "the tracepoint's format is too large (%zu bytes)", len);
	f = calloc(1, sizeof(*f));
	if (!f)
		return base_oom();
	/* Name and type of a field are shorter than the line that declares it. */
	f->strings_size = len + strlen(system) + 2;
	f->strings = malloc(f->strings_size);
	r = f->strings ? 0 : base_oom();
	if (r == 0) {
		f->pub.system = format_keep(
			f, (struct span){system, strlen(system)}, (struct span){text, 0});
		r = read_text(f, (struct span){text, len});
	}
	if (r < 0) {
		attar_format_free(&f->pub);
		return r;
	}
	*ret_format = &f->pub;
	return 0;
}

struct attar_format *attar_format_free(struct attar_format *format)
{
	struct format *f = format_of(format);

	if (!f)
		return NULL;
	vec_done(&f->fields);
	free(f->strings);
	if (f->program)
		f->free_program(f->program);
	if (f->json)
		f->free_json(f->json);
	free(f);
	return NULL;
}

const struct attar_field *attar_format_field(const struct attar_format *format, const char *name)
{
	CHECK_ARG_OR(format, "format", NULL);
	CHECK_ARG_OR(name, "name", NULL);

	for (size_t i = 0; i < format->n_fields; i++)
		if (!strcmp(format->fields[i].name, name))
			return &format->fields[i];
	return NULL;
}

int attar_format_need(
	const struct attar_format *format, const char *name, const struct attar_field **ret_field)
{
	CHECK_ARG(format, "format");
	CHECK_ARG(name, "name");
	CHECK_ARG(ret_field, "ret_field");

	const struct attar_field *field = attar_format_field(format, name);
	struct suggest s = {.word = name};

	if (field) {
		*ret_field = field;
		return 0;
	}
	for (size_t i = 0; i < format->n_fields; i++)
		suggest_offer(&s, format->fields[i].name);
	if (s.best)
		return attar_fail(-ENOENT, "%s:%s has no field '%s'" ATTAR_FIX "did you mean '%s'?",
			format->system, format->name, CLIP(name), s.best);
	return attar_fail(
		-ENOENT, "%s:%s has no field '%s'", format->system, format->name, CLIP(name));
}
