/* SPDX-License-Identifier: MIT */
/* Findings about the network namespaces of the processes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "overview/findings.h"

enum {
	RETRANSMITS = 1, /* percent of the segments */
	RETRANSMITS_LEAST = 20,
	HOSTS = 3,      /* that are named */
	HOSTS_MAX = 64, /* that are told apart */
	EARLY = 1,      /* percent of the segments */
	EARLY_LEAST = 50,
	OVERFLOWS = 1,  /* a second */
	DATAGRAMS = 1,  /* a second */
	REFUSED = 1,    /* a second */
	LEAST = 5,      /* of these */
	RESETS = 100,   /* a second */
	CONNTRACK = 90, /* percent of the table */
};

/* The process that has a socket; NULL: none of those that are watched. */
static const struct usage *owner_of(const struct overview_sums *sums, uint64_t inode)
{
	const struct usages *now = &sums->overview->usage.now;

	for (size_t i = 0; i < now->n; i++)
		if (now->at[i].is_selected && network_has_socket(now->at[i].pid, inode))
			return &now->at[i];
	return NULL;
}

static bool is_of_selected(const void *self, uint64_t inode)
{
	return owner_of(self, inode) != NULL;
}

/* Whether the counts of a namespace can be counts of the processes that are watched. */
static bool can_be_theirs(const struct overview_sums *sums)
{
	return !sums->overview->has_selection || owner_of(sums, 0);
}

/* The segments of TCP that were sent to a host again. */
struct receiver {
	char text[OVERVIEW_HOST_BYTES]; /* the address, and the port if it is one only */
	size_t address;                 /* its length */
	uint64_t n;
};

static int by_number(const void *a, const void *b)
{
	const struct receiver *x = a, *y = b;

	return (x->n < y->n) - (x->n > y->n);
}

/* All of them, those that were sent most first. Returns the number of hosts. */
static size_t read_receivers(
	const struct overview_sums *sums, struct receiver *ret_receivers, uint64_t *ret_all)
{
	struct attar_keyrow *row = NULL;
	size_t n = 0, i;

	*ret_all = 0;
	while ((row = attar_keytable_next(sums->overview->retransmits, row))) {
		uint64_t segments = attar_keyrow_sums(row, sums->scope)->sums[0];
		const char *host = row->key;
		size_t address = strcspn(host, " ");

		*ret_all += segments;
		for (i = 0; i < n; i++)
			if (ret_receivers[i].address == address &&
				!strncmp(ret_receivers[i].text, host, address))
				break;
		if (i == HOSTS_MAX || !segments)
			continue;
		if (i == n) {
			ret_receivers[n] = (struct receiver){.address = address};
			snprintf(ret_receivers[n++].text, OVERVIEW_HOST_BYTES, "%s", host);
		} else if (strcmp(ret_receivers[i].text, host) != 0) {
			ret_receivers[i].text[address] = '\0'; /* several ports */
		}
		ret_receivers[i].n += segments;
	}
	if (n)
		qsort(ret_receivers, n, sizeof(*ret_receivers), by_number);
	return n;
}

static void check_retransmits(struct overview_findings *findings, const uint64_t *counts)
{
	const struct overview_sums *sums = findings->sums;
	struct receiver receivers[HOSTS_MAX];
	struct overview_finding *finding;
	uint64_t all;
	size_t n;

	/* others may be in the namespace, too */
	if (counts[NETWORK_RETRANSMITS] < RETRANSMITS_LEAST || !can_be_theirs(sums))
		return;
	finding = overview_add_finding(findings, "retransmits",
		overview_percent(counts[NETWORK_RETRANSMITS], counts[NETWORK_SENT]), RETRANSMITS,
		"%");
	if (!finding)
		return;
	overview_say(finding,
		"packets are lost: %llu of %llu segments of TCP were sent again, %.1f a second",
		(unsigned long long)counts[NETWORK_RETRANSMITS],
		(unsigned long long)counts[NETWORK_SENT],
		(double)counts[NETWORK_RETRANSMITS] / overview_seconds(sums));
	n = read_receivers(sums, receivers, &all);
	for (size_t i = 0; i < n && i < HOSTS; i++)
		overview_say(finding,
			i ? ", %.0f %% to %s" : ", %.0f %% of those seen in the system to %s",
			overview_percent(receivers[i].n, all), receivers[i].text);
	if (n > HOSTS)
		overview_say(finding, ", others to %zu more hosts", n - HOSTS);
	overview_set_system_command(findings, finding, &(struct overview_next){"tcpretrans"});
}

