/* SPDX-License-Identifier: MIT */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf_file.h"
#include "error.h"

static bool is_within(uint64_t at, uint64_t len, uint64_t size)
{
	return at <= size && len <= size - at;
}

/* Looks for the build ID among the notes of `size` bytes. */
static void read_notes(const unsigned char *notes, uint64_t size, struct elf_file *ret)
{
	uint64_t at = 0;

	while (is_within(at, sizeof(Elf64_Nhdr), size)) {
		Elf64_Nhdr note;
		uint64_t name = at + sizeof(note), desc;

		memcpy(&note, notes + at, sizeof(note));
		desc = name + ((note.n_namesz + 3ULL) & ~3ULL);
		if (!is_within(desc, note.n_descsz, size))
			return;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
			memcmp(notes + name, "GNU", 4) == 0 &&
			note.n_descsz <= sizeof(ret->build_id)) {
			memcpy(ret->build_id, notes + desc, note.n_descsz);
			ret->build_id_size = note.n_descsz;
			return;
		}
		at = desc + ((note.n_descsz + 3ULL) & ~3ULL);
	}
}

static bool has_section(
	const unsigned char *bytes, uint64_t size, const Elf64_Ehdr *header, const char *wanted)
{
	Elf64_Shdr names, section;
	uint64_t at = header->e_shoff;

	if (header->e_shentsize != sizeof(section) || header->e_shstrndx >= header->e_shnum ||
		!is_within(at, (uint64_t)header->e_shnum * sizeof(section), size))
		return false;
	memcpy(&names, bytes + at + header->e_shstrndx * sizeof(names), sizeof(names));
	for (unsigned i = 0; i < header->e_shnum; i++) {
		memcpy(&section, bytes + at + i * sizeof(section), sizeof(section));
		if (is_within(names.sh_offset, names.sh_size, size) &&
			is_within(section.sh_name, strlen(wanted) + 1, names.sh_size) &&
			memcmp(bytes + names.sh_offset + section.sh_name, wanted,
				strlen(wanted) + 1) == 0)
			return true;
	}
	return false;
}

static bool read_segments(const unsigned char *bytes, uint64_t size, struct elf_file *ret)
{
	Elf64_Ehdr header;

	if (!is_within(0, sizeof(header), size))
		return false;
	memcpy(&header, bytes, sizeof(header));
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
		header.e_ident[EI_CLASS] != ELFCLASS64 ||
		header.e_phentsize != sizeof(Elf64_Phdr) ||
		!is_within(header.e_phoff, (uint64_t)header.e_phnum * sizeof(Elf64_Phdr), size))
		return false;
	ret->has_lines = has_section(bytes, size, &header, ".debug_line");
	ret->is_go = has_section(bytes, size, &header, ".gopclntab");
	ret->segments = calloc(header.e_phnum + 1U, sizeof(*ret->segments));
	for (unsigned i = 0; ret->segments && i < header.e_phnum; i++) {
		Elf64_Phdr segment;

		memcpy(&segment, bytes + header.e_phoff + i * sizeof(segment), sizeof(segment));
		if (segment.p_type == PT_LOAD)
			ret->segments[ret->n++] = (struct elf_segment){.address = segment.p_vaddr,
				.offset = segment.p_offset,
				.size = segment.p_filesz,
				.executable = segment.p_flags & PF_X};
		if (segment.p_type == PT_NOTE && ret->build_id_size == 0 &&
			is_within(segment.p_offset, segment.p_filesz, size))
			read_notes(bytes + segment.p_offset, segment.p_filesz, ret);
	}
	return ret->segments;
}

int elf_file_read(const char *path, struct elf_file *ret)
{
	struct stat st;
	void *bytes;
	bool ok;
	int fd;

	memset(ret, 0, sizeof(*ret));
	if (!path || stat(path, &st) < 0)
		return kp_fail(LIBSYM_ERR_FILE_NOT_RGE, "%s is not a regular file: %s",
			path ? path : "NULL", path ? strerror(errno) : "a name is needed");
	if (!S_ISREG(st.st_mode))
		return kp_fail(LIBSYM_ERR_FILE_NOT_RGE, "%s is not a regular file", path);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0) {
		kp_fail(LIBSYM_ERR_OPEN_FILE_FAILED, "cannot open %s: %m", path);
		if (fd >= 0)
			close(fd);
		return LIBSYM_ERR_OPEN_FILE_FAILED;
	}
	bytes = st.st_size > 0 ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0)
			       : MAP_FAILED;
	close(fd);
	ok = bytes != MAP_FAILED && read_segments(bytes, (uint64_t)st.st_size, ret);
	if (bytes != MAP_FAILED)
		munmap(bytes, (size_t)st.st_size);
	if (!ok)
		elf_file_done(ret);
	return ok ? SUCCESS
		  : kp_fail(LIBSYM_ERR_ELFIN_FOMAT_FAILED, "%s is not a 64-bit ELF file", path);
}

void elf_file_done(struct elf_file *file)
{
	free(file->segments);
	file->segments = NULL;
	file->n = 0;
}
