/* SPDX-License-Identifier: CC0-1.0 */
/* Reads rings while their writers overwrite the oldest records, and merges all rings by time. */
#include "writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- one ring ---- */

/*
 * Finds the oldest record that is not about to be overwritten, by the marks of the ring's
 * sixteenths, which hold its position and number. Returns 0, or -EAGAIN if the writer overtook the
 * reader.
 */
static int find_mark(struct reader *reader, uint64_t *ret_position, uint64_t *ret_count)
{
	uint64_t size = reader->writer->ring_size, part = size / AREA_MARKS, best = UINT64_MAX;
	uint64_t reserved = __atomic_load_n(&reader->seen->reserved, __ATOMIC_ACQUIRE);
	uint64_t head = __atomic_load_n(&reader->seen->head, __ATOMIC_ACQUIRE);
	int i;

	for (i = 0; i < AREA_MARKS; i++) {
		uint64_t at = __atomic_load_n(&reader->seen->marks[i].position, __ATOMIC_ACQUIRE);
		uint64_t count = __atomic_load_n(&reader->seen->marks[i].count, __ATOMIC_RELAXED);

		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (at != __atomic_load_n(&reader->seen->marks[i].position, __ATOMIC_RELAXED) ||
			at / part % AREA_MARKS != (uint64_t)i || at > head ||
			reserved - at > size - part || at >= best)
			continue;
		best = at;
		*ret_count = count;
	}
	*ret_position = best;
	return best == UINT64_MAX ? -EAGAIN : 0;
}

/* Continues at a mark and counts the skipped records as lost. Returns 0 or -EAGAIN. */
static int catch_up(struct perfume_collector *c, struct reader *reader)
{
	uint64_t position, count;

	if (find_mark(reader, &position, &count))
		return -EAGAIN;
	if (position < reader->position || count < reader->count ||
		count - reader->count >
			(position - reader->position) / sizeof(struct area_record) ||
		(reader->position >= reader->skip_to &&
			!perfume_is_possible(count - reader->known, reader->since))) {
		perfume_writer_give_up(c, reader->writer);
		return 0;
	}
	if (reader->position < reader->skip_to) {
		reader->base = reader->known = count;
	} else {
		reader->lost += count - reader->count;
		if (reader->writer->n_chosen)
			reader->writer->user->lost += count - reader->count;
	}
	reader->position = position;
	reader->count = count;
	return 0;
}

