/* SPDX-License-Identifier: MIT */
#include "attar/private/stream.h"
#include "lib/sample_fields.h"

#include <stdio.h>
#include <string.h>

void sample_tid_cell(struct attar_section *lines, int64_t tid)
{
	if (tid < 0)
		attar_cell_none(lines);
	else
		attar_cell_u64(lines, (uint64_t)tid);
}

void sample_fields_get(const struct attar_event *ev, const struct perf_event_attr *attr,
	struct sample_fields *ret_fields)
{
	const struct attar_sample *s = &ev->record->sample;

	*ret_fields = (struct sample_fields){.addr = s->addr,
		.ip = s->ip,
		.period = s->period,
		.has_addr = attr->sample_type & PERF_SAMPLE_ADDR,
		.location = event_location(ev)};
}

/* Resolves the sampled IP; false if it has no symbol or DSO. */
static bool find_symbol(
	struct attar_run *run, const struct sample_fields *fields, struct attar_symbol *ret_symbol)
{
	if (!fields->location)
		return false;
	return attar_symbols_resolve(attar_run_symbols(run), fields->location, ret_symbol) == 0 ||
	       attar_location_dso(fields->location) != ATTAR_DSO_UNKNOWN;
}

static void sample_fields_append(char *text, size_t size, const char *fmt, ...) ATTAR_PRINTF(3, 4);

/* Truncates what does not fit. */
static void sample_fields_append(char *text, size_t size, const char *fmt, ...)
{
	size_t n = strlen(text);
	va_list args;

	va_start(args, fmt);
	vsnprintf(text + n, size - n, fmt, args);
	va_end(args);
}

void sample_fields_text(
	struct attar_run *run, const struct sample_fields *s, char *text, size_t size)
{
	struct attar_symbol symbol;

	text[0] = '\0';
	if (s->has_addr)
		sample_fields_append(text, size, "addr=0x%llx ", (unsigned long long)s->addr);
	sample_fields_append(text, size, "ip=0x%llx", (unsigned long long)s->ip);
	if (find_symbol(run, s, &symbol)) {
		if (symbol.name)
			sample_fields_append(text, size, " symbol=%s+0x%llx", symbol.name,
				(unsigned long long)symbol.offset);
		sample_fields_append(text, size, " dso=%s", symbol.dso);
	}
	if (s->period != 1)
		sample_fields_append(text, size, " period=%llu", (unsigned long long)s->period);
}

static void text_value(struct attar_section *lines, const char *name, const char *text)
{
	attar_row_value(lines, name, false);
	if (text)
		attar_row_value_text(lines, text, strlen(text));
}

static void number_value(struct attar_section *lines, const char *name, uint64_t number)
{
	attar_row_value(lines, name, false);
	attar_row_value_u64(lines, number);
}

void sample_fields_values(
	struct attar_run *run, const struct sample_fields *s, struct attar_section *lines)
{
	struct attar_symbol symbol;

	if (s->has_addr)
		number_value(lines, "addr", s->addr);
	number_value(lines, "ip", s->ip);
	if (!find_symbol(run, s, &symbol))
		symbol = (struct attar_symbol){0};
	text_value(lines, "symbol", symbol.name);
	attar_row_value(lines, "offset", false);
	if (symbol.name)
		attar_row_value_u64(lines, symbol.offset);
	text_value(lines, "dso", symbol.dso);
	number_value(lines, "period", s->period);
}
