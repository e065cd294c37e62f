/* SPDX-License-Identifier: MIT */
/*
 * Events of other hosts in a live run: the attribute pull= of events, and several --pull. (A single
 * --pull takes the place of --input, see run/input/pull.h.)
 *
 * Each address has a separate run, the reader, which is never started: it has the recording that
 * is pushed there, with its formats and processes. Its samples are given to sources of the run,
 * which have no counter. The events of all hosts and of this one are merged by the time of this
 * machine's clock, with which the clocks of the others are compared all the time.
 *
 * An event is delivered when every host that is not silent has reported that no older one follows.
 * Events of a host that was silent can be late: they get the newest time, or, in profilers that
 * combine events of hosts, count as lost.
 */
#ifndef RUN_INPUT_HOSTS_H
#define RUN_INPUT_HOSTS_H

#include "attar/run.h"
#include "run/run.h"
#include "base/vec.h"

struct run_host {
	struct attar_run *run;      /* that receives its events */
	struct attar_run *reader;   /* owned; NULL: not connected */
	const char *address;        /* borrowed from the reader's strings */
	const char *name;           /* of the host, or its address if another one has this name */
	VEC(uint32_t) numbers;      /* of the run's sources, by source of the reader */
	struct attar_event front;   /* the next event, by this machine's clock */
	struct attar_record record; /* of front */
	bool has_front, is_over;
	uint64_t reached; /* ns: further events are not older, by this machine's clock */
	uint64_t late;    /* samples that arrived when newer ones of others had been delivered */
};

struct run_hosts {
	VEC(struct run_host *) list;
	struct attar_event live; /* the next event of this machine */
	bool has_live;
	uint64_t live_reached;
	uint64_t delivered; /* ns: the newest time */
	uint64_t late_from; /* ns: the time of the current event, if it is late; otherwise 0 */
	struct run_host *current; /* whose event is being delivered; NULL: this machine's */
	char *name;               /* of this machine; owned; NULL: no events of others */
	struct attar_run *reads_for; /* it reads events of a host for this run; NULL: none */
};

SHARED_STATE(hosts_of, struct run_hosts, HOSTS)

/* Whether the run has events of other hosts. */
static inline bool hosts_are_used(const struct run_hosts *hosts)
{
	return hosts->list.n > 0;
}

/* -EINVAL: the profiler cannot have events of several hosts in this way (enum attar_uses). */
int hosts_check_profiler(const struct attar_run *run, unsigned uses);

/* -EINVAL: an option conflicts with events of other hosts. */
int hosts_check(const struct attar_run *run);

/* Starts reading, after the profiler's open(). */
int hosts_start(struct attar_run *run);

/* Like attar_stream_next(), for the events of all hosts. Sets `current`. */
int hosts_next(struct attar_run *run, struct attar_event *ret_event);

/* Delivers an event of `current` to its sources. */
int hosts_deliver(struct attar_run *run, struct attar_event *ev);

/* Like attar_stream_wait(); 2: attar_run_stop() was called. */
int hosts_wait(struct attar_run *run, int timeout_ms);

/* Whether all hosts have ended, and this machine has no events. */
bool hosts_are_over(const struct attar_run *run);

/* Makes hosts_next() deliver the received events without waiting for more. */
int hosts_stop(struct attar_run *run);

/* Adds the statistics of all hosts. Returns the number of undelivered samples. */
uint64_t hosts_add_stats(const struct attar_run *run, struct attar_stream_stats *stats);

/* Adds remarks about the other hosts. */
void hosts_remark(const struct attar_run *run, struct attar_report *report);

#endif
