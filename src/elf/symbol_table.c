/* SPDX-License-Identifier: MIT */
#include "elf/symbol_table.h"

enum { BLOCK = 2048 }; /* symbols read at a time */

#define SYMBOL_OF(s, is_old)                                                                       \
	(struct elf_symbol)                                                                        \
	{                                                                                          \
		.name = (s).st_name, .section = (s).st_shndx, .type = (s).st_info & 15,            \
		.bind = (s).st_info >> 4, .value = (s).st_value, .size = (s).st_size,              \
		.old = (is_old)                                                                    \
	}

static size_t symbol_size(const struct elf *elf)
{
	return elf->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
}

const struct elf_section *elf_symbol_strings(
	const struct elf *elf, const struct elf_section *section)
{
	const struct elf_section *strings;

	if (section->type == SHT_NOBITS || section->entsize != symbol_size(elf) ||
		section->link >= elf->sections.n || section->offset > elf->source.size)
		return NULL;
	strings = &elf->sections.at[section->link];
	return strings->type == SHT_STRTAB ? strings : NULL;
}

/* What is wanted of a table. */
struct wanted {
	struct elf_range range;
	elf_symbol_fn *fn;
	void *ctx;
};

/* Calls the function for n symbols; versions has one word per symbol. */
static int each_of_block(const struct elf *elf, const uint8_t *block, size_t n,
	const uint16_t *versions, const struct wanted *wanted)
{
	const Elf64_Sym *plain = elf->is64 && !elf->relocatable ? (const Elf64_Sym *)block : NULL;

	for (size_t i = 0; i < n; i++) {
		bool old = versions[i] & 0x8000; /* VERSYM_HIDDEN */
		struct elf_symbol s;
		int r;

		/* Most are outside: this is known before they are decoded. */
		if (plain && !elf_range_has(&wanted->range, plain[i].st_value, plain[i].st_size))
			continue;
		s = elf->is64 ? SYMBOL_OF(((const Elf64_Sym *)block)[i], old)
			      : SYMBOL_OF(((const Elf32_Sym *)block)[i], old);
		if (elf->relocatable && s.section < elf->sections.n)
			s.value += elf->sections.at[s.section].addr;
		if (!elf_range_has(&wanted->range, s.value, s.size))
			continue;
		r = wanted->fn(wanted->ctx, &s);
		if (r)
			return r;
	}
	return 0;
}

int elf_symbol_each(const struct elf *elf, const struct elf_section *section,
	struct elf_range range, elf_symbol_fn *fn, void *ctx)
{
	const struct wanted wanted = {.range = range, .fn = fn, .ctx = ctx};
	const struct byte_source *source = &elf->source;
	const struct elf_section *versions = elf_section_typed(elf, SHT_GNU_versym);
	size_t size = symbol_size(elf);
	uint8_t *block _cleanup_free_ = NULL;
	uint64_t n;
	int r = 0;

	if (!elf_symbol_strings(elf, section))
		return 0;
	block = malloc(BLOCK * size);
	if (!block)
		return base_oom();
	n = MIN(section->size, source->size - section->offset) / size;
	n = MIN(n, (uint64_t)ELF_MAX_SYMBOLS);
	for (uint64_t i = 0; r == 0 && i < n; i += BLOCK) {
		size_t some = MIN((uint64_t)BLOCK, n - i);
		uint16_t version[BLOCK] = {0};

		if (byte_source_read(source, section->offset + i * size, block, some * size) < 0)
			break;
		if (section->type == SHT_DYNSYM && versions && versions->size / 2 >= i + some)
			byte_source_read(source, versions->offset + i * 2, version, some * 2);
		r = each_of_block(elf, block, some, version, &wanted);
	}
	return r;
}
