/* SPDX-License-Identifier: MIT */
/*
 * Decode self-describing events: header, extensions, and fields in the order of their definitions.
 */
#include "attar/eventheader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "attar/private/eventheader.h"
#include "base/check_arg.h"
#include "base/escape.h"
#include "eventheader/eventheader.h"

enum { COMMON = 8, NESTING_MAX = 8, TEXT_MAX = 1 << 16, PASSED_MAX = 1 << 16 };

enum { FLAG_LITTLE_ENDIAN = 2, FLAG_EXTENSION = 4 };
enum { EXTENSION_METADATA = 1, EXTENSION_ACTIVITY = 2, EXTENSION_CHAIN = 0x8000 };

/* ---- the tracepoint ---- */

bool eventheader_format(const struct attar_format *format)
{
	CHECK_ARG_OR(format, "format", false);

	static const char *const names[] = {
		"eventheader_flags", "version", "id", "tag", "opcode", "level"};
	static const uint8_t sizes[] = {1, 1, 2, 2, 1, 1};
	size_t n = 0;

	for (size_t i = 0; i < format->n_fields; i++) {
		const struct attar_field *field = &format->fields[i];

		if (field->is_common)
			continue;
		if (n == ARRAY_SIZE(names) || strcmp(field->name, names[n]) ||
			field->size != sizes[n])
			return false;
		n++;
	}
	return n == ARRAY_SIZE(names);
}

int attar_eventheader_keyword(const char *name, uint64_t *ret_keyword)
{
	CHECK_ARG(name, "name");
	CHECK_ARG(ret_keyword, "ret_keyword");

	const char *at = strrchr(name, '_');
	char *end;
	uint64_t keyword;

	if (!at || at[1] != 'L' || !strchr("0123456789abcdef", at[2]) || !at[2])
		return -EINVAL;
	strtoul(at + 2, &end, 16);
	if (*end != 'K' || !end[1] || !strchr("0123456789abcdef", end[1]))
		return -EINVAL;
	keyword = strtoull(end + 1, &end, 16);
	/* Options follow: a capital letter each, with its value. */
	if (*end && (*end < 'A' || *end > 'Z'))
		return -EINVAL;
	*ret_keyword = keyword;
	return 0;
}

/* ---- header and extensions ---- */

static void take_metadata(struct attar_eventheader *header, const uint8_t *at, size_t n)
{
	const uint8_t *nul = memchr(at, 0, n), *attributes;

	if (!nul || header->name)
		return;
	attributes = memchr(at, ';', (size_t)(nul - at));
	header->name = (const char *)at;
	header->name_len = (size_t)((attributes ? attributes : nul) - at);
	header->fields = nul + 1;
	header->fields_len = n - (size_t)(nul + 1 - at);
}

/* Returns the kind of the extension, including the flag that another one follows, or -EBADMSG. */
static int take_extension(struct attar_eventheader *header, struct span *span)
{
	const uint8_t *head = span_take(span, 4), *at;
	unsigned kind;
	size_t n;

	if (!head)
		return -EBADMSG;
	n = (size_t)eventheader_number(head, 2, span->big_endian);
	kind = (unsigned)eventheader_number(head + 2, 2, span->big_endian);
	at = span_take(span, n);
	if (!at)
		return -EBADMSG;
	if ((kind & ~EXTENSION_CHAIN) == EXTENSION_METADATA)
		take_metadata(header, at, n);
	if ((kind & ~EXTENSION_CHAIN) == EXTENSION_ACTIVITY && (n == 16 || n == 32)) {
		header->activity = at;
		header->related = n == 32 ? at + 16 : NULL;
	}
	return (int)kind;
}

int attar_eventheader_parse(const void *payload, size_t n, struct attar_eventheader *ret_header)
{
	CHECK_ARG(payload || !n, "payload");
	CHECK_ARG(ret_header, "ret_header");

	struct span span = {.at = payload, .end = (const uint8_t *)payload + n};
	struct attar_eventheader header = {0};
	const uint8_t *at = span_take(&span, 8);
	int kind = EXTENSION_CHAIN;

	if (!at)
		return -EBADMSG;
	span.big_endian = header.big_endian = !(at[0] & FLAG_LITTLE_ENDIAN);
	header.version = at[1];
	header.id = (uint16_t)eventheader_number(at + 2, 2, span.big_endian);
	header.tag = (uint16_t)eventheader_number(at + 4, 2, span.big_endian);
	header.opcode = at[6];
	header.level = at[7];
	while (at[0] & FLAG_EXTENSION && kind & EXTENSION_CHAIN) {
		kind = take_extension(&header, &span);
		if (kind < 0)
			return kind;
	}
	header.data = span.at;
	header.data_len = span_left(&span);
	*ret_header = header;
	return 0;
}

/* ---- fields ---- */

struct definition {
	const char *name;
	size_t name_len;
	unsigned encoding, format; /* for a struct, format is its number of fields */
	unsigned tag;              /* provider-defined; 0: none */
	bool is_array, is_counted; /* counted: the number of values precedes them */
	size_t count;
};

