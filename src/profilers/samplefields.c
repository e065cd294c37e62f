/* SPDX-License-Identifier: MIT */
#include "samplefields.h"

#include <stdio.h>
#include <string.h>

/* Resolves the sampled IP; false if it has no symbol or DSO (guest or hypervisor code). */
static bool find_symbol(
	struct attar_run *run, const struct attar_event *ev, struct attar_symbol *ret_symbol)
{
	uint64_t ip = ev->record->sample.ip;
	unsigned mode = ev->record->misc & PERF_RECORD_MISC_CPUMODE_MASK;
	attar_location location;

	if (mode == PERF_RECORD_MISC_KERNEL)
		location = attar_location_kernel(ip);
	else if (mode == PERF_RECORD_MISC_USER)
		location = attar_thread_locate(ev->thread, ip);
	else
		return false;
	return attar_symbols_resolve(attar_run_symbols(run), location, ret_symbol) == 0 ||
	       attar_location_dso(location) != ATTAR_DSO_UNKNOWN;
}

static void append(char *text, size_t size, const char *fmt, ...) ATTAR_PRINTF(3, 4);

/* Truncates what does not fit. */
static void append(char *text, size_t size, const char *fmt, ...)
{
	size_t n = strlen(text);
	va_list args;

	va_start(args, fmt);
	vsnprintf(text + n, size - n, fmt, args);
	va_end(args);
}

void sample_fields_text(struct attar_run *run, const struct attar_event *ev,
	const struct perf_event_attr *attr, char *text, size_t size)
{
	const struct attar_sample *s = &ev->record->sample;
	struct attar_symbol symbol;

	text[0] = '\0';
	if (attr->sample_type & PERF_SAMPLE_ADDR)
		append(text, size, "addr=0x%llx ", (unsigned long long)s->addr);
	append(text, size, "ip=0x%llx", (unsigned long long)s->ip);
	if (s->ip && find_symbol(run, ev, &symbol)) {
		if (symbol.name)
			append(text, size, " symbol=%s+0x%llx", symbol.name,
				(unsigned long long)symbol.offset);
		append(text, size, " dso=%s", symbol.dso);
	}
	if (s->period != 1)
		append(text, size, " period=%llu", (unsigned long long)s->period);
}

static void text_value(struct attar_section *lines, const char *name, const char *text)
{
	attar_row_value(lines, name, false);
	if (text)
		attar_value_text(lines, text, strlen(text));
}

static void number_value(struct attar_section *lines, const char *name, uint64_t number)
{
	attar_row_value(lines, name, false);
	attar_value_u64(lines, number);
}

void sample_fields_values(struct attar_run *run, const struct attar_event *ev,
	const struct perf_event_attr *attr, struct attar_section *lines)
{
	const struct attar_sample *s = &ev->record->sample;
	struct attar_symbol symbol;

	if (attr->sample_type & PERF_SAMPLE_ADDR)
		number_value(lines, "addr", s->addr);
	number_value(lines, "ip", s->ip);
	if (!s->ip || !find_symbol(run, ev, &symbol))
		symbol = (struct attar_symbol){0};
	text_value(lines, "symbol", symbol.name);
	attar_row_value(lines, "offset", false);
	if (symbol.name)
		attar_value_u64(lines, symbol.offset);
	text_value(lines, "dso", symbol.dso);
	number_value(lines, "period", s->period);
}
