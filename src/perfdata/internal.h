/* SPDX-License-Identifier: MIT */
/* The state of an opened recording, shared by the files of the reader. */
#ifndef PERFDATA_INTERNAL_H
#define PERFDATA_INTERNAL_H

#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"
#include "perfdata/chunk.h"
#include "perfdata/cursor.h"
#include "perfdata/format.h"
#include "perfdata/decompress.h"
#include "perfdata/recording.h"
#include "perfdata/swap.h"
#include "perfdata/scheds.h"
#include "perfdata/task_groups.h"
#include "perfdata/waits.h"

enum {
	RECORDING_EVENTS_MAX = 1 << 16,
	RECORDING_IDS_MAX = 4 << 20,      /* of all events */
	RECORDING_FEATURE_MAX = 64 << 20, /* bytes of a feature or of the tracing data */
	RECORDING_BUILD_IDS_MAX = 1 << 20,
	RECORDING_ATTR_MAX = 4096, /* bytes; newer kernels have longer attributes */
};

/* An event and what is needed to convert its records. */
struct event_entry {
	struct recording_event event;
	struct attar_layout layout;
	uint64_t *ids;               /* owned */
	char *name;                  /* owned; NULL until recording_complete_events() */
	bool named;                  /* by the recording, not only by its attributes */
	struct attar_format *format; /* for the conversion of raw data; NULL: none; owned */
};

/* A tracepoint of the tracing data. */
struct traced_event {
	const char *system; /* in the tracing data */
	uint64_t id;
	struct recording_text name, text;
};

struct tracing_data {
	char *bytes; /* owned */
	VEC(struct traced_event) events;
	struct map by_id; /* index in events */
};

struct recording {
	int fd;
	bool owns_fd;
	struct recording_input input; /* read: NULL: fd is read */
	char *path;                   /* for messages */
	uint64_t
		data_end; /* offset of the end of the data in a file; UINT64_MAX: end of the file */
	uint64_t file_size;
	struct chunk_pool pool;
	struct feed raw;      /* bytes of the file */
	struct feed inflated; /* decompressed bytes */
	struct feed copies;   /* records that are not aligned in the file */
	struct decompressor decompressor;
	struct recording_part
		pending; /* from recording_open() of a pipe; len or ends_round is set */
	bool seekable;   /* a regular file */
	bool ended;
	bool starved;         /* the last recording_next() returned -EAGAIN */
	bool incomplete;      /* recording_complete_events() is due */
	uint64_t skip;        /* bytes of the input to discard: an AUX area */
	uint64_t *aligned;    /* a copy of a record to be converted; owned; NULL until used */
	struct buf gathered;  /* tracing data of a pipe, ... */
	uint64_t gather_left; /* ... and the number of bytes that it still lacks */
	VEC(struct event_entry *) events;
	bool same_times; /* there are events, and all have their times at the same offsets */
	VEC(struct recording_step) steps; /* of the newest part */
	size_t n_ids;
	struct map event_of_id;
	struct recording_facts facts;
	VEC(char *) texts; /* owned strings of facts, build IDs and former names */
	VEC(struct recording_build_id) build_ids;
	VEC(struct recording_missing) missing;
	struct recording_waits waits[RECORDING_MOMENTS];
	recording_scheds scheds[RECORDING_MOMENTS];
	recording_groups groups;
	struct tracing_data tracing;
	char *names; /* bytes of FEATURE_NAMES; owned; NULL: none */
	size_t names_len;
	struct recording_stats stats;
	char damage[256];
};

/* A copy owned by the recording; NULL if out of memory. */
const char *recording_keep(struct recording *r, const char *text);

/*
 * Adds an event with attributes of the file's byte order. The cursor for ids may be empty. Returns
 * 0 or a negative errno; -EBADMSG if the attributes are invalid.
 */
int recording_add_event(struct recording *r, const void *attr, size_t attr_len, struct cursor ids);

/* Adds ids to the ids of an event. The pointer to the former ones is invalid then. 0 or -ENOMEM. */
int recording_add_ids(struct recording *r, size_t index, struct cursor ids);

/*
 * Like recording_event_of() for a record of the recording's byte order, whose header was converted;
 * -1 if there are no events.
 */
int recording_event_of_swapped(const struct recording *r, const struct perf_event_header *header);

/* Replaces the name of an event. */
int recording_name_event(struct recording *r, struct event_entry *entry, const char *name);

/*
 * Finds names and formats of events after all attributes and features were read; also repeatedly.
 * Returns 0 or -ENOMEM.
 */
int recording_complete_events(struct recording *r);

/* Reads the header, attributes and features of a file. */
int recording_read_header(struct recording *r, const struct data_header *header);

/*
 * Interprets a feature. Malformed features are reported as damage. Takes ownership of bytes, which
 * is on the heap, for the tracing data. Returns 0 or -ENOMEM.
 */
int recording_feature(struct recording *r, unsigned feature, char *bytes, size_t len);

/* Interprets one record with a build ID. */
int recording_add_build_id(struct recording *r, const char *bytes, size_t len);

/* Takes ownership of bytes. */
int recording_tracing_data(struct recording *r, char *bytes, size_t len);

int recording_copy_tracing_data(struct recording *r, const char *bytes, size_t len);

/* Adds the format of a tracepoint. Both strings are borrowed until close. 0 or -ENOMEM. */
int recording_add_format(struct recording *r, const char *system, struct recording_text text);

/*
 * Adds formats that a damaged file lacks if the running kernel made the recording: see
 * running_formats.c. 0 or -ENOMEM.
 */
int recording_take_running_formats(struct recording *r);

/* Interprets a record of type 64 or above, except FINISHED_ROUND. Returns 0 or -ENOMEM. */
int recording_user_record(
	struct recording *r, const struct perf_event_header *header, const char *bytes);

#endif
