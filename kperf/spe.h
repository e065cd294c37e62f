/* SPDX-License-Identifier: MIT */
/*
 * spe.h - tasks of SPE_SAMPLING: rows are the samples that Arm's Statistical Profiling Extension
 * wrote to AUX areas.
 */
#ifndef KPERF_SPE_H
#define KPERF_SPE_H

#include "task.h"

/* A time of the generic timer, and the same of CLOCK_MONOTONIC. hz is 0 on other architectures. */
struct kp_spe_clock {
	uint64_t ticks, hz;
	int64_t ns;
};

struct kp_spe {
	const char *name; /* of the PMU */
	uint64_t period;
	struct attar_ring **rings;
	struct attar_aux **auxes; /* one for each ring */
	size_t n_rings;
	struct attar_layout layout;
	bool enabled;
	struct kp_spe_process *processes; /* that had samples */
	size_t n_processes;
	/* since GetWarn() has reported them */
	uint64_t lost, truncated, collisions, malformed, unknown;
};

/* Attributes with the event of the PMU. */
struct kp_spe_task {
	struct PmuAttr attr;
	char *events[1];
};

/*
 * The caller's attributes with an event of the machine's PMU, in memory of the origin, whose lock
 * is held. SUCCESS, or the code of the failed call: there is no such PMU.
 */
int kp_spe_find(
	struct kp_origin *origin, const struct PmuAttr *wanted, struct kp_spe_task *ret_task);

/* What the event of such a task needs. */
void kp_spe_attr(const struct PmuAttr *attr, struct perf_event_attr *ret_attr);

/* Maps rings and AUX areas of the task's counter; the task owns them. */
int kp_spe_open(struct kp_task *task, const struct PmuAttr *attr);

int kp_spe_enable(struct kp_task *task);
void kp_spe_disabled(struct kp_task *task);
int kp_spe_read(struct kp_task *task, struct kp_list *list);

/* Adds rows of what is in the rings, in the order of time: spe_rows.c. */
int kp_spe_rows(struct kp_task *task, struct kp_spe *spe, const struct kp_spe_clock *clock,
	struct kp_list *list);

/* Frees processes. */
void kp_spe_forget(struct kp_spe *spe);

#endif
