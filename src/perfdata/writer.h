/* SPDX-License-Identifier: MIT */
/*
 * Writes perf.data files and pipes, which perf and recording_open() read.
 *
 *	recording_writer_open(&opts, &w);
 *	recording_writer_add_event(w, &event);		// all events
 *	recording_writer_begin(w);			// header, names and mappings of processes
 *	for (;;) {
 *		recording_writer_note(w, header);	// each record
 *		recording_writer_write(w, bytes, len);	// the same records
 *		recording_writer_round(w);		// all rings were read
 *	}
 *	recording_writer_close(w);
 *
 * Records reach the file at each round, so a recording whose writer is killed can be read up to its
 * last round: only its features and build IDs are missing. Errors name the file; one of an earlier
 * call can be returned by a later one.
 */
#ifndef PERFDATA_WRITER_H
#define PERFDATA_WRITER_H

#include "attar/record.h"
#include "base/base.h"
#include "base/wait_limit.h"
#include "perfdata/scheds.h"
#include "perfdata/task_groups.h"
#include "perfdata/waits.h"

struct recording_writer_opts {
	/*
	 * Receives the bytes of a pipe in place of a file; path names it in messages. NULL: none.
	 */
	void (*sink)(void *ctx, const void *bytes, size_t n);
	void *ctx;
	const char *path; /* "-": a pipe on standard output; borrowed until close */
	/*
	 * A thread writes, and this many bytes wait for it at most: a slow disk does not delay the
	 * caller before. 0: no thread.
	 */
	size_t buffer;
	struct wait_limit limit; /* of waits for the reader of a pipe */
	bool compress;           /* with zstd */
	bool portable;           /* reserves the entry of perfdata/portable_names.h in a file */
	int clockid;             /* of the times in the records */
	/*
	 * The records are not of this machine, about which nothing is written. Their time 0 was
	 * wall_ns since 1970.
	 */
	bool is_script;
	uint64_t wall_ns;
	/*
	 * recording_writer_round() says that a file is full when it has this size in bytes; 0:
	 * never. With rotate, recording_writer_rotate() then continues in a new one, and keeps the
	 * last `rotate` files as PATH.1 (the newest) and so on.
	 */
	uint64_t max_bytes;
	unsigned rotate;
	/*
	 * Whose processes have their names and mappings written at the start: pids, or all if
	 * n_pids is 0 and all_processes is set. Borrowed until close.
	 */
	const pid_t *pids;
	size_t n_pids;
	bool all_processes;
	/*
	 * No file is written: the newest records, compressed, wait in memory for
	 * recording_writer_dump(): of this time in ns (0: a file is written), and at most this
	 * number of bytes, names and mappings included. Groups are kept as long as their processes.
	 */
	uint64_t keep_ns;
	size_t keep_bytes;
	/* The tasks when the file begins; borrowed until close. NULL: the system says. */
	const struct live_tasks *tasks;
};

struct recording_dump {
	const char *path;        /* an existing file is replaced; borrowed until close */
	size_t buffer;           /* as in recording_writer_opts */
	struct wait_limit limit; /* likewise */
	unsigned rotate;         /* an existing file becomes PATH.1, and so on, up to this number */
	uint64_t from;           /* ns: what ended before is left out; 0: nothing is */
};

/* Everything is copied, except format_text: borrowed until close. */
struct recording_writer_event {
	const char *name;
	const struct perf_event_attr *attr; /* of attr->size bytes */
	const uint64_t *ids;
	size_t n_ids;
	const char *system; /* of a tracepoint; NULL: none */
	const char *format_text;
	size_t format_len;
};

struct recording_writer_stats {
	uint64_t samples, records, bytes; /* bytes: of records, before compression */
	uint64_t lost;                    /* according to LOST records */
	uint64_t first_time, last_time;   /* ns: of the oldest and newest sample; 0: none */
	uint64_t file_bytes;              /* written, in all files */
	unsigned files;
};

