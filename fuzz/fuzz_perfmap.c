/* SPDX-License-Identifier: MIT */
/* A growing perf-PID.map: reading it at once and in two parts must give the same result. */
#include "symbol/perfmap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct byte_source whole = {.fd = -1, .memory = data, .size = size},
			   half = {.fd = -1, .memory = data, .size = size / 2};
	struct perfmap once = {0}, twice = {0};
	struct buf name _cleanup_(buf_done) = {0};

	perfmap_index(&once, &whole);
	perfmap_index(&twice, &half);
	perfmap_index(&twice, &whole);
	if (!once.ended && !twice.ended && once.entries.n != twice.entries.n)
		abort();
	vec_each (&once.entries, entry) {
		const struct perfmap_entry *found = perfmap_find(&once, entry->start);

		if (!found || found->line < entry->line)
			abort();
		buf_reset(&name);
		perfmap_name(&whole, found, &name);
		perfmap_name(&half, found, &name);
	}
	perfmap_done(&once);
	perfmap_done(&twice);
	return 0;
}
