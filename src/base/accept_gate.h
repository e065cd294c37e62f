/* SPDX-License-Identifier: MIT */
/*
 * Accepts connections so that others who connect without a pause cost little, and keep nobody out.
 * An origin (base/socket_peer.h) has a limit of connections that count in a second: its further
 * ones are closed at once. While this happens, the listener's queue is emptied in turns, which
 * bounds the cost: what does not fit into the queue is dropped by the kernel, and comes again. Of
 * other machines, and of other users if only root may connect, the kernel drops connections before
 * they are in the queue, if it allows a filter (base/accept_filter.h). Without one, a short queue
 * costs less.
 *
 *     gate = (struct accept_gate){.listener = fd, .limit = 8};
 *     while ((fd = accept_gate_next(&gate, base_now(), &name, &origin)) >= 0)
 *             if (!is_welcome(fd))
 *                     accept_gate_count(&gate, base_now(), &name, origin);
 */
#ifndef BASE_ACCEPT_GATE_H
#define BASE_ACCEPT_GATE_H

#include "base/accept_filter.h"

enum {
	ACCEPT_QUEUE = 4096, /* for listen(2); as many are accepted in a turn */
	ACCEPT_SHORT = 256,  /* the same while connections of other users are refused, see below */
	ACCEPT_MANY = 64,    /* in a turn: they are still made without a pause */
	ACCEPT_TURN_MS = 50, /* the mean */
	ACCEPT_PASSED = 16,  /* of all origins in a turn */
	ACCEPT_ORIGINS = 64, /* that are remembered */
	ACCEPT_TOTAL = 16,   /* times the limit: of all origins */
};

struct accept_origin {
	uint64_t origin;
	uint64_t since; /* ns of base_now(): when n was 0 */
	unsigned n;
};

struct accept_gate {
	int listener;     /* non-blocking */
	unsigned limit;   /* of an origin, in a second */
	bool is_for_root; /* the kernel may drop all connections of other local users */
	/*
	 * Only connections of this machine are welcome: who finds the queue full tries again within
	 * milliseconds (address_connect()), so that it may be short.
	 */
	bool is_local, is_short;
	uint64_t busy_until;       /* ns of base_now(): the queue is emptied in turns */
	uint64_t pause_until;      /* 0: the listener is to be watched */
	unsigned accepted, passed; /* in this turn */
	struct accept_origin all, at[ACCEPT_ORIGINS];
	unsigned n;
	struct accept_filter filter;
};

/*
 * Returns a connection, which is non-blocking, or -EAGAIN. *ret_origin: 0: root, or this user, whom
 * no limit concerns.
 */
int accept_gate_next(struct accept_gate *g, uint64_t now, struct sockaddr_storage *ret_name,
	uint64_t *ret_origin);

/* A connection counts. */
void accept_gate_count(
	struct accept_gate *g, uint64_t now, const struct sockaddr_storage *name, uint64_t origin);

/* ns until accept_gate_next() is to be called again; 0: when the listener is readable. */
uint64_t accept_gate_pause(const struct accept_gate *g, uint64_t now);

#endif
