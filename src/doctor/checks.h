/* SPDX-License-Identifier: MIT */
/* Checks of system support. They change no settings. */
#ifndef DOCTOR_CHECKS_H
#define DOCTOR_CHECKS_H

#include "attar/private/doctor.h"
#include "base/buf.h"

struct finding {
	enum attar_check_state state;
	struct buf detail; /* what was found, and what does not work */
	struct buf remedy; /* the smallest sufficient fix; empty if ATTAR_CHECK_READY */
};

struct check {
	const char *name;
	const char *gives; /* the functionality that depends on it */
	void (*run)(struct finding *f);
};

/* Appends the command that gives attar the capabilities that it lacks. False if it has all. */
bool add_missing_capabilities(struct buf *remedy);

/* Whether names of kernel functions and formats of tracepoints can be read. */
void check_kernel_symbols(struct finding *f);
void check_tracefs(struct finding *f);

/* Whether samples of idle CPUs are delivered; see delivery.c. */
void check_delivery(struct finding *f);

/* Of which tasks samples are delivered; see tasks.c. */
void check_tasks(struct finding *f);

extern const struct check checks[]; /* ends with a NULL name */

#endif
