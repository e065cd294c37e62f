/* SPDX-License-Identifier: CC0-1.0 */
/*
 * Internals of the collector: programs, their rings, and the heap that requests the rings by time.
 */
#ifndef WRITER_H
#define WRITER_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "collector.h"
#include "../src/ring.h"

#include <sys/stat.h>

#define MAX_CALLERS 32    /* connected programs that have not sent a message yet */
#define CHUNK       16384 /* bytes copied from a ring at a time; the maximum record size */
#define MAX_WRITERS 4096
#define MAX_READERS 4096   /* rings of all programs: 64 MiB of chunks */
#define MAX_EVENTS  262144 /* of all programs */

/* A user other than root and our own has half of these places, and a process this many areas. */
#define SHARE_OF_USER 2
#define MAX_AREAS     4

/* Time for enabling events of programs of such a user, and of all of them, in a poll. */
#define ENABLE_USER_NS   20000000ULL
#define ENABLE_OTHERS_NS 50000000ULL

#define POLL_BYTES (32U << 20) /* that are read from all rings of a user in a poll */
#define LAST_BYTES (64U << 20) /* the same in the last poll; our own and root: no limit */

/*
 * No thread writes a record in less time than this, nor all threads without a ring count an event
 * as lost: higher counts are forged. For programs that found the collector first, the time before
 * it has seen them counts, up to this limit.
 */
#define RECORD_NS 4
#define UNSEEN_NS 10000000000ULL

/* What the programs of a user take. */
struct user {
	uid_t uid;
	uint32_t n_writers, n_readers, n_events;
	uint64_t lost;        /* events of its programs with selected events */
	uint64_t patience_ns; /* left for waiting for pages of their memory */
	uint64_t enabling_ns; /* that enabling their events has taken since the last poll */
	size_t last_bytes;    /* that may be read in the last poll */
	struct user *next;
};

/* Read state of one ring. */
struct reader {
	const struct area_ring *seen; /* the writer's; volatile and untrusted */
	unsigned char *data;          /* mapped twice; NULL: not mapped yet */
	uint32_t index;
	struct writer *writer;
	uint64_t position, count; /* of the next record to copy */
	uint64_t skip_to;         /* records before this position predate the collector */
	/* where reading ends, and the count there; UINT64_MAX while the program runs */
	uint64_t last, last_count;
	uint64_t read, lost, base;
	uint64_t known, since; /* count and time, ns, when nothing was left to read */
	uint64_t time; /* of the first record in the chunk, ns; monotonic */
	size_t budget; /* bytes that may be read until the next poll */
	pid_t tid;
	size_t at, end;       /* range of the chunk that was not returned yet */
	uint32_t waiting;     /* 1: in the heap */
	unsigned char *chunk; /* of CHUNK bytes */
};

struct known_event {
	struct perfume_source source;
	int chosen;
	int on;
	int pending; /* has yet to be enabled */
	char text[]; /* source.name and source.fields point into it */
};

struct writer {
	struct area *area; /* volatile and untrusted */
	int fd;            /* of the area */
	/* /proc/PID/mem and pagemap, also if the PID is reused; -1: no permission */
	int mem, pages;
	dev_t dev;
	ino_t ino;
	pid_t pid;
	struct user *user; /* owner of the area */
	char comm[16];
	int claim;          /* -1: none was free */
	uint32_t ring_size; /* as of when the program was added */
	uint32_t n_readers, n_events;
	uint32_t n_chosen; /* selected events; if 0, records of the rings are not counted */
	/* the writer's number of events without a ring: at `visited`, and the part that counts */
	uint64_t lost_no_ring_before, lost_no_ring;
	uint64_t visited;      /* ns */
	uint64_t locked_since; /* ns; at each visit since then the lock was held; 0: not held */
	int refused;           /* its memory is not writable, or a write blocks forever */
	int gone;              /* 1: the program exited; 2: invalid contents */
	struct reader *readers[AREA_RINGS];
	struct known_event **events;
	struct writer *next;
};