/* Returns false at the end of the definitions and if they are malformed. */
static bool take_definition(struct span *fields, struct definition *ret)
{
	const uint8_t *nul = memchr(fields->at, 0, span_left(fields)), *at, *attributes;
	struct definition d = {.name = (const char *)fields->at, .count = 1};

	if (!span_left(fields) || !nul)
		return false;
	attributes = memchr(d.name, ';', (size_t)(nul - fields->at));
	d.name_len = (size_t)((attributes ? attributes : nul) - fields->at);
	fields->at = nul + 1;
	at = span_take(fields, 1);
	if (!at)
		return false;
	d.encoding = *at & 0x1f;
	d.is_array = *at & 0x60;
	d.is_counted = *at & 0x40;
	if (*at & 0x80) {
		const uint8_t *format = span_take(fields, 1), *tag = NULL;

		if (format && *format & 0x80)
			tag = span_take(fields, 2);
		if (!format || (*format & 0x80 && !tag))
			return false;
		d.format = *format & 0x7f;
		d.tag = tag ? (unsigned)eventheader_number(tag, 2, fields->big_endian) : 0;
	}
	if (*at & 0x20) {
		at = span_take(fields, 2);
		d.count = at ? (size_t)eventheader_number(at, 2, fields->big_endian) : 0;
		if (!d.count || d.is_counted)
			return false;
	}
	*ret = d;
	return true;
}

/* Where the fields are written: as text, or as JSON. */
struct output {
	struct print_run *run; /* for JSON: of one value */
	struct buf *json;      /* NULL: text */
	size_t full;           /* length from which on no further field is written */
	size_t passed;         /* number of skipped definitions */
};

static bool is_full(const struct output *out)
{
	return (out->json ? out->json->len : out->run->len) >= out->full;
}

static void eventheader_put(struct output *out, const char *text)
{
	if (out->json)
		buf_str(out->json, text);
	else
		print_text(out->run, text, strlen(text));
}

/* before: what precedes it in text. */
static void put_name(
	struct output *out, const struct definition *d, bool is_first, const char *before)
{
	char tag[16] = "";

	if (d->tag)
		snprintf(tag, sizeof(tag), ";tag=0x%x", d->tag);
	if (!out->json) {
		print_form(out->run, "%s%.*s%s=", before, (int)d->name_len, d->name, tag);
		return;
	}
	buf_str(out->json, is_first ? "\"" : ",\"");
	escape_json(out->json, d->name, d->name_len);
	buf_printf(out->json, "%s\":", tag);
}

static bool put_value(struct output *out, const struct definition *d, struct span *data)
{
	struct print_run *run = out->run;
	enum eventheader_kind kind;

	if (!out->json)
		return eventheader_value(run, d->encoding, d->format, data) != VALUE_MISSING;
	run->len = 0;
	kind = eventheader_value(run, d->encoding, d->format, data);
	if (kind == VALUE_NUMBER)
		buf_add(out->json, run->at, run->len);
	else if (kind == VALUE_TEXT)
		escape_json_string(out->json, run->at, MIN(run->len, run->max - 1));
	return kind != VALUE_MISSING;
}

static bool put_fields(struct output *out, size_t n, struct span *fields, struct span *data,
	unsigned depth, const char *before);

/*
 * Skips the definitions of n fields, including those in structs. For nested arrays of structs, the
 * inner definitions are skipped for each outer element; the number of skipped definitions is
 * limited, since the elements may add little text.
 */
static bool skip_fields(struct output *out, size_t n, struct span *fields)
{
	struct definition d;

	for (; n && span_left(fields); n--) {
		if (out->passed++ > PASSED_MAX || !take_definition(fields, &d))
			return false;
		if (d.encoding == ENCODING_STRUCT)
			n += d.format;
	}
	return true;
}

/*
 * Writes one element: a value, or the fields of a struct, whose definitions the last element skips.
 */
static bool put_element(struct output *out, const struct definition *d, struct span *fields,
	struct span *data, unsigned depth)
{
	bool whole;

	if (d->encoding != ENCODING_STRUCT)
		return put_value(out, d, data);
	eventheader_put(out, "{");
	whole = d->format && depth < NESTING_MAX &&
		put_fields(out, d->format, fields, data, depth + 1, "");
	eventheader_put(out, "}");
	return whole;
}

static bool put_elements(struct output *out, const struct definition *d, struct span *fields,
	struct span *data, unsigned depth)
{
	struct span members = *fields;
	const uint8_t *at = d->is_counted ? span_take(data, 2) : NULL;
	size_t n = at ? (size_t)eventheader_number(at, 2, data->big_endian) : d->count;
	bool whole = at || !d->is_counted;

	eventheader_put(out, d->is_array ? "[" : "");
	for (size_t i = 0; i < n && whole && !is_full(out); i++) {
		struct span again = members;

		eventheader_put(out, i ? "," : "");
		whole = put_element(out, d, &again, data, depth);
	}
	if (!whole && !out->json)
		eventheader_put(out, "?");
	else if (!whole && d->encoding != ENCODING_STRUCT)
		eventheader_put(out, "null");
	eventheader_put(out, d->is_array ? "]" : "");
	return whole && (d->encoding != ENCODING_STRUCT || skip_fields(out, d->format, fields));
}

