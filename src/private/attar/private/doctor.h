/* SPDX-License-Identifier: MIT */
/*
 * attar/private/doctor.h - what this system supports, and how to fix what is missing.
 *
 *	static int print(void *ctx, const struct attar_check *check)
 *	{
 *		if (check->state != ATTAR_CHECK_READY)
 *			printf("%s: %s\nfix: %s\n", check->name, check->found, check->remedy);
 *		return 0;
 *	}
 *	...
 *	doctor_check_system(print, NULL);
 *
 * The checks change no settings. They open events for a moment, and sleep on each CPU that is not
 * idle until it is, at most two seconds in all.
 */
#ifndef ATTAR_PRIVATE_DOCTOR_H
#define ATTAR_PRIVATE_DOCTOR_H

#include "attar/base.h"

enum attar_check_state {
	ATTAR_CHECK_READY,    /* it works */
	ATTAR_CHECK_DEGRADED, /* something is missing, or cannot be checked */
	ATTAR_CHECK_BLOCKED,  /* nothing that depends on it works */
};

/* A check and its result. `found` and `remedy` are valid until the callback returns. */
struct attar_check {
	const char *name;  /* as in attar_profiler.needs: "perf events", "tracefs" ... */
	const char *gives; /* what depends on it: "tracepoints" */
	enum attar_check_state state;
	const char *found;  /* what was found, and what does not work; "" if unknown */
	const char *remedy; /* the smallest sufficient fix; "" if there is none */
};

/* Called for each check; a nonzero result ends the checks and is returned. */
typedef int attar_check_fn(void *ctx, const struct attar_check *check);

/*
 * Runs all checks, always in the same order, for the calling process: a remedy may be a setcap(8)
 * command for the file of its program. Returns 0, the nonzero result of fn, or -ENOMEM.
 */
int doctor_check_system(attar_check_fn *fn, void *ctx);

/*
 * Checks each capability that serves what is needed, as in attar_profiler.needs: the name is such
 * as "cap_perfmon", and `found` tells whether this process has it, and the setting that makes it
 * unnecessary. Without what is marked with "!", the check is blocked, otherwise degraded. Returns
 * as doctor_check_system().
 */
int doctor_check_rights(const char *needs, attar_check_fn *fn, void *ctx);

#endif
