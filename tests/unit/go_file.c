/* SPDX-License-Identifier: MIT */
#include "go_file.h"

static const char names[] = "\0main.main\0main.sum\0main.square",
		  paths[] = "/src/main.go\0/src/sum.go";

enum { NAME_MAIN = 1, NAME_SUM = 11, NAME_SQUARE = 20, PATH_MAIN = 0, PATH_SUM = 13 };

/* Pairs of the change of a value (2n: n more, 2n - 1: n less) and the bytes of its code. */
static const uint8_t values[] = {
	0,                         /* not used: 0 stands for no values */
	2, 16, 2, 16, 1, 32, 0,    /* 1: files 0, 1, 0 */
	22, 16, 13, 16, 18, 32, 0, /* 8: lines 10, 3, 12 */
	4, 32, 0,                  /* 15: file 1 */
	12, 8, 0xa6, 0x09, 24, 0,  /* 18: lines 5, 600 */
	4, 16, 2, 16, 1, 32, 0,    /* 24: the same files, numbered from 1 */
	6, 32, 0,                  /* 31: the same file, numbered from 1 */
	0, 16, 2, 16, 1, 32, 0,    /* 34: inlined calls none, 0, none */
};

static void number(struct buf *to, uint64_t n, uint8_t size)
{
	uint32_t narrow = (uint32_t)n;

	buf_add(to, size == 8 ? (void *)&n : (void *)&narrow, size);
}

/* What the words of functions are relative to. */
struct parts {
	enum go_layout layout;
	uint64_t names, files, values, functions;
};

/* The words of a function behind its address, its further values and data. */
static void words(struct buf *to, const struct parts *parts, bool is_main)
{
	static const uint32_t data[] = {UINT32_MAX, UINT32_MAX, UINT32_MAX, 0};
	static const uint8_t flags[4] = {0, 0, 0, ARRAY_SIZE(data)};
	uint64_t files = is_main ? 1 : 15;

	if (parts->layout == GO_1_2)
		files = is_main ? 24 : 31;
	number(to, parts->names + (is_main ? NAME_MAIN : NAME_SUM), 4);
	for (int i = 0; i < 3; i++)
		number(to, 0, 4);
	number(to, parts->values + files, 4);
	number(to, parts->values + (is_main ? 8 : 18), 4);
	number(to, 3, 4);                               /* further values */
	number(to, parts->layout == GO_1_2 ? 0 : 1, 4); /* the first word of its unit */
	if (parts->layout >= GO_1_20)
		number(to, 9, 4); /* its line */
	buf_add(to, flags, sizeof(flags));
	number(to, 0, 4);
	number(to, 0, 4);
	number(to, is_main ? 34 : 0, 4);
	buf_add(to, data, sizeof(data));
}

/* The list of functions, and the functions behind it. */
static void functions(struct buf *to, const struct parts *parts, uint8_t size)
{
	bool is_relative = parts->layout >= GO_1_18, is_old = parts->layout == GO_1_2;
	uint64_t text = is_relative ? 0 : GO_FILE_TEXT, list = 5U * size + (is_old ? 4 : 0);
	uint64_t one = size + 64U + (parts->layout >= GO_1_20 ? 4 : 0);

	number(to, text, size);
	number(to, parts->functions + list, size);
	number(to, text + 0x40, size);
	number(to, parts->functions + list + one, size);
	number(to, text + GO_FILE_TEXT_SIZE, size);
	if (is_old)
		number(to, parts->files, 4);
	number(to, text, size);
	words(to, parts, true);
	number(to, text + 0x40, size);
	words(to, parts, false);
}

/* Before Go 1.16 all is relative to the start of the table. */
static void old_table(struct buf *to, uint8_t pointer)
{
	struct parts parts = {.functions = 8 + pointer};

	parts.names = parts.functions + 5U * pointer + 4 + 2 * (pointer + 64U);
	parts.values = parts.names + sizeof(names);
	parts.files = parts.values + sizeof(values);
	number(to, 2, pointer);
	functions(to, &parts, pointer);
	buf_add(to, names, sizeof(names));
	buf_add(to, values, sizeof(values));
	number(to, 3, 4); /* files, with the number itself */
	number(to, parts.files + 12 + PATH_MAIN, 4);
	number(to, parts.files + 12 + PATH_SUM, 4);
	buf_add(to, paths, sizeof(paths));
}

void go_file_table(struct buf *table, enum go_layout layout, uint8_t pointer, uint64_t text)
{
	static const uint32_t magic[] = {0xfffffffb, 0xfffffffa, 0xfffffff0, 0xfffffff1};
	static const uint32_t units[] = {UINT32_MAX, PATH_MAIN, PATH_SUM};
	const uint8_t rest[] = {0, 0, 1, pointer};
	uint64_t at = 8 + (layout >= GO_1_18 ? 8U : 7U) * pointer;

	number(table, magic[layout], 4);
	buf_add(table, rest, sizeof(rest));
	if (layout == GO_1_2) {
		old_table(table, pointer);
		return;
	}
	number(table, 2, pointer);
	number(table, 2, pointer);
	if (layout >= GO_1_18)
		number(table, text, pointer);
	number(table, at, pointer);
	number(table, at += sizeof(names), pointer);
	number(table, at += sizeof(units), pointer);
	number(table, at += sizeof(paths), pointer);
	number(table, at += sizeof(values), pointer);
	buf_add(table, names, sizeof(names));
	buf_add(table, units, sizeof(units));
	buf_add(table, paths, sizeof(paths));
	buf_add(table, values, sizeof(values));
	functions(table, &(struct parts){.layout = layout}, layout >= GO_1_18 ? 4 : pointer);
}

