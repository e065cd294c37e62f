/* SPDX-License-Identifier: MIT */
/*
 * Limits what connections cost that are refused. Another user, or another machine, can make tens of
 * thousands in a second, and fills the queue of the listener, so that others wait. After
 * REFUSED_MAX refused connections of a network in a second, a socket filter makes the kernel drop
 * its further ones before they are in the queue, for a second, and twice as long each time.
 *
 * The filter does not see the users of this machine. If root listens, ports below 1024 belong to
 * root and are not dropped; if another user listens, no port is excepted. See address_connect().
 */
#ifndef BASE_ACCEPT_FILTER_H
#define BASE_ACCEPT_FILTER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum {
	REFUSED_MAX = 8,
	NETWORKS_MAX = 16,
};

/* IPv4: an address, or all of loopback; IPv6: the first 64 bits. */
struct network {
	bool is_four;
	uint32_t high, low; /* of IPv4: the address and its mask */
};

struct refused_network {
	struct network network;
	bool is_user;          /* of this machine */
	unsigned n;            /* refused in the second that began at `since` */
	unsigned times;        /* how often it was excluded */
	uint64_t since, until; /* ns of base_now(); until: 0: it is not excluded */
};

struct accept_filter {
	int listener;
	bool is_attached;
	unsigned n;
	struct refused_network at[NETWORKS_MAX];
};

/* Returns false for other kinds of addresses. */
bool accept_filter_network(const struct sockaddr *peer, struct network *ret_network);

/* The user of a connection that is closed already is not known, but it is of this machine. */
bool network_is_loopback(const struct network *network);

/* A connection of this network was refused; is_user: of another user of this machine. */
void accept_filter_refused(
	struct accept_filter *f, const struct network *network, bool is_user, uint64_t now);

/* Ends what has lasted long enough. Costs nothing if no network is excluded. */
void accept_filter_turn(struct accept_filter *f, uint64_t now);

/* An accepted connection has the filter of the listener. */
void accept_filter_accepted(const struct accept_filter *f, int fd);

#endif
