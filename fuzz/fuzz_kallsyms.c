/* SPDX-License-Identifier: MIT */
/* A list of kernel symbols: a symbol that is found must contain the requested address. */
#include "elf/kallsyms.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kallsyms list;
	struct kallsyms_hit hit;

	if (kallsyms_parse(&list, (const char *)data, size) == 0)
		vec_each (&list.regions, region)
			for (uint32_t i = 0; i < region->n; i++) {
				uint64_t address =
					region->high | list.symbols.at[region->first + i].low;

				if (kallsyms_find(&list, address, &hit) &&
					(hit.start > address || address - hit.start >= hit.size))
					abort();
			}
	kallsyms_done(&list);
	return 0;
}
