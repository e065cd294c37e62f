/* SPDX-License-Identifier: MIT */
/*
 * Reads perf.data: files and pipes as written by perf record (4.x to 7.x) and attar record, of
 * either byte order, also compressed with zstd.
 *
 * A recording delivers its records in parts: contiguous records in the byte order of this machine,
 * exactly as a ring would contain them. Records that only perf's tools write (type 64 and above)
 * are interpreted or skipped and are never in a part. Parts are in file order; the stream sorts
 * them.
 *
 *	struct recording *r;
 *	struct recording_part part;
 *	recording_open("perf.data", &r);
 *	while ((ret = recording_next(r, &part)) > 0) {
 *		...
 *		recording_release(r, &part);
 *	}
 *	recording_close(r);
 *
 * Damaged input is not an error after recording_open(): what can be read is delivered, and
 * struct recording_stats says what could not be read and why. Memory is bounded by the parts that
 * the caller holds. Files are read with pread(2), never mapped: a file that shrinks is reported as
 * truncated.
 *
 * The format is documented in the kernel's tools/perf/Documentation/perf.data-file-format.txt.
 */
#ifndef PERFDATA_RECORDING_H
#define PERFDATA_RECORDING_H

#include "attar/record.h"
#include "base/base.h"
#include "perfdata/scheds.h"
#include "perfdata/waits.h"

/* Borrowed from the recording until it is closed; name, system and format_text can change in
 * a pipe. */
struct recording_event {
	const char *name; /* "sched:sched_switch", "cycles:u"; never NULL */
	struct perf_event_attr attr;
	const uint64_t *ids; /* can be NULL if n_ids is 0: all records are of this event */
	size_t n_ids;
	/* Of the tracepoint; NULL if format_text is. */
	const char *system, *tracepoint; /* "sched:sched_switch"; name may be an alias */
	const char *format_text; /* format file of tracefs, not NUL-terminated; NULL: none */
	size_t format_len;
};

struct recording_build_id {
	pid_t pid;     /* -1: the host's kernel and files; others: guests */
	uint16_t misc; /* PERF_RECORD_MISC_KERNEL ...: the cpumode of the file */
	uint8_t size;  /* bytes of id */
	uint8_t id[20];
	const char *filename;
};

/* Text that is not NUL-terminated; {NULL, 0} if the recording lacks it. */
struct recording_text {
	const char *at;
	size_t len;
};

/* The data of a recording about the machine and the run. Strings are NULL if unknown. */
struct recording_facts {
	const char *hostname, *release, *arch;
	const char *version; /* of the tool that made the recording */
	const char *cpu_desc, *cpu_id;
	const char *cmdline; /* arguments separated by spaces */
	uint32_t cpus_online, cpus_available;
	uint64_t memory; /* bytes */
	/* Of the file: who can have chosen its contents. Root: also of a pipe. */
	uid_t owner;
	pid_t recorder; /* the process of attar that made it, once data were read; 0: unknown */
	const char *online; /* the list of CPUs at the start, likewise; NULL: unknown */
	/* Time of the first and last sample in ns, from the header; 0: unknown. */
	uint64_t first_time, last_time;
	uint64_t clock_resolution; /* ns; 0: unknown */
	/* A moment on both clocks: clock_ns on clockid was wall_ns since 1970. Since perf 5.9. */
	bool has_clock_data;
	int clockid;
	uint64_t wall_ns, clock_ns;
	bool swapped;         /* written by a machine of the other byte order */
	bool pipe;            /* pipe format, also if read from a file */
	bool script;          /* made of a script: each of its rounds matters */
	bool has_aux;         /* contains AUX areas, which are not read */
	bool compressed;      /* contains records that are compressed with zstd */
	bool unfinished;      /* the tool was killed: features, such as build IDs, are missing */
	bool running_formats; /* formats of tracepoints are the formats of the running kernel */
	uint64_t features[4]; /* bitmap: those in the recording, known or not */
	/* From the tracing data. */
	uint8_t long_size;  /* bytes; 0: unknown */
	uint32_t page_size; /* bytes; 0: unknown */
	struct recording_text kallsyms, printk_formats, saved_cmdlines;
};

/* Events of a CPU, -1: unknown, that were counted when it was recorded, but not delivered. */
struct recording_missing {
	int cpu;
	uint64_t count;
};

struct recording_stats {
	uint64_t records; /* delivered in parts */
	uint64_t bytes;   /* of these records */
	uint64_t skipped; /* records of perf's tools that are not needed */
	uint64_t rounds;
	uint64_t aux_bytes;        /* of AUX areas, skipped */
	uint64_t compressed_bytes; /* before decompression */
	uint64_t malformed;        /* records that were dropped since they are invalid */
	uint64_t unread;           /* bytes that could not be read; 0 if unknown, as in a pipe */
	/*
	 * Why not everything could be read, as one clause without the file's name, such as "it ends
	 * at byte 4711 in the middle of a record"; NULL if nothing is wrong. Borrowed.
	 */
	const char *damage;
};