struct recording_writer;

/* Creates the file; an existing one is replaced. Returns 0 or a negative errno. */
int recording_writer_open(
	const struct recording_writer_opts *opts, struct recording_writer **ret_writer);

int recording_writer_add_event(
	struct recording_writer *w, const struct recording_writer_event *event);

/*
 * Adds an id to an event after recording_writer_begin(), such as of a CPU that has come online, if
 * the event does not have it yet: at the end of a file, or in a record of a pipe, so only between
 * records of events. An event that was not added is ignored. 0, -ENOMEM, or the error of the write.
 */
int recording_writer_add_id(struct recording_writer *w, size_t event, uint64_t id);

/* Writes the header and the existing processes. */
int recording_writer_begin(struct recording_writer *w);

/* Takes what the header needs from a record: times, and files with build IDs. */
void recording_writer_note(struct recording_writer *w, const struct perf_event_header *header);

/* Writes records, or parts of records that are continued by the next call. */
int recording_writer_write(struct recording_writer *w, const void *bytes, size_t len);

/*
 * Writes the names and mappings that the processes have now, after records of them are missing,
 * such as the records of a CPU that was not monitored: of all processes, or of the processes
 * of the start and of tids. Between records of events; 0 or a negative errno.
 */
int recording_writer_add_running(struct recording_writer *w, const pid_t *tids, size_t n);

/*
 * Ends a round: the records of the following round are not older than the newest ones of the round
 * before this one. Returns 0; 1 if the file is full and nothing should be written any more.
 */
int recording_writer_round(struct recording_writer *w);

/*
 * Adds a record of n samples that an instance of the event lost since the file began, as perf does
 * at the end: PERF_RECORD_LOST_SAMPLES without a time. cpu: -1: any. Returns 0 or a negative errno.
 */
int recording_writer_add_lost(
	struct recording_writer *w, size_t event, uint64_t id, int cpu, uint64_t n);

/*
 * Adds that the kernel counted n events of the CPU, -1: unknown, that it neither delivered nor
 * lost. Returns 0 or a negative errno.
 */
int recording_writer_add_missing(struct recording_writer *w, int cpu, uint64_t n);

/* Adds what threads wait for. Between records of events; 0 or a negative errno. */
int recording_writer_add_waits(struct recording_writer *w, const struct recording_waits *waits,
	enum recording_moment moment);

/* Adds in which control group a process is; likewise. */
int recording_writer_add_group(struct recording_writer *w, const struct recording_group *group);

/* Adds what the scheduler has counted for threads; likewise. */
int recording_writer_add_scheds(
	struct recording_writer *w, const recording_scheds *scheds, enum recording_moment moment);

/* Completes a full file and begins the next one. 0; 1: no file follows; or a negative errno. */
int recording_writer_rotate(struct recording_writer *w);

/*
 * Writes what is kept to a file of its own. More can be added at its end, before
 * recording_writer_close(*ret_dump), which precedes any other use of w. 0 or a negative errno.
 */
int recording_writer_dump(struct recording_writer *w, const struct recording_dump *dump,
	struct recording_writer **ret_dump);

/* What is kept at this moment. */
struct recording_kept {
	size_t bytes; /* of memory */
	uint64_t samples;
	uint64_t first, last; /* ns: times of samples; 0: none */
};
void recording_writer_get_kept(const struct recording_writer *w, struct recording_kept *ret_kept);

void recording_writer_get_stats(
	const struct recording_writer *w, struct recording_writer_stats *ret_stats);

/*
 * Completes the file, also after an error of other functions: the records that were written can
 * then be read. Only recording_writer_close() may follow. Returns 0 or a negative errno.
 */
int recording_writer_finish(struct recording_writer *w);

/* Finishes the file unless that was done, and frees the writer. Accepts NULL. */
int recording_writer_close(struct recording_writer *w);

#endif
