/* SPDX-License-Identifier: MIT */
/*
 * Which process has a TCP connection, from /proc: for events of connections, most of which happen
 * in whatever task a timer or a packet interrupts.
 *
 * A connection without a descriptor is of the process that listens at its local end, which has not
 * accepted it yet, or has closed it. Without such a process, it has none.
 *
 *	pid = tcp_owners_find(owners, run, &connection);
 *	...
 *	tcp_owners_free(owners);
 */
#ifndef PROFILERS_LIB_TCP_OWNERS_H
#define PROFILERS_LIB_TCP_OWNERS_H

#include "attar/run.h"

/* The ends of a connection. Addresses of IPv4 are mapped to addresses of IPv6. */
struct tcp_connection {
	uint8_t local[16], remote[16];
	uint16_t local_port, remote_port;
};

/* The fields of an event that name a connection; NULL: it has none. */
struct tcp_fields {
	const struct attar_field *local, *remote, *local_port, *remote_port;
};

/* spec may be NULL. */
void tcp_fields_find(const struct attar_event_spec *spec, struct tcp_fields *ret_fields);

/* False: the event does not name a connection. */
bool tcp_fields_read(const struct tcp_fields *fields, const struct attar_expr_record *record,
	struct tcp_connection *ret_connection);

struct tcp_owners;

/* NULL: out of memory. */
struct tcp_owners *tcp_owners_new(void);

/*
 * The process of a connection, among those that the options select; 0: none of them has it; -1:
 * unknown. Reads the tables again unless that took more than a small part of the time since.
 */
pid_t tcp_owners_find(
	struct tcp_owners *owners, struct attar_run *run, const struct tcp_connection *connection);

/* The process that has its socket, from what was read last; 0: unknown. */
pid_t tcp_owners_known(const struct tcp_owners *owners, const struct tcp_connection *connection);

/* The name of a process, unless it has ended. */
void tcp_owners_name(pid_t pid, char *name, size_t size);

/* Accepts NULL. */
void tcp_owners_free(struct tcp_owners *owners);

#endif
