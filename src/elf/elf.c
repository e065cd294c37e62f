/* SPDX-License-Identifier: MIT */
#include "elf/elf.h"

#include "elf/note.h"

enum {
	MAX_SECTION_NAMES = 1 << 20,
	MAX_NOTES = 64 << 10,
	MAX_NOTE_BLOCKS = 16,
	MAX_DYNAMIC = 1024
};

/*
 * Both classes have the same fields at different offsets: a reader for each yields a common struct.
 */
struct header {
	uint64_t phoff, shoff;
	uint32_t phnum, shnum, shstrndx;
	uint16_t phentsize, shentsize, type;
};

#define HEADER_OF(e)                                                                               \
	(struct header)                                                                            \
	{                                                                                          \
		.phoff = (e).e_phoff, .shoff = (e).e_shoff, .phnum = (e).e_phnum,                  \
		.shnum = (e).e_shnum, .shstrndx = (e).e_shstrndx, .phentsize = (e).e_phentsize,    \
		.shentsize = (e).e_shentsize, .type = (e).e_type                                   \
	}

#define SEGMENT_OF(p)                                                                              \
	(struct elf_segment)                                                                       \
	{                                                                                          \
		.type = (p).p_type, .flags = (p).p_flags, .offset = (p).p_offset,                  \
		.vaddr = (p).p_vaddr, .filesz = (p).p_filesz, .memsz = (p).p_memsz                 \
	}

#define SECTION_OF(s)                                                                              \
	(struct elf_section)                                                                       \
	{                                                                                          \
		.name = (s).sh_name, .type = (s).sh_type, .link = (s).sh_link,                     \
		.info = (s).sh_info, .flags = (s).sh_flags, .addr = (s).sh_addr,                   \
		.offset = (s).sh_offset, .size = (s).sh_size, .entsize = (s).sh_entsize,           \
		.align = (s).sh_addralign                                                          \
	}

static int read_header(struct elf *elf, struct header *ret_header)
{
	unsigned char ident[EI_NIDENT];
	union {
		Elf32_Ehdr e32;
		Elf64_Ehdr e64;
	} e;

	if (byte_source_read(&elf->source, 0, ident, sizeof(ident)) < 0 ||
		memcmp(ident, ELFMAG, SELFMAG))
		return attar_fail(-ENOEXEC, "not an ELF file");
	if (ident[EI_DATA] !=
		(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB))
		return attar_fail(-ENOEXEC, "ELF file of the wrong byte order");
	if (ident[EI_CLASS] != ELFCLASS32 && ident[EI_CLASS] != ELFCLASS64)
		return attar_fail(-ENOEXEC, "ELF file of unknown class");
	elf->is64 = ident[EI_CLASS] == ELFCLASS64;
	if (byte_source_read(&elf->source, 0, &e, elf->is64 ? sizeof(e.e64) : sizeof(e.e32)) < 0)
		return attar_fail(-ENOEXEC, "ELF file with a truncated header");
	elf->machine = elf->is64 ? e.e64.e_machine : e.e32.e_machine;
	*ret_header = elf->is64 ? HEADER_OF(e.e64) : HEADER_OF(e.e32);
	elf->relocatable = ret_header->type == ET_REL;
	return 0;
}

/* Reads a table of n entries, owned by the caller; NULL and 0 if it exceeds the file. */
static int read_table(
	const struct elf *elf, uint64_t offset, size_t n, size_t size, void **ret_table)
{
	void *table;

	*ret_table = NULL;
	if (offset > elf->source.size || n * size > elf->source.size - offset)
		return 0;
	table = malloc(n * size);
	if (!table)
		return base_oom();
	if (byte_source_read(&elf->source, offset, table, n * size) < 0)
		free(table);
	else
		*ret_table = table;
	return 0;
}

static int read_segments(struct elf *elf, const struct header *h)
{
	size_t size = elf->is64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
	void *table _cleanup_free_ = NULL;
	int r;

	if (!h->phnum || h->phentsize != size || h->phnum > ELF_MAX_SEGMENTS)
		return 0;
	r = read_table(elf, h->phoff, h->phnum, size, &table);
	if (r < 0 || !table)
		return r;
	if (vec_reserve(&elf->segments, h->phnum) < 0)
		return base_oom();
	for (uint32_t i = 0; i < h->phnum; i++)
		elf->segments.at[i] = elf->is64 ? SEGMENT_OF(((Elf64_Phdr *)table)[i])
						: SEGMENT_OF(((Elf32_Phdr *)table)[i]);
	elf->segments.n = h->phnum;
	return 0;
}

static int read_section_names(struct elf *elf, uint32_t index)
{
	const struct elf_section *section;

	if (index >= elf->sections.n)
		return 0;
	section = &elf->sections.at[index];
	if (section->type == SHT_NOBITS || !section->size || section->size > MAX_SECTION_NAMES)
		return 0;
	elf->section_names = malloc(section->size + 1);
	if (!elf->section_names)
		return base_oom();
	if (byte_source_read(&elf->source, section->offset, elf->section_names, section->size) < 0)
		return 0;
	elf->section_names[section->size] = '\0';
	elf->section_names_size = section->size;
	return 0;
}

