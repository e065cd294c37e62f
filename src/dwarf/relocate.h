/* SPDX-License-Identifier: MIT */
/*
 * Debug information of relocatable files (.o, .ko): the offsets and addresses in its sections are
 * applied as a linker does ("Relocation" of the gABI, and the supplements for the processors), with
 * the addresses of elf_place(). x86-64, arm64, i386 and Arm are supported.
 */
#ifndef DWARF_RELOCATE_H
#define DWARF_RELOCATE_H

#include "base/vec.h"
#include "elf/elf.h"

/* The values of the symbols of a file by number, read once. {0} before. */
struct relocation_values {
	VEC(uint64_t) list;
	bool read;
};

/*
 * Applies the relocations of a section of type SHT_RELA or SHT_REL to n bytes of the section that
 * it is for. Those that are unknown or outside the bytes are left out. Returns 0 or -ENOMEM.
 */
int relocate(const struct elf *elf, const struct elf_section *relocations,
	struct relocation_values *values, uint8_t *bytes, uint64_t n);

#endif
