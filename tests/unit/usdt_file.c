/* SPDX-License-Identifier: MIT */
#include "usdt_file.h"

#include <elf.h>

void usdt_file_make(struct buf *file, const void *notes, size_t n)
{
	static const char names[] = "\0.note.stapsdt\0.symtab\0.strtab", strings[] = "\0counter";
	const Elf64_Sym symbols[2] = {{0}, {.st_name = 1,
						   .st_info = ELF64_ST_INFO(STB_LOCAL, STT_OBJECT),
						   .st_shndx = 1,
						   .st_value = USDT_FILE_DATA + 16,
						   .st_size = 4}};
	const Elf64_Phdr segments[2] = {{.p_type = PT_LOAD,
						.p_flags = PF_R | PF_X,
						.p_offset = USDT_FILE_CODE,
						.p_vaddr = USDT_FILE_ADDRESS,
						.p_filesz = USDT_FILE_CODE_SIZE,
						.p_memsz = USDT_FILE_CODE_SIZE},
		{.p_type = PT_LOAD,
			.p_flags = PF_R | PF_W,
			.p_offset = USDT_FILE_CODE + USDT_FILE_CODE_SIZE,
			.p_vaddr = USDT_FILE_DATA,
			.p_filesz = 0x100,
			.p_memsz = 0x200}};
	uint64_t at = USDT_FILE_CODE + USDT_FILE_CODE_SIZE + 0x100;
	const Elf64_Shdr sections[5] = {{0},
		{.sh_name = 1, .sh_type = SHT_NOTE, .sh_offset = at, .sh_size = n},
		{.sh_name = 15,
			.sh_type = SHT_SYMTAB,
			.sh_offset = at + n,
			.sh_size = sizeof(symbols),
			.sh_link = 3,
			.sh_entsize = sizeof(*symbols)},
		{.sh_name = 23,
			.sh_type = SHT_STRTAB,
			.sh_offset = at + n + sizeof(symbols),
			.sh_size = sizeof(strings)},
		{.sh_name = 23,
			.sh_type = SHT_STRTAB,
			.sh_offset = at + n + sizeof(symbols) + sizeof(strings),
			.sh_size = sizeof(names)}};
	const Elf64_Ehdr h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(h),
		.e_shoff = sizeof(h) + sizeof(segments),
		.e_ehsize = sizeof(h),
		.e_phentsize = sizeof(*segments),
		.e_phnum = 2,
		.e_shentsize = sizeof(*sections),
		.e_shnum = 5,
		.e_shstrndx = 4};

	buf_add(file, &h, sizeof(h));
	buf_add(file, segments, sizeof(segments));
	buf_add(file, sections, sizeof(sections));
	while (file->len < at)
		buf_char(file, '\0');
	buf_add(file, notes, n);
	buf_add(file, symbols, sizeof(symbols));
	buf_add(file, strings, sizeof(strings));
	buf_add(file, names, sizeof(names));
}
