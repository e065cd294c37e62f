/* SPDX-License-Identifier: CC0-1.0 */
/*
 * The other end of libperfume's shared-memory rings: finds the programs that emit events where the kernel
 * has no user_events, switches their events on, and reads what they write.
 *
 * Life cycle: perfume_collector_new -> (perfume_collector_scan -> perfume_collector_poll ->
 * perfume_collector_next ...) ... -> perfume_collector_free. Poll at least each second: by that
 * programs know that somebody listens. One collector belongs to one thread at a time; any number of
 * collectors may read the same programs.
 *
 *	struct perfume_collector_options options = {.size = sizeof(options), .patterns = "order_*"};
 *	struct perfume_collector *collector;
 *	struct perfume_received event;
 *
 *	if (perfume_collector_new(&options, &collector) < 0)
 *		return 1;
 *	perfume_collector_scan(collector);
 *	while (perfume_collector_poll(collector, 0) >= 0)
 *		while (perfume_collector_next(collector, &event) > 0)
 *			printf("%s in %d: %zu bytes\n", event.source->name, event.source->pid, event.size);
 *	perfume_collector_free(collector);
 *
 * Functions return 0 or more, or a negative errno.
 */
#ifndef PERFUME_COLLECTOR_H
#define PERFUME_COLLECTOR_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct perfume_collector;

struct perfume_collector_options {
	size_t size;          /* sizeof(struct perfume_collector_options) */
	const char *patterns; /* names of events, globs, with commas between; at most 511 bytes */
	const pid_t *pids;    /* only these processes and those they fork */
	size_t n_pids;        /* 0: all processes, also those that start later */
	int only_started; /* 1: only processes with perfume_collector_variable in their environment */
};

/* An event of a program. Borrowed until the next perfume_collector_poll. */
struct perfume_source {
	const char *name;
	const char *fields; /* as the kernel spells them: "u64 id; __rel_loc char[] text" */
	pid_t pid;
	const char *comm; /* of the process, when it was found */
};

struct perfume_received {
	uint64_t time; /* CLOCK_MONOTONIC, ns */
	const struct perfume_source *source;
	pid_t tid;
	const void *payload; /* laid out by the fields, packed. Borrowed until the next call. */
	size_t size;
};

/*
 * written = read + lost, for every ring of programs with events for us, from the moment it was found, to the
 * event. Events of other collectors of the same program are in `read` too; `events` are those handed out.
 */
struct perfume_collector_stats {
	uint64_t written;
	uint64_t read;
	uint64_t lost;         /* written over before they were read */
	uint64_t lost_no_ring; /* more threads than a program has rings for, or memory for them */
	uint64_t events;
	uint64_t lapses;   /* events that programs switched off as no poll came in time; on again */
	uint64_t forged;   /* rings or programs given up because what they hold cannot be */
	uint32_t writers;  /* programs, at present */
	uint32_t refused;  /* programs whose memory may not be written: their events stay off */
	uint32_t no_claim; /* programs with events for us that have eight collectors already */
	uint32_t no_room;  /* rings, events and programs not read: there are too many of them */
};

/* -EINVAL options, -ENOMEM, or what making a socket says. */
int perfume_collector_new(
	const struct perfume_collector_options *options, struct perfume_collector **ret_collector);

/*
 * For a process that was forked after the collector was created: freeing it there leaves on what its
 * creator has switched on.
 */
void perfume_collector_disown(struct perfume_collector *collector);

/* Switches off what it switched on. NULL is allowed. */
void perfume_collector_free(struct perfume_collector *collector);

/*
 * "PERFUME_COLLECTOR=...": for the environment of a program to be started, whose events, and those of its
 * children, are then on from the first. Borrowed until the collector is freed.
 */
const char *perfume_collector_variable(const struct perfume_collector *collector);

/*
 * Readable when a program has announced itself; perfume_collector_poll takes it up. Owned by the collector.
 */
int perfume_collector_fd(const struct perfume_collector *collector);

/*
 * Looks through /proc for programs that run already. Programs that start later announce themselves, unless
 * they live in a container, so now and then is enough. The number of programs found anew.
 */
int perfume_collector_scan(struct perfume_collector *collector);

/*
 * Takes up new programs and new events, tells programs that we live, and sets the time up to which
 * perfume_collector_next hands out events: now; with `all`, as long as there are any. 0.
 */
int perfume_collector_poll(struct perfume_collector *collector, int all);

/*
 * The next event in the order of time, over all threads of all programs. 1, or 0 when there is none
 * up to the time of the last poll. A thread that lost the CPU in the middle of writing an event
 * delivers it late, out of order.
 */
int perfume_collector_next(
	struct perfume_collector *collector, struct perfume_received *ret_received);

/* The time up to which perfume_collector_next hands out events: that of the last poll, ns. */
uint64_t perfume_collector_horizon(const struct perfume_collector *collector);

void perfume_collector_stats(
	const struct perfume_collector *collector, struct perfume_collector_stats *ret_stats);

/* An event that a program has registered, and who listens to it by now. */
struct perfume_registered {
	const struct perfume_source *source;
	uint32_t word; /* its enable word: bit 0 the kernel, bit 8 rings, from bit 16 USDT probes */
	unsigned n_listeners;
	uint64_t listeners[8]; /* ids of other collectors; each has the socket "@perfume-%016x" */
	uint64_t written;      /* to the rings of its program so far, of whatever event */
};
typedef int perfume_registered_fn(void *ctx, const struct perfume_registered *registered);

/*
 * Calls fn for each event of the programs found so far, chosen or not, until it returns what is not
 * 0; that, or -ENOMEM. A collector whose patterns are "" takes no claim, so it can look on without
 * being one of the eight.
 */
int perfume_collector_each(
	struct perfume_collector *collector, perfume_registered_fn *fn, void *ctx);

/*
 * What tracefs would have in the `format` file of an event with these fields: the payload behind a header
 * of 8 bytes. Writes at most n bytes, NUL included; the length of the whole text, or -EINVAL for fields that
 * cannot be. id is the number that the text gives the event.
 */
int perfume_collector_format(const char *name, const char *fields, int id, char *text, size_t n);

#ifdef __cplusplus
}
#endif

#endif