/* Data: the description of the module, and an inlined call as since Go 1.18 and since 1.20. */
struct data {
	uint64_t words[41];
	uint32_t call[5], new_call[4];
};

static struct data make_data(uint64_t address)
{
	uint64_t names_at = GO_FILE_TABLE + 8 + 8 * 8;
	struct data data = {
		.words = {[0] = GO_FILE_TABLE,
			[1] = names_at,
			[4] = names_at + sizeof(names),
			[7] = names_at + sizeof(names) + 12,
			[38] = address + offsetof(struct data, call),
			[40] = address + offsetof(struct data, new_call)},
		.call = {[3] = NAME_SQUARE, [4] = 0x20},
		.new_call = {[1] = NAME_SQUARE, [2] = 0x20},
	};

	return data;
}

/* Relocations of the words of data, which become 0, and of the header. */
static void relocate(struct data *data, Elf64_Rela relocations[7])
{
	size_t n = 0;

	relocations[n++] = (Elf64_Rela){.r_offset = GO_FILE_TEXT_WORD, .r_addend = GO_FILE_TEXT};
	for (size_t i = 0; i < ARRAY_SIZE(data->words); i++)
		if (data->words[i]) {
			relocations[n++] = (Elf64_Rela){.r_offset = GO_FILE_DATA + 8 * i,
				.r_addend = (Elf64_Sxword)data->words[i]};
			data->words[i] = 0;
		}
}

void go_file_make(struct buf *file, const void *table, size_t n, bool is_shared)
{
	static const char names_of_sections[] =
		"\0.gopclntab\0.text\0.rela.dyn\0.data\0.shstrtab\0.data.rel.ro\0.go.buildinfo";
	static const uint8_t before[64]; /* what else is in the section of the table */
	Elf64_Rela relocations[7] = {0};
	struct data data = make_data(GO_FILE_DATA);
	Elf64_Phdr segments[] = {{.p_type = PT_LOAD,
					 .p_flags = PF_R | PF_X,
					 .p_vaddr = GO_FILE_TEXT,
					 .p_filesz = GO_FILE_TEXT_SIZE},
		{.p_type = PT_LOAD,
			.p_flags = PF_R | PF_W,
			.p_vaddr = GO_FILE_DATA,
			.p_filesz = sizeof(data)}};
	Elf64_Shdr sections[] = {{0},
		{.sh_name = is_shared ? 44 : 1,
			.sh_type = SHT_PROGBITS,
			.sh_addr = GO_FILE_TABLE - sizeof(before),
			.sh_size = sizeof(before) + n},
		{.sh_name = 12, .sh_type = SHT_NOBITS, .sh_addr = GO_FILE_TEXT + 0x20},
		{.sh_name = 18,
			.sh_type = SHT_RELA,
			.sh_size = sizeof(relocations),
			.sh_entsize = sizeof(*relocations)},
		{.sh_name = 28,
			.sh_type = SHT_PROGBITS,
			.sh_flags = SHF_ALLOC | SHF_WRITE,
			.sh_addr = GO_FILE_DATA,
			.sh_size = sizeof(data)},
		{.sh_name = is_shared ? 57 : 28, .sh_type = SHT_PROGBITS},
		{.sh_name = 34, .sh_type = SHT_STRTAB, .sh_size = sizeof(names_of_sections)}};
	const Elf64_Ehdr h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(h),
		.e_shoff = sizeof(h) + sizeof(segments),
		.e_ehsize = sizeof(h),
		.e_phentsize = sizeof(*segments),
		.e_phnum = ARRAY_SIZE(segments),
		.e_shentsize = sizeof(*sections),
		.e_shnum = ARRAY_SIZE(sections),
		.e_shstrndx = ARRAY_SIZE(sections) - 1};
	uint64_t at = sizeof(h) + sizeof(segments) + sizeof(sections);

	for (size_t i = 1; i < ARRAY_SIZE(sections); at += sections[i++].sh_size)
		sections[i].sh_offset = at;
	sections[2].sh_size = GO_FILE_TEXT_SIZE;
	segments[1].p_offset = sections[4].sh_offset;
	if (is_shared) {
		relocate(&data, relocations);
	} else {
		sections[1].sh_addr += sizeof(before);
		sections[1].sh_offset += sizeof(before);
		sections[1].sh_size -= sizeof(before);
	}
	buf_add(file, &h, sizeof(h));
	buf_add(file, segments, sizeof(segments));
	buf_add(file, sections, sizeof(sections));
	buf_add(file, before, sizeof(before));
	buf_add(file, table, n);
	buf_add(file, relocations, sizeof(relocations));
	buf_add(file, &data, sizeof(data));
	buf_add(file, names_of_sections, sizeof(names_of_sections));
}
