/* SPDX-License-Identifier: MIT */
/*
 * The fast path through samples with the same fields in one ring or recording: a run. It does what
 * advance() and dispatch() of stream/read.c do, with each test and each store once; what is equal
 * in most samples of the run (size, event, size of the raw data, thread) is only compared.
 *
 * A run ends at the first record that is not such a sample. When the next record in time is in
 * another ring or sequence, the run is parked, and resumed when it is its turn again.
 */
#ifndef STREAM_SAMPLE_RUN_H
#define STREAM_SAMPLE_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct attar_stream;
struct attar_event;
struct attar_repeats;
struct attar_turns;
struct cursor;

/* As attar_stream_next(). */
typedef int stream_next_fn(struct attar_stream *s, struct attar_event *ret_event);

/* What is equal in most samples of an event in a run. */
struct sample_pattern {
	uint64_t same; /* type and size in the header, see RUN_SAME; 0: none yet */
	uint64_t id;
	const char *last; /* where the last such record that ends in the run can begin */
	uint64_t arrived; /* samples that are not in the counts of the cursor yet */
	uint32_t size;    /* bytes of the record */
	uint32_t raw;     /* bytes of raw data, if there is no call chain */
	uint32_t counter; /* index */
	uint32_t number;  /* of it: attar_event.counter */
};

/* The run of a cursor. */
struct sample_run {
	const char *at;                  /* the next record */
	struct sample_pattern *like;     /* the pattern of the newest sample */
	struct sample_pattern *before;   /* the pattern of the newest one of another event */
	struct sample_pattern memory[2]; /* of both */
	uint64_t type;                   /* sample_type */
	stream_next_fn *next;
	const char *from, *end; /* from: up to here the cursor is up to date */
	uint32_t min;           /* the smallest size of a sample, bytes */
	bool is_parked;         /* the record at `at` is the cursor's front, and was not taken */
	/* positions in words; 0: absent, or not compared */
	uint8_t id_at, task_at, time_at, raw_at;
};

/*
 * Starts a run after the record in front of the cursor was delivered, if it is a sample with usual
 * fields only. The run lasts at most to the end of the written bytes, the wraparound of the ring,
 * or the point where space is to be released.
 */
void sample_run_begin(struct attar_stream *s, struct cursor *c);

/* Updates ring and cursor to the end of the current run, if there is one. */
void sample_run_end(struct attar_stream *s);

/*
 * Takes at most `max` samples at the front that are like the one that was delivered last: of the
 * same event and thread, and with as much raw data. They are older than `until`, ns. False: there
 * are none, or the fast path does not follow a run with raw data.
 */
bool sample_run_repeats(
	struct attar_stream *s, uint64_t until, uint64_t max, struct attar_repeats *ret_repeats);

/*
 * Takes at most `max` samples of the counter with the number `other`, and as many that are like the
 * one that was delivered last, if both take turns at the front, see struct attar_turns. They are
 * older than `until`, ns. False: there are none, as above.
 */
bool sample_run_turns(struct attar_stream *s, uint32_t other, uint64_t until, uint64_t max,
	struct attar_turns *ret_turns);

#endif
