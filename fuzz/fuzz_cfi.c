/* SPDX-License-Identifier: MIT */
/*
 * Call frame information: the input is an .eh_frame section, whose last byte is the number of the
 * functions in its header, and the bytes before that are the table. All rules and expressions are
 * used. Rules that are made for one address are those of the complete table.
 */
#include <elf.h>

#include "base/base.h"
#include "dwarf/cfi.h"
#include "dwarf/cursor.h"
#include "dwarf/expression.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { DATA_MAX = 1 << 16, ENTRY = 8, HEADER = 12, HEADER_MAX = HEADER + 255 * ENTRY };

/* A file with one segment and a header that leads to the section behind it. */
struct image {
	Elf64_Ehdr header;
	Elf64_Phdr load, eh_frame;
	uint8_t eh_header[HEADER_MAX];
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
	const uint8_t header[] = {1, DW_EH_PE_pcrel | DW_EH_PE_sdata4, DW_EH_PE_udata4,
		DW_EH_PE_datarel | DW_EH_PE_sdata4};
	uint32_t at = offsetof(struct image, frames), header_at = offsetof(struct image, eh_header);
	uint32_t section = at - header_at - 4, n = 0;

	if (size)
		n = MIN(data[size - 1], (uint32_t)((size - 1) / ENTRY));
	*image = (struct image){.header = {.e_ident = ELFMAG,
					.e_machine = EM_X86_64,
					.e_phoff = offsetof(struct image, load),
					.e_phentsize = sizeof(Elf64_Phdr),
					.e_phnum = 2},
		.load = {.p_type = PT_LOAD, .p_filesz = at + size, .p_memsz = at + size},
		.eh_frame = {.p_type = PT_GNU_EH_FRAME,
			.p_offset = header_at,
			.p_vaddr = header_at,
			.p_filesz = HEADER + n * ENTRY}};
	image->header.e_ident[EI_CLASS] = ELFCLASS64;
	image->header.e_ident[EI_DATA] = ELFDATA2LSB;
	memcpy(image->eh_header, header, sizeof(header));
	memcpy(image->eh_header + 4, &section, sizeof(section));
	memcpy(image->eh_header + 8, &n, sizeof(n));
	if (n)
		memcpy(image->eh_header + HEADER, data + size - 1 - n * ENTRY, n * ENTRY);
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

/* Numbers of expressions may differ. */
static void compare(
	const struct cfi_table *complete, uint64_t offset, const struct cfi_rules *rules)
{
	const struct cfi_rules *same = cfi_table_find(complete, offset);

	if (!rules || complete->skipped || complete->expressions.n)
		return;
	if (!same || same->n != rules->n ||
		memcmp(same, rules, sizeof(*rules) + rules->n * sizeof(*rules->rules)) != 0)
		abort();
}

static void find_all(const struct elf *elf, uint64_t size, const struct cfi_table *complete)
{
	struct cfi_table table;

	if (cfi_open(elf, &table) < 0)
		return;
	for (uint64_t offset = 0; offset < size; offset++)
		compare(complete, offset, cfi_find(&table, offset));
	cfi_table_done(&table);
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
		find_all(&elf, source.size, &table);
		cfi_table_done(&table);
	}
	elf_done(&elf);
	return 0;
}
