/* SPDX-License-Identifier: MIT */
/* What the programs that copy the memory of system calls write, and attar reads. */
#ifndef BPF_CALL_MEMORY_RECORD_H
#define BPF_CALL_MEMORY_RECORD_H

#include "attar/private/calls.h"

enum {
	CALLS_RECORD_BYTES = 2 * CALLS_COPY_MAX, /* of all items of a record */
	CALLS_RECORD_RING = 16 << 20,            /* bytes, a power of two */
	CALLS_RECORD_FOLLOWED = 65536,           /* processes */
};

struct calls_copies {
	struct calls_copy of[CALLS_COPY_ARGS];
	bool at_entry, at_exit; /* some of them are */
};

/* An item is bytes [at, at + size) of the record. */
struct calls_item {
	uint16_t at, size;
	uint8_t state; /* enum calls_item_state */
	uint8_t unused[3];
};

struct calls_record {
	uint64_t time; /* ns, CLOCK_MONOTONIC: of the copy */
	uint64_t lost; /* the time of the newest record of the thread that was lost; 0: none */
	uint64_t args[CALLS_COPY_ARGS];
	uint32_t tid, size; /* size: bytes that follow */
	uint16_t number;
	uint8_t is_exit, unused[5];
	struct calls_item items[CALLS_COPY_ARGS];
	char bytes[CALLS_RECORD_BYTES];
};

#endif
