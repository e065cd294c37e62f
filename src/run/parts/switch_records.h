/* SPDX-License-Identifier: MIT */
/*
 * Switches that the kernel counts, but does not deliver as samples of sched:sched_switch: on some
 * virtual machines, no sample that is taken in the idle task of some CPUs, or in some threads of
 * the kernel, arrives. They are made from PERF_RECORD_SWITCH_CPU_WIDE (Linux 4.3), which another
 * event writes in the context of the task that is being switched out, and of the task that was
 * switched in: one of the two records arrives, unless this concerns both tasks.
 */
#ifndef RUN_PARTS_SWITCH_RECORDS_H
#define RUN_PARTS_SWITCH_RECORDS_H

#include "attar/run.h"
#include "perf/counter.h"

struct source;

/* A switch, as far as a record of it tells. */
struct switch_made {
	struct {
		pid_t pid, tid; /* -1: unknown */
	} from, to;
	enum { SWITCH_UNKNOWN, SWITCH_PREEMPTED, SWITCH_BLOCKED } why;
};

/* Fields of sched_switch. */
struct switch_task {
	const struct attar_field *comm, *pid, *prio;
};

struct switch_records {
	struct attar_counter *counter; /* writes the records; borrowed from a source; NULL: none */
	const struct attar_format *format; /* of sched_switch; borrowed */
	char *raw; /* owned: format->size bytes, of a sample; NULL: none are made */
	struct switch_task prev, next; /* fields of the format; NULL: it lacks them */
	const struct attar_field *common_pid, *state;
	bool needs_prio; /* reading it takes system calls */
};

/* Whether a source delivers all switches of its CPUs; of a recording, its filter is unknown. */
bool switch_records_concern(const struct source *s);

/*
 * After the profiler's open(): adds the source of the records, whose layout is as in samples of
 * `switches`.
 */
int switch_records_add(struct attar_run *run, const struct perf_event_attr *switches);

/*
 * After the sources were opened: prepares to make samples of one of them, if there are records,
 * which a recording can have anywhere. 0 or -ENOMEM.
 */
int switch_records_begin(
	struct switch_records *records, struct attar_run *run, const struct source *s);

/* Enables or disables the records of a CPU; -1: of all. */
void switch_records_enable(const struct switch_records *records, int cpu, bool on);

/* What a PERF_RECORD_SWITCH_CPU_WIDE says. */
struct switch_made switch_records_read(const struct attar_record *record);

/*
 * Makes the sample of sched:sched_switch that belongs to a record, and delivers it. event: its
 * attar_event.counter. 0 or a negative errno.
 */
int switch_records_make(const struct switch_records *records, struct attar_run *run, uint32_t event,
	const struct attar_event *ev, const struct switch_made *made);

void switch_records_done(struct switch_records *records);

#endif
