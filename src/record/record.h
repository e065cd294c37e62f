/* SPDX-License-Identifier: MIT */
/*
 * What the record parser's files share: a cursor over the words of one record. It never passes its
 * end, and every length that the record claims is compared with what is left before it is believed.
 */
#ifndef RECORD_RECORD_H
#define RECORD_RECORD_H

#include "attar/record.h"
#include "base/base.h"

/*
 * Bytes of a ring are no objects of any type: loads through this one are exempt from the aliasing
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

/* The next n words, or NULL when there are fewer. */
static inline const record_word *record_take(struct record_cursor *c, uint64_t n)
{
	const record_word *at = c->at;

	if (unlikely(n > record_left(c)))
		return NULL;
	c->at += n;
	return at;
}

/*
 * -EBADMSG with "malformed SAMPLE record of N bytes: " before the sentence that says what is wrong.
 */
int record_bad(const struct perf_event_header *header, const char *fmt, ...) ATTAR_PRINTF(2, 3);

/*
 * A record that is not as the kernel would place it in a ring: outside of its bytes, or (an error
 * but for unknown types, which perf's tools invent) of a size that is no multiple of 8.
 */
int record_odd(
	const struct attar_layout *layout, const void *bytes, size_t len, struct attar_record *rec);

/* Any record but a SAMPLE; rec has its header already. */
int record_other(const struct attar_layout *layout, const struct perf_event_header *header,
	struct attar_record *rec);

/* Moves the cursor over a block of read_format. False when it is longer than what is left. */
bool record_read(uint64_t read_format, struct record_cursor *c, struct attar_read *ret_read);

#endif
