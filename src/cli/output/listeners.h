/* SPDX-License-Identifier: MIT */
/* Finds the processes that listen to events of programs, by the sockets of their collectors. */
#ifndef CLI_OUTPUT_LISTENERS_H
#define CLI_OUTPUT_LISTENERS_H

#include "base/buf.h"
#include "base/map.h"

struct listeners {
	struct map pids;    /* collector id -> pid */
	struct map sockets; /* the ids of all sockets of this network namespace */
	bool searched;
};

/*
 * Appends "attar (pid 123)"; "exited or in another network namespace" if there is no such socket
 * here (a listener that was killed is registered for up to three more seconds); "unknown" if its
 * process cannot be determined.
 */
void listeners_name(struct listeners *l, uint64_t id, struct buf *b);
void listeners_done(struct listeners *l);

#endif
