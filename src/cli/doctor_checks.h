/* SPDX-License-Identifier: MIT */
/* What this system gives attar, asked without changing anything. */
#ifndef CLI_DOCTOR_CHECKS_H
#define CLI_DOCTOR_CHECKS_H

#include "base/buf.h"

enum check_state { CHECK_READY, CHECK_DEGRADED, CHECK_BLOCKED };

struct finding {
	enum check_state state;
	struct buf detail; /* what was found, and what is lost */
	struct buf remedy; /* the least that mends it; empty when ready */
};

struct check {
	const char *name;
	const char *gives; /* what depends on it */
	void (*run)(struct finding *f);
};

enum { CHECKS_MAX = 32 };

/* Whether samples of idle CPUs arrive; see delivery.c. */
void check_delivery(struct finding *f);

extern const struct check checks[CHECKS_MAX]; /* ends with a NULL name */

#endif
