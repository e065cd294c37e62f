/* SPDX-License-Identifier: MIT */
/*
 * Options that drop samples: by the contents of each (--exclude_pid, flags of tracepoints, the
 * privilege level of recorded samples), and by a BPF program in the kernel (--prio,
 * --nr_running_min, flags of other events ...). For recordings, also options that drop parts of
 * call chains.
 */
#ifndef RUN_SOURCE_SAMPLE_FILTER_H
#define RUN_SOURCE_SAMPLE_FILTER_H

#include "attar/run.h"

struct source;
struct attar_run;

/* Whether samples are dropped by their contents. */
bool sample_filter_is_on(const struct attar_run *run);

/* Reads the options. 0 or a negative errno. */
int sample_filter_open(struct attar_run *run);

/* The run whose options filter a source: a profiler that is an event has options of its own. */
struct attar_run *sample_filter_run(struct attar_run *run, const struct source *s);

/* Whether the events of a source have the data that the options need; otherwise -EOPNOTSUPP. */
int sample_filter_check(const struct attar_run *run, const struct source *s);

/* Applies the options to a counter of the source that was opened. 0 or a negative errno. */
int sample_filter_attach(struct attar_run *run, const struct source *s);

/* Whether that attaches a program. */
bool sample_filter_has_program(const struct attar_run *run, const struct source *s);

/* Whether a sample is kept. */
bool sample_filter_keeps(
	const struct attar_run *run, const struct source *s, const struct attar_event *event);

/*
 * If the options drop parts of call chains, the event's record becomes a copy without them, which
 * is valid until the next call. 0 or -ENOMEM.
 */
int sample_filter_drop_calls(
	struct attar_run *run, struct attar_event *event, struct attar_record *copy);

#endif
