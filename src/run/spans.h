/* SPDX-License-Identifier: MIT */
/*
 * Times of single pairs, states and events for outputs that draw time lines: profilers add them
 * with attar_run_add_span() as they end, and the report of the whole run lists them. Strings are
 * interned, stacks are numbers of the profiler's struct attar_stacks, and records of tracepoints
 * are copied: nothing is resolved or formatted before the report. The number of spans and the bytes
 * of records and strings are limited; what does not fit is counted.
 */
#ifndef RUN_SPANS_H
#define RUN_SPANS_H

#include "attar/run.h"
#include "base/intern.h"
#include "base/map.h"
#include "run/span_wakers.h"

struct span_track {
	int32_t pid, tid; /* -1: none */
	uint32_t name;    /* of the thread, the newest one, or of the track */
};

/* Strings are numbers in run_spans.texts; 0: none. */
struct span {
	uint64_t begin, duration; /* ns */
	uint64_t stack, weight;   /* see attar_span.stack; 0: none */
	uint32_t track;           /* index */
	uint32_t name, category, detail;
	int32_t cpu;
	uint32_t record; /* index; UINT32_MAX: none */
	uint32_t waker;  /* in run_spans.wakers; 0: none */
	uint32_t node;   /* in the tree of the present report */
	bool is_sample;
};

struct span_record {
	const struct attar_format *format; /* borrowed from the run */
	size_t at;                         /* in run_spans.raw */
	uint32_t size;
};

struct run_spans {
	VEC(struct span) all;
	VEC(struct span_track) tracks;
	VEC(struct span_record) records;
	VEC(char) raw;
	struct span_wakers wakers;
	struct map track_of; /* hash of pid and tid, or of the name -> index */
	struct intern texts;
	uint64_t refused; /* spans for which there was no room */
};

void spans_done(struct run_spans *spans);

/* Finds the stacks of all spans in the tree that was just made of `stacks`. */
void spans_find_nodes(struct run_spans *spans, const struct attar_stacks *stacks);

/* Adds the time line to a report of the whole run, if an output draws it. */
void spans_report(struct attar_run *run, struct attar_report *report);

#endif
