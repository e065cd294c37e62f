/* SPDX-License-Identifier: MIT */
/* Findings about waits that events cannot tell from waits for something to do. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "overview/findings.h"

enum {
	WAITS = 20,   /* percent of the looks */
	WAITERS = 20, /* percent of a backend, on average */
	DISK = 50,    /* percent of the active time */
	TURNS = 3,    /* on a CPU, at least: a thread that waits all the time has nothing to do */
	DNS_PORT = 53,
};

static unsigned port_of(const char *address)
{
	const char *colon = strrchr(address, ':');

	return colon ? (unsigned)strtoul(colon + 1, NULL, 10) : 0;
}

static bool has_turns(const struct overview *o, pid_t tid)
{
	struct thread_sched change;

	return thread_scheds_change(&o->scheds_began, &o->scheds, tid, &change) &&
	       change.turns >= TURNS;
}

static const struct overview_finding *finding_of(
	const struct overview_findings *findings, const char *name)
{
	for (size_t i = 0; i < findings->n; i++)
		if (!strcmp(findings->at[i].name, name))
			return &findings->at[i];
	return NULL;
}

/* The answer of a server: the process waits for it with nothing else to do. */
static void check_answers(struct overview_findings *findings)
{
	const struct overview *o = findings->sums->overview;
	const struct peer *peer = peers_most(&o->peers, false);
	struct overview_finding *finding;
	unsigned port;

	if (!peer || finding_of(findings, overview_part_names[PART_PEER]) ||
		!has_turns(o, peer->tid) || network_is_accepted(peer->pid, port_of(peer->object)))
		return;
	finding = overview_add_finding(findings, overview_part_names[PART_PEER],
		overview_percent(peer->seen, o->peers.looks), WAITS, "%");
	if (!finding)
		return;
	port = port_of(peer->object);
	overview_say(finding,
		"%s (pid %d) waits for an answer of %s%s: so it was %llu of %llu times when attar "
		"looked",
		peer->comm, (int)peer->pid, peer->object, port == DNS_PORT ? " (DNS)" : "",
		(unsigned long long)peer->seen, (unsigned long long)o->peers.looks);
	snprintf(finding->command, COMMAND_BYTES, "attar stack -p %d", (int)peer->pid);
}

/* The processes that wait wait in epoll_wait(2), as those that have nothing to do. */
static void check_backends(struct overview_findings *findings)
{
	const struct peers *peers = &findings->sums->overview->peers;
	const struct peer *peer = peers_most(peers, true);
	const struct overview_finding *disk = finding_of(findings, overview_part_names[PART_DISK]);
	struct overview_finding *finding =
		peer ? overview_add_finding(findings, "database lock",
			       overview_percent(peers->waiting_backends, peers->looks), WAITERS,
			       "%")
		     : NULL;

	if (!finding)
		return;
	overview_say(finding,
		"%.1f processes of PostgreSQL wait for locks of the database on average, most "
		"often pid %d; which queries wait, and for whom, is known to the server",
		(double)peers->waiting_backends / (double)peers->looks, (int)peer->pid);
	if (disk && disk->value >= DISK) { /* that comes first */
		overview_say(finding, "; processes that hold locks may wait for disks meanwhile");
		finding->excess = fmin(finding->excess, disk->excess * 0.99);
	}
	snprintf(finding->command, COMMAND_BYTES,
		"psql -xc \"select pid, pg_blocking_pids(pid), state, query from pg_stat_activity "
		"where state <> 'idle'\"");
}

void overview_check_peers(struct overview_findings *findings)
{
	if (findings->sums->overview->peers.looks < OVERVIEW_SAMPLES_MIN)
		return;
	check_answers(findings);
	check_backends(findings);
}
