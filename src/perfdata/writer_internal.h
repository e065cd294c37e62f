/* SPDX-License-Identifier: MIT */
/* The state of a writer, shared by its files. */
#ifndef PERFDATA_WRITER_INTERNAL_H
#define PERFDATA_WRITER_INTERNAL_H

#include "base/buf.h"
#include "base/file_writer.h"
#include "base/map.h"
#include "base/scan_budget.h"
#include "base/vec.h"
#include "record/uapi.h"
#include "perfdata/box.h"
#include "perfdata/compress.h"
#include "perfdata/format.h"
#include "perfdata/live_tasks.h"
#include "perfdata/writer.h"
#include "symbol/dso.h"

struct writer_event {
	char *name; /* owned */
	union uapi_attr attr;
	uint64_t *ids; /* owned */
	size_t n_ids;
	size_t n_early; /* number of ids known before the data of the current file */
	char *system;   /* owned; NULL: no tracepoint */
	const char *format_text;
	size_t format_len;
};

struct recording_writer {
	struct recording_writer_opts opts;
	const char *name;         /* of the file, for messages */
	struct file_writer *file; /* NULL: bytes go to the sink, or all is written */
	bool pipe, begun;
	int failed;                      /* the negative errno of the first failed write; 0: none */
	struct scan_budget scans;        /* of the mappings of all processes */
	struct scan_budget thread_scans; /* names of threads */
	bool many_mappings;              /* a process has too many, which was said */
	VEC(struct writer_event) events;
	uint32_t attr_size;         /* the same for all events */
	struct attar_layout layout; /* of the first event; offsets of time and task: of all */
	struct buf out;             /* to be written */
	uint64_t at;                /* bytes that the file was given, without those in out */
	uint64_t data_start;
	uint64_t early_size; /* bytes of the early features, see write_file.c */
	struct compressor compressor;
	struct buf plain;               /* to be compressed */
	struct dsos files;              /* that are mapped as code; only their keys are used */
	struct live_tasks tasks;        /* with opts.rotate or box: at the start of its records */
	struct box *box;                /* owned; NULL: a file is written */
	uint64_t first_time, last_time; /* ns; of samples; 0: none */
	uint64_t wall_ns, clock_ns;     /* the same moment, at the start */
	struct recording_writer_stats stats;
};

/* Whether files repeat the tasks that earlier records have described. */
static inline bool writer_follows(const struct recording_writer *w)
{
	return w->opts.rotate || w->box;
}

/* Compresses what was collected. 0 or a negative errno. */
int writer_compress(struct recording_writer *w);

/* Takes the file of a mapping record, for its build ID. */
void writer_note_map(struct recording_writer *w, const struct perf_event_header *header);

/* Ends a round in memory. 0 or a negative errno. */
int writer_round_box(struct recording_writer *w);

/* Passes the contents of out to the file, to be written without delay. 0 or a negative errno. */
int writer_flush(struct recording_writer *w);

/* Appends to the buffer in the format of perf.data. */
void writer_put_u32(struct buf *b, uint32_t value);
void writer_put_u64(struct buf *b, uint64_t value);
void writer_put_string(struct buf *b, const char *text);
void writer_put_header(struct buf *b, uint32_t type, uint16_t misc, size_t size);
void writer_pad(struct buf *b, size_t to);

/* Appends the contents of a feature; nothing if it is unknown here. */
void writer_put_feature(const struct recording_writer *w, enum data_feature feature, struct buf *b);

/* Appends the tracing data: formats of the tracepoints and strings of the kernel. */
void writer_put_tracing_data(const struct recording_writer *w, struct buf *b);

/* Appends records with the names and mappings of the kernel and of processes. */
int writer_put_tasks(struct recording_writer *w, struct buf *b);

/* Takes the names and mappings of processes, which dumps begin with. */
int writer_follow_tasks(struct recording_writer *w);

/* Appends records with the names and mappings that processes have now, and with the time. */
int writer_put_running(struct recording_writer *w, const pid_t *tids, size_t n, struct buf *b);

/* Remembers that code of this file was mapped: its path, device, inode and generation. */
void writer_add_file(struct recording_writer *w, const struct attar_mapping *mapping);

/*
 * Appends a record for the kernel and for each path whose file has a build ID. A record names the
 * path only: paths that had several files get none.
 */
void writer_put_build_ids(const struct recording_writer *w, struct buf *b);

#endif
