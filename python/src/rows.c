/* SPDX-License-Identifier: MIT */
/* Copies events from the rings, without the GIL. */
#include "native.h"

#include <stdlib.h>

static int make_room(struct rows *rows, size_t size)
{
	size_t room = rows->room ? rows->room : 1 << 16;
	char *at;

	while (room < rows->size + size)
		room *= 2;
	if (room == rows->room)
		return 0;
	at = realloc(rows->at, room);
	if (!at)
		return -ENOMEM;
	rows->at = at;
	rows->room = room;
	return 0;
}

static void note_size(struct rows *rows, const struct row *row)
{
	const struct row *first = (const struct row *)(const void *)rows->at;

	if (rows->n == 0)
		rows->stride = row->size;
	else if (row->size != rows->stride || row->kind != first->kind)
		rows->stride = 0;
	rows->n++;
}

/*
 * The addresses of the frames that are entries of the call chain: all, or those before a user part
 * that was found otherwise.
 */
static void copy_addresses(const struct attar_event *event, uint64_t *to, size_t n)
{
	const struct attar_sample *sample = &event->record->sample;
	bool is_user_apart = (sample->branch_calls && sample->branch_nr) || sample->stack;
	struct attar_callchain chain;
	size_t i = 0;

	attar_callchain_init(&chain, sample->callchain, sample->callchain_nr, event->record->misc);
	while (i < n && attar_callchain_next(&chain, &to[i])) {
		i++;
		if (is_user_apart && chain.context != ATTAR_CONTEXT_KERNEL)
			break;
	}
	if (!i && n)
		to[i++] = sample->ip;
	memset(to + i, 0, (n - i) * sizeof(*to));
}

int rows_add(struct rows *rows, const struct attar_event *event, unsigned parts)
{
	const struct attar_sample *sample = &event->record->sample;
	attar_location frames[ROW_FRAMES_MAX];
	size_t n = parts & ROW_STACK ? attar_event_stack(event, frames, ROW_FRAMES_MAX) : 0;
	size_t raw_size = sample->raw ? sample->raw_size : 0,
	       raw_room = (raw_size + 7) & ~(size_t)7;
	size_t more = parts & ROW_SAMPLE ? sample_size(event) : 0;
	size_t size = sizeof(struct row) + raw_room + 2 * n * sizeof(frames[0]) + more;
	struct row *row;
	char *to;

	if (make_room(rows, size) < 0)
		return -ENOMEM;
	row = (struct row *)(void *)(rows->at + rows->size);
	*row = (struct row){.size = (uint32_t)size,
		.kind = event->counter,
		.time = event->time,
		.period = sample->period,
		.ip = sample->ip,
		.addr = sample->addr,
		.cpu = (int32_t)event->cpu,
		.pid = (int32_t)event->record->pid,
		.tid = (int32_t)event->record->tid,
		.raw_size = (uint32_t)raw_size,
		.n_frames = (uint16_t)n,
		.sample_words = (uint16_t)(more / 8)};
	if (event->thread)
		memccpy(row->comm, event->thread->comm, '\0', sizeof(row->comm));
	memset((char *)(row + 1) + raw_room - (raw_room ? 8 : 0), 0, raw_room ? 8 : 0);
	memcpy(row + 1, sample->raw, raw_size);
	to = (char *)(row + 1) + raw_room;
	memcpy(to, frames, n * sizeof(frames[0]));
	if (n)
		copy_addresses(event, (uint64_t *)(void *)to + n, n);
	if (more)
		sample_copy(event, to + 2 * n * sizeof(frames[0]));
	rows->size += size;
	note_size(rows, row);
	return 0;
}

void rows_free(struct rows *rows)
{
	free(rows->at);
	*rows = (struct rows){0};
}
