/* SPDX-License-Identifier: MIT */
/*
 * User events through USDT probes: for user_events:NAME/transport=usdt/, and automatically for
 * processes that have the probe but share no memory with attar. Looks for the probe sites in the
 * files of programs; the records of each site are converted to the format of the user event.
 */
#ifndef EVENT_USDT_SEARCH_H
#define EVENT_USDT_SEARCH_H

#include "base/map.h"
#include "event/catalog.h"
#include "event/usdt.h"

struct usdt_search {
	struct attar_catalog *catalog;
	const struct attar_event_spec *spec; /* the requested event; user_event is a pattern */
	const char *program;                 /* that will be launched; NULL: none */
	const int *pids;                     /* the watched processes; none: all */
	size_t n_pids;
	/*
	 * Called for each site with the converter of its records and the spec of its event, whose
	 * name is on the heap. Takes both over, also on failure.
	 */
	int (*add)(void *ctx, struct usdt *usdt, struct attar_event_spec *spec);
	void *ctx;
};

/* Searches the program, or the watched processes. An error if there is no site. */
int usdt_search(const struct usdt_search *search);

/*
 * Searches the watched processes that share no memory with attar, in files of root and of this
 * user, and adds those that have the probe to *unshared (pid -> 1). Finding none is not an error.
 */
int usdt_search_unshared(const struct usdt_search *search, struct map *unshared);

#endif
