/* SPDX-License-Identifier: MIT */
#include "report/sinks/firefox/markers.h"

#include "base/escape.h"
#include "report/model/number.h"

/* Categories, by the category of the row; the last one is for all others. */
static const struct {
	const char *of, *name, *colour;
} categories[] = {
	{"state", "State", "blue"},
	{"pair", "Pair", "lightblue"},
	{"call", "Call", "green"},
	{"", "Event", "red"},
};

double firefox_ms(uint64_t time, uint64_t began)
{
	return time < began ? -(double)(began - time) * 1e-6 : (double)(time - began) * 1e-6;
}

void firefox_marker_schema(struct buf *b)
{
	buf_str(b, "{\"name\":\"attar\",\"tooltipLabel\":\"{marker.name}\","
		   "\"tableLabel\":\"{marker.name} {marker.data.detail}\","
		   "\"chartLabel\":\"{marker.name}\",\"display\":[\"marker-chart\","
		   "\"marker-table\",\"timeline-overview\"],\"data\":["
		   "{\"key\":\"detail\",\"label\":\"Detail\",\"format\":\"string\","
		   "\"searchable\":true},"
		   "{\"key\":\"waker\",\"label\":\"Woken up by\",\"format\":\"string\"},"
		   "{\"key\":\"wakerStack\",\"label\":\"Stack of the waker\","
		   "\"format\":\"string\"},"
		   "{\"key\":\"cpu\",\"label\":\"CPU\",\"format\":\"integer\"}]}");
}

void firefox_marker_categories(struct buf *b)
{
	for (size_t i = 0; i < ARRAY_SIZE(categories); i++)
		buf_printf(b, ",{\"name\":\"%s\",\"color\":\"%s\",\"subcategories\":[\"Other\"]}",
			categories[i].name, categories[i].colour);
}

static size_t category_of(const struct span_row *row)
{
	size_t i = 0;

	while (i + 1 < ARRAY_SIZE(categories) && strcmp(categories[i].of, row->category) != 0)
		i++;
	return FIREFOX_STACK_CATEGORIES + i;
}

enum member { CATEGORY, DATA, END, NAME, PHASE, START, MEMBERS };

static void add_text(struct buf *b, const char *key, const char *text)
{
	if (!*text)
		return;
	buf_printf(b, ",\"%s\":\"", key);
	escape_json(b, text, strlen(text));
	buf_char(b, '"');
}

static void add_data(struct buf *b, const struct span_row *row)
{
	buf_str(b, "{\"type\":\"attar\"");
	add_text(b, "detail", row->detail);
	add_text(b, "waker", row->waker);
	add_text(b, "wakerStack", row->waker_stack);
	if (row->cpu >= 0)
		buf_printf(b, ",\"cpu\":%lld", (long long)row->cpu);
	buf_char(b, '}');
}

/* Phase 1 is a span of time, 0 an event, which has no end. */
static int add_cell(struct buf *b, struct intern *strings, enum member member,
	const struct span_row *row, uint64_t began)
{
	bool is_instant = !row->duration && strcmp(row->category, "event") == 0;
	uint32_t name = 0;
	int e = 0;

	switch (member) {
	case CATEGORY:
		buf_u64(b, category_of(row));
		break;
	case DATA:
		add_data(b, row);
		break;
	case END:
		if (is_instant)
			buf_str(b, "null");
		else
			number_double(b, firefox_ms(row->time + row->duration, began));
		break;
	case NAME:
		e = *row->name ? intern_id(strings, row->name, &name) : 0;
		buf_u64(b, name);
		break;
	case PHASE:
		buf_char(b, is_instant ? '0' : '1');
		break;
	default:
		number_double(b, firefox_ms(row->time, began));
	}
	return e;
}

int firefox_markers(struct buf *b, struct intern *strings, const struct span_row *rows, size_t n,
	uint64_t began)
{
	static const char *const names[MEMBERS] = {
		"category", "data", "endTime", "name", "phase", "startTime"};
	size_t length = 0;
	int e = 0;

	buf_str(b, "\"markers\":{");
	for (int member = 0; member < MEMBERS; member++) {
		buf_printf(b, "\"%s\":[", names[member]);
		length = 0;
		for (size_t i = 0; i < n && e == 0; i++) {
			if (rows[i].is_sample)
				continue;
			buf_str(b, length++ ? "," : "");
			e = add_cell(b, strings, (enum member)member, &rows[i], began);
		}
		buf_str(b, "],");
	}
	buf_printf(b, "\"length\":%zu},", length);
	return e;
}
