/* SPDX-License-Identifier: MIT */
/*
 * Flight recorders: the rings of the events are overwritten, and their contents are delivered as a
 * dump when one is requested, when a condition is true, or at the end.
 *
 * The events whose fields the condition uses are opened twice: into the rings that are overwritten,
 * and with the condition as their filter into others, which are read at once. The rings are larger
 * than requested, for what is written until they are stopped.
 *
 * A condition that the kernel cannot evaluate needs every event anyway: then the rings are read as
 * usual, and the lines of events wait in the buffer until the condition is true, see run/lines.h.
 */
#ifndef RUN_FLIGHT_H
#define RUN_FLIGHT_H

#include "attar/run.h"

struct filter;
struct source;

struct run_flight {
	bool is_on;       /* rings are overwritten */
	bool is_waiting;  /* for its condition: no dump at the end */
	bool asked;       /* a dump is due when the round is over */
	bool was_true;    /* the condition */
	bool holds;       /* instead of is_on: lines wait for the condition */
	const char *when; /* the condition; NULL: none. Owned by the run. */
	uint64_t since;   /* the time of the event that asked for the dump; 0: none did */
	uint64_t reach;   /* of the newest dump: the time from which on no ring has lost events */
	/* The newest dump: between these times, the rings were stopped for it. */
	uint64_t stopped, resumed;
	uint64_t missed; /* events meanwhile for which the condition was true */
};

/* To be called when the rings are stopped for a dump, and when the dump is complete. */
void flight_begin_dump(struct attar_run *run);
void flight_end_dump(struct attar_run *run);

/* Sets the members of attr that the ring of a source requires. */
void flight_set_attr(
	const struct attar_run *run, const struct source *s, struct perf_event_attr *attr);

/* With holds: compiles the condition for a source whose format is known. 0 or a negative errno. */
int flight_set_condition(struct attar_run *run, struct source *s);

/* Called for an event that fulfils the condition: releases all lines up to those of the event. */
int flight_release(struct attar_run *run, const struct attar_event *event);

/* Bytes of each ring. */
size_t flight_ring_bytes(const struct attar_run *run);

/* The number of events lost while rings were stopped; the name of the option for dumps. */
uint64_t flight_lost(const struct attar_run *run);
const char *flight_option(const struct attar_run *run);

/*
 * Adds remarks: how many events were lost during dumps, how far the newest dump goes back, and at
 * the end whether the condition was never true, or was true during dumps.
 */
void flight_remark(struct attar_run *run, struct attar_report *report, enum attar_scope scope);

#endif
