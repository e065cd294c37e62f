/* SPDX-License-Identifier: MIT */
/* Call frame information: the input is an .eh_frame section; all rules and expressions are used. */
#include <elf.h>

#include "base/base.h"
#include "dwarf/cfi.h"
#include "dwarf/cursor.h"
#include "dwarf/expression.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { DATA_MAX = 1 << 16 };

/* A file with one segment and a header that leads to the section behind it. */
struct image {
	Elf64_Ehdr header;
	Elf64_Phdr load, eh_frame;
	uint8_t eh_header[12];
	uint8_t frames[DATA_MAX];
};

static bool read_any(void *ctx, uint64_t address, size_t size, uint64_t *ret_value)
{
	(void)ctx;
	*ret_value = address * size;
	return address % 3;
}

static void make(struct image *image, const uint8_t *data, size_t size)
{
	const uint8_t header[] = {1, DW_EH_PE_udata4, DW_EH_PE_omit, DW_EH_PE_omit};
	uint32_t at = offsetof(struct image, frames);

	*image = (struct image){.header = {.e_ident = ELFMAG,
					.e_machine = EM_X86_64,
					.e_phoff = offsetof(struct image, load),
					.e_phentsize = sizeof(Elf64_Phdr),
					.e_phnum = 2},
		.load = {.p_type = PT_LOAD, .p_filesz = at + size, .p_memsz = at + size},
		.eh_frame = {.p_type = PT_GNU_EH_FRAME,
			.p_offset = offsetof(struct image, eh_header),
			.p_vaddr = offsetof(struct image, eh_header),
			.p_filesz = sizeof(image->eh_header)}};
	image->header.e_ident[EI_CLASS] = ELFCLASS64;
	image->header.e_ident[EI_DATA] = ELFDATA2LSB;
	memcpy(image->eh_header, header, sizeof(header));
	memcpy(image->eh_header + 4, &at, sizeof(at));
	memcpy(image->frames, data, size);
}

static void evaluate_all(const struct cfi_table *table)
{
	const uint64_t registers[64] = {0};
	const struct expression_input input = {
		.registers = registers, .known = 0xffff, .read = read_any};

	for (uint32_t i = 0; i < table->expressions.n; i++) {
		size_t n;
		uint64_t value;
		const uint8_t *bytes = cfi_table_expression(table, i, &n);

		expression_evaluate(bytes, n, NULL, &input, &value);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct image image;
	struct byte_source source = {.fd = -1, .memory = (const uint8_t *)&image};
	struct cfi_table table;
	struct elf elf;

	if (size > DATA_MAX)
		return 0;
	make(&image, data, size);
	source.size = offsetof(struct image, frames) + size;
	if (elf_init(&elf, &source) < 0)
		return 0;
	if (cfi_read(&elf, &table) == 0) {
		for (uint64_t offset = 0; offset < source.size; offset++)
			cfi_table_find(&table, offset);
		for (uint32_t i = 1; i < table.n; i++)
			if (table.starts[i] <= table.starts[i - 1])
				abort();
		evaluate_all(&table);
		cfi_table_done(&table);
	}
	elf_done(&elf);
	return 0;
}
