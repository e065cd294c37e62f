/* SPDX-License-Identifier: MIT */
/*
 * The sections of a file with debug information: a binary, its debug file, a dwz file (DWARF 5,
 * section 7.3.6), a .dwo file or a .dwp package (7.3.2, 7.3.5). They are read with pread() in
 * blocks of which few are kept, so that a file of any size needs little memory; compressed sections
 * are decompressed up to what is used of them, sections of relocatable files are relocated as a
 * whole.
 */
#ifndef DWARF_DEBUG_FILE_H
#define DWARF_DEBUG_FILE_H

#include "base/buf.h"
#include "dwarf/relocate.h"
#include "elf/elf.h"

enum debug_section_id {
	DEBUG_INFO,
	DEBUG_ABBREV,
	DEBUG_LINE,
	DEBUG_STR,
	DEBUG_LINE_STR,
	DEBUG_STR_OFFSETS,
	DEBUG_ADDR,
	DEBUG_RANGES,
	DEBUG_RNGLISTS,
	DEBUG_ARANGES,
	DEBUG_CU_INDEX,
	DEBUG_SECTIONS,
};

enum {
	DEBUG_BLOCK = 16 << 10,     /* bytes of a block */
	DEBUG_BLOCKS = 64,          /* blocks kept of most sections: the names of most units */
	DEBUG_BLOCKS_FEW = 2,       /* of those in which each unit has a table */
	DEBUG_STRING_MAX = 8 << 10, /* bytes of a string; longer ones are cut */
	DEBUG_LENT_MAX = 1 << 20,   /* bytes of memory that is lent again */
};

struct debug_section {
	uint64_t offset; /* in the file */
	uint64_t size;   /* bytes, decompressed; 0: there is none */
	uint64_t packed; /* bytes in the file of a compressed section; 0: not compressed */
	uint32_t method; /* ELFCOMPRESS_* of a compressed section */
	const struct elf_section *from;        /* the section of the file */
	const struct elf_section *relocations; /* NULL: none */
	uint8_t *bytes;                        /* of a compressed or relocated section, once used */
	struct decompressor *unpacking;        /* of its bytes, owned; NULL: all are filled */
	uint64_t unpacked;                     /* bytes that are filled */
	struct {
		uint64_t number; /* of the block, plus 1; 0: none */
		uint8_t *bytes;
	} blocks[DEBUG_BLOCKS];
	uint8_t *joined; /* the last view that was not in one block */
	struct {
		uint8_t *bytes;
		uint64_t size;      /* of this memory */
		uint64_t offset, n; /* what was read into it last; n is 0: nothing */
	} lent; /* see debug_file_borrow() */
};

struct debug_file {
	struct elf elf;
	int fd; /* owned; -1: the source is memory */
	struct debug_section sections[DEBUG_SECTIONS];
	struct relocation_values values; /* of symbols */
};

/* Why a file cannot be used, from an errno: -ESTALE if it is of another build. */
const char *debug_file_reason(int error);

/*
 * Reads the table of sections. split: the sections of a .dwo or .dwp file, whose names end in
 * ".dwo". The file owns the fd of source, also on failure. Returns 0; -ENOEXEC; -ENOMEM.
 */
int debug_file_init(struct debug_file *file, const struct byte_source *source, bool split);
void debug_file_done(struct debug_file *file);

static inline bool debug_file_has(const struct debug_file *file, enum debug_section_id id)
{
	return file->sections[id].size;
}

/*
 * n bytes (at most DEBUG_BLOCK) of a section, borrowed until the next view or debug_file_borrow()
 * of this section; NULL if the section does not have them, or they cannot be read.
 */
const uint8_t *debug_file_view(
	struct debug_file *file, enum debug_section_id id, uint64_t offset, size_t n);

/* A number of size bytes: 1, 2, 4 or 8. False if it cannot be read. */
bool debug_file_number(struct debug_file *file, enum debug_section_id id, uint64_t offset,
	size_t size, uint64_t *ret_value);

/* Copies n bytes, without keeping them. False if the section does not have them. */
bool debug_file_read(
	struct debug_file *file, enum debug_section_id id, uint64_t offset, void *bytes, size_t n);

/*
 * n bytes, borrowed until the next view or call for this section. They are read unless they are in
 * memory. Returns 0; -ENODATA if the section does not have them; -ENOMEM.
 */
int debug_file_borrow(struct debug_file *file, enum debug_section_id id, uint64_t offset,
	uint64_t n, const uint8_t **ret_bytes);

/* Appends a NUL-terminated string. False if there is none at offset. */
bool debug_file_string(
	struct debug_file *file, enum debug_section_id id, uint64_t offset, struct buf *text);

#endif
