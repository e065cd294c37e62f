/* SPDX-License-Identifier: MIT */
/*
 * The sums of a CPU that a program in the kernel keeps, as the program and attar see them: in a map
 * that attar has mapped, with one value for each CPU, which only this CPU changes. All of it but
 * the extremes only grows, so that attar reads differences.
 *
 * A row has the buckets of attar/hist.h, in pages that are taken from the end of the value when the
 * first of their buckets is counted. Where the rows are known by a key, such as a name, each CPU
 * takes them for the keys that it sees: the same key can have different rows.
 */
#ifndef BPF_SUMS_H
#define BPF_SUMS_H

#include "attar/private/counting.h"
#include "stats/bucket.h"

enum {
	SUMS_ROW_PAGES = 128, /* BUCKET_PAGES, as a power of two */
	SUMS_CPUS_MAX = 8192, /* that --cpus can select */
	SUMS_DEVICES_MAX = 16,
};

/*
 * The smallest and the largest value since attar has begun the generation; zeroed: none. attar
 * reads one generation while the program changes the other one.
 */
struct sums_extremes {
	uint64_t not_min; /* ~min */
	uint64_t max;
};

struct sums_row {
	uint64_t total;      /* of the values, modulo 2^64 */
	uint64_t total_high; /* of numbers of events: the total divided by 2^64 */
	uint64_t errors; /* values of calls that failed; of rows that are only counted: the count */
	struct sums_extremes extremes[2];
	uint16_t page_at[SUMS_ROW_PAGES]; /* number of the page + 1; 0: none yet */
};

struct sums_head {
	uint64_t events;   /* that the program was called for, and that the options select */
	uint64_t lost;     /* values that found no room, or whose start found none */
	uint64_t missed;   /* switches that were not reported: see on_switch() */
	uint64_t no_row;   /* system calls whose number has no row */
	uint64_t no_start; /* ends of requests that had begun before */
	uint64_t began;    /* ns: the open start of this CPU; 0: none */
	uint32_t row;      /* of that start */
	uint32_t n_pages;
	uint32_t running; /* 1 + the thread that was switched in last; 0: unknown */
	uint32_t n_rows;  /* that were taken for keys */
};

/* rows and pages are powers of two. */
#define SUMS_OF(rows_max, pages_max)                                                               \
	struct sums {                                                                              \
		struct sums_head head;                                                             \
		struct sums_row rows[rows_max];                                                    \
		uint32_t counts[pages_max][BUCKETS_PER_PAGE];                                      \
	}

/* The keys of rows, whose size is a multiple of 8. */
#define SUMS_KEYS_OF(rows_max, key_bytes)                                                          \
	struct sums_key {                                                                          \
		uint64_t words[(key_bytes) / 8];                                                   \
	} keys[rows_max]

#define SUMS_WITH_KEYS_OF(rows_max, pages_max, key_bytes)                                          \
	struct sums {                                                                              \
		struct sums_head head;                                                             \
		struct sums_row rows[rows_max];                                                    \
		uint32_t counts[pages_max][BUCKETS_PER_PAGE];                                      \
		SUMS_KEYS_OF(rows_max, key_bytes);                                                 \
	}

/* Rows that are a count. */
#define SUMS_OF_COUNTS(rows_max, key_bytes)                                                        \
	struct sums {                                                                              \
		struct sums_head head;                                                             \
		uint64_t counts[rows_max];                                                         \
		SUMS_KEYS_OF(rows_max, key_bytes);                                                 \
	}

/* The rows and pages of each program. */
enum {
	SUMS_SCHED_ROWS = 4,
	SUMS_SCHED_PAGES = 256,
	SUMS_IRQ_ROWS = 256,
	SUMS_IRQ_PAGES = 1024,
	SUMS_IRQ_KEY = 64, /* the name of a handler */
	SUMS_SYSCALL_ROWS = 512,
	SUMS_SYSCALL_OTHERS = 32, /* of these: the map `others` has their numbers */
	SUMS_SYSCALL_PAGES = 4096,
	SUMS_BLOCK_ROWS = 256,
	SUMS_BLOCK_PAGES = 2048,
	SUMS_BLOCK_KEY = 8, /* device << 32 | type */
	SUMS_VALUE_ROWS = 2,
	SUMS_VALUE_PAGES = 128, /* all of a row */
	SUMS_KEY_ROWS = 65536,
	SUMS_KEY_KEY = 8,
};

/* A device of requests, with the sectors of a partition; last 0: all. */
struct sums_device {
	uint64_t first, last;
	uint64_t dev;
};

/* What is fixed when the program is loaded. */
struct sums_settings {
	uint32_t own_pid;       /* the process whose events are left out; 0: none */
	uint8_t selects_tasks;  /* only tasks of the map `selected` */
	uint8_t adds_children;  /* tasks that these create are selected too */
	uint8_t adds_threads;   /* ... if they are threads of the same process */
	uint8_t has_prev_state; /* sched_switch has it as its fourth argument */
	uint8_t selects_cpus;   /* only the CPUs of `cpus` */
	uint8_t is_of_running;  /* times on a CPU, instead of times in the run queue */
	uint8_t only_counts;    /* no times */
	uint8_t has_queue;      /* events of requests have it as their first argument */
	uint8_t by_device, by_type;
	uint8_t n_devices; /* 0: all */
	uint8_t field_size;
	uint8_t is_signed; /* the field */
	uint16_t field_offset;
	uint64_t than;
	struct sums_device devices[SUMS_DEVICES_MAX];
	uint64_t cpus[SUMS_CPUS_MAX / 64];
};

/* What attar changes while the program runs; the map `control` has one. */
struct sums_control {
	uint32_t is_on;
	uint32_t generation; /* of the extremes: 0 or 1 */
	uint32_t command;    /* the process that is selected when it executes; 0: none */
};

/* The open start of a thread. */
struct sums_start {
	uint64_t time; /* ns; 0: not open */
	uint64_t row;
};

#endif
