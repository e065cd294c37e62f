/* SPDX-License-Identifier: CC0-1.0 */
/*
 * The memory that a program with events shares with those who collect them: a sealed memfd,
 * "perfume-1", which the program owns and collectors find through /proc/PID/fd, or are sent.
 *
 *	struct area	claims of collectors, heads of rings, slots of events
 *	AREA_DATA	the rings' bytes: ring i at AREA_DATA + i * ring_size
 *
 * A ring has one writer, a thread, which never waits: it writes over what is oldest. Any number of
 * collectors read along; each finds out for itself what it missed, to the event. A collector writes
 * its claim, `wanted` of the slots, and the lock, nothing else; no bit of it can harm the writer.
 * In turn a collector believes nothing it reads without looking: sizes, positions and texts may be
 * forged.
 */
#ifndef RING_H
#define RING_H

#include <stdint.h>

/*
 * Names by which programs and collectors meet: the abstract socket of a collector, standing orders.
 */
#define COLLECTOR_SOCKET   "perfume-%016llx"
#define COLLECTOR_VARIABLE "PERFUME_COLLECTOR" /* orders for a program and its children */
#define ORDERS_OF_ROOT     "/run/perfume-orders"
#define ORDERS_OF_USER     "/run/user/%u/perfume-orders"

#define AREA_NAME  "perfume-1"
#define AREA_MAGIC 0x3167656d75667270ULL

enum {
	AREA_CLAIMS = 8,
	AREA_RINGS = 256,
	AREA_SLOTS = 32768,
	AREA_MARKS = 16,
	AREA_TEXT = 512,
	AREA_OWNER = 0xffff, /* slot of a record that names the thread (u32) of what follows */
};

/* A collector. Slot k of the claims is bit k of `wanted`. */
struct area_claim {
	uint64_t id;    /* of the collector, by which it is sent areas; 0: free */
	uint64_t lease; /* it counts as alive until then: CLOCK_MONOTONIC, ns */
	/* "order_*,tick": what is enabled when it is registered; may be empty */
	char patterns[AREA_TEXT];
};

/*
 * An event. To listen: set the bit in `wanted`, then store 1 in the second byte of the word, in the
 * writer's memory. To leave: clear the bit; the writer clears the byte itself when it finds nobody.
 */
struct area_slot {
	uint64_t word; /* address of the enable word in the writer */
	uint32_t live; /* 0: out of use, and the address must not be written to */
	uint32_t wanted;
	char text[AREA_TEXT]; /* name, blank, fields, as the kernel spells them; never changes */
};

/* Positions count bytes since the ring began; a position's place in the ring is its remainder. */
struct area_ring {
	uint64_t reserved; /* bytes up to here may be changing: what is ring_size behind is lost */
	uint64_t head;     /* up to here records are complete */
	uint64_t count;    /* of records up to head */
	uint64_t owner_since; /* position of the first record that the present owner wrote */
	uint32_t owner;       /* thread id */
	uint32_t unused;
	/*
	 * For each sixteenth of the ring the first record that begins in it, and how many are
	 * before it.
	 */
	struct {
		uint64_t position, count;
	} marks[AREA_MARKS];
} __attribute__((aligned(128)));

enum {
	AREA_CLOCK_UNKNOWN, /* no ring is in use yet */
	AREA_CLOCK_MONOTONIC,
	AREA_CLOCK_TSC,     /* of x86-64 */
	AREA_CLOCK_COUNTER, /* cntvct_el0 of arm64 */
};

struct area {
	uint64_t magic;
	uint32_t ring_size; /* a power of two */
	uint32_t clock;     /* of all records */
	uint32_t n_slots;   /* in use, from the first; never shrinks */
	uint32_t n_rings;
	uint32_t lock; /* held to change `live`, and to look at it and write to the word */
	uint32_t pid;  /* of the program, as it knows itself; a child has the area too at first */
	uint64_t lost; /* events of threads that could not get a ring */
	struct area_claim claims[AREA_CLAIMS];
	struct area_ring rings[AREA_RINGS];
	struct area_slot slots[AREA_SLOTS];
};

#define AREA_DATA ((sizeof(struct area) + 0xffff) & ~(uint64_t)0xffff)

/* What stands in a ring, at multiples of 8; the payload follows. */
struct area_record {
	uint32_t size;    /* of all of it, a multiple of 8 */
	uint16_t slot;    /* of the event */
	uint16_t padding; /* behind the payload, less than 8 */
	uint64_t time;
};

#endif