/* A process, whose PID can be used again when it has exited. */
struct asked {
	pid_t pid;
	uint64_t started; /* field 22 of /proc/PID/stat; 0: it does not exist */
};

struct perfume_collector {
	uint64_t id;
	int socket;
	int callers[MAX_CALLERS];
	int n_callers;
	uint64_t answered_to; /* ns; moves on by ANSWER_EACH_NS with each caller */
	char patterns[AREA_TEXT];
	char variable[AREA_TEXT + 64];
	struct asked *asked; /* the processes to read */
	size_t n_asked;      /* 0: all */
	int only_started;
	pid_t scanned_pid; /* the process at which the last scan ended; 0: it is complete */
	char requests[64]; /* request file that contains our line; "" none */
	struct writer *writers;
	uint64_t began, polled; /* ns */
	uint64_t horizon;
	int is_last;                     /* the last poll had `all` set */
	struct perfume_clock_pair clock; /* of the last calibration */
	double ns_per_tick;
	struct reader **heap; /* earliest first */
	size_t n_heap, heap_room;
	uint32_t n_events, n_readers;
	struct user *users;
	uint64_t enabling_ns; /* of users other than root and our own */
	uid_t first_user; /* of a program with selected events, if has_first_user */
	int has_first_user, has_several_users;
	int handed_out; /* the caller holds the first record of the heap's top */
	struct perfume_collector_stats past; /* of removed writers */
};

/* clock.c */
uint64_t perfume_collector_now(void);
void perfume_clock_update(struct perfume_collector *c);

/*
 * Converts a time of one of the clocks of areas to CLOCK_MONOTONIC ns. A time in the future becomes
 * the current time.
 */
uint64_t perfume_clock_ns(struct perfume_collector *c, uint32_t clock, uint64_t time);

#define PATIENCE_NS 1000000000ULL

/*
 * helper_process.c: runs fn, which may only make system calls, in a child process. Returns the
 * result of fn, 0 to 255; -ETIMEDOUT if the patience was used up, which shortens it, or is 0
 * already; or the error of creating the child.
 */
int perfume_helper_process(int (*fn)(const void *ctx), const void *ctx, uint64_t *patience_ns);

/* writer.c */

/*
 * Adds the area found in or sent by the process; takes ownership of fd. Returns 1 if it is new, 0
 * if it is known, not an area or not of this process, or -errno.
 */
int perfume_writer_add(struct perfume_collector *c, int fd, pid_t pid);

/* Enables new events, renews the lease, and detects whether the program has exited. */
void perfume_writer_visit(struct perfume_collector *c, struct writer *writer);

/* Whether the user, who has taken so many of all places, may take one more. */
int perfume_user_has_room(const struct user *user, uint32_t taken, uint32_t all);

int perfume_user_is_trusted(const struct user *user);
void perfume_users_begin_poll(struct perfume_collector *c);

/* Returns whether records of the program, which has exited, are left in its rings. */
int perfume_writer_waits(const struct writer *writer);

/* Disables the program's events and removes its rings from the heap. */
void perfume_writer_free(struct perfume_collector *c, struct writer *writer);

/* Whether so many records can have been written since then. */
int perfume_is_possible(uint64_t records, uint64_t since);

/* Stops reading the program, whose memory has invalid contents. */
void perfume_writer_give_up(struct perfume_collector *c, struct writer *writer);

/* reader.c */
void perfume_reader_visit(struct perfume_collector *c, struct writer *writer);
/* Called at the program's first selected event: earlier records do not count as read or lost. */
void perfume_reader_count_from_here(struct writer *writer);
void perfume_reader_begin(struct perfume_collector *c, struct writer *writer);
/* Whether records are left in the ring of a program that has exited. */
int perfume_reader_has_left(const struct reader *reader);
void perfume_reader_free(struct perfume_collector *c, struct reader *reader);
uint64_t perfume_reader_written(const struct reader *reader);

#endif
