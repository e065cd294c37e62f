/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "attar/builtin.h"
#include "sql/sql.h"

enum {
	CHUNK_BYTES = 1 << 20, /* with a small window */
	HUGE_PAGE = 2 << 20,
	HUGE_CHUNKS = 32, /* fit in the window at least, if a chunk is a huge page */
	ALIGN = 8,
	DEPTH_MAX = 512,
};

struct sql_chunk {
	struct sql_chunk *next;
	size_t used, size;
	uint64_t n;    /* events */
	uint64_t time; /* of the first */
	_Alignas(ALIGN) char bytes[];
};

static size_t aligned(size_t n)
{
	return (n + ALIGN - 1) / ALIGN * ALIGN;
}

static size_t row_size(const struct sql_row *row)
{
	return sizeof(*row) + aligned(row->comm_size) + aligned(row->raw_size);
}

struct sql_view sql_row_view(const struct sql_row *row)
{
	const char *comm = (const char *)(row + 1);

	return (struct sql_view){.row = row, .comm = comm, .raw = comm + aligned(row->comm_size)};
}

void sql_view_event(const struct attar_event *ev, bool with_comm, struct sql_row *ret_row,
	struct sql_view *ret_view)
{
	const struct attar_record *record = ev->record;
	const struct attar_sample *sample = &record->sample;

	*ret_row = (struct sql_row){.time = ev->time,
		.period = sample->period,
		.ip = sample->ip,
		.addr = sample->addr,
		.cpu = (int32_t)ev->cpu,
		.pid = (int32_t)record->pid,
		.tid = (int32_t)record->tid,
		.raw_size = sample->raw ? sample->raw_size : 0,
		.comm_size = with_comm ? (uint32_t)strlen(ev->thread->comm) : 0};
	*ret_view = (struct sql_view){ret_row, ev->thread->comm, sample->raw};
}

static size_t chunk_bytes(const struct sql_store *store)
{
	return store->bytes_max >= (uint64_t)HUGE_CHUNKS * HUGE_PAGE
		       ? HUGE_PAGE - sizeof(struct sql_chunk)
		       : CHUNK_BYTES;
}

static void drop_first(struct sql_store *store, struct sql_rows *rows)
{
	struct sql_chunk *chunk = rows->first;

	rows->first = chunk->next;
	if (!rows->first)
		rows->last = NULL;
	store->bytes -= chunk->size;
	if (store->spare || chunk->size != chunk_bytes(store)) {
		free(chunk);
		return;
	}
	store->spare = chunk;
}

/* The table whose oldest chunk is the oldest of all. */
static struct sql_rows *oldest(const struct sql_store *store)
{
	struct sql_rows *found = NULL;

	for (size_t i = 0; i < store->n_tables; i++)
		if (store->tables[i]->first &&
			(!found || store->tables[i]->first->time < found->first->time))
			found = store->tables[i];
	return found;
}

void *sql_big_alloc(size_t bytes)
{
	size_t size = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
	void *memory;

	if (bytes < HUGE_PAGE)
		return malloc(bytes);
	memory = aligned_alloc(HUGE_PAGE, size);
	if (memory)
		madvise(memory, size, MADV_HUGEPAGE); /* only faster */
	return memory;
}

static struct sql_chunk *new_chunk(struct sql_store *store, size_t needed)
{
	size_t usual = chunk_bytes(store), size = needed > usual ? needed : usual;
	struct sql_chunk *chunk;
	struct sql_rows *rows;

	while (store->bytes + size > store->bytes_max && (rows = oldest(store))) {
		store->dropped += rows->first->n;
		drop_first(store, rows);
	}
	chunk = store->spare;
	if (chunk && size == usual)
		store->spare = NULL;
	else
		chunk = sql_big_alloc(sizeof(*chunk) + size);
	if (!chunk)
		return NULL;
	*chunk = (struct sql_chunk){.size = size};
	store->bytes += size;
	return chunk;
}

static struct sql_row *add_row(struct sql_store *store, struct sql_rows *rows, size_t n)
{
	struct sql_chunk *chunk = rows->last;

	if (!chunk || chunk->used + n > chunk->size) {
		chunk = new_chunk(store, n);
		if (!chunk)
			return NULL;
		if (rows->last)
			rows->last->next = chunk;
		else
			rows->first = chunk;
		rows->last = chunk;
	}
	chunk->used += n;
	chunk->n++;
	return (struct sql_row *)(void *)(chunk->bytes + chunk->used - n);
}

static uint32_t stack_of(const struct sql_store *store, const struct attar_event *ev)
{
	attar_location locations[DEPTH_MAX];

	return attar_stack_table_add(
		store->stacks, locations, attar_event_stack(ev, locations, DEPTH_MAX));
}

int sql_rows_add(struct sql_store *store, struct sql_rows *rows, const struct attar_event *ev)
{
	struct sql_row value, *row;
	struct sql_view from, to;

	sql_view_event(ev, !rows->no_comm, &value, &from);
	if (rows->no_fields)
		value.raw_size = 0;
	row = add_row(store, rows, row_size(&value));
	if (!row)
		return attar_fail(-ENOMEM, "out of memory");
	if (store->stacks && ev->record->sample.callchain)
		value.stack = stack_of(store, ev);
	if (store->run)
		value.group = run_group_of(store->run, ev->thread);
	*row = value;
	to = sql_row_view(row);
	memcpy((char *)(uintptr_t)to.comm, from.comm, value.comm_size);
	if (value.raw_size)
		memcpy((void *)(uintptr_t)to.raw, from.raw, value.raw_size);
	if (rows->last->n == 1)
		rows->last->time = value.time;
	return 0;
}

const struct sql_row *sql_rows_next(const struct sql_rows *rows, struct sql_place *place)
{
	const struct sql_row *row;

	if (!place->chunk)
		place->chunk = rows->first;
	while (place->chunk && place->at >= place->chunk->used) {
		place->chunk = place->chunk->next;
		place->at = 0;
		if (!place->chunk)
			return NULL;
	}
	if (!place->chunk)
		return NULL;
	row = (const struct sql_row *)(const void *)(place->chunk->bytes + place->at);
	place->at += row_size(row);
	return row;
}

uint64_t sql_rows_count(const struct sql_rows *rows)
{
	uint64_t n = 0;

	for (const struct sql_chunk *chunk = rows->first; chunk; chunk = chunk->next)
		n += chunk->n;
	return n;
}

void sql_rows_clear(struct sql_store *store, struct sql_rows *rows)
{
	while (rows->first)
		drop_first(store, rows);
}

void sql_store_done(struct sql_store *store)
{
	free(store->spare);
	store->spare = NULL;
}
