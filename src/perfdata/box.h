/* SPDX-License-Identifier: MIT */
/*
 * The newest records of a recording, in memory and compressed, as segments of about a second. What
 * is older than a time, or does not fit, is dropped. The records of tasks in a dropped segment are
 * applied to a struct live_tasks, which thus describes the tasks at the start of what is left, also
 * those that have ended since.
 *
 * A segment has the bytes of a file: compressed records that can be decompressed without other
 * segments, and records of rounds. Its records of tasks are kept once more, apart.
 */
#ifndef PERFDATA_BOX_H
#define PERFDATA_BOX_H

#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"
#include "perfdata/compress.h"
#include "perfdata/live_tasks.h"

struct box_segment {
	uint64_t first, last; /* ns: times of its samples; 0: it has none */
	uint64_t ended;       /* ns */
	uint64_t samples, records;
	char *events, *tasks; /* owned; NULL: none */
	size_t n_events, n_tasks;
};

struct box {
	uint64_t keep_ns;
	size_t max_bytes;                 /* of the segments and the tasks */
	size_t bytes;                     /* of the segments */
	VEC(struct box_segment) segments; /* oldest first */
	uint64_t dropped;                 /* number of segments */
	struct box_segment now;           /* the segment that is filled: its counts */
	uint64_t began;                   /* ns: of it; 0: it is empty */
	struct buf events, tasks;         /* of it; tasks: with records of rounds, not compressed */
	struct compressor compressor;     /* of tasks */
	struct map groups;                /* pid -> struct box_group *, see box_keep_group() */
};

/* 0; -ENOTSUP without libzstd, or -ENOMEM. */
int box_init(struct box *box, uint64_t keep_ns, size_t max_bytes);
void box_done(struct box *box);

/* Takes a record into account, whose bytes are in a later box_add(). time: of a sample, ns. */
void box_note(struct box *box, const struct perf_event_header *header, uint64_t time);

/* Appends bytes of the file. */
void box_add(struct box *box, const void *bytes, size_t n);

/* Keeps a record that says in which control group a process is, as long as events of it. */
int box_keep_group(struct box *box, pid_t pid, const struct buf *record);

/* Appends these records. */
void box_put_groups(const struct box *box, struct buf *records);

/* Ends a round. True: the segment should be ended with box_seal(). now: ns. */
bool box_round(struct box *box, uint64_t now);

/*
 * Ends the segment. end: the last bytes of the frame of its compressed records, see compress_end().
 * 0 or -ENOMEM.
 */
int box_seal(struct box *box, const struct buf *end, uint64_t now);

/* Drops what is too old or too much. tasks: at the start of what is left. 0 or a negative errno. */
int box_drop(struct box *box, struct live_tasks *tasks, uint64_t now);

/* Appends the records of tasks of a segment, without the marks of rounds. 0 or a negative errno. */
int box_get_tasks(const struct box_segment *segment, struct buf *records);

#endif
