/* SPDX-License-Identifier: MIT */
/*
 * The tracing data of a recording with tracepoints: format files, addresses of kernel functions,
 * strings of trace_printk and names of tasks. The layout is the layout of trace.dat, version 6, up
 * to the options (trace-cmd.dat(5)).
 */
#include "perfdata/internal.h"

static const char magic[10] = {23, 8, 68, 't', 'r', 'a', 'c', 'i', 'n', 'g'};

static struct recording_text sized_text(struct cursor *c, uint64_t len)
{
	const char *at = cursor_bytes(c, len);

	return at ? (struct recording_text){at, len} : (struct recording_text){0};
}

/* The value of the line that starts with key; {NULL, 0} if there is none. */
static struct recording_text line_value(struct recording_text text, const char *key)
{
	const char *end = text.at + text.len;
	size_t key_len = strlen(key);

	for (const char *line = text.at; line < end;) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));
		const char *line_end = newline ? newline : end;

		if ((size_t)(line_end - line) > key_len && !memcmp(line, key, key_len))
			return (struct recording_text){
				line + key_len, (size_t)(line_end - line) - key_len};
		line = line_end + 1;
	}
	return (struct recording_text){0};
}

int recording_add_format(struct recording *r, const char *system, struct recording_text text)
{
	struct recording_text name, id;
	uint64_t number = 0;

	if (!text.at)
		return 0;
	name = line_value(text, "name: ");
	id = line_value(text, "ID: ");
	if (!name.at || !id.at || id.len > 10)
		return 0;
	for (size_t i = 0; i < id.len; i++) {
		if (id.at[i] < '0' || id.at[i] > '9')
			return 0;
		number = number * 10 + (uint64_t)(id.at[i] - '0');
	}
	if (map_put(&r->tracing.by_id, number, r->tracing.events.n) < 0)
		return -ENOMEM;
	return vec_push(&r->tracing.events,
		(struct traced_event){.system = system, .id = number, .name = name, .text = text});
}

static int read_formats(struct recording *r, struct cursor *c, uint32_t n, const char *system)
{
	for (uint32_t i = 0; i < n && !c->failed; i++) {
		int ret = recording_add_format(r, system, sized_text(c, cursor_u64(c)));

		if (ret < 0)
			return ret;
	}
	return 0;
}

static int read_systems(struct recording *r, struct cursor *c)
{
	uint32_t n = cursor_u32(c);

	for (uint32_t i = 0; i < n && !c->failed; i++) {
		const char *system = cursor_text(c);
		int ret = read_formats(r, c, cursor_u32(c), system);

		if (ret < 0)
			return ret;
	}
	return 0;
}

/* Returns the version, 0 if there is none. The numbers that follow have the recorded byte order. */
static unsigned read_version(struct recording *r, struct cursor *c)
{
	const char *start = cursor_bytes(c, sizeof(magic)), *version, *order;
	bool big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

	if (!start || memcmp(start, magic, sizeof(magic)))
		return 0;
	version = cursor_text(c);
	order = cursor_bytes(c, 2);
	if (!version || !order || strncmp(version, "0.", 2))
		return 0;
	c->swap = (order[0] != 0) != big;
	r->facts.long_size = (uint8_t)order[1];
	r->facts.page_size = cursor_u32(c);
	return (unsigned)(version[2] - '0');
}

int recording_tracing_data(struct recording *r, char *bytes, size_t len)
{
	struct cursor c = cursor_of(bytes, len, false);
	unsigned version;
	int ret;

	if (r->tracing.bytes) { /* formats of the first one are in use */
		free(bytes);
		return 0;
	}
	r->tracing.bytes = bytes;
	r->incomplete = true;
	version = read_version(r, &c);
	cursor_text(&c); /* "header_page" */
	cursor_bytes(&c, cursor_u64(&c));
	cursor_text(&c); /* "header_event" */
	cursor_bytes(&c, cursor_u64(&c));
	ret = read_formats(r, &c, cursor_u32(&c), "ftrace");
	if (ret >= 0)
		ret = read_systems(r, &c);
	r->facts.kallsyms = sized_text(&c, cursor_u32(&c));
	r->facts.printk_formats = sized_text(&c, cursor_u32(&c));
	if (version >= 6)
		r->facts.saved_cmdlines = sized_text(&c, cursor_u64(&c));
	if (c.failed || !version)
		recording_damage(r, "its formats of tracepoints are damaged");
	return ret;
}

int recording_copy_tracing_data(struct recording *r, const char *bytes, size_t len)
{
	char *copy = malloc(len + 1);

	if (!copy)
		return base_oom();
	memcpy(copy, bytes, len);
	return recording_tracing_data(r, copy, len);
}
