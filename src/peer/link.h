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

#endif
