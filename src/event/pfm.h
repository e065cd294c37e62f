/* SPDX-License-Identifier: MIT */
/* Raw events of CPUs by the names of their makers, which libpfm4 knows. */
#ifndef EVENT_PFM_H
#define EVENT_PFM_H

/* An event of a CPU of this machine: "UOPS_ISSUED", and what it counts. Not 0 ends the listing. */
typedef int pfm_event_fn(void *ctx, const char *name, const char *about);

/* 0, also where libpfm4 is not installed; or what fn returned. */
int pfm_events(pfm_event_fn *fn, void *ctx);

#endif
