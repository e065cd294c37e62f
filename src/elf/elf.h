/* SPDX-License-Identifier: MIT */
/*
 * ELF reader: segments, sections, notes (gABI, elf(5)). All data is read with pread() and checked
 * against the file's size. Nothing is mapped, so truncating a file while it is read causes an
 * error, not a SIGBUS, and lengths in the file are checked before memory is allocated.
 */
#ifndef ELF_ELF_H
#define ELF_ELF_H

#include <elf.h>

#include "base/vec.h"
#include "elf/byte_source.h"

enum { ELF_MAX_SEGMENTS = 4096, ELF_MAX_SECTIONS = 65536, ELF_MAX_BUILD_ID = 20 };

struct elf_segment {
	uint32_t type, flags;
	uint64_t offset, vaddr, filesz, memsz;
};

struct elf_section {
	uint32_t name, type, link, info;
	uint64_t flags, addr, offset, size, entsize, align;
};

struct elf {
	struct byte_source source;
	bool is64, relocatable; /* relocatable: a .o or .ko file, see elf_place() */
	uint16_t machine;
	uint64_t end; /* of the section headers, even if the file is shorter; 0: it has none */
	VEC(struct elf_segment) segments;
	VEC(struct elf_section) sections; /* synthesized from PT_DYNAMIC if the file has none */
	char *section_names;              /* NUL-terminated */
	size_t section_names_size;
};

/*
 * Returns 0, or -ENOEXEC with an error message if it is not an ELF file of this machine's byte
 * order.
 */
int elf_init(struct elf *elf, const struct byte_source *source);
void elf_done(struct elf *elf);

/*
 * The code of a relocatable file (gABI, ET_REL) has no addresses before it is linked. elf_init()
 * gives it some: .text starts at ELF_PLACE, the other sections with code follow in their order,
 * each with a segment. All else is at 0, where debug information has what was discarded.
 */
enum { ELF_PLACE = 1 << 20 };

int elf_place(struct elf *elf);

/* Returns the first section with this name or type, or NULL. */
const struct elf_section *elf_section_named(const struct elf *elf, const char *name);
const struct elf_section *elf_section_typed(const struct elf *elf, uint32_t type);

/*
 * Reads a section and appends a NUL; free() the result. Returns 0; -ENODATA, without an error
 * message, if the section has no bytes in the file or more than max; or -ENOMEM.
 */
int elf_section_read(
	const struct elf *elf, const struct elf_section *section, size_t max, uint8_t **ret_bytes);

/* Converts a virtual address to a file offset, using the segment that contains it. */
bool elf_file_offset(const struct elf *elf, uint64_t vaddr, uint64_t *ret_offset);

/* Converts a file offset to a virtual address; executable segments take precedence. */
bool elf_vaddr(const struct elf_segment *segments, size_t n, uint64_t offset, uint64_t *ret_vaddr);

/*
 * Returns the size of the build ID in bytes, 0 if there is none. id has room for ELF_MAX_BUILD_ID
 * bytes.
 */
size_t elf_build_id(const struct elf *elf, uint8_t *id);

/* Gets the name (NUL-terminated, at most NAME_MAX bytes) and CRC of .gnu_debuglink. */
bool elf_debuglink(const struct elf *elf, char name[256], uint32_t *ret_crc);

/* An open ELF file and its descriptor. */
struct elf_file {
	struct elf elf;
	int fd;
};

/*
 * Returns 0, -ENOEXEC if it is not an ELF file of this machine's byte order, or the negative errno
 * of open(2).
 */
int elf_file_open(struct elf_file *file, const char *path);

/* The same for a path such as /proc/self/fd/N; error messages have the name. */
int elf_file_open_named(struct elf_file *file, const char *path, const char *name);
void elf_file_close(struct elf_file *file);

#endif