static void *map_twice(int fd, uint32_t i, size_t size)
{
	off_t at = (off_t)(AREA_DATA + (uint64_t)i * size);
	char *data = mmap(NULL, 2 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int k;

	for (k = 0; k < 2 && data != MAP_FAILED; k++)
		if (mmap(data + (size_t)k * size, size, PROT_READ, MAP_SHARED | MAP_FIXED, fd,
			    at) == MAP_FAILED) {
			munmap(data, 2 * size);
			data = MAP_FAILED;
		}
	return data == MAP_FAILED ? NULL : data;
}

/* Maps the ring on first use, because most rings are never read. Returns 0 or a negative errno. */
static int open_ring(struct reader *reader)
{
	struct writer *writer = reader->writer;

	if (!reader->chunk)
		reader->chunk = malloc(CHUNK);
	if (!reader->data)
		reader->data = map_twice(writer->fd, reader->index, writer->ring_size);
	return reader->chunk && reader->data ? 0 : -ENOMEM;
}

/* A forged ring can have new data all the time. The last poll has an end, see set_last(). */
static int take_budget(const struct perfume_collector *c, struct reader *reader)
{
	size_t *budget = c->is_last ? &reader->writer->user->last_bytes : &reader->budget;

	if (*budget < CHUNK)
		return 0;
	*budget -= CHUNK;
	return 1;
}

/* For a writer that waits for its reader. */
static void say_read(struct reader *reader)
{
	if (reader->writer->n_chosen)
		__atomic_store_n(&reader->writer->area->rings[reader->index].read, reader->position,
			__ATOMIC_RELAXED);
}

/*
 * Copies new data of the ring into the empty chunk. Returns the number of bytes copied, 0 if there
 * are none or the budget is used up.
 */
static size_t copy_chunk(struct perfume_collector *c, struct reader *reader)
{
	uint64_t size = reader->writer->ring_size, head, n, most;
	int tries;

	say_read(reader);
	for (tries = 0; tries < 1000 && reader->writer->gone != 2; tries++) {
		head = __atomic_load_n(&reader->seen->head, __ATOMIC_ACQUIRE);
		n = head - reader->position;
		if (!n) {
			reader->known = reader->count;
			reader->since = c->polled;
		}
		if (!n || reader->position >= reader->last || open_ring(reader) < 0 ||
			!take_budget(c, reader))
			return 0;
		if (n <= size) {
			most = reader->last - reader->position;
			most = most < CHUNK ? most : CHUNK;
			n = n < most ? n : most;
			memcpy(reader->chunk, reader->data + (reader->position & (size - 1)), n);
			__atomic_thread_fence(__ATOMIC_ACQUIRE);
			if (__atomic_load_n(&reader->seen->reserved, __ATOMIC_RELAXED) -
					reader->position <=
				size)
				return n;
		}
		catch_up(c, reader);
	}
	perfume_writer_give_up(c, reader->writer);
	return 0;
}

/* Returns the first record of the chunk if it is complete and valid, otherwise NULL. */
static const struct area_record *front(const struct reader *reader)
{
	const struct area_record *record;
	size_t left = reader->end - reader->at;

	if (left < sizeof(*record))
		return NULL;
	record = (const void *)(reader->chunk + reader->at);
	if (record->size > left || record->size < sizeof(*record) || record->size % 8 ||
		record->padding > 7 || record->padding > record->size - sizeof(*record))
		return NULL;
	return record;
}

static void pass(struct reader *reader, const struct area_record *record)
{
	if (record->slot == AREA_OWNER && record->size - record->padding >= sizeof(*record) + 4)
		memcpy(&reader->tid, record + 1, 4);
	reader->count += record->slot != AREA_OWNER;
	reader->at += record->size;
	reader->position += record->size;
}

/* Advances to the first record written since the ring was added. Returns false if there is none. */
static int advance(struct perfume_collector *c, struct reader *reader)
{
	const struct area_record *record;
	uint64_t time;

	for (;;) {
		record = front(reader);
		if (record && record->slot == AREA_OWNER) {
			pass(reader, record);
			continue;
		}
		if (record && reader->position >= reader->skip_to)
			break;
		if (record) {
			pass(reader, record);
			reader->base = reader->known = reader->count;
			continue;
		}
		/* The chunk ends within a record; copy that record again from its beginning. */
		reader->at = 0;
		reader->end = copy_chunk(c, reader);
		if (!reader->end)
			return 0;
		if (!front(reader)) {
			perfume_writer_give_up(c, reader->writer);
			return 0;
		}
	}
	time = perfume_clock_ns(c, reader->writer->area->clock, record->time);
	reader->time = time > reader->time ? time : reader->time;
	return 1;
}

/* old: the ring was already in use; start at its current position. */
static int add_reader(struct perfume_collector *c, struct writer *writer, int old)
{
	uint32_t i = writer->n_readers;
	struct reader *reader;
	int tries = 1000;

	if (c->n_readers == MAX_READERS ||
		!perfume_user_has_room(writer->user, writer->user->n_readers, MAX_READERS))
		return -ENOMEM;
	reader = calloc(1, sizeof(*reader));
	if (!reader)
		return -ENOMEM;
	c->n_readers++;
	writer->user->n_readers++;
	reader->writer = writer;
	reader->seen = &writer->area->rings[i];
	reader->index = i;
	reader->last = UINT64_MAX;
	if (old) {
		reader->skip_to = __atomic_load_n(&reader->seen->head, __ATOMIC_ACQUIRE);
		while (--tries && find_mark(reader, &reader->position, &reader->count))
			;
		reader->base = reader->count;
	}
	if (!tries)
		perfume_writer_give_up(c, writer);
	reader->known = reader->count;
	reader->since = writer->visited;
	writer->readers[writer->n_readers++] = reader;
	return 0;
}

/*
 * Number of records written since the ring was added, according to the writer. A writer that was
 * killed may have counted a record without publishing it.
 */
uint64_t perfume_reader_written(const struct reader *reader)
{
	const struct area_ring *seen = reader->seen;
	uint64_t count = __atomic_load_n(&seen->count, __ATOMIC_RELAXED);

	if (reader->writer->gone == 2)
		return reader->read + reader->lost;
	if (reader->writer->gone && count == reader->count + 1 &&
		reader->position == __atomic_load_n(&seen->head, __ATOMIC_RELAXED))
		count--;
	return count - reader->base;
}

void perfume_reader_count_from_here(struct writer *writer)
{
	uint32_t i;

	for (i = 0; i < writer->n_readers; i++) {
		writer->readers[i]->base = writer->readers[i]->count;
		writer->readers[i]->read = writer->readers[i]->lost = 0;
	}
	writer->lost_no_ring = 0;
}

void perfume_reader_free(struct perfume_collector *c, struct reader *reader)
{
	struct perfume_collector_stats *past = &c->past;

	c->n_readers--;
	reader->writer->user->n_readers--;
	if (reader->writer->n_chosen) {
		past->read += reader->read;
		past->lost += reader->lost;
		past->written += perfume_reader_written(reader);
	}
	if (reader->data)
		munmap(reader->data, 2 * (size_t)reader->writer->ring_size);
	free(reader->chunk);
	free(reader);
}

/* ---- merging all rings by time ---- */

static void sift_down(struct perfume_collector *c, size_t i)
{
	struct reader **heap = c->heap, *moved = heap[i];
	size_t child;

	for (; (child = 2 * i + 1) < c->n_heap; i = child) {
		if (child + 1 < c->n_heap && heap[child + 1]->time < heap[child]->time)
			child++;
		if (heap[child]->time >= moved->time)
			break;
		heap[i] = heap[child];
	}
	heap[i] = moved;
}

/* The top stays where it is while the caller holds its record, see take_front(). */
static int push(struct perfume_collector *c, struct reader *reader)
{
	const size_t lowest = c->handed_out ? 3 : 1;
	struct reader **heap;
	size_t i;

	if (c->n_heap == c->heap_room) {
		heap = reallocarray(c->heap, c->heap_room * 2 + 16, sizeof(*heap));
		if (!heap)
			return -ENOMEM;
		c->heap = heap;
		c->heap_room = c->heap_room * 2 + 16;
	}
	for (i = c->n_heap++; i >= lowest && c->heap[(i - 1) / 2]->time > reader->time;
		i = (i - 1) / 2)
		c->heap[i] = c->heap[(i - 1) / 2];
	c->heap[i] = reader;
	reader->waiting = 1;
	return 0;
}

/* Restores the heap after the top reader advanced or ran empty. */
static void top_moved(struct perfume_collector *c, int has_front)
{
	if (!has_front) {
		c->heap[0]->waiting = 0;
		c->heap[0] = c->heap[--c->n_heap];
	}
	if (c->n_heap)
		sift_down(c, 0);
}

/* Adds the rings that a program has when it is found. */
void perfume_reader_begin(struct perfume_collector *c, struct writer *writer)
{
	uint32_t n = __atomic_load_n(&writer->area->n_rings, __ATOMIC_ACQUIRE);

	while (writer->n_readers < n && n <= AREA_RINGS && add_reader(c, writer, 1) >= 0)
		;
}

/*
 * What a ring holds now is the last that is read: a program that has exited writes no more, and the
 * last poll does not wait for a program that does.
 */
static void set_last(const struct perfume_collector *c, struct reader *reader)
{
	const int gone = reader->writer->gone;

	if (gone && reader->last != UINT64_MAX)
		return;
	reader->last_count = __atomic_load_n(&reader->seen->count, __ATOMIC_RELAXED);
	reader->last = gone || c->is_last ? __atomic_load_n(&reader->seen->head, __ATOMIC_ACQUIRE)
					  : UINT64_MAX;
}

int perfume_reader_has_left(const struct reader *reader)
{
	return reader->writer->gone == 1 && reader->position < reader->last;
}

/* Counts what the last poll has not read as lost. */
static void count_left(struct perfume_collector *c, struct reader *reader)
{
	const uint64_t n = reader->last_count - reader->count;

	if (reader->position >= reader->last || reader->position < reader->skip_to)
		return;
	if (n > (reader->last - reader->position) / sizeof(struct area_record) ||
		!perfume_is_possible(reader->last_count - reader->known, reader->since)) {
		perfume_writer_give_up(c, reader->writer);
		return;
	}
	reader->position = reader->last;
	reader->count = reader->last_count;
	reader->at = reader->end = 0;
	reader->lost += n;
	if (!reader->writer->n_chosen)
		return;
	reader->writer->user->lost += n;
	c->past.left += n;
	c->past.left_user = reader->writer->user->uid;
}

static void count_all_left(struct perfume_collector *c)
{
	struct writer *writer;
	uint32_t i;

	for (writer = c->writers; writer; writer = writer->next)
		for (i = 0; i < writer->n_readers && writer->gone != 2; i++)
			count_left(c, writer->readers[i]);
}

/* Adds new rings, and rings that have records again, to the heap. */
void perfume_reader_visit(struct perfume_collector *c, struct writer *writer)
{
	uint32_t n = __atomic_load_n(&writer->area->n_rings, __ATOMIC_ACQUIRE), i;
	size_t share;

	while (writer->n_readers < n && n <= AREA_RINGS && add_reader(c, writer, 0) >= 0)
		;
	share = POLL_BYTES / (writer->user->n_readers + 1);
	for (i = 0; i < writer->n_readers; i++) {
		set_last(c, writer->readers[i]);
		writer->readers[i]->budget = share < CHUNK ? CHUNK : share;
	}
	for (i = 0; i < writer->n_readers && writer->gone != 2; i++)
		if (!writer->readers[i]->waiting && advance(c, writer->readers[i]))
			push(c, writer->readers[i]);
}

static const struct known_event *event_of(const struct reader *reader, uint16_t slot)
{
	const struct writer *writer = reader->writer;

	return slot < writer->n_events ? writer->events[slot] : NULL;
}

/* Release the record that was returned last; its payload was in the chunk. */
static void take_front(struct perfume_collector *c)
{
	struct reader *reader = c->heap[0];

	pass(reader, front(reader));
	reader->read++;
	c->handed_out = 0;
	top_moved(c, advance(c, reader));
}

int perfume_collector_next(struct perfume_collector *c, struct perfume_received *ret_received)
{
	const struct area_record *record;
	const struct known_event *event;
	struct reader *reader;

	for (; c->n_heap; take_front(c)) {
		if (c->handed_out)
			take_front(c);
		while (c->n_heap && c->heap[0]->writer->gone == 2)
			top_moved(c, 0);
		if (!c->n_heap || c->heap[0]->time > c->horizon)
			break;
		reader = c->heap[0];
		record = front(reader);
		event = event_of(reader, record->slot);
		if (!event || !event->chosen)
			continue;
		ret_received->time = reader->time;
		ret_received->source = &event->source;
		ret_received->tid = reader->tid;
		ret_received->payload = record + 1;
		ret_received->size = record->size - sizeof(*record) - record->padding;
		c->handed_out = 1;
		c->past.events++;
		return 1;
	}
	if (c->is_last && !c->n_heap)
		count_all_left(c);
	return 0;
}
