/* SPDX-License-Identifier: MIT */
/* The notes of a report on the measurement itself: losses, overhead, unresolved names. */
#ifndef RUN_NOTES_H
#define RUN_NOTES_H

#include <time.h>

#include "attar/run.h"

/* The latest event of a source that takes several at once. */
struct latest_event {
	uint32_t counter;
	const struct attar_thread *thread; /* only compared */
};

struct run_notes {
	struct latest_event latest;
	double unresolved;      /* see run_unresolved() */
	uint64_t delivered;     /* samples that reached the profiler */
	uint64_t passed_over;   /* that --count does not count, less records that it counts */
	uint64_t recorded_lost; /* of a recording so far, by LOST records */
	bool in_kernel; /* the events are counted there, and not delivered */
	bool has_all_recorded;  /* the recording has the last sample of --count */
	uint64_t dropped; /* samples that the stream delivered and a user-space filter dropped */
	uint64_t made;    /* samples made of other records, which the stream did not count */
	uint64_t undelivered;  /* by the merge of several hosts, see run/input/hosts.h */
	bool is_event_pending; /* the stream delivered it, after the end of the interval */
	/* already reported, in the notes of intervals */
	uint64_t seen, lost, throttled, lost_side_band, disordered, late_losses, lost_of_others;
	/* reads of the memory and files of programs by expressions, after the event */
	uint64_t late_reads, latest_read; /* number, and ns after the event at most */
	uint64_t unknown_texts;           /* of ustring() */
	uint64_t lost_texts;              /* likewise: they were copied, and lost */
	bool trusts_reads;                /* run_trust_reads() */
	bool holds_memory;                /* proc_memory_hold(), for these reads */
	uint64_t unrecorded;              /* the same of a recording, which never has them */
	/* at the start of attar_run_go() */
	struct timespec cpu_began; /* CPU time of this process */
	uint64_t entered;          /* ns, CLOCK_MONOTONIC */
	uint64_t ooms;             /* base_oom_count() */
};

/* Starts to measure the overhead. */
void notes_begin(struct run_notes *notes);

/* Logs a warning if most events of a live run were lost: its results are unreliable. */
void notes_warn(struct attar_run *run);

/* Fills the notes of a report: what was seen since the previous one, or since the start. */
void run_fill_notes(struct attar_run *run, struct attar_report *report, enum attar_scope scope);

#endif
