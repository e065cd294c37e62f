/* SPDX-License-Identifier: MIT */
/* Checks of system support. They change no settings. */
#ifndef CLI_DOCTOR_CHECKS_H
#define CLI_DOCTOR_CHECKS_H

#include "base/buf.h"

enum check_state { CHECK_READY, CHECK_DEGRADED, CHECK_BLOCKED };

struct finding {
	enum check_state state;
	struct buf detail; /* what was found, and what does not work */
	struct buf remedy; /* the smallest sufficient fix; empty if CHECK_READY */
};

struct check {
	const char *name;
	const char *gives; /* the functionality that depends on it */
	void (*run)(struct finding *f);
};

enum { CHECKS_MAX = 32 };

/* Appends the command that gives attar the capabilities that it lacks. False if it has all. */
bool add_missing_capabilities(struct buf *remedy);

/* Whether samples of idle CPUs are delivered; see delivery.c. */
void check_delivery(struct finding *f);

extern const struct check checks[CHECKS_MAX]; /* ends with a NULL name */

#endif
