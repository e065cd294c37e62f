/* SPDX-License-Identifier: CC0-1.0 */
/*
 * Reader of libperfume's shared-memory rings: finds the programs that emit events without
 * user_events support in the kernel, enables their events, and reads their records.
 *
 * Life cycle: perfume_collector_new -> (perfume_collector_scan -> perfume_collector_poll ->
 * perfume_collector_next ...) ... -> perfume_collector_free. Poll at least once per second to renew
 * the lease without which programs disable their events. A collector must not be used by several
 * threads concurrently. Up to eight collectors can read the same program.
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
 * Unless stated otherwise, functions that return int return a negative errno on failure.
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
	const char *patterns; /* comma-separated globs of event names; at most 511 bytes */
	const pid_t *pids;    /* only these processes, which run now, and their children */
	size_t n_pids;        /* 0: all processes, including those that start later */
	int only_started; /* 1: only processes with perfume_collector_variable in their environment */
};

/* An event of a program. Valid until the next perfume_collector_poll. */
struct perfume_source {
	const char *name;
	const char *fields; /* in the kernel's syntax: "u64 id; __rel_loc char[] text" */
	pid_t pid;
	const char *comm; /* of the process at the time it was found */
};

struct perfume_received {
	uint64_t time; /* CLOCK_MONOTONIC, ns */
	const struct perfume_source *source;
	pid_t tid;
	const void *payload; /* packed, in the order of the fields; valid until the next call */
	size_t size;
};

/*
 * For all rings of programs with selected events, from the time each ring was found: written = read
 * + lost, exactly, unless the program forges them: a loss counts as far as it is possible in the
 * time. `read` includes events that only other collectors of the same program selected;
 * `events` counts those returned by perfume_collector_next.
 */
struct perfume_collector_stats {
	uint64_t written;
	uint64_t read;
	uint64_t lost;         /* overwritten before they were read, or left at the end */
	uint64_t left;         /* part of these: not read in the last poll, see below */
	uint64_t lost_no_ring; /* the program had no ring for the thread, or no memory for one */
	uint64_t lost_of_others; /* part of these two: programs of users other than root and ours */
	uint64_t events;
	uint64_t lapses;    /* times events were disabled because a poll was late; enabled again */
	uint64_t forged;    /* programs abandoned because their contents are invalid */
	uint32_t writers;   /* current number of programs */
	uint32_t refused;   /* programs whose memory is not writable: their events stay disabled */
	uint32_t no_claim;  /* programs with selected events that already have eight collectors */
	uint32_t no_room;   /* rings, events and programs not read because a limit was reached */
	uid_t no_room_user; /* whose programs have most of the places; if no_room */
	uid_t left_user;    /* whose events were left; if left */
	uid_t others_user;  /* whose programs have most of lost_of_others */
	uid_t forged_user;  /* whose program was abandoned last; if forged */
	int has_several_users; /* there have been programs of several users with selected events */
};

/*
 * Creates a collector. Returns -EINVAL for invalid options, -ENOMEM, or the error of creating a
 * socket. Free it with perfume_collector_free.
 */
int perfume_collector_new(
	const struct perfume_collector_options *options, struct perfume_collector **ret_collector);

/*
 * For a process forked after the collector was created: freeing the collector in this process does
 * not disable the events that the parent enabled.
 */
void perfume_collector_disown(struct perfume_collector *collector);

/* Disables the events that the collector enabled and frees it. collector may be NULL. */
void perfume_collector_free(struct perfume_collector *collector);

/*
 * Returns the environment variable "PERFUME_COLLECTOR=..." to start a program with, so that its
 * events and the events of its children are enabled from the beginning. Valid until the collector
 * is freed.
 */
const char *perfume_collector_variable(const struct perfume_collector *collector);

/*
 * Scans /proc for running programs. Programs that start later connect on their own, except from
 * within containers, so an occasional scan is sufficient. A scan ends after a tenth of a second,
 * and the next one continues where it ended. Returns the number of newly found programs.
 */
int perfume_collector_scan(struct perfume_collector *collector);

/* Returns 0 if the last scan has not come to the last process. */
int perfume_collector_scan_is_complete(const struct perfume_collector *collector);

/*
 * Adds new programs and events, renews the leases, and sets the time up to which
 * perfume_collector_next returns events: the current time. A poll reads a limited part of large
 * rings, and the next one continues. Returns 0.
 *
 * With `all`, for the last poll, all events that the rings hold now are returned. Of programs of
 * users other than root and ours, 64 MiB of each user are read, and what is left counts as lost.
 */
int perfume_collector_poll(struct perfume_collector *collector, int all);

/*
 * Returns the next event in time order, across all threads of all programs. Returns 1, or 0 if
 * there is no event up to the time of the last poll. An event of a thread that was preempted while
 * writing it may be returned late, out of order.
 */
int perfume_collector_next(
	struct perfume_collector *collector, struct perfume_received *ret_received);

/* Returns the time of the last poll, in ns; see there. */
uint64_t perfume_collector_horizon(const struct perfume_collector *collector);

void perfume_collector_stats(
	const struct perfume_collector *collector, struct perfume_collector_stats *ret_stats);

/* An event registered by a program, and its current listeners. */
struct perfume_registered {
	const struct perfume_source *source;
	uint32_t word; /* enable word: bit 0 kernel, bit 8 rings, bits 16 to 31 USDT probes */
	unsigned n_listeners;
	uint64_t listeners[8]; /* ids of other collectors; each has the socket "@perfume-%016x" */
	uint64_t written;      /* events of any kind written to the program's rings so far */
};
typedef int perfume_registered_fn(void *ctx, const struct perfume_registered *registered);

/*
 * Calls fn for each event of the programs found so far, selected or not, until fn returns non-zero.
 * Returns that value, 0, or -ENOMEM. A collector with empty patterns does not count as one of the
 * eight collectors of a program.
 */
int perfume_collector_each(
	struct perfume_collector *collector, perfume_registered_fn *fn, void *ctx);

/*
 * Formats the tracefs `format` file of an event with these fields: an 8-byte header followed by the
 * payload. Writes at most n bytes including the NUL. Returns the length of the complete text, or
 * -EINVAL for invalid fields. id is the event's ID in the text.
 */
int perfume_collector_format(const char *name, const char *fields, int id, char *text, size_t n);

/*
 * CLOCK_MONOTONIC and the CPU's counter (the TSC, or cntvct_el0 of arm64) at the same time: of
 * several readings, those closest together, since a thread can be preempted between two readings.
 */
struct perfume_clock_pair {
	uint64_t ns, ticks;
	uint64_t took; /* ticks between the readings of the counter before and after */
};
struct perfume_clock_pair perfume_clock_pair(void);

#ifdef __cplusplus
}
#endif

#endif
