/* SPDX-License-Identifier: MIT */
/* A complete ELF file: headers, notes, debug link, symbol tables, PLT, compressed table, names. */
#include "base/base.h"
#include "symbol/debugfile.h"
#include "symbol/dso_load.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_everywhere(struct dso *dso)
{
	struct buf name _cleanup_(buf_done) = {0};
	uint64_t vaddr;
	size_t index;
	bool read;

	for (size_t i = 0; i < dso->table.entries.n && i < 256; i++) {
		buf_reset(&name);
		symtab_name(&dso->table, i, &name);
		vaddr = symtab_start(&dso->table, i);
		if (symtab_find(&dso->table, vaddr, &index) &&
			symtab_start(&dso->table, index) > vaddr)
			abort();
	}
	for (uint64_t offset = 0; offset < 4096; offset += 64)
		if (elf_vaddr(dso->segments.at, dso->segments.n, offset, &vaddr))
			dso_find(dso, vaddr, &index, &read);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dso dso = {
		.key = {.kind = ATTAR_DSO_IS_VDSO, .path = "[vdso]"}, .fd = -1, .debug_fd = -1};
	struct byte_source source = {.fd = -1, .memory = data, .size = size};
	char link[256];
	struct elf elf;
	uint32_t crc;

	dso.image = malloc(size ?: 1);
	if (!dso.image)
		return 0;
	if (size)
		memcpy(dso.image, data, size);
	dso.image_size = size;
	dso.state = DSO_OPEN;
	dso_load(&dso, "/nowhere", NULL, NULL);
	look_everywhere(&dso);
	dso_read_all(&dso);
	look_everywhere(&dso);
	dso_close(&dso);
	look_everywhere(&dso);
	symtab_done(&dso.table);
	vec_done(&dso.segments);
	free(dso.image);
	if (elf_init(&elf, &source) == 0) {
		elf_debuglink(&elf, link, &crc);
		elf_done(&elf);
	}
	return 0;
}
