/* SPDX-License-Identifier: MIT */
#include "stream/build_ids.h"

#define AMBIGUOUS UINT64_MAX /* files with different build ids had the path */

void build_ids_init(struct build_ids *b, const struct recording *recording)
{
	*b = (struct build_ids){.recording = recording};
}

void build_ids_done(struct build_ids *b)
{
	map_done(&b->by_path);
}

static uint64_t hash_of(const char *path)
{
	return base_hash_bytes(BASE_HASH_START, path, strlen(path));
}

static bool equal(const struct recording_build_id *x, const struct recording_build_id *y)
{
	return x->size == y->size && !memcmp(x->id, y->id, x->size) &&
	       !strcmp(x->filename, y->filename);
}

/* A pipe may have added some. If memory is short, functions have no names. */
static void update(struct build_ids *b)
{
	size_t n;
	const struct recording_build_id *ids = recording_build_ids(b->recording, &n);

	for (; b->n < n; b->n++) {
		uint64_t hash = hash_of(ids[b->n].filename), *known = map_get(&b->by_path, hash);

		if (ids[b->n].pid != -1 || ids[b->n].misc != PERF_RECORD_MISC_USER)
			continue;
		if (!known)
			(void)map_put(&b->by_path, hash, b->n);
		else if (*known != AMBIGUOUS && !equal(&ids[*known], &ids[b->n]))
			*known = AMBIGUOUS;
	}
}

void build_ids_set(struct build_ids *b, struct attar_mapping *mapping)
{
	const struct recording_build_id *ids;
	uint64_t *index;
	size_t n;

	if (mapping->build_id_size || mapping->path[0] != '/')
		return;
	update(b);
	ids = recording_build_ids(b->recording, &n);
	index = map_get(&b->by_path, hash_of(mapping->path));
	if (!index || *index == AMBIGUOUS || strcmp(ids[*index].filename, mapping->path))
		return;
	mapping->build_id_size = ids[*index].size;
	memcpy(mapping->build_id, ids[*index].id, sizeof(mapping->build_id));
	mapping->maj = mapping->min = mapping->ino_generation = 0;
	mapping->ino = 0;
}
