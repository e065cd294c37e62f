/* SPDX-License-Identifier: MIT */
#include "symbol/dso.h"

static uint64_t hash_of(const struct dso_key *key)
{
	uint64_t h =
		base_hash64(key->ino ^ (key->dev << 20) ^ ((uint64_t)key->kind << 60) ^ key->owner);

	return base_hash64(base_hash_bytes(h, key->path, strlen(key->path)));
}

bool dso_key_equal(const struct dso_key *a, const struct dso_key *b)
{
	if (a->kind != b->kind || a->owner != b->owner || a->dev != b->dev || a->ino != b->ino)
		return false;
	/*
	 * Inode numbers are reused; compare the generation if both are known.
	 */
	if (a->generation && b->generation && a->generation != b->generation)
		return false;
	if (a->build_id_size != b->build_id_size ||
		memcmp(a->build_id, b->build_id, a->build_id_size))
		return false;
	return !strcmp(a->path, b->path);
}

char *dso_key_of_file(const struct attar_mapping *mapping, struct dso_key *ret_key)
{
	static const char deleted[] = " (deleted)";
	size_t n = strlen(mapping->path), tail = sizeof(deleted) - 1;
	char *path;

	if (n > tail && !strcmp(mapping->path + n - tail, deleted))
		n -= tail;
	path = strndup(mapping->path, n);
	*ret_key = (struct dso_key){
		.kind = ATTAR_DSO_IS_FILE,
		.dev = (uint64_t)mapping->maj << 32 | mapping->min,
		.ino = mapping->ino,
		.generation = mapping->ino_generation,
		.build_id_size = MIN(mapping->build_id_size, (uint8_t)ELF_MAX_BUILD_ID),
		.path = path,
	};
	memcpy(ret_key->build_id, mapping->build_id, ret_key->build_id_size);
	return path;
}

/* Initializes a DSO. Returns 0 or -ENOMEM. */
static int dso_init(struct dso *dso, const struct dso_key *key)
{
	const char *path = strdup(key->path);

	if (!path)
		return base_oom();
	*dso = (struct dso){.key = *key, .fd = -1, .debug_fd = -1};
	jit_init(&dso->jit, 0);
	dso->key.path = path;
	return 0;
}

static void dso_done(struct dso *dso)
{
	if (dso->state == DSO_FREE)
		return;
	base_close_p(&dso->fd);
	base_close_p(&dso->debug_fd);
	free(dso->image);
	free(dso->unfit_debug);
	vec_done(&dso->segments);
	symtab_done(&dso->table);
	cfi_table_done(&dso->cfi);
	debug_info_close(dso->source);
	jit_done(&dso->jit);
	reader_dso_done(&dso->apart);
	if (dso->kernel)
		kernel_done(dso->kernel);
	free(dso->kernel);
	free((char *)dso->key.path);
}

/* Allocates a number for key: a free one, or the next. 0 if out of memory. */
static uint32_t take_number(struct dsos *dsos, const struct dso_key *key)
{
	uint32_t number = dsos->free, next;
	struct dso *dso;

	if (number) {
		dso = dsos->at.at[number];
		next = dso->next;
		if (dso_init(dso, key) < 0)
			return 0;
		dsos->free = next;
		dso->number = (uint16_t)number;
		return number;
	}
	dso = malloc(sizeof(*dso));
	if (!dso || dso_init(dso, key) < 0) {
		free(dso);
		base_oom();
		return 0;
	}
	if (vec_push(&dsos->at, dso) < 0) {
		dso_done(dso);
		free(dso);
		return 0;
	}
	dso->number = (uint16_t)(dsos->at.n - 1);
	return dso->number;
}

static void free_number(struct dsos *dsos, uint32_t number)
{
	struct dso *dso = dsos->at.at[number];

	dso_done(dso);
	*dso = (struct dso){.state = DSO_FREE,
		.key = {.kind = ATTAR_DSO_IS_UNKNOWN, .path = "[unknown]"},
		.fd = -1,
		.debug_fd = -1,
		.next = dsos->free};
	jit_init(&dso->jit, 0);
	dsos->free = number;
}

static uint16_t dso_add(struct dsos *dsos, uint64_t hash, const struct dso_key *key)
{
	uint64_t *newest = map_get(&dsos->by_hash, hash);
	uint32_t next = newest ? (uint32_t)*newest : 0, number = take_number(dsos, key);

	if (!number)
		return ATTAR_DSO_UNKNOWN;
	if (map_put(&dsos->by_hash, hash, number) < 0) {
		free_number(dsos, number);
		return ATTAR_DSO_UNKNOWN;
	}
	dsos->at.at[number]->next = next;
	return (uint16_t)number;
}

/* Removes it from the list of its hash; the map has the head. */
static void unlink_number(struct dsos *dsos, uint32_t number)
{
	uint64_t hash = hash_of(&dsos->at.at[number]->key), *first = map_get(&dsos->by_hash, hash);
	uint32_t next = dsos->at.at[number]->next, before;

	if (!first)
		return;
	before = (uint32_t)*first;
	if (before != number) {
		while (dsos->at.at[before]->next != number)
			before = dsos->at.at[before]->next;
		dsos->at.at[before]->next = next;
	} else if (next) {
		*first = next;
	} else {
		map_remove(&dsos->by_hash, hash);
	}
}

