/* SPDX-License-Identifier: MIT */
#include "elf/elf.h"

enum { PLACE_ALIGN_MAX = 64 << 10 };

/* A section larger than any code is malformed: without it, addresses cannot overflow. */
#define PLACE_SIZE_MAX (1ULL << 31)

static bool is_text(const struct elf *elf, const struct elf_section *section)
{
	return section->name < elf->section_names_size &&
	       !strcmp(elf->section_names + section->name, ".text");
}

/* In a separate debug file, which has no code, all sections may have the same offset. */
static uint64_t offset_of(const struct elf *elf, const struct elf_section *section)
{
	return section->type == SHT_NOBITS ? elf->source.size + section->addr : section->offset;
}

static int place_section(struct elf *elf, struct elf_section *section, uint64_t *end)
{
	bool aligned = section->align && section->align <= PLACE_ALIGN_MAX &&
		       !(section->align & (section->align - 1));

	section->addr = aligned ? ROUND_UP(*end, section->align) : *end;
	*end = section->addr + section->size;
	return vec_push(&elf->segments, (struct elf_segment){.type = PT_LOAD,
						.flags = PF_R | PF_X,
						.offset = offset_of(elf, section),
						.vaddr = section->addr,
						.filesz = section->size,
						.memsz = section->size});
}

int elf_place(struct elf *elf)
{
	uint64_t end = ELF_PLACE;
	int r = 0;

	for (int text = 1; text >= 0; text--)
		vec_each (&elf->sections, section)
			if (r == 0 && section->flags & SHF_ALLOC &&
				section->flags & SHF_EXECINSTR && section->size &&
				section->size < PLACE_SIZE_MAX && is_text(elf, section) == text)
				r = place_section(elf, section, &end);
	return r;
}
