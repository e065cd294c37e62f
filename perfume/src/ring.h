/* SPDX-License-Identifier: CC0-1.0 */
/*
 * The memory that a program with events shares with collectors: a sealed memfd, "perfume-1", which
 * the program owns and collectors find through /proc/PID/fd or receive over a socket.
 *
 *	struct area	claims of collectors, heads of rings, slots of events
 *	AREA_DATA	the rings' bytes: ring i at AREA_DATA + i * ring_size
 *
 * A ring has one writer thread, which never waits and overwrites the oldest records. Each collector
 * determines exactly how many events it missed. A collector only writes to its claim, `wanted` of
 * the slots, `read` of the rings, and the lock; no value of these can harm the writer. Collectors
 * validate everything they read, because sizes, positions and strings may be forged.
 */
#ifndef RING_H
#define RING_H

#include <stdint.h>

/*
 * Names by which programs and collectors find each other: the collector's abstract socket and the
 * request files.
 */
#define COLLECTOR_SOCKET   "perfume-%016llx"
#define COLLECTOR_VARIABLE "PERFUME_COLLECTOR" /* request for a program and its children */
#define REQUESTS_OF_ROOT   "/run/perfume-requests"
#define REQUESTS_OF_USER   "/run/user/%u/perfume-requests"

#define AREA_NAME  "perfume-1"
#define AREA_MAGIC 0x3167656d75667270ULL

enum {
	AREA_CLAIMS = 8,
	AREA_RINGS = 256,
	AREA_SLOTS = 32768,
	AREA_MARKS = 16,
	AREA_TEXT = 512,
	/* slot of a record with the tid (u32) of the records that follow; not an event */
	AREA_OWNER = 0xffff,
};

/* A collector's claim. Claim k corresponds to bit k of `wanted`. */
struct area_claim {
	uint64_t id;    /* of the collector, to which areas are sent; 0: free */
	uint64_t lease; /* expiry time: CLOCK_MONOTONIC, ns */
	/* events to enable at registration, such as "order_*,tick"; may be empty */
	char patterns[AREA_TEXT];
};

/*
 * An event. To enable it: set the bit in `wanted`, then store 1 in the second byte of the word in
 * the writer's memory. To disable it: clear the bit; the writer clears the byte when no bit is set.
 */
struct area_slot {
	uint64_t word; /* address of the enable word in the writer */
	uint32_t live; /* 0: deregistered; the address must not be written to */
	uint32_t wanted;
	char text[AREA_TEXT]; /* name, space, fields in the kernel's syntax; constant */
};

/*
 * Positions count bytes since the ring was created; the offset in the ring is position modulo size.
 */
struct area_ring {
	uint64_t reserved; /* bytes up to here may be changing; older than ring_size is lost */
	uint64_t head;     /* records before this position are complete */
	uint64_t count;    /* of events up to head */
	/*
	 * up to here a collector has read, the last one of several: a hint for writers that wait
	 * for it (PERFUME_PACED); 0: never
	 */
	uint64_t read;
	uint64_t unused;
	/*
	 * For each sixteenth of the ring, where reading can begin: the position of an AREA_OWNER
	 * record, and the number of events before it. A sixteenth without one has an old position.
	 */
	struct {
		uint64_t position, count;
	} marks[AREA_MARKS];
} __attribute__((aligned(128)));

enum {
	AREA_CLOCK_UNKNOWN, /* no ring in use yet */
	AREA_CLOCK_MONOTONIC,
	AREA_CLOCK_TSC,     /* of x86-64 */
	AREA_CLOCK_COUNTER, /* cntvct_el0 of arm64 */
};

struct area {
	uint64_t magic;
	uint32_t ring_size; /* a power of two */
	uint32_t clock;     /* of all records */
	uint32_t n_slots;   /* slots in use; never shrinks */
	uint32_t n_rings;
	uint32_t lock; /* held to change `live`, or to check it and write to the word */
	uint32_t pid;  /* in the program's PID namespace; a new child initially has the area, too */
	uint64_t lost; /* events of threads that could not get a ring */
	struct area_claim claims[AREA_CLAIMS];
	struct area_ring rings[AREA_RINGS];
	struct area_slot slots[AREA_SLOTS];
	/* the program's name when it created the area; empty if its library is older */
	char comm[16];
};

#define AREA_DATA ((sizeof(struct area) + 0xffff) & ~(uint64_t)0xffff)

/* Header of a record, at a multiple of 8 bytes; the payload follows. */
struct area_record {
	uint32_t size;    /* of the whole record, a multiple of 8 */
	uint16_t slot;    /* of the event */
	uint16_t padding; /* bytes after the payload, less than 8 */
	uint64_t time;
};

#endif
