/* SPDX-License-Identifier: MIT */
/* What the kernel counts of the network, of each network namespace, and its tables of sockets. */
#ifndef PROFILERS_OVERVIEW_NETWORK_H
#define PROFILERS_OVERVIEW_NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum network_count {
	NETWORK_SENT,        /* segments of TCP */
	NETWORK_RETRANSMITS, /* of these */
	NETWORK_RECEIVED,    /* segments of TCP */
	NETWORK_EARLY,       /* of these, those that came before one that was sent earlier */
	NETWORK_OVERFLOWS,   /* connections for which the queue of a listening socket had no room */
	NETWORK_PRESSURE,    /* times that sockets of TCP had too little memory */
	NETWORK_DATAGRAMS,   /* that did not fit in the buffer of their socket */
	NETWORK_RESETS,      /* segments that end a connection, or refuse one */
	NETWORK_REFUSED,     /* segments and connections for which a socket had no room */
	NETWORK_COUNTS,
};

struct network {
	uint64_t space; /* its number */
	pid_t pid;      /* a process of it */
	uint64_t counts[NETWORK_COUNTS];
};

enum { NETWORKS_MAX = 16 };

struct networks {
	uint64_t time; /* ns; 0: none */
	struct network at[NETWORKS_MAX];
	size_t n;
};

/* Adds the namespace of a process, unless it is known. */
void networks_add(struct networks *networks, pid_t pid);

/* What was counted since then; false: the namespace is new. */
bool network_since(const struct networks *from, const struct network *now,
	uint64_t ret_counts[NETWORK_COUNTS]);

struct network_socket {
	unsigned port; /* local */
	uint64_t inode;
	uint64_t n; /* connections that wait for accept(2), or lost datagrams */
};

typedef bool network_wanted_fn(const void *self, uint64_t inode);

/*
 * The listening socket with the most connections that wait, or that lost most datagrams. Only those
 * that are wanted; is_wanted NULL: any.
 */
bool network_worst_socket(pid_t pid, bool is_datagram, network_wanted_fn *is_wanted,
	const void *self, struct network_socket *ret_socket);

/* Whether a process has the socket; inode 0: any. */
bool network_has_socket(pid_t pid, uint64_t inode);

/* Whether connections with this remote port were accepted by this host, in the namespace. */
bool network_is_accepted(pid_t pid, unsigned remote_port);

#endif
