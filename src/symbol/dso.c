/* SPDX-License-Identifier: MIT */
#include "symbol/dso.h"

static uint64_t hash_of(const struct dso_key *key)
{
	uint64_t h =
		base_hash64(key->ino ^ (key->dev << 20) ^ ((uint64_t)key->kind << 60) ^ key->owner);

	return base_hash64(base_hash_bytes(h, key->path, strlen(key->path)));
}

static bool same(const struct dso_key *a, const struct dso_key *b)
{
	if (a->kind != b->kind || a->owner != b->owner || a->dev != b->dev || a->ino != b->ino)
		return false;
	/* An inode number is used again for the next file; its generation tells, where somebody does. */
	if (a->generation && b->generation && a->generation != b->generation)
		return false;
	if (a->build_id_size != b->build_id_size ||
		memcmp(a->build_id, b->build_id, a->build_id_size))
		return false;
	return !strcmp(a->path, b->path);
}

static struct dso *dso_new(const struct dso_key *key)
{
	struct dso *dso = calloc(1, sizeof(*dso));
	const char *path = strdup(key->path);

	if (!dso || !path) {
		free(dso);
		free((char *)path);
		base_oom();
		return NULL;
	}
	dso->key = *key;
	dso->fd = dso->debug_fd = dso->jit.fd = -1;
	dso->key.path = path;
	return dso;
}

static void dso_free(struct dso *dso)
{
	base_close_p(&dso->fd);
	base_close_p(&dso->debug_fd);
	free(dso->image);
	vec_done(&dso->segments);
	symtab_done(&dso->table);
	jit_done(&dso->jit);
	free((char *)dso->key.path);
	free(dso);
}

static uint16_t add(struct dsos *dsos, uint64_t hash, const struct dso_key *key)
{
	uint64_t *newest = map_get(&dsos->by_hash, hash);
	uint32_t number = (uint32_t)dsos->at.n;
	struct dso *dso = dso_new(key);

	if (!dso)
		return ATTAR_DSO_UNKNOWN;
	dso->next = newest ? (uint32_t)*newest : 0;
	if (vec_push(&dsos->at, dso) < 0) {
		dso_free(dso);
		return ATTAR_DSO_UNKNOWN;
	}
	if (map_put(&dsos->by_hash, hash, number) < 0) {
		dsos->at.n--;
		dso_free(dso);
		return ATTAR_DSO_UNKNOWN;
	}
	return (uint16_t)number;
}

uint16_t dsos_intern(struct dsos *dsos, const struct dso_key *key)
{
	uint64_t hash = hash_of(key), *newest = map_get(&dsos->by_hash, hash);

	for (uint32_t i = newest ? (uint32_t)*newest : 0; i; i = dsos->at.at[i]->next) {
		struct dso *dso = dsos->at.at[i];

		if (!same(&dso->key, key))
			continue;
		if (!dso->key.generation)
			dso->key.generation = key->generation;
		return (uint16_t)i;
	}
	if (dsos->at.n >= dsos->max) {
		dsos->refused++;
		return ATTAR_DSO_FULL;
	}
	return add(dsos, hash, key);
}

int dsos_init(struct dsos *dsos, unsigned max)
{
	static const struct dso_key fixed[] = {
		[ATTAR_DSO_UNKNOWN] = {.kind = ATTAR_DSO_IS_UNKNOWN, .path = "[unknown]"},
		[ATTAR_DSO_KERNEL] = {.kind = ATTAR_DSO_IS_KERNEL, .path = "[kernel.kallsyms]"},
		[ATTAR_DSO_FULL] = {.kind = ATTAR_DSO_IS_UNKNOWN, .path = "[unknown]", .owner = 1},
	};

	*dsos = (struct dsos){.max = max && max < DSO_MAX ? max + ARRAY_SIZE(fixed) : DSO_MAX};
	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++) {
		struct dso *dso = dso_new(&fixed[i]);

		if (!dso || vec_push(&dsos->at, dso) < 0) {
			if (dso)
				dso_free(dso);
			dsos_done(dsos);
			return base_oom();
		}
	}
	return 0;
}

void dsos_done(struct dsos *dsos)
{
	vec_each (&dsos->at, dso)
		dso_free(*dso);
	vec_done(&dsos->at);
	map_done(&dsos->by_hash);
}

void dso_close(struct dso *dso)
{
	if (symtab_keep_names(&dso->table) < 0)
		symtab_done(&dso->table);
	base_close_p(&dso->fd);
	base_close_p(&dso->debug_fd);
	dso->fd = dso->debug_fd = -1;
}
