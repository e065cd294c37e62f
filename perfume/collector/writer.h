/* SPDX-License-Identifier: CC0-1.0 */
/* Inside the collector: programs, their rings, and the heap in which rings wait for their turn. */
#ifndef WRITER_H
#define WRITER_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "collector.h"
#include "../src/ring.h"

#include <sys/stat.h>

#define MAX_CALLERS 32    /* programs that have called and not said anything yet */
#define CHUNK       16384 /* bytes copied out of a ring at a time; no record is longer */
#define MAX_WRITERS 4096
#define MAX_READERS 4096   /* rings of all programs: 64 MiB of chunks */
#define MAX_EVENTS  262144 /* of all programs */

/* One ring, read along. */
struct reader {
	const struct area_ring *seen; /* the writer's; changes at any time, may be forged */
	unsigned char *data;          /* mapped twice; NULL: not yet */
	uint32_t index;
	struct writer *writer;
	uint64_t position, count; /* of the next record to copy */
	uint64_t skip_to;         /* what is before was written before we came */
	uint64_t read, lost, base;
	uint64_t time; /* of the first record in the chunk, ns; never runs backwards */
	pid_t tid;
	size_t at, end;       /* of the chunk: what is copied and not handed out */
	uint32_t waiting;     /* 1: in the heap */
	unsigned char *chunk; /* of CHUNK bytes */
};

struct known_event {
	struct perfume_source source;
	int chosen;
	int on;
	int owed;    /* it is to be switched on */
	char text[]; /* source.name and source.fields point into it */
};

struct writer {
	struct area *area; /* changes at any time, may be forged */
	int fd;            /* of the area */
	int mem; /* /proc/PID/mem, -1: no permission; bound to the program, not to the number */
	dev_t dev;
	ino_t ino;
	pid_t pid;
	uid_t user;
	char comm[16];
	int claim;          /* -1: none was to be had */
	uint32_t ring_size; /* as it was when we came */
	uint32_t n_readers, n_events;
	uint32_t n_chosen; /* events for us; with none, what others read is not ours to count */
	uint64_t lost_no_ring_before;
	uint64_t locked_since; /* its lock has been found closed each time since then, ns; 0: no */
	int refused;           /* its memory may not be written, or that takes for ever */
	int gone;              /* 1: the program has ended; 2: forged */
	struct reader *readers[AREA_RINGS];
	struct known_event **events;
	struct writer *next;
};

struct perfume_collector {
	uint64_t id;
	int socket;
	int callers[MAX_CALLERS];
	int n_callers;
	char patterns[AREA_TEXT];
	char variable[AREA_TEXT + 64];
	pid_t *pids;
	size_t n_pids;
	int only_started;
	char orders[64]; /* the file of standing orders that has a line of ours; "" none */
	struct writer *writers;
	uint64_t horizon;
	struct {
		uint64_t ticks, ns;
		double ns_per_tick;
	} clock;
	struct reader **heap; /* the earliest first */
	size_t n_heap, heap_room;
	uint32_t n_events, n_readers;
	int handed_out; /* the front of the first in the heap is with the caller */
	struct perfume_collector_stats past; /* of writers that are gone */
};

/* collector.c */
uint64_t perfume_collector_now(void);

/*
 * apart.c: does fn in a process of its own, which only makes system calls. What fn returns, 0 to 255; or
 * -ETIMEDOUT when that took longer than a second, and it was ended; or what making a process says.
 */
int perfume_helper_process(int (*fn)(const void *ctx), const void *ctx);

/* writer.c */

/*
 * Takes the area that was found in that process or sent by it; the descriptor is ours from now on.
 * 1 new, 0 known, no area or not of this process, or -errno.
 */
int perfume_writer_add(struct perfume_collector *c, int fd, pid_t pid);

/* New events are switched on, the lease is renewed; the program may turn out to have ended. */
void perfume_writer_visit(struct perfume_collector *c, struct writer *writer);

/* Does a ring of it wait in the heap? */
int perfume_writer_waits(const struct writer *writer);

/* Events are switched off; what rings there are leaves the heap. */
void perfume_writer_free(struct perfume_collector *c, struct writer *writer);

/* reader.c */
void perfume_reader_visit(struct perfume_collector *c, struct writer *writer);
/* The program has its first event for us: what others read or lost of it before does not count. */
void perfume_reader_count_from_here(struct writer *writer);
void perfume_reader_begin(struct perfume_collector *c, struct writer *writer);
void perfume_reader_free(struct perfume_collector *c, struct reader *reader);
uint64_t perfume_reader_written(const struct reader *reader);
void perfume_clock_update(struct perfume_collector *c);

#endif
