/* SPDX-License-Identifier: MIT */
/*
 * Internals of the record parser: a bounded cursor over the words of a record. Every length in the
 * record is compared with the remaining size before it is used.
 */
#ifndef RECORD_RECORD_H
#define RECORD_RECORD_H

#include "attar/record.h"
#include "base/base.h"

/*
 * Ring bytes have no effective type: loads through this type are exempt from the strict aliasing
 * rule.
 */
typedef uint64_t __attribute__((may_alias)) record_word;

struct record_cursor {
	const record_word *at, *end;
};

static inline uint64_t record_left(const struct record_cursor *c)
{
	return (uint64_t)(c->end - c->at); /* words */
}

/* Returns the next n words, or NULL if there are fewer. */
static inline const record_word *record_take(struct record_cursor *c, uint64_t n)
{
	const record_word *at = c->at;

	if (unlikely(n > record_left(c)))
		return NULL;
	c->at += n;
	return at;
}

/*
 * Fails with -EBADMSG and "malformed SAMPLE record of N bytes: ", followed by the formatted reason.
 */
int record_bad(const struct perf_event_header *header, const char *fmt, ...) ATTAR_PRINTF(2, 3);

/*
 * Handles records that the kernel would not write to a ring: outside the given bytes, or with a
 * size that is not a multiple of 8. The latter is an error except for unknown types, since
 * user-space tools define such types.
 */
int record_odd(
	const struct attar_layout *layout, const void *bytes, size_t len, struct attar_record *rec);

/* Like attar_record_end(), of bytes that need not be aligned, and a copy of their header. */
size_t record_end(const struct attar_layout *layout, const struct perf_event_header *header,
	const char *bytes);

/* Parses any record except SAMPLE; the header fields of rec are already set. */
int record_other(const struct attar_layout *layout, const struct perf_event_header *header,
	struct attar_record *rec);

/*
 * Whether an MMAP2 record with this misc has a build ID; word is the one after pgoff, in the byte
 * order of the record: the size of the id, or the major number of a device.
 *
 * When an event of another program has attr.build_id, the kernel leaves the flag of its record set
 * in those that it writes for further events (seen on 6.18): perf_event_mmap_output(). `perf
 * inject` adds build IDs to recordings of events without the attribute. The size is then the size
 * of an id: 16 and 20 are also the major numbers of old CD-ROM drives.
 */
bool record_has_build_id(const struct attar_layout *layout, uint16_t misc, const void *word);

/* Advances the cursor past a read_format block. Returns false if the block exceeds the record. */
bool record_read(uint64_t read_format, struct record_cursor *c, struct attar_read *ret_read);

#endif
