/* SPDX-License-Identifier: MIT */
/* Raw CPU events by vendor name, encoded by libpfm4. */
#ifndef EVENT_PFM_H
#define EVENT_PFM_H

/*
 * Called with the name ("UOPS_ISSUED") and description of an event of this machine's CPUs. A
 * nonzero result stops the iteration.
 */
typedef int pfm_event_fn(void *ctx, const char *name, const char *about);

/* Returns 0, also if libpfm4 is not installed, or the nonzero result of fn. */
int pfm_events(pfm_event_fn *fn, void *ctx);

#endif
