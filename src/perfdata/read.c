/* SPDX-License-Identifier: MIT */
/*
 * The data of a recording, in parts:
 *
 *	file or pipe -> raw feed -> walk() -> parts
 *	                   |          ^
 *	                   +-> decompress_more() -> inflated feed
 *
 * step() advances one of them, and recording_next() repeats it until a part or the end is reached.
 */
#include <poll.h>

#include "record/record.h"
#include "perfdata/internal.h"

/* Results of walk() and step(). */
enum { STEP_NEED = -ENODATA, STEP_DONE = 0, STEP_PART = 1 };

static struct perf_event_header header_at(const struct recording *r, const char *at)
{
	struct perf_event_header header;

	memcpy(&header, at, sizeof(header));
	if (unlikely(r->facts.swapped)) {
		header.type = __builtin_bswap32(header.type);
		header.misc = __builtin_bswap16(header.misc);
		header.size = __builtin_bswap16(header.size);
	}
	return header;
}

/* Converts a record in place, whose header was converted. False if it is invalid. */
static bool convert_aligned(struct recording *r, void *record)
{
	int index = recording_event_of_swapped(r, record);
	const struct event_entry *entry = index < 0 ? NULL : r->events.at[index];

	return entry && swap_record(&entry->layout, entry->format, record);
}

/* Converts a record in place. An invalid one gets a type that is ignored. */
static int convert(struct recording *r, char *at, struct perf_event_header header)
{
	bool aligned = (uintptr_t)at % 8 == 0;
	char *record = at;

	if (!aligned && !r->aligned) {
		r->aligned = malloc(UINT16_MAX + 1);
		if (!r->aligned)
			return base_oom();
	}
	if (!aligned)
		record = memcpy(r->aligned, at, header.size);
	memcpy(record, &header, sizeof(header));
	if (!convert_aligned(r, record)) {
		r->stats.malformed++;
		header.type = 0;
		memcpy(record, &header, sizeof(header));
	}
	if (!aligned)
		memcpy(at, record, header.size);
	return 0;
}

/* Whether a record is a whole one of the kernel. */
static inline bool is_of_kernel(const struct perf_event_header *header, size_t left)
{
	return header->size <= left && header->size >= sizeof(*header) && header->size % 8 == 0 &&
	       header->type < RECORD_ATTR;
}

/* ---- records of this machine's byte order ---- */

/* What is the same in the first word of equal records: type and size, without misc. */
static const uint64_t EQUAL_BITS = UINT64_C(0xffff0000ffffffff);

/* A pass over the records of a part. */
struct scan {
	const char *start, *at, *end;
	uint64_t records;
	uint64_t last; /* ns: the time of the record at order.last */
	struct recording_order order;
};

