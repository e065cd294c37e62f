/* SPDX-License-Identifier: MIT */
#include "base/accept_gate.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include "base/base.h"
#include "base/socket_peer.h"

static const uint64_t SECOND = 1000000000, MS = 1000000;

/* The place of an origin; if there is none, the place of the one that began longest ago. */
static struct accept_origin *find(struct accept_gate *g, uint64_t origin)
{
	struct accept_origin *oldest = g->at;

	for (unsigned i = 0; i < g->n; i++) {
		if (g->at[i].origin == origin)
			return &g->at[i];
		if (g->at[i].since < oldest->since)
			oldest = &g->at[i];
	}
	if (g->n < ACCEPT_ORIGINS)
		oldest = &g->at[g->n++];
	*oldest = (struct accept_origin){.origin = origin};
	return oldest;
}

static void count(struct accept_origin *o, uint64_t now)
{
	if (now - o->since >= SECOND) {
		o->since = now;
		o->n = 0;
	}
	o->n++;
}

static bool is_over(const struct accept_origin *o, unsigned limit, uint64_t now)
{
	return o->n >= limit && now - o->since < SECOND;
}

static bool is_of_machine(const struct network *network, uint64_t origin)
{
	return socket_origin_is_user(origin) || network_is_loopback(network);
}

/* A filter cannot tell the users of this machine, so that it would keep all of them out. */
static void tell_filter(
	struct accept_gate *g, uint64_t now, const struct network *network, uint64_t origin)
{
	const bool is_user = is_of_machine(network, origin);

	if (!is_user || g->is_for_root)
		accept_filter_refused(&g->filter, network, is_user, now);
}

void accept_gate_count(
	struct accept_gate *g, uint64_t now, const struct sockaddr_storage *name, uint64_t origin)
{
	struct network network;

	if (!origin)
		return;
	count(find(g, origin), now);
	count(&g->all, now);
	if (g->is_for_root && accept_filter_network((const struct sockaddr *)name, &network))
		tell_filter(g, now, &network, origin);
}

/* One that was reset in the queue needs no look at its user. */
static bool is_reset(int fd)
{
	struct tcp_info info = {0};
	socklen_t size = sizeof(info);

	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
	       info.tcpi_state == TCP_CLOSE;
}

static void set_queue(struct accept_gate *g, bool is_short)
{
	if (g->is_local && is_short != g->is_short &&
		listen(g->listener, is_short ? ACCEPT_SHORT : ACCEPT_QUEUE) == 0)
		g->is_short = is_short;
}

static bool is_passed(struct accept_gate *g, uint64_t now, int fd,
	const struct sockaddr_storage *name, uint64_t *ret_origin)
{
	const bool is_busy = now < g->busy_until;
	struct network network;

	if (is_busy && is_reset(fd)) {
		if (g->accepted > ACCEPT_MANY)
			g->busy_until = now + SECOND;
		return false;
	}
	*ret_origin = socket_peer_origin(fd, name);
	if (!*ret_origin)
		return true;
	if (!is_over(find(g, *ret_origin), g->limit, now) &&
		!is_over(&g->all, g->limit * ACCEPT_TOTAL, now) &&
		!(is_busy && g->passed >= ACCEPT_PASSED)) {
		g->passed++;
		return true;
	}
	g->busy_until = now + SECOND;
	if (!accept_filter_network((const struct sockaddr *)name, &network))
		return false;
	if (is_of_machine(&network, *ret_origin))
		set_queue(g, true);
	tell_filter(g, now, &network, *ret_origin);
	return false;
}

/*
 * Some time after a turn. Its length changes: who finds the queue full tries again after whole
 * seconds, and would always find it at the same moment of a turn.
 */
static uint64_t next_turn(uint64_t now)
{
	return now + ACCEPT_TURN_MS * MS / 2 + now % (ACCEPT_TURN_MS * MS);
}

static void take_break(struct accept_gate *g, uint64_t until)
{
	g->pause_until = until;
	g->accepted = g->passed = 0;
}

static int accept_one(struct accept_gate *g, uint64_t now, struct sockaddr_storage *ret_name)
{
	socklen_t size = sizeof(*ret_name);
	int fd;

	*ret_name = (struct sockaddr_storage){0};
	fd = accept4(g->listener, (struct sockaddr *)ret_name, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0) {
		g->accepted++;
		accept_filter_accepted(&g->filter, fd);
	} else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
		take_break(g, now + SECOND); /* it would wake the caller up again at once */
	else if (now < g->busy_until)
		take_break(g, next_turn(now));
	return fd;
}

int accept_gate_next(struct accept_gate *g, uint64_t now, struct sockaddr_storage *ret_name,
	uint64_t *ret_origin)
{
	int fd;

	g->filter.listener = g->listener;
	accept_filter_turn(&g->filter, now);
	if (now < g->pause_until)
		return -EAGAIN;
	g->pause_until = 0;
	if (now >= g->busy_until) {
		g->accepted = g->passed = 0;
		set_queue(g, false);
	}
	while ((fd = accept_one(g, now, ret_name)) >= 0) {
		if (is_passed(g, now, fd, ret_name, ret_origin))
			return fd;
		close(fd);
		if (g->accepted >= ACCEPT_QUEUE) {
			take_break(g, next_turn(now));
			break;
		}
	}
	return -EAGAIN;
}

uint64_t accept_gate_pause(const struct accept_gate *g, uint64_t now)
{
	return g->pause_until > now ? g->pause_until - now : 0;
}
