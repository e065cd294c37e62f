/* SPDX-License-Identifier: MIT */
#include "peer/link.h"

#include <poll.h>

#include "peer/tls.h"

enum {
	DRAIN_BYTES = 4096,
	DRAINS_MAX = 64, /* in turn */
};

ssize_t link_read(struct link *link, void *bytes, size_t n)
{
	ssize_t got;

	if (link->tls)
		return tls_read(link->tls, bytes, n);
	do
		got = link->is_socket ? recv(link->fd, bytes, n, MSG_DONTWAIT)
				      : read(link->fd, bytes, n);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

ssize_t link_write(struct link *link, const void *bytes, size_t n)
{
	ssize_t sent;

	if (link->tls)
		return tls_write(link->tls, bytes, n);
	do
		sent = link->is_socket ? send(link->fd, bytes, n, MSG_DONTWAIT | MSG_NOSIGNAL)
				       : write(link->fd, bytes, n);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : sent;
}

short link_events(const struct link *link, bool has_output)
{
	short events = link->is_socket ? POLLIN : 0;

	return events | (has_output || (link->tls && tls_wants_write(link->tls)) ? POLLOUT : 0);
}

void link_close(struct link *link)
{
	link->tls = tls_free(link->tls);
	if (link->fd >= 0)
		close(link->fd);
	link->fd = -1;
}

void link_end(struct link *link)
{
	link->tls = tls_free(link->tls);
	shutdown(link->fd, SHUT_WR);
}

bool link_drain(struct link *link)
{
	char bytes[DRAIN_BYTES];
	ssize_t n = 1;

	for (int i = 0; i < DRAINS_MAX && n > 0; i++)
		n = link_read(link, bytes, sizeof(bytes));
	return n <= 0 && n != -EAGAIN;
}
