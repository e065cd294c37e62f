/* SPDX-License-Identifier: MIT */
/*
 * Where events are pushed to or pulled from:
 *
 *	PORT, HOST:PORT, [HOST]:PORT	TCP; without a host 127.0.0.1
 *	vsock:PORT, vsock:CID:PORT	between a virtual machine and its host
 *	unix:PATH			a Unix socket
 *	PATH				with a slash: a file, a character device of
 *					virtio-serial, or a Unix socket that exists
 *
 * Sockets are created by the side that pushes, which listens; the side that pulls connects.
 */
#ifndef PEER_ADDRESS_H
#define PEER_ADDRESS_H

#include <sys/socket.h>

#include "base/base.h"

enum address_kind {
	ADDRESS_TCP,
	ADDRESS_VSOCK,
	ADDRESS_UNIX,
	ADDRESS_PATH,
};

struct address {
	enum address_kind kind;
	const char *text;   /* as given, borrowed */
	char host[256];     /* TCP: name or number */
	char path[108];     /* a Unix socket */
	unsigned port, cid; /* TCP, vsock; cid: VMADDR_CID_ANY if none was given */
	bool is_local;      /* only reached from this machine, or by its host */
	struct sockaddr_storage tcp; /* TCP: the address that is used */
	socklen_t tcp_len;
};

/*
 * option is for messages. -EINVAL: the text is not an address; -EOPNOTSUPP: frames are not
 * supported.
 */
int address_parse(const char *option, const char *text, struct address *ret_address);

/* Opens a socket that listens. Returns the fd, which is non-blocking, or a negative errno. */
int address_listen(const char *option, const struct address *address);

/*
 * Connects, and tries again for some seconds while there is no listener, until the deadline (ns of
 * base_now()) at most; stop (-1: none) ends that when it becomes readable. Returns a non-blocking
 * fd, or a negative errno; -ECANCELED: stopped. Root connects from a port below 1024, within this
 * machine and by vsock, so that the other end can tell it from other users.
 */
int address_connect(
	const char *option, const struct address *address, int stop, uint64_t deadline);

/* Lets a TCP connection fail within 15 seconds when the other machine does not answer. */
void address_keep_alive(const struct address *address, int fd);

/*
 * Without TLS: whether the program at the other end of a connection belongs to root or to this
 * user. Otherwise -EPERM, with an error message. The end that connects must have been accepted: the
 * user of a socket that waits for accept(2) is not known. Of a vsock, the kernel does not tell the
 * user: a port below 1024 is one of root. The end that accepts requires such a port, of this
 * machine or its host; the end that connects, only if the listener is on this machine.
 */
int address_check_owner(const struct address *address, int fd, bool is_listener);

#endif
