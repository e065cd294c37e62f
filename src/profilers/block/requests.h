/* SPDX-License-Identifier: MIT */
/*
 * Follows the requests of block devices from the events of their stages, for the profilers of disk
 * I/O. A request is known by its device and first sector. Requests of the same sector are taken to
 * complete in the order of their start. When one begins that cannot be in flight at the same time
 * as another one, the completion of that one was missed. Flushes have no sector. A device has at
 * most one flush of each of its hardware queues at a time. When it was seen to have several, they
 * are taken to complete in the order of their issue.
 */
#ifndef PROFILERS_BLOCK_REQUESTS_H
#define PROFILERS_BLOCK_REQUESTS_H

#include "attar/run.h"
#include "block/devices.h"
#include "block/kind.h"

enum { BLOCK_COMM_BYTES = 16, BLOCK_TYPE_BYTES = 12, BLOCK_EVENTS = 7 };

/*
 * The stages of a request: allocated for the first bio, queued in the scheduler, given to the
 * driver, completed. Not every request has all; most have no insert with the scheduler "none".
 */
enum block_stage { BLOCK_GETRQ, BLOCK_INSERT, BLOCK_ISSUE, BLOCK_COMPLETE, BLOCK_STAGES };

/* Fields of the events: events of bios have no bytes, the completion has no comm. */
enum block_field {
	BLOCK_DEV,
	BLOCK_AT,
	BLOCK_N_SECTORS,
	BLOCK_RWBS,
	BLOCK_COMM,
	BLOCK_BYTES,
	BLOCK_ERROR,
	BLOCK_IOPRIO
};

/* A request, when it has completed or passed from one stage to the next. */
struct block_request {
	uint32_t dev; /* major << 20 | minor */
	uint32_t bytes;
	uint64_t sector;
	enum block_kind kind;        /* only BLOCK_DATA has a sector */
	char type[BLOCK_TYPE_BYTES]; /* rwbs of the kernel, "WS": R, W, D, F, then flags */
	char comm[BLOCK_COMM_BYTES]; /* of the thread that started it */
	int32_t tid;                 /* 0: unknown */
	int error;                   /* of the completion */
	uint64_t since;              /* ns, of the first known stage */
	bool is_partial; /* a change may have been lost, or it was under way at the start */
	bool is_selected;
};

/* Writes that wait for a flush, see block_flushes.h. */
struct block_flushes {
	struct block_waiting *at;
	size_t n;
};

/* Options that these profilers share, and the requests. Embed it at the start of the state. */
struct block {
	const char *devices;           /* NAME,... */
	struct block_devices selected; /* by devices */
	struct attar_input inputs[BLOCK_EVENTS];
	char events[BLOCK_EVENTS][128]; /* their text with a filter */
	struct attar_states *states;   /* open requests by device and sector */
	bool is_selected;              /* the request of the newest event, if it has begun */
	struct block_flushes flushes;
	uint32_t overlapping[64]; /* devices that were seen to have several flushes at a time */
	size_t n_overlapping;
	uint64_t missed;     /* flushes whose completion was not seen */
	uint64_t unfinished; /* other requests that are known not to have been seen completing */
	bool sees_merges;    /* of requests, Linux 5.11 */
	uint64_t left_out;   /* flushes of tasks that were not selected, for remarks */
	char left_out_comm[BLOCK_COMM_BYTES]; /* of the first flush */
	uint32_t completions;                 /* the source of block_rq_complete */
	uint64_t unknown; /* completions of requests that had begun before attar */
	/*
	 * A request passed from `from` to `to` in `duration` ns. NULL: not used. Return 0 or
	 * -ENOMEM.
	 */
	int (*passed)(void *self, const struct block_request *request, enum block_stage from,
		enum block_stage to, uint64_t duration);
	/* It has completed `duration` ns after its first known stage; `issued`: after its issue. */
	int (*completed)(struct attar_run *run, void *self, const struct attar_event *ev,
		const struct block_request *request, uint64_t duration, uint64_t issued);
};

/* Requests the events. Set passed and completed before. Only from open(). */
int block_open(struct attar_run *run, struct block *block);
void block_close(struct block *block);

/*
 * For attar_profiler.emits: follows the request of the event. 1: it belongs to one of the devices,
 * and to a selected task; 0: not; or a negative errno.
 */
int block_emits(struct attar_run *run, struct block *block, const struct attar_event *ev);

/* For attar_profiler.lost. */
int block_on_lost(struct attar_run *run, void *self, const struct attar_event *ev);

/* Adds a remark about requests that could not be measured. */
void block_add_remarks(
	const struct attar_run *run, const struct block *block, struct attar_report *report);

/* ---- emit.c ---- */

/* Copies the text of a field, padded with zeros to `max` bytes. */
void block_event_text(char *to, size_t max, const struct attar_event *ev, enum block_field field);

/* The size of a request or of a completion, which has no bytes. */
uint64_t block_event_bytes(const struct attar_event *ev);

/* Adds it as an event with its stage. Before, from open(): block_emit_fields(). */
int block_emit(struct attar_run *run, const struct attar_event *ev);
int block_emit_fields(struct attar_run *run);

#define BLOCK_OPTION(state_)                                                                       \
	ATTAR_JOINED(state_, block.devices, 0, "device", "DEV",                                    \
		"only these block devices: /dev/sda, sda or 8:0 (default all)",                    \
		.complete = "file")

#endif
