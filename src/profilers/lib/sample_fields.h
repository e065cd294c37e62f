/* SPDX-License-Identifier: MIT */
/*
 * The output fields of an event without a format: data address, IP with its symbol, period.
 */
#ifndef PROFILERS_LIB_SAMPLE_FIELDS_H
#define PROFILERS_LIB_SAMPLE_FIELDS_H

#include "attar/run.h"

/* What is shown of a sample; a plain value that outlives the event. */
struct sample_fields {
	uint64_t addr, ip, period;
	attar_location location; /* of ip */
	bool has_addr;
};

/* Adds a cell with the tid, or none if it is unknown. */
void sample_tid_cell(struct attar_section *lines, int64_t tid);

/* Copies the fields of a sample; resolves no symbols. */
void sample_fields_get(const struct attar_event *ev, const struct perf_event_attr *attr,
	struct sample_fields *ret_fields);

/*
 * As one string: "addr=0x7f12a000 ip=0x401196 symbol=fill+0x16 dso=/bin/prog"; period=N unless N is
 * 1.
 */
void sample_fields_text(
	struct attar_run *run, const struct sample_fields *fields, char *text, size_t size);

/* Adds the same as values to the last row of lines, always including the period. */
void sample_fields_values(
	struct attar_run *run, const struct sample_fields *fields, struct attar_section *lines);

#endif
