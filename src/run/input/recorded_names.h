/* SPDX-License-Identifier: MIT */
/*
 * Names of functions for the addresses of a recording: only names of the kernel and the files that
 * were recorded, not of others that are now in their place.
 */
#ifndef RUN_INPUT_RECORDED_NAMES_H
#define RUN_INPUT_RECORDED_NAMES_H

#include "attar/run.h"

/* Why kernel addresses of a recording have no names. */
struct recorded_names {
	bool same_build; /* the kernel's */
	bool same_boot;  /* its code is at the recorded addresses */
	const char *why; /* a clause without a subject; NULL: they have names */
	uint16_t kernel; /* the DSO of the names that another host has sent; 0: none */
};

/* To be called after the recording was opened. Returns 0 or -ENOMEM. */
int recorded_names_open(struct attar_run *run);

/* Handles a record of the recording that is not a sample. */
void recorded_names_see(struct attar_run *run, const struct attar_record *rec);

/* Adds remarks on why functions have no names. */
void recorded_names_remark(const struct attar_run *run, struct attar_report *report);

#endif
