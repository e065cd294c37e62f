/* SPDX-License-Identifier: MIT */
/*
 * Debug information: the input is the contents of the sections of an ELF file, each after its
 * size (16 bits); the last takes the rest. Addresses are looked up, also as those of a relocatable
 * file whose symbols and relocations are the input too, and a unit in the index of a package.
 */
#include <elf.h>

#include "base/base.h"
#include "dwarf/debug_info.h"
#include "dwarf/package.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { DATA_MAX = 1 << 17, SECTIONS = 10, FRAMES = 8 };

static const char names[] = "\0.debug_info\0.debug_abbrev\0.debug_line\0.debug_str\0"
			    ".debug_line_str\0.debug_str_offsets\0.debug_addr\0.debug_ranges\0"
			    ".debug_rnglists\0.debug_aranges\0.shstrtab\0.debug_cu_index";

struct image {
	Elf64_Ehdr header;
	/* an empty one, those of the input, names, an index, and those of relocatable() */
	Elf64_Shdr sections[SECTIONS + 3 + 4];
	char names[sizeof(names)];
	uint8_t data[DATA_MAX];
};

static Elf64_Shdr section(unsigned number, uint64_t offset, uint64_t size)
{
	const char *name = names + 1;

	while (--number)
		name += strlen(name) + 1;
	return (Elf64_Shdr){.sh_name = (uint32_t)(name - names),
		.sh_type = SHT_PROGBITS,
		.sh_offset = offset,
		.sh_size = size};
}

static void make(struct image *image, const uint8_t *data, size_t size)
{
	uint64_t at = offsetof(struct image, data);

	*image = (struct image){.header = {.e_ident = ELFMAG,
					.e_machine = EM_X86_64,
					.e_shoff = offsetof(struct image, sections),
					.e_shentsize = sizeof(Elf64_Shdr),
					.e_shnum = SECTIONS + 3,
					.e_shstrndx = SECTIONS + 1}};
	image->header.e_ident[EI_CLASS] = ELFCLASS64;
	image->header.e_ident[EI_DATA] = ELFDATA2LSB;
	memcpy(image->names, names, sizeof(names));
	image->sections[SECTIONS + 1] =
		section(SECTIONS + 1, offsetof(struct image, names), sizeof(names));
	image->sections[SECTIONS + 2] = section(SECTIONS + 2, at, size);
	for (unsigned i = 1; i <= SECTIONS && size >= 2; i++) {
		size_t n = (size_t)data[0] | (size_t)data[1] << 8;

		data += 2;
		size -= 2;
		n = i == SECTIONS ? size : MIN(n, size);
		memcpy((uint8_t *)image + at, data, n);
		image->sections[i] = section(i, at, n);
		at += n;
		data += n;
		size -= n;
	}
}

/* Code, symbols, and relocations of .debug_info and .debug_line. */
static void relocatable(struct image *image, size_t size)
{
	Elf64_Shdr *more = image->sections + SECTIONS + 3;
	const Elf64_Shdr table = {.sh_offset = offsetof(struct image, data), .sh_size = size};

	image->header.e_type = ET_REL;
	image->header.e_shnum += 4;
	image->sections[SECTIONS + 1].sh_type = SHT_STRTAB;
	more[0] = (Elf64_Shdr){
		.sh_type = SHT_NOBITS, .sh_flags = SHF_ALLOC | SHF_EXECINSTR, .sh_size = 0x1000};
	more[1] = more[2] = more[3] = table;
	more[1].sh_type = SHT_SYMTAB;
	more[1].sh_entsize = sizeof(Elf64_Sym);
	more[1].sh_link = SECTIONS + 1;
	more[2].sh_type = SHT_RELA;
	more[3].sh_type = SHT_REL;
	more[2].sh_link = more[3].sh_link = SECTIONS + 4;
	more[2].sh_info = 1;
	more[3].sh_info = 3;
}

static void look_up(const struct byte_source *source)
{
	static const uint64_t addresses[] = {0, 1, 0x1000, 0x1010, 0x1100, 0x1160, 0x1200, 0x1300,
		0x401000, 0x401126, 0x401200, ELF_PLACE, UINT32_MAX, UINT64_MAX};
	struct intern strings = {0};
	struct debug_info_options options = {.source = *source, .strings = &strings};
	struct debug_frame frames[FRAMES];
	struct debug_info *info;

	if (debug_info_open(&options, &info) < 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++)
		for (uint64_t j = 0; j < 256; j += 17)
			debug_info_find(info, addresses[i] + j, frames, FRAMES);
	debug_info_close(info);
	intern_done(&strings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct image *image;
	struct byte_source source = {.fd = -1, .size = sizeof(*image)};
	struct package_unit unit;
	struct debug_file file;

	if (size > DATA_MAX)
		return 0;
	image = malloc(sizeof(*image));
	if (!image)
		return 0;
	make(image, data, size);
	source.memory = (const uint8_t *)image;
	look_up(&source);
	if (debug_file_init(&file, &source, true) >= 0)
		package_find(&file, 0x1234, &unit);
	debug_file_done(&file);
	relocatable(image, size);
	look_up(&source);
	free(image);
	attar_error_clear();
	return 0;
}