/* A record of a part that is older than the one before it; both are offsets in the part. */
struct recording_step {
	uint32_t at, before; /* before: of the last record with a time */
};

/* The times of a part's records, as far as they were looked at when it was found. */
struct recording_order {
	bool is_known;
	uint32_t last;   /* offset of the last record with a time */
	uint64_t newest; /* ns; 0: no record has a time */
	/* where time goes back; borrowed until the next part */
	const struct recording_step *steps;
	size_t n_steps;
};

/* Records to be delivered. */
struct recording_part {
	const void *bytes; /* aligned to 8; whole records */
	size_t len;        /* bytes; can be 0 if ends_round */
	/*
	 * A FINISHED_ROUND follows: no later part has a record older than the newest one of the
	 * round before this one.
	 */
	bool ends_round;
	struct recording_order order;
	struct recording_chunk *chunk; /* private */
};

struct recording;

/* Where the bytes of a recording come from, other than a file: all in the format of a pipe. */
struct recording_input {
	/*
	 * Like read(2), but never waits: n > 0, 0 at the end, or a negative errno such as -EAGAIN.
	 */
	ssize_t (*read)(void *ctx, void *bytes, size_t room);
	/* Why the end was an early one, as recording_stats.damage; NULL: it was not. */
	const char *(*damage)(const void *ctx);
	/* Records that were not read yet are from this time on, ns; NULL or 0: unknown. */
	uint64_t (*since)(const void *ctx);
	void *ctx;
	int fd; /* to poll after -EAGAIN; -1: none, read() always has bytes. Borrowed */
};

/* Like recording_open() of a pipe. name is for messages. */
int recording_open_input(
	const char *name, const struct recording_input *input, struct recording **ret_recording);

/*
 * Opens a file, a fifo or, for "-", standard input. From a pipe it reads up to the first record,
 * and waits for it. -EBADMSG: not a recording; -EISDIR, -ENOTSUP: of a kind that cannot be read;
 * -EINTR: a signal arrived while waiting; or the errno of open(2) or read(2).
 */
int recording_open(const char *path, struct recording **ret_recording);
/* Also releases all parts. Returns NULL. Accepts NULL. */
struct recording *recording_close(struct recording *r);

/* A pipe can add events while it is read; their indexes are stable. */
size_t recording_n_events(const struct recording *r);
const struct recording_event *recording_get_event(const struct recording *r, size_t index);

/* The index of the event with this id; -1: none. */
int recording_find(const struct recording *r, uint64_t id);

/*
 * The index of the event that wrote a record, by its id or, if only one event has none, that; -1:
 * unknown. Records without an id, such as those synthesized by perf, belong to event 0.
 */
int recording_event_of(const struct recording *r, const struct perf_event_header *header);

const struct recording_facts *recording_get_facts(const struct recording *r);
const struct recording_build_id *recording_build_ids(const struct recording *r, size_t *ret_n);

/* What is missing of all events. Complete when the recording has been read to its end. */
const struct recording_missing *recording_missing(const struct recording *r, size_t *ret_n);

/*
 * What threads waited for; time is 0 if the recording does not have it. RECORDING_ENDED: when the
 * recording has been read to its end.
 */
const struct recording_waits *recording_get_waits(
	const struct recording *r, enum recording_moment moment);

/* What the scheduler had counted for threads; likewise. */
const recording_scheds *recording_get_scheds(
	const struct recording *r, enum recording_moment moment);

/*
 * Stores the next part. Returns 1; 0 at the end; -EAGAIN if the pipe has no data now, without an
 * error message; -ENOMEM. Never waits for a pipe: poll recording_fd().
 */
int recording_next(struct recording *r, struct recording_part *ret_part);

/* Parts are released in any order. */
void recording_release(struct recording *r, struct recording_part *part);

/* Whether the last recording_next() needed data that a pipe did not have. */
bool recording_is_starved(const struct recording *r);

/* Sets stats.damage to the first reason. */
void recording_damage(struct recording *r, const char *fmt, ...) ATTAR_PRINTF(2, 3);

/*
 * If the recording is starved: later records are from this time on, ns on its clock; 0: unknown.
 */
uint64_t recording_since(const struct recording *r);

/* The fd of a pipe, to wait for data; -1 for a file. Owned by the recording. */
int recording_fd(const struct recording *r);

void recording_get_stats(const struct recording *r, struct recording_stats *ret_stats);

#endif