/* tcptop shows the connections of its own network namespace. */
static void set_tcptop(
	struct overview_findings *findings, struct overview_finding *finding, pid_t pid)
{
	char path[64], own[64] = "", other[64] = "";
	ssize_t n = readlink("/proc/self/ns/net", own, sizeof(own) - 1);

	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)pid);
	if (n > 0 && readlink(path, other, sizeof(other) - 1) > 0 && strcmp(own, other) != 0)
		snprintf(
			finding->command, COMMAND_BYTES, "nsenter -t %d -n attar tcptop", (int)pid);
	else
		overview_set_system_command(findings, finding, &(struct overview_next){"tcptop"});
}

/* The other end sends again what is lost on the way to this host. */
static void check_early(
	struct overview_findings *findings, const struct network *network, const uint64_t *counts)
{
	struct overview_finding *finding;

	if (counts[NETWORK_EARLY] < EARLY_LEAST || !can_be_theirs(findings->sums))
		return;
	for (size_t i = 0; i < findings->n; i++)
		if (!strcmp(findings->at[i].name, "retransmits")) /* it is this host, too */
			return;
	finding = overview_add_finding(findings, "lost packets",
		overview_percent(counts[NETWORK_EARLY], counts[NETWORK_RECEIVED]), EARLY, "%");
	if (!finding)
		return;
	overview_say(finding,
		"packets are lost on the way to this host, or come late: %llu of %llu segments of "
		"TCP came before one that had been sent earlier, %.1f a second",
		(unsigned long long)counts[NETWORK_EARLY],
		(unsigned long long)counts[NETWORK_RECEIVED],
		(double)counts[NETWORK_EARLY] / overview_seconds(findings->sums));
	set_tcptop(findings, finding, network->pid);
}

static void check_queue(struct overview_findings *findings, const struct network *network,
	uint64_t n, bool is_datagram)
{
	const struct overview_sums *sums = findings->sums;
	struct overview_finding *finding;
	struct network_socket socket;
	const struct usage *owner;
	bool is_found;

	if (n < LEAST)
		return;
	is_found = network_worst_socket(network->pid, is_datagram,
		sums->overview->has_selection ? is_of_selected : NULL, sums, &socket);
	if (!is_found && sums->overview->has_selection)
		return;
	finding = overview_add_rate(findings, is_datagram ? "lost datagrams" : "full accept queue",
		n, is_datagram ? DATAGRAMS : OVERFLOWS);
	if (!finding)
		return;
	overview_say(finding,
		is_datagram
			? "%llu datagrams did not fit in the buffer of their socket, and were lost"
			: "%llu times a connection was not accepted, because the queue of a "
			  "listening socket was full",
		(unsigned long long)n);
	overview_set_system_command(
		findings, finding, &(struct overview_next){is_datagram ? "wall" : "syscalls"});
	if (!is_found)
		return;
	owner = owner_of(sums, socket.inode);
	overview_say(finding, ": %s port %u", is_datagram ? "most at" : "the longest one is at",
		socket.port);
	if (!is_datagram)
		overview_say(finding, ", with %llu connections", (unsigned long long)socket.n);
	if (!owner)
		return;
	overview_say(finding, ", which %s (pid %d) %s too slowly", owner->comm, (int)owner->pid,
		is_datagram ? "reads" : "accepts");
	overview_set_process_command(findings, finding, "wall", owner->pid);
}