/* If the number of sections exceeds the header's 16 bits, it is stored in section 0. */
static int count_sections(
	const struct elf *elf, const struct header *h, size_t *ret_n, uint32_t *ret_names)
{
	struct elf_section first = {0};
	void *table _cleanup_free_ = NULL;
	int r = read_table(elf, h->shoff, 1, h->shentsize, &table);

	if (r < 0)
		return r;
	if (table)
		first = elf->is64 ? SECTION_OF(*(Elf64_Shdr *)table)
				  : SECTION_OF(*(Elf32_Shdr *)table);
	*ret_n = h->shnum ?: (size_t)MIN(first.size, (uint64_t)ELF_MAX_SECTIONS + 1);
	*ret_names = h->shstrndx == SHN_XINDEX ? first.link : h->shstrndx;
	return 0;
}

/* Not an error: a file without sections (or with a broken table) still has segments. */
static int read_sections(struct elf *elf, const struct header *h)
{
	size_t size = elf->is64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr), n = 0;
	void *table _cleanup_free_ = NULL;
	uint32_t names = 0;
	int r;

	if (!h->shoff || h->shentsize != size)
		return 0;
	if (__builtin_add_overflow(h->shoff, h->shnum * size, &elf->end))
		elf->end = UINT64_MAX;
	r = count_sections(elf, h, &n, &names);
	if (r < 0 || !n || n > ELF_MAX_SECTIONS)
		return r;
	r = read_table(elf, h->shoff, n, size, &table);
	if (r < 0 || !table)
		return r;
	if (vec_reserve(&elf->sections, n) < 0)
		return base_oom();
	for (size_t i = 0; i < n; i++)
		elf->sections.at[i] = elf->is64 ? SECTION_OF(((Elf64_Shdr *)table)[i])
						: SECTION_OF(((Elf32_Shdr *)table)[i]);
	elf->sections.n = n;
	return read_section_names(elf, names);
}

bool elf_file_offset(const struct elf *elf, uint64_t vaddr, uint64_t *ret_offset)
{
	vec_each (&elf->segments, s) {
		if (s->type != PT_LOAD || vaddr < s->vaddr || vaddr - s->vaddr >= s->filesz)
			continue;
		*ret_offset = s->offset + (vaddr - s->vaddr);
		return true;
	}
	return false;
}

/* Symbol information from PT_DYNAMIC: addresses and sizes in bytes. */
struct dynamic {
	uint64_t symtab, strtab, strsz, syment;
};

static void read_dynamic(
	const struct elf *elf, const struct elf_segment *segment, struct dynamic *d)
{
	size_t size = elf->is64 ? sizeof(Elf64_Dyn) : sizeof(Elf32_Dyn);
	uint64_t n = MIN(segment->filesz / size, (uint64_t)MAX_DYNAMIC);

	for (uint64_t i = 0; i < n; i++) {
		union {
			Elf32_Dyn d32;
			Elf64_Dyn d64;
		} entry;
		uint64_t value;

		if (byte_source_read(&elf->source, segment->offset + i * size, &entry, size) < 0)
			break;
		value = elf->is64 ? entry.d64.d_un.d_val : entry.d32.d_un.d_val;
		switch (elf->is64 ? entry.d64.d_tag : entry.d32.d_tag) {
		case DT_NULL:
			return;
		case DT_SYMTAB:
			d->symtab = value;
			break;
		case DT_STRTAB:
			d->strtab = value;
			break;
		case DT_STRSZ:
			d->strsz = value;
			break;
		case DT_SYMENT:
			d->syment = value;
			break;
		}
	}
}

/*
 * For a file without section headers, PT_DYNAMIC locates .dynsym and .dynstr. It does not contain
 * the number of symbols, but all linkers place the strings immediately after them.
 */
static int sections_from_dynamic(struct elf *elf)
{
	struct elf_section symbols = {.type = SHT_DYNSYM, .link = 2},
			   strings = {.type = SHT_STRTAB};
	struct dynamic d = {0};

	vec_each (&elf->segments, segment)
		if (segment->type == PT_DYNAMIC)
			read_dynamic(elf, segment, &d);
	if (d.strtab <= d.symtab || !elf_file_offset(elf, d.symtab, &symbols.offset) ||
		!elf_file_offset(elf, d.strtab, &strings.offset))
		return 0;
	symbols.size = d.strtab - d.symtab;
	symbols.entsize = d.syment;
	strings.size = d.strsz;
	if (vec_push(&elf->sections, (struct elf_section){0}) < 0 ||
		vec_push(&elf->sections, symbols) < 0 || vec_push(&elf->sections, strings) < 0)
		return base_oom();
	return 0;
}

