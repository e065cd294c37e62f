/* SPDX-License-Identifier: MIT */
/* Parse note sections (gABI, "Note Section"). */
#ifndef ELF_NOTE_H
#define ELF_NOTE_H

#include "base/base.h"

/* A block of notes in memory with 4-byte alignment, as all but some GNU notes have. */
struct elf_notes {
	const uint8_t *bytes; /* borrowed */
	size_t size, at;      /* offset of the next note in bytes */
};

struct elf_note {
	const char *owner; /* owner_size bytes with the NUL; borrowed from the block */
	uint32_t owner_size, type;
	const uint8_t *desc;
	size_t desc_size;
};

/* Returns false after the last note and for a note that exceeds the block. */
bool elf_note_next(struct elf_notes *notes, struct elf_note *ret_note);

/* Whether a note has this owner and type. */
bool elf_note_is(const struct elf_note *note, const char *owner, uint32_t type);

#endif
