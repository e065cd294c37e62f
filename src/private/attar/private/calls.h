/* SPDX-License-Identifier: MIT */
/*
 * What a program in the kernel copies of the memory that programs give to system calls, and get
 * from them: see run_copy_call() in attar/builtin.h.
 */
#ifndef BPF_CALLS_H
#define BPF_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CALLS_COPY_NUMBERS = 512, /* system calls with lower numbers */
	CALLS_COPY_ARGS = 6,
	CALLS_COPY_MAX = 4096, /* bytes of an argument; a power of two */
};

enum calls_copy_kind {
	CALLS_COPY_NONE,
	CALLS_COPY_STRING, /* ends with NUL, which is not in the copy */
	CALLS_COPY_BYTES,  /* as many as `max` says */
	CALLS_COPY_SIZED,  /* as many as another argument says, at most `max` */
	CALLS_COPY_RESULT, /* as many as the result says, at most `max` */
};

/* What is copied of an argument, which is an address. */
struct calls_copy {
	uint16_t max;  /* bytes; 0: CALLS_COPY_MAX */
	uint16_t unit; /* bytes for each one that the other argument or the result counts; 0: 1 */
	uint8_t kind;  /* enum calls_copy_kind */
	uint8_t count; /* the other argument */
	bool at_exit;  /* copied when the call has succeeded, not at its entry */
};

enum calls_item_state {
	CALLS_ITEM_NONE,
	CALLS_ITEM_COPIED,
	CALLS_ITEM_CUT,    /* there was more */
	CALLS_ITEM_UNREAD, /* it was not in memory */
	CALLS_ITEM_LOST,   /* the program had no room for it */
};

/* A call of a thread, from its events. */
struct calls_made {
	int32_t tid;
	uint32_t number;
	const uint64_t *args;    /* CALLS_COPY_ARGS; NULL: the entry had no event */
	uint64_t entered, ended; /* ns of the stream's clock; ended 0: it has not */
	bool has_failed;
};

/* What was copied of an argument. */
struct calls_copied {
	enum calls_item_state state;
	const char *at; /* n bytes */
	size_t n;
};

#endif