/*
 * Writes `before` before the first field in text, a space before the others. A struct may declare
 * more fields than are defined. Returns false if the position of the rest is unknown.
 */
static bool put_fields(struct output *out, size_t n, struct span *fields, struct span *data,
	unsigned depth, const char *before)
{
	struct definition d;

	for (size_t i = 0; i < n && span_left(fields) && !is_full(out); i++) {
		if (!take_definition(fields, &d))
			return false;
		put_name(out, &d, i == 0, i ? " " : before);
		if (!put_elements(out, &d, fields, data, depth))
			return false;
	}
	return true;
}

/* ---- output ---- */

static void put_opcode(struct print_run *run, uint8_t opcode)
{
	static const char *const names[] = {"info", "start", "stop", "collection-start",
		"collection-stop", "extension", "reply", "resume", "suspend", "send"};

	if (opcode < ARRAY_SIZE(names))
		print_form(run, " opcode=%s", names[opcode]);
	else if (opcode == 0xf0)
		print_form(run, " opcode=receive");
	else
		print_form(run, " opcode=%u", opcode);
}

static void put_header(
	struct print_run *run, const struct attar_eventheader *header, const char *tracepoint)
{
	static const char *const levels[] = {
		"0", "critical", "error", "warning", "information", "verbose"};
	uint64_t keyword;

	if (header->name)
		print_form(run, "%.*s ", (int)header->name_len, header->name);
	if (header->level < ARRAY_SIZE(levels))
		print_form(run, "level=%s", levels[header->level]);
	else
		print_form(run, "level=%u", header->level);
	if (tracepoint && attar_eventheader_keyword(tracepoint, &keyword) == 0)
		print_form(run, " keyword=0x%llx", (unsigned long long)keyword);
	if (header->id || header->version)
		print_form(run, " id=%u.%u", header->id, header->version);
	if (header->tag)
		print_form(run, " tag=0x%x", header->tag);
	if (header->opcode)
		put_opcode(run, header->opcode);
	if (header->activity) {
		print_form(run, " activity=");
		eventheader_uuid(run, header->activity);
	}
	if (header->related) {
		print_form(run, " related=");
		eventheader_uuid(run, header->related);
	}
}

static void put_event(
	struct print_run *run, const uint8_t *payload, size_t n, const char *tracepoint)
{
	struct attar_eventheader header;
	struct span fields, data;

	if (attar_eventheader_parse(payload, n, &header) < 0) {
		print_form(run, "level=?");
		return;
	}
	put_header(run, &header, tracepoint);
	data = (struct span){header.data, header.data + header.data_len, header.big_endian};
	if (header.name) {
		fields = (struct span){
			header.fields, header.fields + header.fields_len, header.big_endian};
		put_fields(&(struct output){.run = run, .full = TEXT_MAX}, SIZE_MAX, &fields, &data,
			0, ": ");
		return;
	}
	print_form(run, ": data=");
	for (; data.at < data.end && run->len < TEXT_MAX; data.at++)
		print_form(run, "%02x", *data.at);
}

void eventheader_print(struct print_run *run, const char *name)
{
	if (run->record.size > COMMON)
		put_event(run, run->record.raw + COMMON, run->record.size - COMMON, name);
	else
		put_event(run, run->record.raw, 0, name);
}

void eventheader_json(struct buf *b, const uint8_t *raw, size_t size)
{
	char *text _cleanup_free_ = malloc(TEXT_MAX);
	struct print_run run = {.at = text, .max = TEXT_MAX};
	struct output out = {.run = &run, .json = b, .full = b->len + TEXT_MAX};
	struct attar_eventheader header;
	struct span fields, data;

	b->failed |= !text;
	if (b->failed || size < COMMON ||
		attar_eventheader_parse(raw + COMMON, size - COMMON, &header) < 0)
		return;
	if (!header.name) {
		buf_str(b, ",\"payload\":\"");
		for (size_t i = 0; i < header.data_len; i++)
			buf_printf(b, "%02x", header.data[i]);
		buf_str(b, "\"");
		return;
	}
	buf_str(b, ",\"name\":");
	escape_json_string(b, header.name, header.name_len);
	buf_str(b, ",\"payload\":{");
	fields = (struct span){header.fields, header.fields + header.fields_len, header.big_endian};
	data = (struct span){header.data, header.data + header.data_len, header.big_endian};
	put_fields(&out, SIZE_MAX, &fields, &data, 0, "");
	buf_str(b, "}");
}

size_t attar_eventheader_print(const void *payload, size_t n, char *ret_text, size_t max)
{
	CHECK_ARG_OR(payload || !n, "payload", 0);
	CHECK_ARG_OR(ret_text || !max, "ret_text", 0);

	struct print_run run = {.at = ret_text, .max = max};

	if (max)
		ret_text[0] = '\0';
	put_event(&run, payload, n, NULL);
	return run.len;
}
