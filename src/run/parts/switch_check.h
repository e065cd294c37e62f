/* SPDX-License-Identifier: MIT */
/*
 * Counts switches that the kernel did not deliver, which no record of a loss reports: on each CPU,
 * a switch leaves the task that the switch before has entered. Most of them are made from other
 * records: see run/parts/switch_records.h.
 *
 * This header is for switch_check.c and its unit test.
 */
#ifndef RUN_PARTS_SWITCH_CHECK_H
#define RUN_PARTS_SWITCH_CHECK_H

#include "base/base.h"
#include "run/parts/switch_records.h"

struct switch_cpu {
	pid_t task;         /* that was entered last; -1: unknown */
	uint32_t from_idle; /* samples of switches from the idle task */
	bool is_trusted;    /* they arrive: the other records are disabled */
	uint64_t missing;
};

struct switch_check {
	struct switch_cpu *cpus; /* by number, owned; NULL: nothing is checked */
	size_t n_cpus;
	uint32_t source;                  /* number of the source */
	uint16_t prev, next;              /* offsets of the fields */
	uint64_t reported, reported_made; /* in the notes of intervals */
	uint64_t made;                    /* switches */
	uint64_t in_order;                /* switches */
	uint64_t from_idle;               /* switches from an idle task */
	struct switch_records records;
	uint32_t event;  /* attar_event.counter of samples of the source */
	bool lacks_some; /* a switch was made, or is missing, on any CPU */
	bool is_paused;  /* so is the source */
};

#endif
