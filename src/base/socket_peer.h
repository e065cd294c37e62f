/* SPDX-License-Identifier: MIT */
/* Who is at the other end of a connection. */
#ifndef BASE_SOCKET_PEER_H
#define BASE_SOCKET_PEER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

enum { RESERVED_PORTS = 1024 }; /* lower ports are for root only */

/* The user of the other end, if it is on this machine: TCP or AF_UNIX. */
int socket_peer_user(int fd, uid_t *ret_uid);

/*
 * Whether the other end of a vsock is root's: only root can use such a port, so that it stands for
 * the user. The end that accepts requires it of this machine or its host; the end that connects,
 * only if the listener is on this machine.
 */
bool socket_peer_is_own_vsock(int fd, bool is_listener);

/*
 * For limits: a number for each other user of this machine, address (IPv6: the first 64 bits) and
 * virtual machine; 0: root, or this user. name: of the other end, from accept(2).
 */
uint64_t socket_peer_origin(int fd, const struct sockaddr_storage *name);

/* Whether an origin is a user of this machine. */
bool socket_origin_is_user(uint64_t origin);

#endif
