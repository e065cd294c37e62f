/* SPDX-License-Identifier: MIT */
/*
 * Write a perf.data file of random records that perf can read, with fields that this machine cannot
 * record (branch stacks, memory accesses, transactions), to compare two readers.
 *
 *	record_make SEED SAMPLE_TYPE perf.data
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/record_encoder.h"
#include "record/uapi.h"

enum { SAMPLES = 20 };

struct section {
	uint64_t offset, size;
};

struct file_header {
	char magic[8];
	uint64_t size, attr_size;
	struct section attrs, data, event_types;
	uint64_t features[4];
};

struct file_attr {
	struct perf_event_attr attr;
	struct section ids;
};

static struct model m;
static uint64_t words[MODEL_RECORD_MAX / 8];

/* IDs in the range of a real machine, and only kinds of branches that perf 6.1 supports. */
static void tame(uint64_t number)
{
	bool identified = m.rec.type == PERF_RECORD_SAMPLE || m.attr.sample_id_all;
	uint64_t bits = identified ? m.attr.sample_type : 0;

	if (bits & PERF_SAMPLE_TID) {
		m.rec.pid = 1000 + m.rec.pid % 30000;
		m.rec.tid = 1000 + m.rec.tid % 30000;
	}
	if (bits & PERF_SAMPLE_CPU)
		m.rec.cpu %= 2;
	if (bits & PERF_SAMPLE_TIME)
		m.rec.time = 1000000000 + number * 1000;
	if (m.rec.type != PERF_RECORD_SAMPLE)
		return;
	if (m.rec.sample.read.nr == 0) /* perf refuses a group without members */
		m.rec.sample.read.nr = bits & PERF_SAMPLE_READ ? 1 : 0;
	m.with_counters = m.without_hw_idx = false;
	m.rec.sample.branch_counters = NULL;
}

/* Types that perf prints as text; the others need a consistent process table. */
static uint32_t type_of(uint64_t number)
{
	static const uint32_t others[] = {PERF_RECORD_LOST_SAMPLES, PERF_RECORD_SWITCH,
		PERF_RECORD_SWITCH_CPU_WIDE, PERF_RECORD_LOST, PERF_RECORD_THROTTLE,
		PERF_RECORD_UNTHROTTLE};

	return number % 4 ? PERF_RECORD_SAMPLE
			  : others[number / 4 % (sizeof(others) / sizeof(others[0]))];
}

int main(int argc, char **argv)
{
	struct file_header header = {.magic = "PERFILE2",
		.size = sizeof(header),
		.attr_size = sizeof(struct file_attr),
		.attrs = {sizeof(header), sizeof(struct file_attr)},
		.data = {sizeof(header) + sizeof(struct file_attr), 0}};
	struct file_attr entry = {0};
	uint64_t seed;
	FILE *out;

	if (argc != 4 || !(out = fopen(argv[3], "w")))
		return 2;
	seed = strtoull(argv[1], NULL, 0);
	model_attr(seed, strtoull(argv[2], NULL, 0), &entry.attr);
	entry.attr.type = PERF_TYPE_SOFTWARE;
	entry.attr.config = PERF_COUNT_SW_CPU_CLOCK;
	entry.attr.size = sizeof(entry.attr);
	entry.attr.sample_period = 1;
	entry.attr.sample_id_all = 1;
	entry.attr.read_format |= PERF_FORMAT_ID; /* perf finds counters by it */
	entry.attr.branch_sample_type &= ~(uint64_t)PERF_SAMPLE_BRANCH_COUNTERS_;
	entry.attr.sample_regs_user &= 0xff0fff; /* of x86-64; perf refuses others */
	entry.attr.sample_regs_intr &= 0xff0fff;
	fwrite(&header, sizeof(header), 1, out);
	fwrite(&entry, sizeof(entry), 1, out);
	for (uint64_t i = 0; i < SAMPLES * 4 / 3; i++) {
		size_t size;

		model_random(&m, seed * 1000 + i, type_of(i), &entry.attr);
		tame(i);
		size = model_encode(&m, words);
		fwrite(words, size, 1, out);
		header.data.size += size;
	}
	rewind(out);
	fwrite(&header, sizeof(header), 1, out);
	return fclose(out) ? 1 : 0;
}
