/* SPDX-License-Identifier: MIT */
/* One end of a connection: a socket, with or without TLS, a file or a character device. */
#ifndef PEER_LINK_H
#define PEER_LINK_H

#include "peer/address.h"

struct tls;

struct link {
	int fd;          /* owned; -1: closed */
	bool is_socket;  /* both sides send */
	struct tls *tls; /* owned; NULL: none */
};

/* Both return n > 0; 0 at the end of the input; -EAGAIN; or a negative errno. Never wait. */
ssize_t link_read(struct link *link, void *bytes, size_t n);
/* After -EAGAIN, the next call must be given the same bytes, or more that begin with them. */
ssize_t link_write(struct link *link, const void *bytes, size_t n);

/* The poll(2) event that the TLS handshake or an interrupted write waits for. */
short link_events(const struct link *link, bool has_output);

void link_close(struct link *link);

/*
 * Instead of link_close(), after what the other side must read, such as an alert of TLS: if input
 * is unread when a socket is closed, the kernel resets the connection, and the other side may fail
 * to write before it reads. Sends the end of the output; then call link_drain() until it returns
 * true: the other side has closed the connection, too.
 */
void link_end(struct link *link);
bool link_drain(struct link *link);

#endif
