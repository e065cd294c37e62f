/* SPDX-License-Identifier: MIT */
/*
 * attar_record_parse() on arbitrary bytes: the relevant attributes, then consecutive records as in
 * a ring. Reads every range that a parsed record borrows, which must be inside the record.
 */
#include <stdlib.h>
#include <string.h>

#include "attar/record.h"
#include "../tests/unit/record_encoder.h"

struct prefix {
	uint64_t sample_type, read_format, branch_sample_type, regs_user, regs_intr, sample_id_all;
};

struct bounds {
	const char *start, *end;
	uint64_t sum;
};

static void read_inside(void *ctx, const void *bytes, uint64_t len)
{
	struct bounds *b = ctx;
	const unsigned char *at = bytes;

	if (len && ((const char *)at < b->start || len > (uint64_t)(b->end - (const char *)at)))
		abort();
	for (uint64_t i = 0; i < len; i++)
		b->sum += at[i];
}

/* Iterating over the call chain ends, and returns no markers. */
static void walk(const struct attar_record *rec)
{
	struct attar_callchain chain;
	uint64_t ip;

	if (rec->type != PERF_RECORD_SAMPLE)
		return;
	attar_callchain_init(&chain, rec->sample.callchain, rec->sample.callchain_nr, rec->misc);
	for (uint32_t n = 0; attar_callchain_next(&chain, &ip); n++)
		if (n == rec->sample.callchain_nr || ip >= (uint64_t)PERF_CONTEXT_MAX)
			abort();
}

/* Keeps the reads from being optimized away. */
static void use(uint64_t value)
{
	__asm__ volatile("" : : "r"(value));
}

static void parse_all(const struct attar_layout *layout, const char *bytes, size_t size)
{
	for (size_t at = 0; at < size;) {
		struct bounds bounds = {.start = bytes + at, .end = bytes + size};
		struct attar_record rec;

		if (attar_record_parse(layout, bytes + at, size - at, &rec) < 0)
			break;
		bounds.end = bytes + at + rec.size;
		record_ranges(&rec, read_inside, &bounds);
		walk(&rec);
		use(bounds.sum);
		if (rec.size % 8 == 0)
			use(attar_record_time(layout, rec.header) +
				attar_record_identifier(rec.header));
		at += (rec.size + 7) / 8 * 8;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct perf_event_attr attr = {0};
	struct attar_layout layout;
	struct prefix prefix;
	char *bytes;

	if (size < sizeof(prefix))
		return 0;
	memcpy(&prefix, data, sizeof(prefix));
	attr.sample_type = prefix.sample_type;
	attr.read_format = prefix.read_format;
	attr.branch_sample_type = prefix.branch_sample_type;
	attr.sample_regs_user = prefix.regs_user;
	attr.sample_regs_intr = prefix.regs_intr;
	attr.sample_id_all = prefix.sample_id_all & 1;
	attar_layout_init(&layout, &attr);
	data += sizeof(prefix);
	size -= sizeof(prefix);
	bytes = malloc(
		size); /* of exactly that size, so that the sanitizer detects reads beyond it */
	if (!bytes)
		return 0;
	memcpy(bytes, data, size);
	parse_all(&layout, bytes, size);
	free(bytes);
	return 0;
}
