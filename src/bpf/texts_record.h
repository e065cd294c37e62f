/* SPDX-License-Identifier: MIT */
/* What the programs that copy texts of system calls write, and attar reads. */
#ifndef BPF_TEXTS_RECORD_H
#define BPF_TEXTS_RECORD_H

#include <stdint.h>

enum {
	TEXTS_CALLS = 512,         /* system calls with lower numbers */
	TEXTS_ARGS = 6,            /* of a call */
	TEXTS_BYTES = 1024,        /* of a record; texts of calls are cut, with their end */
	TEXTS_PIECES = 128,        /* of the arguments of a program; what follows is cut */
	TEXTS_STRINGS = 256,       /* of a failed attempt, at most */
	TEXTS_RING_BYTES = 4 << 20 /* a power of two */
};

/*
 * A program that is executed has records of one time: pieces of its arguments, each of which ends
 * with NUL, then TEXTS_END or TEXTS_CUT. For an attempt that fails, the path is before them.
 */
enum texts_kind {
	TEXTS_OF_CALL, /* an argument of a call, without NUL */
	TEXTS_PIECE,
	TEXTS_UNREAD, /* one that is not in memory */
	TEXTS_END,
	TEXTS_CUT
};

struct texts_record {
	uint64_t address; /* of the text; for programs, the number of the record: 0, 1, ... */
	uint64_t time;    /* ns, CLOCK_MONOTONIC: at the entry of the call, or of the copy */
	uint64_t lost;    /* the time of the newest text of the thread that was lost; 0: none */
	uint32_t tid;
	uint16_t size, kind; /* size: bytes that follow */
	char text[TEXTS_BYTES];
};

/* A call whose text was not in memory at its entry. */
struct texts_call {
	uint64_t address[TEXTS_ARGS], time; /* address 0: nothing to read */
};

#endif
