/* SPDX-License-Identifier: MIT */
/*
 * What can be counted in the kernel, for profilers of attar: see run_count_in_kernel(). Programs in
 * the kernel include it too.
 */
#ifndef ATTAR_PRIVATE_COUNTING_H
#define ATTAR_PRIVATE_COUNTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct attar_hist;

/* What is counted, and what a row of it is. */
enum counting_kind {
	COUNTING_READY,    /* times in the run queue: enum counting_start */
	COUNTING_RUNNING,  /* times on a CPU: COUNTING_SWITCH */
	COUNTING_SOFTIRQS, /* times of soft interrupts, by their number */
	COUNTING_SYSCALLS, /* times and errors of system calls, by their number */
	COUNTING_CALLS,    /* numbers of system calls, by their number: the errors of a row */
	COUNTING_HARDIRQS, /* times of interrupt handlers, by name */
	COUNTING_REQUESTS, /* times of requests of block devices, by device and type */
	COUNTING_VALUES,   /* numbers of a tracepoint: enum counting_values */
	COUNTING_KEYS,     /* how often they occur, by number: the errors of a row */
};

/* What begins a time of a thread. */
enum counting_start { COUNTING_WAKEUP, COUNTING_WAKEUP_NEW, COUNTING_SWITCH };

/*
 * The type of a request: the operation of the kernel (REQ_OP_READ, ...), and flags. Its row has the
 * number device << 32 | type; device: major << 20 | minor.
 */
enum {
	COUNTING_OPERATION = 0xff,
	COUNTING_PREFLUSH = 1 << 8,
	COUNTING_FUA = 1 << 9,
	COUNTING_RAHEAD = 1 << 10,
	COUNTING_SYNC = 1 << 11,
	COUNTING_META = 1 << 12,
	COUNTING_ATOMIC = 1 << 13,
};

/* What of the requests of block devices is counted. */
struct counting_requests {
	bool by_device, by_type; /* otherwise the number of a row has a 0 in place of it */
	/* The devices, and the sectors of partitions; last 0: all of the device. */
	struct counting_device {
		uint32_t dev;
		uint64_t first, last;
	} devices[16];
	size_t n_devices; /* 0: all devices */
};

/* Rows of COUNTING_VALUES: errors are the values above `than`, and the negative ones. */
enum counting_values { COUNTING_OF_VALUES, COUNTING_OF_NEGATIVE };

/* A number at a fixed place of the records of a tracepoint, not one of all tracepoints. */
struct counting_field {
	const char *system, *name; /* the tracepoint */
	uint32_t offset, size;     /* size: 1, 2, 4 or 8 */
	bool is_signed;
	uint64_t than; /* of COUNTING_VALUES */
};

struct counting_what {
	enum counting_kind kind;
	const struct counting_requests *requests; /* of COUNTING_REQUESTS */
	const struct counting_field *field;       /* of COUNTING_VALUES and COUNTING_KEYS */
};

/* A row that has changed, since the last reading. There can be several ones of the same key. */
struct counting_row {
	uint64_t number;
	const char *name; /* of rows with a name; otherwise NULL */
	const struct attar_hist *times;
	uint64_t errors;
};

/* Borrows the row. Returns 0 or a negative errno. */
typedef int counting_row_fn(void *ctx, const struct counting_row *row);

#endif
