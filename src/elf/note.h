/* SPDX-License-Identifier: MIT */
/* Notes of a note section (gabi, "Note Section"). */
#ifndef ELF_NOTE_H
#define ELF_NOTE_H

#include "base/base.h"

/* A block of notes in memory, 4-byte aligned as all but some of GNU's are. */
struct elf_notes {
	const uint8_t *bytes; /* borrowed */
	size_t size, at;      /* bytes; of the next note */
};

struct elf_note {
	const char *owner; /* owner_size bytes with the NUL; borrowed from the block */
	uint32_t owner_size, type;
	const uint8_t *desc;
	size_t desc_size;
};

/* False after the last, and at a note that does not lie inside the block. */
bool elf_note_next(struct elf_notes *notes, struct elf_note *ret_note);

/* Whether a note is of this owner and type. */
bool elf_note_is(const struct elf_note *note, const char *owner, uint32_t type);

#endif
