/* SPDX-License-Identifier: MIT */
/*
 * attar/count.h - events that a profiler counts, without samples: by CPU, thread, socket or control
 * group, in intervals and in repeated runs of a command
 *
 * A profiler (attar/profiler.h) requests counts in its open(), and reads them in its report() as
 * counters (attar_run_get_counter()) or as rows (attar_run_count_rows()). To count without a
 * profiler, use attar/perf.h.
 *
 * Unless documented otherwise, functions that return an int return 0, or a negative errno with an
 * error message in attar_error().
 */
#ifndef ATTAR_COUNT_H
#define ATTAR_COUNT_H

#include "attar/event.h"
#include "attar/perf.h"
#include "attar/report.h"
#include "attar/sections.h"

#ifdef __cplusplus
extern "C" {
#endif

struct attar_run;

/*
 * Adds all events named in text as counters, without samples; NULL: all events of the recording.
 * Events of a group are counted together. Unsupported ones are left out as long as another one can
 * be counted; struct attar_run_counter has the reason. Only from open().
 */
ATTAR_API int attar_run_count(struct attar_run *run, const char *text);

/* A counted event. Borrowed from the run until the command is run again. */
struct attar_run_counter {
	const char *name;
	const struct attar_event_spec *spec;
	const char *refused; /* why it is not counted, as text; NULL: it is counted */
	const struct attar_counter *counter; /* its instances: attar_counter_instance_at() */
	size_t n_instances;
	/* By instance, since the start and since the previous report; read before each report. */
	const struct attar_value *values, *recent;
	int error; /* the negative errno of refused; 0: none */
};

/* Counter i, in the order of the event names; NULL after the last. */
ATTAR_API const struct attar_run_counter *attar_run_get_counter(
	const struct attar_run *run, size_t i);

/* What attar_run_count_rows() separates counts by. */
enum attar_count_by {
	ATTAR_COUNT_TOTAL, /* nothing: one row (default) */
	ATTAR_COUNT_BY_CPU,
	ATTAR_COUNT_BY_THREAD,
	ATTAR_COUNT_BY_SOCKET, /* of processors */
	ATTAR_COUNT_BY_CGROUP,
};

/*
 * Requests separate counts. ATTAR_COUNT_BY_THREAD: threads that are created during the run are
 * separate too if the kernel reports their counts (Linux 6.12; not with intervals); otherwise they
 * are counted with their creators, and a note is logged. Only from open().
 */
ATTAR_API int attar_run_count_by(struct attar_run *run, enum attar_count_by by);

/* The counts of one CPU, thread, socket or control group. */
struct attar_count_row {
	int number; /* of the CPU, socket or control group (attar_run_cgroup()); otherwise 0 */
	pid_t tid;  /* 0: counts that cannot be assigned to a thread, or not by thread */
	const char *comm;                 /* the thread's name or "[unknown]"; "": not by thread */
	const struct attar_count *counts; /* one for each attar_run_get_counter() */
};

/*
 * The counts as rows in the order of their numbers; by thread, watched threads in the order of
 * their tids, then threads that were created during the run in the order of their exits.
 * ATTAR_SCOPE_INTERVAL: since the previous report; ATTAR_SCOPE_WHOLE: of all ended runs of the
 * command, to be called from ended() or later. Owned by the run and valid until the next call.
 * Returns 0 or -ENOMEM.
 */
ATTAR_API int attar_run_count_rows(struct attar_run *run, enum attar_scope scope,
	const struct attar_count_row **ret_rows, size_t *ret_n);

/* The name of the target's control group i (attar_counter_instance.cgroup); "" for none. */
ATTAR_API const char *attar_run_cgroup(const struct attar_run *run, int i);

#ifdef __cplusplus
}
#endif

#endif
