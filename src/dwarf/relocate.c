/* SPDX-License-Identifier: MIT */
#include "dwarf/relocate.h"

#include "elf/symbol_table.h"

enum { RELOCATIONS_READ = 4096 }; /* at a time */

struct relocation {
	uint64_t offset, addend;
	uint32_t symbol, type;
};

/* The bytes that a relocation sets to symbol + addend; 0: another kind, which is left out. */
static unsigned size_of(uint16_t machine, uint32_t type)
{
	switch (machine) {
	case EM_X86_64:
		return type == R_X86_64_64                           ? 8
		       : type == R_X86_64_32 || type == R_X86_64_32S ? 4
								     : 0;
	case EM_AARCH64:
		return type == R_AARCH64_ABS64 ? 8 : type == R_AARCH64_ABS32 ? 4 : 0;
	case EM_386:
		return type == R_386_32 ? 4 : 0;
	case EM_ARM:
		return type == R_ARM_ABS32 ? 4 : 0;
	default:
		return 0;
	}
}

/* The value as the supplements define it: S + A. If the record has no addend, the bytes have it. */
static void relocate_apply(
	const struct relocation *r, bool has_addend, unsigned size, uint64_t value, uint8_t *bytes)
{
	uint64_t old = 0;

	memcpy(&old, bytes, size); /* only files of this machine's byte order are read: little */
	value += has_addend ? r->addend : old;
	memcpy(bytes, &value, size);
}

static struct relocation relocation_at(const struct elf *elf, bool has_addend, const void *at)
{
	Elf64_Rela r64 = {0};
	Elf32_Rela r32 = {0};

	if (elf->is64) {
		memcpy(&r64, at, has_addend ? sizeof(r64) : sizeof(Elf64_Rel));
		return (struct relocation){.offset = r64.r_offset,
			.addend = (uint64_t)r64.r_addend,
			.symbol = (uint32_t)ELF64_R_SYM(r64.r_info),
			.type = (uint32_t)ELF64_R_TYPE(r64.r_info)};
	}
	memcpy(&r32, at, has_addend ? sizeof(r32) : sizeof(Elf32_Rel));
	return (struct relocation){.offset = r32.r_offset,
		.addend = (uint64_t)(int64_t)r32.r_addend,
		.symbol = ELF32_R_SYM(r32.r_info),
		.type = ELF32_R_TYPE(r32.r_info)};
}

static int take_value(void *ctx, const struct elf_symbol *symbol)
{
	struct relocation_values *values = ctx;

	return vec_push(&values->list, symbol->value);
}

static int read_values(const struct elf *elf, const struct elf_section *relocations,
	struct relocation_values *values)
{
	if (values->read || relocations->link >= elf->sections.n)
		return 0;
	values->read = true;
	return elf_symbol_each(
		elf, &elf->sections.at[relocations->link], ELF_ALL, take_value, values);
}

static size_t entry_size(const struct elf *elf, bool has_addend)
{
	if (elf->is64)
		return has_addend ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
	return has_addend ? sizeof(Elf32_Rela) : sizeof(Elf32_Rel);
}

int relocate(const struct elf *elf, const struct elf_section *relocations,
	struct relocation_values *values, uint8_t *bytes, uint64_t n)
{
	bool has_addend = relocations->type == SHT_RELA;
	size_t size = entry_size(elf, has_addend);
	uint8_t *some _cleanup_free_ = malloc(RELOCATIONS_READ * size);
	uint64_t count = MIN(relocations->size, elf->source.size) / size;
	int r = some ? read_values(elf, relocations, values) : base_oom();

	for (uint64_t i = 0; r == 0 && i < count; i += RELOCATIONS_READ) {
		size_t got = (size_t)MIN(count - i, (uint64_t)RELOCATIONS_READ);

		if (byte_source_read(
			    &elf->source, relocations->offset + i * size, some, got * size) < 0)
			break;
		for (size_t j = 0; j < got; j++) {
			struct relocation one = relocation_at(elf, has_addend, some + j * size);
			unsigned width = size_of(elf->machine, one.type);

			if (width && one.symbol < values->list.n && n >= width &&
				one.offset <= n - width)
				relocate_apply(&one, has_addend, width, values->list.at[one.symbol],
					bytes + one.offset);
		}
	}
	return r;
}
