/* SPDX-License-Identifier: MIT */
/*
 * What attar/stream.h has for attar itself only. It may change with each version, and is not
 * installed.
 */
#ifndef ATTAR_PRIVATE_STREAM_H
#define ATTAR_PRIVATE_STREAM_H

#include "attar/stream.h"

/* The number of rings; ring i, NULL if out of range. Borrowed from the stream. */
size_t stream_rings(const struct attar_stream *stream);

struct attar_ring *stream_ring(const struct attar_stream *stream, size_t i);

/*
 * The `missing` events by CPU, as of the last attar_stream_get_stats(). Returns the number of CPUs.
 * *ret_counts is borrowed until the stream is freed.
 */
size_t stream_get_missing(struct attar_stream *stream, const struct attar_cpu_count **ret_counts);

/*
 * The location of the sampled address: in the kernel of the event's host, or in its process. 0 if
 * the sample has none. Reads no symbols.
 */
attar_location event_location(const struct attar_event *event);

#endif
