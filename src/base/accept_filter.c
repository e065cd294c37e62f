/* SPDX-License-Identifier: MIT */
#include "base/accept_filter.h"

#include <linux/filter.h>
#include <netinet/in.h>
#include <unistd.h>

#include "base/base.h"
#include "base/socket_peer.h"

enum {
	IP_SOURCE = 12, /* offsets in headers */
	IPV6_SOURCE = 8,
	TCP_SOURCE = 0,
	EXCLUDED_TIMES_MAX = 4, /* 2^4 s */
	CODE_MAX = 8 + 8 * NETWORKS_MAX,
};

static const uint64_t SECOND = 1000000000, FORGOTTEN = 60 * (uint64_t)1000000000;

/* ---- the program ---- */

struct code {
	struct sock_filter at[CODE_MAX];
	unsigned short n;
};

static void put(struct code *c, uint16_t code, uint32_t k, uint8_t jt, uint8_t jf)
{
	c->at[c->n++] = (struct sock_filter){code, jt, jf, k};
}

static void put_load(struct code *c, uint32_t offset)
{
	put(c, BPF_LD | BPF_W | BPF_ABS, (uint32_t)SKF_NET_OFF + offset, 0, 0);
}

static void put_return(struct code *c, bool is_accepted)
{
	put(c, BPF_RET | BPF_K, is_accepted ? UINT32_MAX : 0, 0, 0);
}

/* A packet of the network is dropped or, of a user, if its port is not reserved. */
static void put_verdict(struct code *c, bool is_user)
{
	if (is_user) {
		put(c, BPF_LD | BPF_H | BPF_ABS, TCP_SOURCE, 0, 0);
		put(c, BPF_JMP | BPF_JGE | BPF_K, RESERVED_PORTS, 1, 0);
		put_return(c, true);
	}
	put_return(c, false);
}

static void put_network(struct code *c, const struct refused_network *r)
{
	const uint8_t verdict = r->is_user ? 4 : 1;

	if (r->network.is_four) {
		put_load(c, IP_SOURCE);
		put(c, BPF_ALU | BPF_AND | BPF_K, r->network.low, 0, 0);
		put(c, BPF_JMP | BPF_JEQ | BPF_K, r->network.high, 0, verdict);
	} else {
		put_load(c, IPV6_SOURCE);
		put(c, BPF_JMP | BPF_JEQ | BPF_K, r->network.high, 0, verdict + 2);
		put_load(c, IPV6_SOURCE + 4);
		put(c, BPF_JMP | BPF_JEQ | BPF_K, r->network.low, 0, verdict);
	}
	put_verdict(c, r->is_user);
}

static bool put_networks(struct code *c, const struct accept_filter *f, bool is_four)
{
	bool any = false;

	for (unsigned i = 0; i < f->n; i++)
		if (f->at[i].until && f->at[i].network.is_four == is_four) {
			put_network(c, &f->at[i]);
			any = true;
		}
	put_return(c, true);
	return any;
}

/* First the version of IP. The part for IPv4 is longer than what a jump can skip: it is second. */
static void attach(struct accept_filter *f)
{
	struct code code = {0}, four = {0};
	struct sock_fprog program = {.filter = code.at};
	bool any = put_networks(&four, f, true);

	put(&code, BPF_LD | BPF_B | BPF_ABS, (uint32_t)SKF_NET_OFF, 0, 0);
	put(&code, BPF_ALU | BPF_RSH | BPF_K, 4, 0, 0);
	put(&code, BPF_JMP | BPF_JEQ | BPF_K, 4, 0, (uint8_t)four.n);
	memcpy(code.at + code.n, four.at, four.n * sizeof(*four.at));
	code.n += four.n;
	any |= put_networks(&code, f, false);
	program.len = code.n;
	if (any)
		f->is_attached = setsockopt(f->listener, SOL_SOCKET, SO_ATTACH_FILTER, &program,
					 sizeof(program)) == 0;
	else if (f->is_attached)
		f->is_attached = setsockopt(f->listener, SOL_SOCKET, SO_DETACH_FILTER, &(int){0},
					 sizeof(int)) < 0;
}

/* ---- networks ---- */

static uint32_t word(const void *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return ntohl(value);
}

static struct network of_four(uint32_t address)
{
	const uint32_t mask = address >> 24 == IN_LOOPBACKNET ? IN_CLASSA_NET : UINT32_MAX;

	return (struct network){true, address & mask, mask};
}

bool accept_filter_network(const struct sockaddr *peer, struct network *ret_network)
{
	const struct in6_addr *six = &((const struct sockaddr_in6 *)peer)->sin6_addr;

	if (peer->sa_family == AF_INET)
		*ret_network = of_four(word(&((const struct sockaddr_in *)peer)->sin_addr));
	else if (peer->sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(six))
		*ret_network = of_four(word(six->s6_addr + 12));
	else if (peer->sa_family == AF_INET6)
		*ret_network = (struct network){false, word(six->s6_addr), word(six->s6_addr + 4)};
	else
		return false;
	return true;
}

bool network_is_loopback(const struct network *network)
{
	return network->is_four ? network->high >> 24 == IN_LOOPBACKNET
				: !network->high && !network->low;
}

static bool is_equal(const struct network *a, const struct network *b)
{
	return a->is_four == b->is_four && a->high == b->high && a->low == b->low;
}

/*
 * The place of a network; if there is none, the place of the network that was refused longest ago.
 */
static struct refused_network *find(
	struct accept_filter *f, const struct network *network, bool is_user)
{
	struct refused_network *oldest = f->at;

	for (unsigned i = 0; i < f->n; i++) {
		if (is_equal(&f->at[i].network, network) && f->at[i].is_user == is_user)
			return &f->at[i];
		if (f->at[i].since < oldest->since)
			oldest = &f->at[i];
	}
	if (f->n < NETWORKS_MAX)
		oldest = &f->at[f->n++];
	*oldest = (struct refused_network){.network = *network, .is_user = is_user};
	return oldest;
}

void accept_filter_refused(
	struct accept_filter *f, const struct network *network, bool is_user, uint64_t now)
{
	struct refused_network *r;

	if (is_user && geteuid())
		return; /* it has no ports of its own */
	r = find(f, network, is_user);
	if (r->until)
		return; /* it was in the queue before */
	if (now - r->since > FORGOTTEN)
		r->times = 0;
	if (now - r->since > SECOND) {
		r->since = now;
		r->n = 0;
	}
	if (++r->n <= REFUSED_MAX)
		return;
	r->until = now + (SECOND << r->times);
	r->times = MIN(r->times + 1, (unsigned)EXCLUDED_TIMES_MAX);
	attach(f);
}

void accept_filter_turn(struct accept_filter *f, uint64_t now)
{
	bool ended = false;

	for (unsigned i = 0; i < f->n && f->is_attached; i++)
		if (f->at[i].until && now >= f->at[i].until) {
			f->at[i].until = 0;
			f->at[i].since = now;
			f->at[i].n = 0;
			ended = true;
		}
	if (ended)
		attach(f);
}

void accept_filter_accepted(const struct accept_filter *f, int fd)
{
	if (f->is_attached)
		setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &(int){0}, sizeof(int));
}
