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
#include "base/parse.h"
#include "base/vec.h"

struct source;
struct attar_run;

struct sample_filter {
	bool is_on;
	parse_ints excluded; /* processes */
	unsigned flags;      /* bits of common_flags that count */
	unsigned wanted;     /* their value */
	unsigned host_modes; /* --exclude-host, --exclude-guest: samples in these, perf/modes.h */
	/* of recordings; modes 0: all */
	unsigned modes;      /* samples in these, of events other than tracepoints and probes */
	unsigned call_modes; /* the parts of call chains in these */
	bool drops_calls;    /* there are other parts */
	bool no_user_calls;
	VEC(uint64_t) calls; /* the call chain of the current sample */
	const char *by_bpf;  /* the first option that only a BPF program can apply; NULL: none */
	int bpf_fd;          /* of the program, once it is loaded; 0: it is not */
};

/* Reads the options. 0 or a negative errno. */
int sample_filter_open(struct attar_run *run);
void sample_filter_done(struct sample_filter *filter);

/* The run whose options filter a source: those of a profiler that is an event are its own. */
struct attar_run *sample_filter_run(struct attar_run *run, const struct source *s);

/* Whether the events of a source have the data that the options need; otherwise -EOPNOTSUPP. */
int sample_filter_check(const struct attar_run *run, const struct source *s);

/* Applies the options to a counter of the source that was opened. 0 or a negative errno. */
int sample_filter_attach(struct attar_run *run, const struct source *s);

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
