/* SPDX-License-Identifier: MIT */
/*
 * The frame of an ELF file: segments, sections, notes (gabi, elf(5)). Everything is fetched by
 * pread() and checked against the file's size: nothing is mapped, so a file that is cut while we
 * read it costs an error and not a SIGBUS, and nothing is allocated by a length that the file
 * claims beyond the bounds.
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
	uint32_t name, type, link;
	uint64_t flags, addr, offset, size, entsize;
};

struct elf {
	struct byte_source source;
	bool is64;
	uint16_t machine;
	VEC(struct elf_segment) segments;
	VEC(struct elf_section) sections; /* made up from PT_DYNAMIC when the file has none */
	char *section_names;              /* NUL-terminated */
	size_t section_names_size;
};

/* 0; -ENOEXEC with an error text when it is no ELF file of this machine's byte order. */
int elf_init(struct elf *elf, const struct byte_source *source);
void elf_done(struct elf *elf);

/* The first section of this name, or of this type; NULL when there is none. */
const struct elf_section *elf_section_named(const struct elf *elf, const char *name);
const struct elf_section *elf_section_typed(const struct elf *elf, uint32_t type);

/*
 * The bytes of a section with a NUL behind, for free(). 0; -ENODATA, without an error text, when
 * it has none in the file or more than max; -ENOMEM.
 */
int elf_section_read(
	const struct elf *elf, const struct elf_section *section, size_t max, uint8_t **ret_bytes);

/* The file offset of the byte at an address, by the segment that loads it. */
bool elf_file_offset(const struct elf *elf, uint64_t vaddr, uint64_t *ret_offset);

/* Where the byte at a file offset lies in memory: executable segments first. */
bool elf_vaddr(const struct elf_segment *segments, size_t n, uint64_t offset, uint64_t *ret_vaddr);

/* The build-id's size in bytes, 0 when there is none. id holds ELF_MAX_BUILD_ID. */
size_t elf_build_id(const struct elf *elf, uint8_t *id);

/* The name (NUL-terminated, at most NAME_MAX bytes) and CRC of .gnu_debuglink. */
bool elf_debuglink(const struct elf *elf, char name[256], uint32_t *ret_crc);

/* An ELF file and its descriptor. */
struct elf_file {
	struct elf elf;
	int fd;
};

/* 0; -ENOEXEC when it is not an ELF file of this machine's byte order; or the errno of open(2). */
int elf_file_open(struct elf_file *file, const char *path);
void elf_file_close(struct elf_file *file);

#endif