static inline uint64_t word_at(const char *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

static __attribute__((noinline)) void add_step(struct recording *r, struct scan *scan)
{
	struct recording_step step = {
		.at = (uint32_t)(scan->at - scan->start), .before = scan->order.last};

	scan->order.newest = MAX(scan->order.newest, scan->last);
	if (vec_push(&r->steps, step) < 0)
		scan->order.is_known = false; /* the stream looks for itself */
}

/* Passes one record, whose time is 0 if it has none. */
static void pass_record(struct recording *r, struct scan *scan, size_t size, uint64_t time)
{
	if (time && time < scan->last)
		add_step(r, scan);
	if (time) {
		scan->last = time;
		scan->order.last = (uint32_t)(scan->at - scan->start);
	}
	scan->records++;
	scan->at += size;
}

/* Whether the first word of a record begins a whole sample with a time at this offset. */
static inline bool is_sample(uint64_t word, size_t offset, size_t left)
{
	uint64_t size = word >> 48;

	return (uint32_t)word == PERF_RECORD_SAMPLE && size % 8 == 0 && size >= offset + 8 &&
	       size <= left;
}

/* `at` is after samples of this size from `from` on. */
static inline void note_last(struct scan *scan, const char *from, const char *at, size_t size)
{
	scan->at = at;
	if (at != from)
		scan->order.last = (uint32_t)(at - size - scan->start);
}

/*
 * Passes samples with their time at this offset. The size is the size of the sample before,
 * compared with the one in the record: the next address need not wait until the record is loaded.
 */
static void pass_samples(struct recording *r, struct scan *scan, size_t offset)
{
	const char *at = scan->at, *end = scan->end, *from = at;
	const char *stop = NULL; /* the last address at which a record of this size fits */
	uint64_t last_time = scan->last, records = 0, equal = 0, time;
	size_t size = 0;

	for (;; at += size) {
		if (unlikely(at > stop || (word_at(at) & EQUAL_BITS) != equal)) {
			note_last(scan, from, at, size);
			if ((size_t)(end - at) < sizeof(equal) ||
				!is_sample(word_at(at), offset, (size_t)(end - at)))
				break;
			from = at;
			equal = word_at(at) & EQUAL_BITS;
			size = equal >> 48;
			stop = end - size;
		}
		time = word_at(at + offset);
		if (unlikely(time < last_time)) {
			note_last(scan, from, at, size);
			if (!time)
				break;
			scan->last = last_time;
			add_step(r, scan);
		}
		last_time = time;
		records++;
	}
	scan->last = last_time;
	scan->records += records;
}

static uint64_t unaligned_time(
	const struct attar_layout *layout, const char *at, const struct perf_event_header *header)
{
	int offset = header->type == PERF_RECORD_SAMPLE ? layout->time
		     : layout->back_time > 0
			     ? (int)record_end(layout, header, at) - layout->back_time
			     : -1;

	return offset < (int)sizeof(*header) || offset + 8 > header->size ? 0
									  : word_at(at + offset);
}

/* Passes the kernel's records at the start of the bytes. */
static void scan_native(struct recording *r, struct scan *scan)
{
	const struct attar_layout *layout = r->same_times ? &r->events.at[0]->layout : NULL;

	r->steps.n = 0;
	scan->order.is_known = layout != NULL;
	while ((size_t)(scan->end - scan->at) >= sizeof(struct perf_event_header)) {
		struct perf_event_header header;
		const char *at = scan->at;

		memcpy(&header, at, sizeof(header));
		if (unlikely(!is_of_kernel(&header, (size_t)(scan->end - at))))
			break;
		if (header.type == PERF_RECORD_SAMPLE && layout && layout->time > 0)
			pass_samples(r, scan, (size_t)layout->time);
		if (scan->at == at)
			pass_record(r, scan, header.size,
				layout ? unaligned_time(layout, at, &header) : 0);
	}
	scan->order.newest = MAX(scan->order.newest, scan->last);
	scan->order.steps = r->steps.at;
	scan->order.n_steps = r->steps.n;
}

/*
 * The header of attar's own recordings has the time of the newest sample. 0: unknown.
 * With a small tolerance: a time that is wrong by less does not move other records by much.
 */
static uint64_t latest_time(const struct recording *r)
{
	enum { TOLERANCE_NS = 1000000000 };

	return r->facts.recorder && r->facts.last_time ? r->facts.last_time + TOLERANCE_NS : 0;
}

/*
 * Samples whose time is later than the recording, because of a flipped bit: all records after them
 * would be given this time, too. Returns their number.
 */
static size_t mend_times(const struct recording *r, char *start, const char *end)
{
	const int offset = r->events.at[0]->layout.time;
	uint64_t before = r->facts.first_time, latest = latest_time(r), time;
	struct perf_event_header header;
	size_t n = 0;

	for (char *at = start; at < end; at += header.size) {
		memcpy(&header, at, sizeof(header));
		if (header.type != PERF_RECORD_SAMPLE || offset < (int)sizeof(header) ||
			offset + (int)sizeof(time) > header.size)
			continue;
		time = word_at(at + offset);
		if (time > latest) {
			memcpy(at + offset, &before, sizeof(before));
			n++;
		} else {
			before = time;
		}
	}
	return n;
}

static void scan_mended(struct recording *r, struct scan *scan)
{
	const struct scan begin = *scan;
	uint64_t latest = latest_time(r);

	scan_native(r, scan);
	if (likely(!latest || scan->order.newest <= latest) ||
		!mend_times(r, (char *)(uintptr_t)begin.start, scan->at))
		return;
	recording_damage(r, "the times of samples are later than its end: each is given the time "
			    "of the sample before it");
	*scan = begin;
	scan_native(r, scan);
}

/* ---- parts ---- */

/* The length of the kernel's records at the start of the feed; *ret_next is the next header. */
static size_t find_run(struct recording *r, const struct feed *feed,
	struct perf_event_header *ret_next, struct recording_order *ret_order)
{
	char *start = feed_bytes(feed);
	size_t len = feed_len(feed), run;
	struct scan scan = {.start = start, .at = start, .end = start + len};
	uint64_t records;

	*ret_next = (struct perf_event_header){.size = UINT16_MAX};
	if (!r->facts.swapped)
		scan_mended(r, &scan);
	run = (size_t)(scan.at - start);
	records = scan.records;
	*ret_order = scan.order;
	while (len - run >= sizeof(*ret_next)) {
		struct perf_event_header header = header_at(r, start + run);

		if (unlikely(!is_of_kernel(&header, len - run)) ||
			(unlikely(r->facts.swapped) && convert(r, start + run, header) < 0)) {
			*ret_next = header;
			break;
		}
		records++;
		run += header.size;
	}
	r->stats.records += records;
	return run;
}

static int end_round(struct recording *r, struct feed *feed, struct recording_part *part)
{
	feed_consume(feed, header_at(r, feed_bytes(feed)).size);
	part->ends_round = true;
	r->stats.rounds++;
	return STEP_PART;
}

static bool is_whole(const struct feed *feed, const struct perf_event_header *header)
{
	return feed->chunk && feed_len(feed) >= sizeof(*header) &&
	       header->size >= sizeof(*header) && header->size <= feed_len(feed);
}

static int make_part(struct recording *r, struct feed *feed, size_t run,
	const struct recording_order *order, struct recording_part *part)
{
	struct recording_chunk *chunk = feed->chunk;
	const void *bytes = feed_bytes(feed);

	if ((uintptr_t)bytes % 8) {
		bytes = feed_copy(&r->pool, &r->copies, bytes, run);
		if (!bytes)
			return -ENOMEM;
		chunk = r->copies.chunk;
	}
	chunk->refs++;
	*part = (struct recording_part){
		.bytes = bytes, .len = run, .chunk = chunk, .order = *order};
	r->stats.bytes += run;
	feed_consume(feed, run);
	return STEP_PART;
}

/* The rest of a feed is unreadable, since the start of the next record is unknown. */
static void bad_size(struct recording *r, struct feed *feed, uint16_t size)
{
	if (feed == &r->inflated) {
		recording_damage(r, "its compressed data contain a record of %u bytes", size);
		r->decompressor.failed = true;
		feed->at = feed->end;
		return;
	}
	recording_damage(r,
		"the record at byte %llu has a size of %u bytes, which is invalid: the rest cannot "
		"be read",
		(unsigned long long)feed->offset, size);
	if (r->seekable)
		r->stats.unread += MIN(r->data_end, r->file_size) - feed->offset;
	r->ended = true;
}

/* Handles the record at the start of the feed, which is not one of the kernel's. */
static int other_record(struct recording *r, struct feed *feed, struct perf_event_header header,
	struct recording_part *part)
{
	const char *bytes = feed_bytes(feed);

	if (header.type == RECORD_FINISHED_ROUND)
		return end_round(r, feed, part);
	feed_consume(feed, header.size);
	if (header.type < RECORD_ATTR) { /* its size is not a multiple of 8 */
		r->stats.malformed++;
		return STEP_DONE;
	}
	if (header.type >= RECORD_DAMAGED)
		recording_damage(r, "a record has the type %u, so that it cannot be read",
			(unsigned)header.type);
	if (feed == &r->inflated) {
		r->stats.skipped++;
		return STEP_DONE;
	}
	return recording_user_record(r, &header, bytes);
}

static int walk(struct recording *r, struct feed *feed, struct recording_part *part)
{
	struct perf_event_header next;
	struct recording_order order;
	size_t run;

	if (!feed->chunk)
		return STEP_NEED;
	run = find_run(r, feed, &next, &order);
	if (run) {
		int ret = make_part(r, feed, run, &order, part);

		if (ret == STEP_PART && next.type == RECORD_FINISHED_ROUND && is_whole(feed, &next))
			end_round(r, feed, part);
		return ret;
	}
	if (is_whole(feed, &next))
		return other_record(r, feed, next, part);
	if (next.size >= sizeof(next))
		return STEP_NEED;
	bad_size(r, feed, next.size);
	return STEP_DONE;
}

static int decompress_more(struct recording *r)
{
	struct decompressor *decompressor = &r->decompressor;
	ssize_t room = feed_room(&r->pool, &r->inflated), n;

	if (room < 0)
		return -ENOMEM;
	n = decompress_read(
		decompressor, (char *)r->inflated.chunk->words + r->inflated.end, (size_t)room);
	if (n == -ENOMEM)
		return -ENOMEM;
	if (n < 0) {
		recording_damage(r, "its compressed data before byte %llu cannot be read: %s",
			(unsigned long long)r->raw.offset, attar_error());
		r->stats.unread += decompressor->left;
		return STEP_DONE;
	}
	r->inflated.end += (size_t)n;
	return STEP_DONE;
}

/* Reports what is missing at the end of the input. */
static void finish(struct recording *r)
{
	uint64_t end = r->raw.offset + (r->raw.chunk ? feed_len(&r->raw) : 0);
	const char *cut = r->input.damage ? r->input.damage(r->input.ctx) : NULL;

	r->ended = true;
	if (cut)
		recording_damage(r, "%s", cut);
	if (r->data_end != UINT64_MAX && end < r->data_end) {
		recording_damage(r,
			"it is truncated: it ends at byte %llu, its data would end at byte %llu",
			(unsigned long long)end, (unsigned long long)r->data_end);
		r->stats.unread += r->data_end - r->raw.offset;
	} else if (r->skip || r->gather_left || end != r->raw.offset) {
		recording_damage(r, "it ends at byte %llu in the middle of a record",
			(unsigned long long)end);
		r->stats.unread += end - r->raw.offset;
	} else if (r->inflated.chunk && feed_len(&r->inflated)) {
		recording_damage(r, "its compressed data end in the middle of a record");
	}
}

static ssize_t read_input(struct recording *r, char *bytes, size_t room)
{
	struct pollfd fd = {.fd = r->fd, .events = POLLIN};
	uint64_t offset = r->raw.offset + feed_len(&r->raw);
	ssize_t got;

	if (r->input.read)
		return r->input.read(r->input.ctx, bytes, room);
	if (r->seekable && offset > INT64_MAX)
		return 0;
	if (!r->seekable && poll(&fd, 1, 0) <= 0)
		return -EAGAIN;
	do
		got = r->seekable ? pread(r->fd, bytes, room, (off_t)offset)
				  : read(r->fd, bytes, room);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

static int fill(struct recording *r)
{
	ssize_t room = feed_room(&r->pool, &r->raw), got;
	uint64_t left;

	if (room < 0)
		return -ENOMEM;
	left = r->raw.offset + feed_len(&r->raw);
	left = left < r->data_end ? r->data_end - left : 0;
	got = left ? read_input(r, (char *)r->raw.chunk->words + r->raw.end,
			     (size_t)MIN((uint64_t)room, left))
		   : 0;
	if (got == -EAGAIN)
		return -EAGAIN;
	if (got > 0) {
		r->raw.end += (size_t)got;
		return STEP_DONE;
	}
	if (got < 0)
		recording_damage(r, "byte %llu cannot be read: %s",
			(unsigned long long)(r->raw.offset + feed_len(&r->raw)),
			strerror((int)-got));
	finish(r);
	return STEP_DONE;
}

/* Discards bytes that follow a record: AUX areas. */
static int skip_bytes(struct recording *r)
{
	uint64_t n = r->raw.chunk ? MIN(r->skip, feed_len(&r->raw)) : 0;
	uint64_t end = MIN(r->data_end, r->file_size);

	feed_consume(&r->raw, n);
	if (r->skip > n && r->seekable) {
		uint64_t left = end > r->raw.offset ? end - r->raw.offset : 0;
		uint64_t here = MIN(left, r->skip - n);

		r->raw.offset += here;
		n += here;
	}
	r->stats.aux_bytes += n;
	r->skip -= n;
	return r->skip ? fill(r) : STEP_DONE;
}

/* Collects tracing data, which follow a record of a pipe. */
static int gather(struct recording *r)
{
	size_t n = r->raw.chunk ? MIN(r->gather_left, feed_len(&r->raw)) : 0, len;
	char *bytes;

	if (n)
		buf_add(&r->gathered, feed_bytes(&r->raw), n);
	feed_consume(&r->raw, n);
	r->gather_left -= n;
	if (r->gather_left)
		return fill(r);
	len = r->gathered.len;
	bytes = buf_take(&r->gathered);
	return bytes ? recording_tracing_data(r, bytes, len) : base_oom();
}

static int step(struct recording *r, struct recording_part *part)
{
	int ret;

	if (r->gather_left)
		return gather(r);
	if (r->skip)
		return skip_bytes(r);
	ret = walk(r, &r->inflated, part);
	if (ret != STEP_NEED)
		return ret;
	if (decompress_pending(&r->decompressor))
		return decompress_more(r);
	ret = walk(r, &r->raw, part);
	return ret == STEP_NEED ? fill(r) : ret;
}

int recording_next(struct recording *r, struct recording_part *ret_part)
{
	struct recording_part part = r->pending;
	int ret = part.chunk || part.ends_round ? STEP_PART : STEP_DONE;

	r->pending = (struct recording_part){0};
	while (ret == STEP_DONE && !r->ended)
		ret = step(r, &part);
	r->starved = ret == -EAGAIN;
	if (ret >= 0 && r->incomplete && recording_complete_events(r) < 0)
		ret = -ENOMEM;
	if (ret == STEP_PART)
		*ret_part = part;
	return ret;
}

void recording_release(struct recording *r, struct recording_part *part)
{
	chunk_release(&r->pool, part->chunk);
	*part = (struct recording_part){0};
}

uint64_t recording_since(const struct recording *r)
{
	return r->starved && r->input.since ? r->input.since(r->input.ctx) : 0;
}
