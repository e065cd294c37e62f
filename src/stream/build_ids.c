/* SPDX-License-Identifier: MIT */
#include "stream/build_ids.h"

#include "symbol/symbols.h"

#define AMBIGUOUS UINT64_MAX /* files with different build IDs had the path */

void build_ids_init(struct build_ids *b, const struct recording *recording)
{
	*b = (struct build_ids){.recording = recording};
}

void build_ids_done(struct build_ids *b)
{
	map_done(&b->by_path);
	map_done(&b->owner_of);
	vec_done(&b->owners);
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

/* If memory is short, a second file of the path is taken for the first one. */
static struct build_id_owner *owner_of(
	struct build_ids *b, uint64_t hash, const struct attar_mapping *mapping)
{
	const struct build_id_owner owner = {
		mapping->maj, mapping->min, mapping->ino_generation, mapping->ino};
	const uint64_t *known = map_get(&b->owner_of, hash);

	if (known)
		return &b->owners.at[*known];
	if (vec_push(&b->owners, owner) < 0 || map_put(&b->owner_of, hash, b->owners.n - 1) < 0)
		return NULL;
	return &b->owners.at[b->owners.n - 1];
}

/* The generation is unknown where attar or perf has read the mappings in /proc. */
static bool is_owner(struct build_id_owner *owner, const struct attar_mapping *mapping)
{
	if (!owner->ino || !mapping->ino)
		return true;
	if (!owner->generation)
		owner->generation = mapping->ino_generation;
	return owner->ino == mapping->ino && owner->maj == mapping->maj &&
	       owner->min == mapping->min &&
	       (!mapping->ino_generation || owner->generation == mapping->ino_generation);
}

static void set_id(const struct recording_build_id *id, struct attar_mapping *mapping)
{
	mapping->build_id_size = id->size;
	memcpy(mapping->build_id, id->id, sizeof(mapping->build_id));
	mapping->maj = mapping->min = mapping->ino_generation = 0;
	mapping->ino = 0;
}

/* The file that was identified by the build ID has its device and inode again. */
static void withdraw(struct attar_symbols *symbols, const struct recording_build_id *id,
	const struct build_id_owner *owner, const struct attar_mapping *second)
{
	struct attar_mapping before = {.path = second->path},
			     now = {.path = second->path,
				     .maj = owner->maj,
				     .min = owner->min,
				     .ino = owner->ino,
				     .ino_generation = owner->generation};

	set_id(id, &before);
	symbols_identify(symbols, &before, &now);
}

void build_ids_set(
	struct build_ids *b, struct attar_symbols *symbols, struct attar_mapping *mapping)
{
	const struct recording_build_id *ids;
	uint64_t *index, hash;
	struct build_id_owner *owner;
	size_t n;

	if (mapping->build_id_size || mapping->path[0] != '/')
		return;
	update(b);
	hash = hash_of(mapping->path);
	ids = recording_build_ids(b->recording, &n);
	index = map_get(&b->by_path, hash);
	if (!index || *index == AMBIGUOUS || strcmp(ids[*index].filename, mapping->path))
		return;
	owner = owner_of(b, hash, mapping);
	if (!owner || is_owner(owner, mapping)) {
		set_id(&ids[*index], mapping);
		return;
	}
	withdraw(symbols, &ids[*index], owner, mapping);
	*index = AMBIGUOUS;
}