int elf_init(struct elf *elf, const struct byte_source *source)
{
	struct header h = {0};
	int r;

	*elf = (struct elf){.source = *source};
	r = read_header(elf, &h);
	if (r >= 0)
		r = read_segments(elf, &h);
	if (r >= 0)
		r = read_sections(elf, &h);
	if (r >= 0 && elf->relocatable)
		r = elf_place(elf);
	if (r >= 0 && !elf->sections.n)
		r = sections_from_dynamic(elf);
	if (r < 0)
		elf_done(elf);
	return r;
}

void elf_done(struct elf *elf)
{
	vec_done(&elf->segments);
	vec_done(&elf->sections);
	free(elf->section_names);
	*elf = (struct elf){0};
}

const struct elf_section *elf_section_named(const struct elf *elf, const char *name)
{
	vec_each (&elf->sections, section)
		if (section->name < elf->section_names_size &&
			!strcmp(elf->section_names + section->name, name))
			return section;
	return NULL;
}

int elf_section_read(
	const struct elf *elf, const struct elf_section *section, size_t max, uint8_t **ret_bytes)
{
	uint8_t *bytes;

	if (section->type == SHT_NOBITS || section->size > max || section->size > elf->source.size)
		return -ENODATA;
	bytes = malloc(section->size + 1);
	if (!bytes)
		return base_oom();
	if (byte_source_read(&elf->source, section->offset, bytes, section->size) < 0) {
		free(bytes);
		return -ENODATA;
	}
	bytes[section->size] = '\0';
	*ret_bytes = bytes;
	return 0;
}

const struct elf_section *elf_section_typed(const struct elf *elf, uint32_t type)
{
	vec_each (&elf->sections, section)
		if (section->type == type)
			return section;
	return NULL;
}

bool elf_vaddr(const struct elf_segment *segments, size_t n, uint64_t offset, uint64_t *ret_vaddr)
{
	/* Adjacent segments may share a page of the file: code is in the executable one. */
	for (int executable = 1; executable >= 0; executable--)
		for (size_t i = 0; i < n; i++) {
			const struct elf_segment *s = &segments[i];

			if (s->type != PT_LOAD || !!(s->flags & PF_X) != executable)
				continue;
			if (offset < s->offset || offset - s->offset >= s->filesz)
				continue;
			*ret_vaddr = s->vaddr + (offset - s->offset);
			return true;
		}
	return false;
}

static size_t build_id_in(const uint8_t *bytes, size_t n, uint8_t *id)
{
	struct elf_notes notes = {.bytes = bytes, .size = n};
	struct elf_note note;

	while (elf_note_next(&notes, &note)) {
		if (!elf_note_is(&note, "GNU", NT_GNU_BUILD_ID))
			continue;
		if (!note.desc_size || note.desc_size > ELF_MAX_BUILD_ID)
			return 0;
		memcpy(id, note.desc, note.desc_size);
		return note.desc_size;
	}
	return 0;
}

static size_t build_id_at(const struct elf *elf, uint64_t offset, uint64_t size, uint8_t *id)
{
	uint8_t *notes _cleanup_free_ = NULL;

	if (!size || size > MAX_NOTES)
		return 0;
	notes = malloc(size);
	if (!notes) {
		base_oom();
		return 0;
	}
	if (byte_source_read(&elf->source, offset, notes, size) < 0)
		return 0;
	return build_id_in(notes, size, id);
}

size_t elf_build_id(const struct elf *elf, uint8_t *id)
{
	size_t n = 0;
	int blocks = 0;

	/*
	 * Sections first: in a separate debug file the segments' offsets are invalid. No linker
	 * makes as many as the limit, of each; together it is 2 MiB.
	 */
	vec_each (&elf->sections, section)
		if (!n && section->type == SHT_NOTE && blocks++ < MAX_NOTE_BLOCKS)
			n = build_id_at(elf, section->offset, section->size, id);
	blocks = 0;
	vec_each (&elf->segments, segment)
		if (!n && segment->type == PT_NOTE && blocks++ < MAX_NOTE_BLOCKS)
			n = build_id_at(elf, segment->offset, segment->filesz, id);
	return n;
}

bool elf_debuglink(const struct elf *elf, char name[256], uint32_t *ret_crc)
{
	const struct elf_section *section = elf_section_named(elf, ".gnu_debuglink");
	char bytes[256 + 8] = {0};
	size_t n, crc;

	if (!section || section->type == SHT_NOBITS || section->size > sizeof(bytes))
		return false;
	if (byte_source_read(&elf->source, section->offset, bytes, section->size) < 0)
		return false;
	n = strnlen(bytes, sizeof(bytes));
	crc = ROUND_UP(n + 1, 4);
	if (!n || n > 255 || crc + 4 > section->size || memchr(bytes, '/', n))
		return false;
	memcpy(name, bytes, n + 1);
	memcpy(ret_crc, bytes + crc, 4);
	return true;
}
