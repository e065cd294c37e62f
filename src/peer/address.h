/* SPDX-License-Identifier: MIT */
/*
 * Where events are pushed to or pulled from:
 *
 *	PORT, HOST:PORT, [HOST]:PORT	TCP; without a host 127.0.0.1
 *	vsock:PORT, vsock:CID:PORT	between a virtual machine and its host
 *	unix:PATH			a Unix socket
 *	PATH				with a slash: a file, a character device such as that of
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
 * Connects, and tries again for some seconds while there is no listener; stop (-1: none) ends that
 * when it becomes readable. Returns a non-blocking fd, or a negative errno; -ECANCELED: stopped.
 */
int address_connect(const char *option, const struct address *address, int stop);

/* Lets a TCP connection fail within 15 seconds when the other machine does not answer. */
void address_keep_alive(const struct address *address, int fd);

/*
 * Whether the program at the other end of an accepted Unix socket belongs to this user or to root,
 * and that of a vsock is the host. True for other sockets.
 */
bool address_is_own(const struct address *address, int fd);

#endif
