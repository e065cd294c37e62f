/* SPDX-License-Identifier: MIT */
/*
 * For whom threads wait, seen about ten times a second: events tell that a thread waits in poll(2),
 * but not whether for something to do or for an answer.
 */
#ifndef PROFILERS_OVERVIEW_PEERS_H
#define PROFILERS_OVERVIEW_PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "attar/run.h"
#include "attar/wait.h"

enum { PEERS_MAX = 32, PEER_COMM_BYTES = 16 };

/* A thread that waits for the other end of a connection, or a backend that waits for a lock. */
struct peer {
	pid_t pid, tid;
	char comm[PEER_COMM_BYTES];
	char object[ATTAR_WAIT_OBJECT_BYTES]; /* an address; "": a lock of PostgreSQL */
	uint64_t seen;
};

struct peers {
	uint64_t time;             /* ns: of the last look */
	uint64_t looks;            /* at the processes */
	uint64_t waiting_backends; /* of PostgreSQL, the sum over all looks */
	struct peer at[PEERS_MAX];
	size_t n;
};

struct usages;

/* Looks at the selected processes, if it is time. */
void peers_look(const struct usages *usages, struct peers *peers);

/* The one that waited most often for an address, or for a lock of PostgreSQL; NULL: none. */
const struct peer *peers_most(const struct peers *peers, bool is_lock);

#endif
