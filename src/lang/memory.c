/* SPDX-License-Identifier: MIT */
#include "lang/memory.h"

#include <string.h>

#include "base/base.h"
#include "base/proc_memory.h"

void lang_memory_forget(struct lang_memory *memory)
{
	for (size_t i = 0; i < LANG_PAGES; i++)
		memory->pages[i].start = 0;
}

static const struct lang_page *memory_page(struct lang_memory *memory, uint64_t start)
{
	struct lang_page *page;
	ssize_t n;

	for (size_t i = 0; i < LANG_PAGES; i++)
		if (memory->pages[i].start == start)
			return &memory->pages[i];
	memory->reads++;
	page = &memory->pages[memory->oldest++ % LANG_PAGES];
	n = (memory->read ?: proc_memory_read)(memory->pid, start, page->bytes, LANG_PAGE);
	page->start = start;
	page->n = n < 0 ? 0 : (size_t)n;
	return page;
}

bool lang_memory_read(struct lang_memory *memory, uint64_t address, void *bytes, size_t n)
{
	uint8_t *to = bytes;

	while (n) {
		uint64_t in_page = address % LANG_PAGE;
		size_t part = MIN(n, (size_t)(LANG_PAGE - in_page));
		const struct lang_page *page;

		/* the number 0 is no page */
		if (address < LANG_PAGE || memory->reads >= LANG_READS_MAX)
			return false;
		page = memory_page(memory, address - in_page);
		if (in_page + part > page->n)
			return false;
		memcpy(to, page->bytes + in_page, part);
		to += part;
		address += part;
		n -= part;
	}
	return true;
}

uint64_t lang_memory_word(struct lang_memory *memory, uint64_t address)
{
	uint64_t word;

	return lang_memory_read(memory, address, &word, sizeof(word)) ? word : 0;
}
