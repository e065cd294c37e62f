/* SPDX-License-Identifier: MIT */
/* The text of metrics: names, labels, heads and samples. */
#include <ctype.h>
#include <math.h>

#include "base/escape.h"
#include "report/sinks/prometheus/prometheus.h"

enum { LABEL_BYTES_MAX = 200 };

/*
 * Parts of a name are joined by "_"; other characters than letters and digits become one, too. Not
 * so an apostrophe: promtool takes the "s" of "kernel's" for a unit.
 */
static void add_part(struct buf *b, const char *part)
{
	if (!strcmp(part, "+/-"))
		part = "uncertainty";
	buf_char(b, '_');
	for (; *part; part++) {
		char c = (char)tolower((unsigned char)*part);

		if (isalnum((unsigned char)c))
			buf_char(b, c);
		else if (c != '\'' && b->data && b->data[b->len - 1] != '_')
			buf_char(b, '_');
	}
}

const char *metrics_suffix(enum attar_unit unit)
{
	switch (unit) {
	case ATTAR_UNIT_NS:
		return "seconds";
	case ATTAR_UNIT_BYTES:
		return "bytes";
	case ATTAR_UNIT_PERCENT:
		return "ratio";
	case ATTAR_UNIT_HZ:
		return "hertz";
	default:
		return NULL;
	}
}

double metrics_scaled(enum attar_unit unit, double value)
{
	return value / (unit == ATTAR_UNIT_NS ? 1e9 : unit == ATTAR_UNIT_PERCENT ? 100 : 1);
}

void metrics_add_name(struct buf *b, const struct attar_report *report, const char *section,
	const char *column, enum attar_unit unit)
{
	buf_str(b, "attar");
	add_part(b, report_text(report, report->profiler));
	if (section)
		add_part(b, section);
	if (column)
		add_part(b, strcmp(column, "count") ? column : "number");
	if (metrics_suffix(unit))
		add_part(b, metrics_suffix(unit));
}

/* The length of the characters that a label has room for. */
static size_t label_length(const char *text)
{
	size_t n = strnlen(text, LABEL_BYTES_MAX);

	while (n == LABEL_BYTES_MAX && (text[n] & 0xc0) == 0x80)
		n--;
	return n;
}

/* Text in which backslashes are escaped once more, as help and labels have them. */
static void add_escaped(struct buf *b, const char *text, bool quotes)
{
	struct buf safe _cleanup_(buf_done) = {0};

	escape_file_text(&safe, text, label_length(text));
	for (const char *c = buf_text(&safe); *c; c++) {
		if (*c == '\\' || (quotes && *c == '"'))
			buf_char(b, '\\');
		buf_char(b, *c);
	}
	b->failed |= safe.failed;
}

/* Names that differ in other characters than letters and digits would be one. */
static uint64_t hash_of(const char *name)
{
	uint64_t h = 0;

	while (*name)
		h = base_hash64(h ^ (unsigned char)*name++);
	return h;
}

bool metrics_make_unique(struct metrics *m, struct buf *name)
{
	bool changed = false;

	for (; map_get(&m->names, hash_of(buf_text(name))); changed = true)
		buf_str(name, "_2");
	if (map_put(&m->names, hash_of(buf_text(name)), 1) < 0)
		name->failed = true;
	return changed;
}

void metrics_add_label(struct buf *b, const char *name, const char *value)
{
	struct buf safe _cleanup_(buf_done) = {0};

	add_part(&safe, name);
	if (safe.len && !isdigit((unsigned char)safe.data[1]))
		memmove(safe.data, safe.data + 1, safe.len--);
	buf_str(&safe, "=\"");
	while (b->len && strstr(buf_text(b), buf_text(&safe)) && !safe.failed) {
		safe.len -= 2;
		buf_str(&safe, "_2=\"");
	}
	buf_str(b, b->len ? "," : "");
	buf_str(b, buf_text(&safe));
	add_escaped(b, value, true);
	buf_char(b, '"');
	b->failed |= safe.failed;
}

void metrics_add_head(struct attar_renderer *r, const char *name, const char *type,
	const char *help, enum attar_unit unit)
{
	struct buf *b = &r->out;

	buf_printf(b, "# HELP %s ", name);
	add_escaped(b, help, r->format == &render_openmetrics);
	buf_printf(b, "\n# TYPE %s %s\n", name, type);
	if (r->format == &render_openmetrics && metrics_suffix(unit))
		buf_printf(b, "# UNIT %s %s\n", name, metrics_suffix(unit));
}

void metrics_add_value(struct buf *b, double value)
{
	if (isnan(value))
		buf_str(b, "NaN");
	else if (isinf(value))
		buf_str(b, value < 0 ? "-Inf" : "+Inf");
	else
		number_double(b, value);
	buf_char(b, '\n');
}

void metrics_add_sample(struct buf *b, const char *name, const struct buf *labels, double value)
{
	buf_str(b, name);
	if (labels && labels->len)
		buf_printf(b, "{%s}", buf_text(labels));
	buf_char(b, ' ');
	metrics_add_value(b, value);
}
