/* SPDX-License-Identifier: MIT */
#include "elf/kernel_notes.h"

#include "base/file.h"
#include "elf/note.h"

enum { KERNEL_NOTES_MAX = 64 << 10 };

static size_t build_id_of(const char *path, uint8_t id[ELF_MAX_BUILD_ID])
{
	struct buf text _cleanup_(buf_done) = {0};
	struct elf_notes notes;
	struct elf_note note;

	if (file_read(path, KERNEL_NOTES_MAX, &text) < 0 || !text.len)
		return 0;
	notes = (struct elf_notes){.bytes = (const uint8_t *)text.data, .size = text.len};
	while (elf_note_next(&notes, &note)) {
		size_t n = MIN(note.desc_size, (size_t)ELF_MAX_BUILD_ID);

		if (!elf_note_is(&note, "GNU", NT_GNU_BUILD_ID))
			continue;
		memcpy(id, note.desc, n);
		return n;
	}
	return 0;
}

size_t kernel_notes_build_id(uint8_t id[ELF_MAX_BUILD_ID])
{
	return build_id_of("/sys/kernel/notes", id);
}

size_t kernel_notes_module(const char *name, uint8_t id[ELF_MAX_BUILD_ID])
{
	struct buf path _cleanup_(buf_done) = {0};

	buf_printf(&path, "/sys/module/%s/notes/.note.gnu.build-id", name);
	return buf_failed(&path) ? 0 : build_id_of(buf_text(&path), id);
}
