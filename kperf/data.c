/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "data.h"
#include "error.h"
#include "fields.h"
#include "stack.h"

struct kp_text {
	struct kp_text *next;
	char bytes[];
};

struct kp_origin *kp_origin_new(const struct attar_catalog_opts *opts)
{
	struct kp_origin *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->refs = 1;
	pthread_mutex_init(&o->lock, NULL);
	o->sysfs = kp_origin_text(o, opts && opts->sysfs ? opts->sysfs : "/sys");
	if (!o->sysfs || attar_catalog_new(opts, &o->catalog) < 0 ||
		attar_symbols_new(NULL, &o->symbols) < 0) {
		kp_origin_unref(o);
		return NULL;
	}
	return o;
}

struct kp_origin *kp_origin_ref(struct kp_origin *o)
{
	__atomic_add_fetch(&o->refs, 1, __ATOMIC_RELAXED);
	return o;
}

void kp_origin_unref(struct kp_origin *o)
{
	if (!o || __atomic_sub_fetch(&o->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	for (struct kp_text *text = o->texts, *next; text; text = next) {
		next = text->next;
		free(text);
	}
	kp_fields_free(o->fields);
	for (size_t i = 0; i < sizeof(o->bdfs) / sizeof(o->bdfs[0]); i++)
		kp_bdfs_done(&o->bdfs[i]);
	for (size_t i = 0; i < o->n_events; i++)
		attar_event_list_free(o->events[i]);
	free(o->events);
	attar_symbols_free(o->symbols);
	attar_catalog_free(o->catalog);
	pthread_mutex_destroy(&o->lock);
	free(o);
}

const char *kp_origin_text(struct kp_origin *o, const char *text)
{
	size_t size = strlen(text) + 1;
	struct kp_text *copy = malloc(sizeof(*copy) + size);

	if (!copy)
		return NULL;
	copy->next = o->texts;
	o->texts = copy;
	return memcpy(copy->bytes, text, size);
}

/* ---- arenas ---- */

struct chunk {
	struct chunk *next;
	size_t used, size;
	_Alignas(64) char bytes[]; /* struct Stack is aligned to 64 */
};

struct kp_arena {
	unsigned refs; /* atomic */
	struct kp_origin *origin;
	struct chunk *chunks;
};

static void arena_unref(struct kp_arena *arena)
{
	if (__atomic_sub_fetch(&arena->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	for (struct chunk *chunk = arena->chunks, *next; chunk; chunk = next) {
		next = chunk->next;
		free(chunk);
	}
	kp_origin_unref(arena->origin);
	free(arena);
}

static void *arena_alloc(struct kp_arena *arena, size_t size)
{
	struct chunk *chunk = arena->chunks;
	size_t align = size >= 64 ? 64 : 16, at = chunk ? (chunk->used + align - 1) & -align : 0;

	if (!chunk || at + size > chunk->size) {
		size_t room = size > 16 << 10 ? (size + 63) & -64UL : 64 << 10;

		chunk = aligned_alloc(64, sizeof(*chunk) + room);
		if (!chunk)
			return NULL;
		*chunk = (struct chunk){.next = arena->chunks, .size = room};
		arena->chunks = chunk;
		at = 0;
	}
	chunk->used = at + size;
	return chunk->bytes + at;
}

/* ---- lists ---- */

struct kp_list *kp_list_new(struct kp_origin *origin)
{
	struct kp_list *list = calloc(1, sizeof(*list));
	struct kp_arena *arena = malloc(sizeof(*arena));

	if (!list || !arena) {
		free(list);
		free(arena);
		return NULL;
	}
	*arena = (struct kp_arena){.refs = 1, .origin = kp_origin_ref(origin)};
	list->own = arena;
	return list;
}

void kp_list_free(struct kp_list *list)
{
	if (!list)
		return;
	arena_unref(list->own);
	for (size_t i = 0; i < list->n_shared; i++)
		arena_unref(list->shared[i]);
	free(list->shared);
	free(list->frames);
	if (list->array != list->rows)
		free(list->array);
	free(list->rows);
	free(list);
}

struct kp_origin *kp_list_origin(const struct kp_list *list)
{
	return list->own->origin;
}

static int make_room(struct kp_list *list, size_t room)
{
	struct PmuData *rows = reallocarray(list->rows, room, sizeof(*rows));
	struct kp_frames **frames;

	if (!rows)
		return -ENOMEM;
	list->rows = rows;
	if (list->frames) {
		frames = reallocarray(list->frames, room, sizeof(*frames));
		if (!frames)
			return -ENOMEM;
		memset(frames + list->room, 0, (room - list->room) * sizeof(*frames));
		list->frames = frames;
	}
	list->room = room;
	return 0;
}

struct PmuData *kp_list_add(struct kp_list *list)
{
	if (list->n == list->room && make_room(list, list->room ? list->room * 2 : 1) < 0)
		return NULL;
	if (list->frames)
		list->frames[list->n] = NULL;
	return memset(&list->rows[list->n++], 0, sizeof(struct PmuData));
}

const struct kp_frames *kp_list_frames(const struct kp_list *list, size_t row)
{
	return list->frames ? list->frames[row] : NULL;
}

int kp_list_set_frames(struct kp_list *list, size_t row, struct kp_frames *frames)
{
	if (!list->frames)
		list->frames = calloc(list->room, sizeof(*list->frames));
	if (!frames || !list->frames)
		return -ENOMEM;
	list->frames[row] = frames;
	return 0;
}

void *kp_list_alloc(struct kp_list *list, size_t size)
{
	return arena_alloc(list->own, size);
}

static int share_arenas(struct kp_list *to, const struct kp_list *from)
{
	size_t n = to->n_shared + 1 + from->n_shared;
	struct kp_arena **shared = reallocarray(to->shared, n, sizeof(*shared));

	if (!shared)
		return -ENOMEM;
	to->shared = shared;
	shared[to->n_shared] = from->own;
	if (from->n_shared > 0)
		memcpy(&shared[to->n_shared + 1], from->shared, from->n_shared * sizeof(*shared));
	for (size_t i = to->n_shared; i < n; i++)
		__atomic_add_fetch(&shared[i]->refs, 1, __ATOMIC_RELAXED);
	to->n_shared = n;
	return 0;
}

int kp_list_append(struct kp_list *to, const struct kp_list *from)
{
	size_t n = to->n, all = n + from->n;

	if ((all > to->room && make_room(to, all) < 0) || share_arenas(to, from) < 0)
		return -ENOMEM;
	if (from->n > 0)
		memcpy(to->rows + n, from->rows, from->n * sizeof(*to->rows));
	if (to->frames)
		memset(to->frames + n, 0, from->n * sizeof(*to->frames));
	to->n = all;
	for (size_t i = 0; i < from->n && from->frames; i++)
		if (from->frames[i] && kp_list_set_frames(to, n + i, from->frames[i]) < 0)
			return -ENOMEM;
	return 0;
}

/* ---- arrays that callers have ---- */

enum { BUCKETS = 1 << 12 };

static struct kp_list *buckets[BUCKETS];
static pthread_mutex_t buckets_lock = PTHREAD_MUTEX_INITIALIZER;

static struct kp_list **bucket_of(const void *array)
{
	return &buckets[((uintptr_t)array >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 52];
}

void *kp_list_publish_as(struct kp_list *list, void *array)
{
	struct kp_list **bucket;

	list->array = array;
	if (!array) {
		kp_list_free(list);
		return NULL;
	}
	bucket = bucket_of(array);
	pthread_mutex_lock(&buckets_lock);
	list->next = *bucket;
	*bucket = list;
	pthread_mutex_unlock(&buckets_lock);
	return array;
}

struct PmuData *kp_list_publish(struct kp_list *list)
{
	return kp_list_publish_as(list, list->n > 0 ? list->rows : NULL);
}

static struct kp_list *find(const void *array, bool take)
{
	struct kp_list **at = bucket_of(array), *found;

	pthread_mutex_lock(&buckets_lock);
	while (*at && (*at)->array != array)
		at = &(*at)->next;
	found = *at;
	if (found && take)
		*at = found->next;
	pthread_mutex_unlock(&buckets_lock);
	return found;
}

struct kp_list *kp_list_find(const void *array)
{
	return find(array, false);
}

void kp_list_release(const void *array, const char *function)
{
	struct kp_list *list = array ? find(array, true) : NULL;

	if (array && !list)
		kp_fail(LIBPERF_ERR_INVALID_PMU_DATA,
			"%s(): this is not data that was read, or it is already freed", function);
	kp_list_free(list);
}

int kp_list_resolve(struct kp_list *list)
{
	int r = 0;

	for (size_t i = 0; i < list->n && r == 0; i++) {
		const struct kp_frames *frames = kp_list_frames(list, i);
		struct kp_origin *origin = frames ? frames->origin : NULL;

		if (!origin || list->rows[i].stack ||
			__atomic_load_n(&origin->exiting, __ATOMIC_RELAXED))
			continue;
		pthread_mutex_lock(&origin->lock);
		r = kp_stack_make(list, frames, &list->rows[i].stack);
		pthread_mutex_unlock(&origin->lock);
	}
	return r;
}

struct SampleRawData *kp_raw_new(
	struct kp_list *list, const struct attar_format *format, const void *bytes, size_t size)
{
	struct SampleRawData *data = kp_list_alloc(list, sizeof(*data));
	struct kp_raw *raw = kp_list_alloc(list, sizeof(*raw) + size);

	if (!data || !raw)
		return NULL;
	raw->magic = KP_RAW_MAGIC;
	raw->origin = kp_list_origin(list);
	raw->format = format;
	raw->size = size;
	memcpy(raw->bytes, bytes, size);
	data->data = raw->bytes;
	return data;
}

const struct kp_raw *kp_raw_of(const struct PmuData *row)
{
	return row->rawData ? (const void *)(row->rawData->data - sizeof(struct kp_raw)) : NULL;
}

/* ---- the interface ---- */

void PmuDataFree(struct PmuData *rows)
{
	kp_list_release(rows, "PmuDataFree");
}

int PmuAppendData(struct PmuData *from_rows, struct PmuData **to_rows)
{
	struct kp_list *from, *to = NULL, *joined;
	size_t n;

	kp_begin();
	if (!from_rows || !to_rows)
		return kp_error(LIBPERF_ERR_INVALID_PMU_DATA,
			"PmuAppendData(): fromData or toData is NULL");
	from = kp_list_find(from_rows);
	if (*to_rows)
		to = kp_list_find(*to_rows);
	if (!from || (*to_rows && !to))
		return kp_error(LIBPERF_ERR_INVALID_PMU_DATA,
			"PmuAppendData(): the data is not from PmuRead(), or is already freed");
	joined = kp_list_new(kp_list_origin(to ? to : from));
	if (!joined || (to && kp_list_append(joined, to) < 0) || kp_list_append(joined, from) < 0) {
		kp_list_free(joined);
		return kp_error(COMMON_ERR_NOMEM, "PmuAppendData(): out of memory");
	}
	if (to)
		kp_list_release(*to_rows, "PmuAppendData");
	n = joined->n;
	*to_rows = kp_list_publish(joined);
	return (int)n;
}

int ResolvePmuDataSymbol(struct PmuData *rows)
{
	struct kp_list *list;

	kp_begin();
	if (!rows)
		return kp_fail(
			LIBPERF_ERR_INVALID_PMU_DATA, "ResolvePmuDataSymbol(): pmuData is NULL");
	list = kp_list_find(rows);
	if (!list)
		return kp_fail(LIBPERF_ERR_PMU_DATA_NO_FOUND,
			"ResolvePmuDataSymbol(): the data is not from PmuRead(), or is already "
			"freed");
	if (kp_list_resolve(list) < 0)
		return kp_fail(COMMON_ERR_NOMEM, "ResolvePmuDataSymbol(): out of memory");
	return SUCCESS;
}
