/* SPDX-License-Identifier: MIT */
/*
 * Builds perf.data files byte by byte for tests of the reader, written from the description of the
 * format and independently of attar's writer.
 */
#ifndef RECORDING_FILE_H
#define RECORDING_FILE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct file_builder {
	struct buf bytes;
	bool swapped; /* numbers of the other byte order */
	bool pipe;
	uint32_t attr_bytes; /* of a struct perf_event_attr; 0: ATTR_BYTES */
};

void put_u16(struct file_builder *f, uint16_t value);
void put_u32(struct file_builder *f, uint32_t value);
void put_u64(struct file_builder *f, uint64_t value);
void put_zeros(struct file_builder *f, size_t n);
/* A string of the header: its length, the text, and NULs up to a multiple of 64 bytes. */
void put_string(struct file_builder *f, const char *text);
void put_header(struct file_builder *f, uint32_t type, uint16_t misc, size_t size);

/* A sample of event id with IDENTIFIER, TID and TIME. */
enum {
	SAMPLE_BYTES = 32,
	SAMPLE_TYPE = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME
};
void put_sample(struct file_builder *f, uint64_t id, uint32_t tid, uint64_t time);

/* Attributes of the events of such samples: PERF_TYPE_TRACEPOINT with this config. */
enum { ATTR_BYTES = 136 };
void put_attr(struct file_builder *f, uint64_t config);

/* Tracing data with one format per config: "test:eventCONFIG". */
void put_tracing_data(struct file_builder *f, uint64_t first_config, unsigned n);

/*
 * A file with two events (configs 71 and 72, ids 1001, 1002 and 2001), n samples with the times 1,
 * 2, ..., a round after every 10, and features. *ret_data, unless NULL, gets the offset of the
 * data.
 */
void build_file(struct file_builder *f, unsigned n, uint64_t *ret_data);

/*
 * A pipe with the n samples in records of type COMPRESSED, or COMPRESSED2 with `two`, cut in the
 * middle of a sample. Only with HAVE_ZSTD.
 */
void build_compressed(struct file_builder *f, unsigned n, bool two);

/* The same as a pipe. */
void build_pipe(struct file_builder *f, unsigned n);

#endif
