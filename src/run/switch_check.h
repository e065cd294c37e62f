/* SPDX-License-Identifier: MIT */
/*
 * Counts switches that the kernel did not deliver, which no record of a loss reports: on each CPU,
 * a switch leaves the task that the switch before has entered. On some virtual machines the kernel
 * reports no switches from the idle task of a CPU, to any program.
 */
#ifndef RUN_SWITCH_CHECK_H
#define RUN_SWITCH_CHECK_H

#include "attar/run.h"

struct switch_cpu {
	pid_t task; /* that was entered last; -1: unknown */
	uint64_t missing;
};

struct switch_check {
	struct switch_cpu *cpus; /* by number, owned; NULL: nothing is checked */
	size_t n_cpus;
	uint32_t source;     /* number of the source */
	uint16_t prev, next; /* offsets of the fields */
	uint64_t reported;   /* in the notes of intervals */
	uint64_t in_order;   /* switches */
	uint64_t from_idle;  /* switches from an idle task */
};

/* Starts to check the first source that has all switches of its CPUs, if there is one. */
int switch_check_open(struct attar_run *run);
void switch_check_done(struct switch_check *check);

/* A sample of the source, before a filter in user space. */
void switch_check_sample(struct attar_run *run, const struct attar_event *ev);

/* The task of a CPU has executed a program: another thread than the main one has its tid then. */
void switch_check_exec(struct switch_check *check, uint32_t cpu, pid_t tid);

/* Events of a CPU, -1: of all, were lost or disabled. */
void switch_check_forget(struct switch_check *check, int cpu);

void switch_check_remark(
	struct attar_run *run, struct attar_report *report, enum attar_scope scope);

#endif
