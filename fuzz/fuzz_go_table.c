/* SPDX-License-Identifier: MIT */
/* The section .gopclntab of a Go program: its functions, and those at all their addresses. */
#include "../tests/unit/go_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_up(struct go_table *table)
{
	for (uint64_t i = 0; i < 3U * GO_FILE_TEXT_SIZE; i += 3) {
		struct go_frame frames[GO_FRAMES_MAX];
		size_t n = go_table_find(
			table, GO_FILE_TEXT - GO_FILE_TEXT_SIZE + i, frames, GO_FRAMES_MAX);

		if (n > GO_FRAMES_MAX || (n && frames[n - 1].inlined))
			abort();
		for (size_t j = 0; j < MIN(n, (size_t)4); j++) {
			struct buf text _cleanup_(buf_done) = {0};

			go_table_text(table, frames[j].name, &text);
			go_table_text(table, frames[j].file, &text);
		}
	}
}

static void name_all(struct symtab *symbols)
{
	symtab_finish(symbols);
	for (size_t i = 0; i < symbols->entries.n && i < 256; i++) {
		struct buf name _cleanup_(buf_done) = {0};
		uint64_t vaddr = symtab_start(symbols, i);
		size_t index;

		symtab_name(symbols, i, &name);
		if (symtab_find(symbols, vaddr, &index) && symtab_start(symbols, index) > vaddr)
			abort();
	}
}

static void test(const uint8_t *data, size_t size, bool is_shared)
{
	struct go_table *table _cleanup_free_ = malloc(sizeof(*table));
	struct buf file _cleanup_(buf_done) = {0};
	struct byte_source source = {.fd = -1};
	struct symtab symbols = {0};
	struct elf elf;

	go_file_make(&file, data, size, is_shared);
	source.memory = (const uint8_t *)file.data;
	source.size = file.len;
	if (!table || buf_failed(&file) || elf_init(&elf, &source) < 0)
		return;
	if (go_table_open(&elf, table)) {
		go_table_open_inlined(&elf, table);
		look_up(table);
	}
	if (go_table_add(&symbols, &elf) == 0)
		name_all(&symbols);
	symtab_done(&symbols);
	elf_done(&elf);
	attar_error_clear();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	test(data, size, false);
	test(data, size, true);
	return 0;
}