/* Counts that say nothing about single sockets. */
static void check_rates(struct overview_findings *findings, const uint64_t *counts)
{
	static const struct {
		enum network_count count;
		struct overview_rate rate;
	} rates[] = {
		{NETWORK_RESETS,
			{"TCP resets",
				"times this host refused a connection or ended one at once: no "
				"socket listens at the port, or a program closed it with data that "
				"it had not read",
				.limit = RESETS, .is_of_system = true,
				.next = {"trace -e tcp:tcp_send_reset"}}},
		{NETWORK_REFUSED,
			{"full socket queue",
				"segments or new connections of TCP were dropped, because the "
				"queue of their socket was full (net.ipv4.tcp_max_syn_backlog, "
				"net.ipv4.tcp_rmem)",
				.limit = REFUSED, .least = LEAST, .is_of_system = true,
				.next = {"tcpretrans"}}},
	};

	for (size_t i = 0; i < sizeof(rates) / sizeof(*rates); i++)
		if (counts[rates[i].count] && can_be_theirs(findings->sums))
			overview_check_rate(findings, counts[rates[i].count], &rates[i].rate);
}

static void check_memory(struct overview_findings *findings, uint64_t n)
{
	struct overview_finding *finding =
		overview_add_finding(findings, "socket memory", (double)n, 1, "");

	if (!finding)
		return;
	overview_say(finding,
		"times sockets of TCP reached the limit of their memory (net.ipv4.tcp_mem)");
	overview_set_system_command(findings, finding, &(struct overview_next){"tcplife"});
}

static long long read_number(const char *path)
{
	FILE *file = fopen(path, "re");
	long long value = 0;

	if (file && fscanf(file, "%lld", &value) != 1)
		value = 0;
	if (file)
		fclose(file);
	return value;
}

static void check_conntrack(struct overview_findings *findings)
{
	long long n = read_number("/proc/sys/net/netfilter/nf_conntrack_count"),
		  max = read_number("/proc/sys/net/netfilter/nf_conntrack_max");
	struct overview_finding *finding =
		n > 0 && max > 0
			? overview_add_finding(findings, "connection tracking",
				  overview_percent((uint64_t)n, (uint64_t)max), CONNTRACK, "%")
			: NULL;

	if (!finding)
		return;
	overview_say(finding,
		"the table has %lld of %lld connections (net.netfilter.nf_conntrack_max): packets "
		"of "
		"new ones are dropped when it is full",
		n, max);
	overview_set_system_command(findings, finding, &(struct overview_next){"tcplife"});
}

void overview_read_networks(const struct usages *usages, struct networks *ret_networks)
{
	*ret_networks = (struct networks){.time = usages->time};
	for (size_t i = 0; i < usages->n; i++)
		if (usages->at[i].is_selected)
			networks_add(ret_networks, usages->at[i].pid);
}

void overview_check_network(struct overview_findings *findings)
{
	const struct overview_sums *sums = findings->sums;
	const struct overview *o = sums->overview;
	const struct networks *from = sums->scope == ATTAR_SCOPE_WHOLE || !o->networks_last.time
					      ? &o->networks_began
					      : &o->networks_last;
	uint64_t counts[NETWORK_COUNTS];

	if (!attar_run_is_live(sums->run))
		return;
	for (size_t i = 0; i < o->networks.n; i++) {
		const struct network *network = &o->networks.at[i];

		if (!network_since(from, network, counts))
			continue;
		check_retransmits(findings, counts);
		check_queue(findings, network, counts[NETWORK_OVERFLOWS], false);
		check_queue(findings, network, counts[NETWORK_DATAGRAMS], true);
		check_memory(findings, counts[NETWORK_PRESSURE]);
		check_rates(findings, counts);
	}
	for (size_t i = 0; i < o->networks.n; i++)
		if (network_since(from, &o->networks.at[i], counts))
			check_early(findings, &o->networks.at[i], counts);
	check_conntrack(findings);
}
