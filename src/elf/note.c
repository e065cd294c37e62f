/* SPDX-License-Identifier: MIT */
#include "elf/note.h"

#include <elf.h>

/* Name size, descriptor size, type; then name and descriptor, each padded to 4 bytes. */
bool elf_note_next(struct elf_notes *notes, struct elf_note *ret_note)
{
	Elf64_Nhdr header;
	size_t name, desc, n = notes->size;

	if (notes->at > n || n - notes->at < sizeof(header))
		return false;
	memcpy(&header, notes->bytes + notes->at, sizeof(header));
	name = notes->at + sizeof(header);
	if (header.n_namesz > n - name)
		return false;
	desc = ROUND_UP(name + header.n_namesz, 4);
	if (desc > n || header.n_descsz > n - desc)
		return false;
	*ret_note = (struct elf_note){.owner = (const char *)notes->bytes + name,
		.owner_size = header.n_namesz,
		.type = header.n_type,
		.desc = notes->bytes + desc,
		.desc_size = header.n_descsz};
	notes->at = ROUND_UP(desc + header.n_descsz, 4);
	return true;
}

bool elf_note_is(const struct elf_note *note, const char *owner, uint32_t type)
{
	size_t n = strlen(owner) + 1;

	return note->type == type && note->owner_size == n && !memcmp(note->owner, owner, n);
}