void dsos_change_key(struct dsos *dsos, struct dso *dso, const struct dso_key *key)
{
	const char *path = dso->key.path;
	uint64_t hash = hash_of(key), *newest;

	unlink_number(dsos, dso->number);
	dso->key = *key;
	dso->key.path = path;
	newest = map_get(&dsos->by_hash, hash);
	dso->next = newest ? (uint32_t)*newest : 0;
	(void)map_put(&dsos->by_hash, hash, dso->number); /* else it is added again when mapped */
}

void dsos_ref(struct dsos *dsos, unsigned number)
{
	if (number >= DSO_FIXED)
		dsos->at.at[number]->refs++;
}

void dsos_unref(struct dsos *dsos, unsigned number)
{
	if (number < DSO_FIXED || --dsos->at.at[number]->refs || dsos->at.at[number]->kept)
		return;
	unlink_number(dsos, number);
	free_number(dsos, number);
}

/* Its number; 0: there is none. */
static uint32_t find(const struct dsos *dsos, uint64_t hash, const struct dso_key *key)
{
	const uint64_t *newest = map_get(&dsos->by_hash, hash);
	uint32_t i = newest ? (uint32_t)*newest : 0;

	while (i && !dso_key_equal(&dsos->at.at[i]->key, key))
		i = dsos->at.at[i]->next;
	return i;
}

struct dso *dsos_find(const struct dsos *dsos, const struct dso_key *key)
{
	uint32_t number = find(dsos, hash_of(key), key);

	return number ? dsos->at.at[number] : NULL;
}

uint16_t dsos_intern(struct dsos *dsos, const struct dso_key *key)
{
	uint64_t hash = hash_of(key);
	uint32_t number = find(dsos, hash, key);

	if (number) {
		struct dso *dso = dsos->at.at[number];

		if (!dso->key.generation)
			dso->key.generation = key->generation;
		return (uint16_t)number;
	}
	if (dsos->at.n >= dsos->max && !dsos->free) {
		dsos->refused++;
		return ATTAR_DSO_FULL;
	}
	return dso_add(dsos, hash, key);
}

static bool has_same_contents(const struct dso *a, const struct dso *b)
{
	return a->file_size == b->file_size && a->build_id_size == b->build_id_size &&
	       !memcmp(a->build_id, b->build_id, a->build_id_size);
}

struct dso *dsos_share(struct dsos *dsos, struct dso *dso, unsigned what)
{
	uint64_t hash = base_hash_bytes(dso->file_size + what, dso->build_id, dso->build_id_size);
	const uint64_t *number = map_get(&dsos->by_build, hash);
	struct dso *first = number ? dsos->at.at[*number] : NULL;
	bool is_lost = first && first->state == DSO_LOST && what != DSO_SHARED_CFI;

	if (!dso->build_id_size || !dso->kept || dso->key.kind != ATTAR_DSO_IS_FILE)
		return NULL;
	if (first && first != dso && !is_lost && has_same_contents(first, dso))
		return first;
	(void)map_put(&dsos->by_build, hash, dso->number);
	return NULL;
}

int dsos_init(struct dsos *dsos, unsigned max)
{
	static const struct dso_key fixed[DSO_FIXED] = {
		[ATTAR_DSO_UNKNOWN] = {.kind = ATTAR_DSO_IS_UNKNOWN, .path = "[unknown]"},
		[ATTAR_DSO_KERNEL] = {.kind = ATTAR_DSO_IS_KERNEL, .path = "[kernel.kallsyms]"},
		[ATTAR_DSO_FULL] = {.kind = ATTAR_DSO_IS_UNKNOWN, .path = "[unknown]", .owner = 1},
	};

	*dsos = (struct dsos){.max = max && max < DSO_MAX ? max + ARRAY_SIZE(fixed) : DSO_MAX};
	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++) {
		if (!take_number(dsos, &fixed[i]) && dsos->at.n != i + 1) {
			dsos_done(dsos);
			return base_oom();
		}
	}
	return 0;
}

void dsos_done(struct dsos *dsos)
{
	vec_each (&dsos->at, dso) {
		dso_done(*dso);
		free(*dso);
	}
	vec_done(&dsos->at);
	map_done(&dsos->by_hash);
	map_done(&dsos->by_build);
}

void dso_close(struct dso *dso)
{
	if (symtab_keep_names(&dso->table) < 0)
		symtab_done(&dso->table);
	base_close_p(&dso->fd);
	base_close_p(&dso->debug_fd);
	dso->fd = dso->debug_fd = -1;
}

const char *dso_lost_reason(const struct dso *dso)
{
	if (dso->apart.shown)
		return readers_reason(dso->error);
	return dso->error == -ESTALE    ? "its path has a different file"
	       : dso->error == -EBADMSG ? "its contents are malformed"
					: strerror(-dso->error);
}
