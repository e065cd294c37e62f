/* SPDX-License-Identifier: MIT */
/* A growing jit-PID.dump: read in two parts; every entry has a name or none, lines and code. */
#include "symbol/jitdump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct byte_source whole = {.fd = -1, .memory = data, .size = size},
			   half = {.fd = -1, .memory = data, .size = size / 2};
	struct buf name _cleanup_(buf_done) = {0}, file _cleanup_(buf_done) = {0};
	struct jitdump dump = {0};
	uint8_t code[64];
	uint16_t machine;
	uint32_t line;

	jitdump_index(&dump, &half);
	jitdump_index(&dump, &whole);
	vec_each (&dump.code.entries, entry) {
		buf_reset(&name);
		buf_reset(&file);
		if (!perfmap_find(&dump.code, entry->start))
			abort();
		jitdump_name(&dump, &whole, entry, &name);
		jitdump_name(&dump, &half, entry, &name);
		jitdump_line(&dump, &whole, entry, entry->start + entry->size / 2, &file, &line);
		jitdump_code(&dump, &whole, entry, entry->start + entry->size / 2, code,
			MIN(sizeof(code), (size_t)entry->size), &machine);
	}
	jitdump_done(&dump);
	return 0;
}
