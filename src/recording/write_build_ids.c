/* SPDX-License-Identifier: MIT */
/* The build ids of the kernel and of files that were mapped as code. */
#include "elf/kernel_notes.h"
#include "recording/writer_internal.h"

enum { FILES_MAX = 1 << 16 };

void writer_add_file(struct recording_writer *w, const char *path)
{
	uint64_t hash = base_hash_bytes(BASE_HASH_START, path, strlen(path));
	char *copy;

	/* A file without a build id is only a missing convenience, also when memory is short. */
	if (path[0] != '/' || path[1] == '/' || map_get(&w->files_by_hash, hash) ||
		w->files.n == FILES_MAX)
		return;
	copy = strdup(path);
	if (!copy || vec_push(&w->files, (struct writer_file){copy}) < 0) {
		free(copy);
		return;
	}
	(void)map_put(&w->files_by_hash, hash, w->files.n);
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

void writer_put_build_ids(const struct recording_writer *w, struct buf *b)
{
	put_kernel(b);
	vec_each (&w->files, it) {
		uint8_t id[ELF_MAX_BUILD_ID];
		struct elf_file file;
		size_t size;

		if (elf_file_open(&file, it->path) < 0)
			continue;
		size = elf_build_id(&file.elf, id);
		elf_file_close(&file);
		if (size)
			put_record(b, id, size, PERF_RECORD_MISC_USER, it->path);
	}
}
