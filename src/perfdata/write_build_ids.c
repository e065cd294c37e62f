/* SPDX-License-Identifier: MIT */
/* The build IDs of the kernel and of files that were mapped as code. */
#include "elf/kernel_notes.h"
#include "perfdata/writer_internal.h"
#include "symbol/dso_open.h"

/* The build ID of a path. */
struct path_id {
	const char *path;
	bool is_ambiguous; /* it had files with other build IDs, or that are gone */
	uint8_t size;      /* 0: none */
	uint8_t id[ELF_MAX_BUILD_ID];
};

struct path_ids {
	VEC(struct path_id) at;
	struct map by_path; /* hash to the index */
};

void writer_add_file(struct recording_writer *w, const struct attar_mapping *mapping)
{
	struct dso_key key;
	char *path _cleanup_free_ = NULL;

	if (mapping->path[0] != '/' || mapping->path[1] == '/')
		return;
	path = dso_key_of_file(mapping, &key);
	if (!path)
		return;
	key.path = mapping->path; /* the path of a deleted file says so, and is another one */
	/* A file without a build ID is only a missing convenience, also when memory is short. */
	if (dsos_intern(&w->files, &key) == ATTAR_DSO_UNKNOWN)
		attar_error_clear();
}

static void put_record(
	struct buf *b, const uint8_t *id, size_t size, uint16_t cpumode, const char *path)
{
	struct data_build_id record = {.pid = -1, .size = (uint8_t)size};
	size_t len = strlen(path), padded = ROUND_UP(len + 1, (size_t)64);
	static const char zeros[64];

	record.header.type = RECORD_BUILD_ID;
	record.header.misc = cpumode | BUILD_ID_MISC_SIZE;
	record.header.size = (uint16_t)(sizeof(record) + padded);
	memcpy(record.id, id, MIN(size, sizeof(record.id)));
	buf_add(b, &record, sizeof(record));
	buf_add(b, path, len);
	buf_add(b, zeros, padded - len);
}

static void put_kernel(struct buf *b)
{
	uint8_t id[ELF_MAX_BUILD_ID];
	size_t size = kernel_notes_build_id(id);

	if (size)
		put_record(b, id, size, PERF_RECORD_MISC_KERNEL, "[kernel.kallsyms]");
}

/* None if the file of the path is not the one that was mapped. */
static void read_id(const struct dso_key *key, struct path_id *ret_id)
{
	int fd _cleanup_close_ = dso_open(&(struct dso_search){.key = key});
	struct byte_source source;
	struct elf elf = {0};

	*ret_id = (struct path_id){.path = key->path};
	if (fd >= 0 && byte_source_file(fd, &source) >= 0 && elf_init(&elf, &source) >= 0)
		ret_id->size = (uint8_t)elf_build_id(&elf, ret_id->id);
	elf_done(&elf);
	attar_error_clear();
}

static void add_id(struct path_ids *ids, const struct path_id *id)
{
	uint64_t hash = base_hash_bytes(BASE_HASH_START, id->path, strlen(id->path));
	const uint64_t *known = map_get(&ids->by_path, hash);
	struct path_id *first = known ? &ids->at.at[*known] : NULL;

	if (first)
		first->is_ambiguous |=
			first->size != id->size || memcmp(first->id, id->id, id->size) != 0;
	else if (vec_push(&ids->at, *id) < 0 || map_put(&ids->by_path, hash, ids->at.n - 1) < 0)
		attar_error_clear();
}

void writer_put_build_ids(const struct recording_writer *w, struct buf *b)
{
	struct path_ids ids = {0};
	struct path_id id;

	put_kernel(b);
	vec_each (&w->files.at, file) {
		if ((*file)->key.kind != ATTAR_DSO_IS_FILE)
			continue;
		read_id(&(*file)->key, &id);
		add_id(&ids, &id);
	}
	vec_each (&ids.at, it)
		if (it->size && !it->is_ambiguous)
			put_record(b, it->id, it->size, PERF_RECORD_MISC_USER, it->path);
	vec_done(&ids.at);
	map_done(&ids.by_path);
}
