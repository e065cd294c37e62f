/* SPDX-License-Identifier: MIT */
#include "dwarf/debug_file.h"

#include "dwarf/decompress.h"

enum { PACKED_MAX = 1 << 30 }; /* bytes of a decompressed or relocated section */

static const char *const names[DEBUG_SECTIONS] = {
	[DEBUG_INFO] = "info",
	[DEBUG_ABBREV] = "abbrev",
	[DEBUG_LINE] = "line",
	[DEBUG_STR] = "str",
	[DEBUG_LINE_STR] = "line_str",
	[DEBUG_STR_OFFSETS] = "str_offsets",
	[DEBUG_ADDR] = "addr",
	[DEBUG_RANGES] = "ranges",
	[DEBUG_RNGLISTS] = "rnglists",
	[DEBUG_ARANGES] = "aranges",
	[DEBUG_CU_INDEX] = "cu_index",
};

/* The number of the section ".debug_NAME", ".zdebug_NAME" or, if split, ".debug_NAME.dwo". */
static int section_id(const char *name, bool split, bool *ret_old)
{
	size_t n = strlen(name);

	*ret_old = !strncmp(name, ".zdebug_", 8);
	if (!*ret_old && strncmp(name, ".debug_", 7))
		return -1;
	name += *ret_old ? 8 : 7;
	n -= *ret_old ? 8 : 7;
	if (n > 4 && !strcmp(name + n - 4, ".dwo")) {
		if (!split)
			return -1;
		n -= 4;
	} else if (split && strcmp(name, names[DEBUG_CU_INDEX])) {
		return -1;
	}
	for (int i = 0; i < DEBUG_SECTIONS; i++)
		if (strlen(names[i]) == n && !memcmp(names[i], name, n))
			return i;
	return -1;
}

/* ".zdebug_*" of older linkers: "ZLIB" and the size in big endian precede the bytes. */
static bool read_old_header(const struct elf *elf, struct debug_section *section)
{
	uint8_t header[12];

	if (section->size < sizeof(header) ||
		byte_source_read(&elf->source, section->offset, header, sizeof(header)) < 0 ||
		memcmp(header, "ZLIB", 4))
		return false;
	section->packed = section->size - sizeof(header);
	section->offset += sizeof(header);
	section->size = 0;
	for (int i = 4; i < 12; i++)
		section->size = section->size << 8 | header[i];
	section->method = ELFCOMPRESS_ZLIB;
	return true;
}

static void add_section(struct debug_file *file, const struct elf_section *from, bool split)
{
	struct debug_section section = {.offset = from->offset, .size = from->size, .from = from};
	const struct elf *elf = &file->elf;
	bool old, ok = true;
	int id = section_id(elf->section_names + from->name, split, &old);

	if (id < 0 || file->sections[id].size || from->type == SHT_NOBITS)
		return;
	/* An object has a .debug_info without code for each type (-fdebug-types-section). */
	if (elf->relocatable && from->flags & SHF_GROUP)
		return;
	if (from->offset > elf->source.size || from->size > elf->source.size - from->offset)
		return;
	if (from->flags & SHF_COMPRESSED)
		ok = decompress_header(
			elf, &section.offset, &section.packed, &section.size, &section.method);
	else if (old)
		ok = read_old_header(elf, &section);
	if (ok && (!section.packed || section.size <= PACKED_MAX))
		file->sections[id] = section;
}

/* Relocations of a section that was added. */
static void add_relocations(struct debug_file *file, const struct elf_section *from)
{
	const struct elf_section *target;

	if ((from->type != SHT_RELA && from->type != SHT_REL) || !from->size ||
		from->info >= file->elf.sections.n)
		return;
	target = &file->elf.sections.at[from->info];
	for (int i = 0; i < DEBUG_SECTIONS; i++)
		if (file->sections[i].from == target && file->sections[i].size <= PACKED_MAX)
			file->sections[i].relocations = from;
}

const char *debug_file_reason(int error)
{
	return error == -ESTALE                         ? "it is from another build"
	       : error == -EBADMSG || error == -ENOEXEC ? "it is malformed"
							: strerror(-error);
}

int debug_file_init(struct debug_file *file, const struct byte_source *source, bool split)
{
	int r;

	*file = (struct debug_file){.fd = source->memory ? -1 : source->fd};
	r = elf_init(&file->elf, source);
	if (r < 0) {
		debug_file_done(file);
		return r;
	}
	vec_each (&file->elf.sections, section)
		if (section->name < file->elf.section_names_size)
			add_section(file, section, split);
	if (file->elf.relocatable)
		vec_each (&file->elf.sections, section)
			add_relocations(file, section);
	return 0;
}

void debug_file_done(struct debug_file *file)
{
	for (int i = 0; i < DEBUG_SECTIONS; i++) {
		struct debug_section *section = &file->sections[i];

		decompressor_close(section->unpacking);
		free(section->bytes);
		free(section->joined);
		free(section->lent.bytes);
		for (int j = 0; j < DEBUG_BLOCKS; j++)
			free(section->blocks[j].bytes);
	}
	vec_done(&file->values.list);
	elf_done(&file->elf);
	if (file->fd >= 0)
		close(file->fd);
	*file = (struct debug_file){.fd = -1};
}

/* Fills the bytes of a section as far as n. What follows a malformed part is as if not there. */
static void debug_file_fill(struct debug_section *section, uint64_t n)
{
	section->unpacked = decompressor_fill(section->unpacking, n);
	if (section->unpacked < n) {
		log_debug("cannot decompress a section of debug information");
		section->size = section->unpacked;
	}
	if (section->unpacked == section->size) {
		decompressor_close(section->unpacking);
		section->unpacking = NULL;
	}
}

/* Reads all of a section that has relocations, or begins to decompress one. */
static int unpack(struct debug_file *file, struct debug_section *section)
{
	const struct byte_source *source = &file->elf.source;
	int r;

	section->bytes = malloc(section->size);
	if (!section->bytes)
		return base_oom();
	r = section->packed
		    ? decompressor_open(source, section->offset, section->packed, section->method,
			      section->bytes, section->size, &section->unpacking)
		    : byte_source_read(source, section->offset, section->bytes, section->size);
	if (r >= 0 && section->relocations && section->unpacking)
		debug_file_fill(section, section->size);
	if (r >= 0 && section->relocations)
		r = relocate(&file->elf, section->relocations, &file->values, section->bytes,
			section->size);
	if (r >= 0)
		return 0;
	log_debug("cannot read a section of debug information");
	section->size = 0; /* as if there were none */
	return -ENODATA;
}

static bool contains(
	struct debug_file *file, struct debug_section *section, uint64_t offset, uint64_t n)
{
	if ((section->packed || section->relocations) && !section->bytes && section->size)
		unpack(file, section);
	if (offset > section->size || n > section->size - offset)
		return false;
	if (section->unpacking && offset + n > section->unpacked)
		debug_file_fill(section, offset + n);
	return n <= section->size && offset <= section->size - n;
}

bool debug_file_read(
	struct debug_file *file, enum debug_section_id id, uint64_t offset, void *bytes, size_t n)
{
	struct debug_section *section = &file->sections[id];

	if (!contains(file, section, offset, n))
		return false;
	if (section->bytes)
		memcpy(bytes, section->bytes + offset, n);
	return section->bytes ||
	       byte_source_read(&file->elf.source, section->offset + offset, bytes, n) >= 0;
}

/* Where the block with this number is kept. */
static size_t slot_of(enum debug_section_id id, uint64_t number)
{
	bool few = id == DEBUG_ABBREV || id == DEBUG_LINE;

	return number % (few ? (unsigned)DEBUG_BLOCKS_FEW : (unsigned)DEBUG_BLOCKS);
}

/* Bytes of a section that are in memory, or NULL: most names are in the unit that was lent last. */
static const uint8_t *in_memory(
	const struct debug_file *file, enum debug_section_id id, uint64_t offset, uint64_t n)
{
	const struct debug_section *section = &file->sections[id];
	uint64_t from = section->lent.offset, in_block = offset % DEBUG_BLOCK,
		 number = offset / DEBUG_BLOCK;
	size_t slot = slot_of(id, number);

	if (section->bytes)
		return section->bytes + offset;
	if (offset >= from && n <= section->lent.n && offset - from <= section->lent.n - n)
		return section->lent.bytes + (offset - from);
	if (n <= DEBUG_BLOCK - in_block && section->blocks[slot].number == number + 1)
		return section->blocks[slot].bytes + in_block;
	return NULL;
}

/* Memory for n bytes: the memory of the last time, unless it is much. */
static int reserve_lent(struct debug_section *section, uint64_t n)
{
	section->lent.n = 0;
	if (n <= section->lent.size && section->lent.size <= DEBUG_LENT_MAX)
		return 0;
	free(section->lent.bytes);
	section->lent.bytes = malloc(n + 1);
	section->lent.size = section->lent.bytes ? n : 0;
	return section->lent.bytes ? 0 : base_oom();
}

int debug_file_borrow(struct debug_file *file, enum debug_section_id id, uint64_t offset,
	uint64_t n, const uint8_t **ret_bytes)
{
	struct debug_section *section = &file->sections[id];
	int r;

	if (!contains(file, section, offset, n))
		return -ENODATA;
	*ret_bytes = in_memory(file, id, offset, n);
	if (*ret_bytes)
		return 0;
	r = reserve_lent(section, n);
	if (r < 0)
		return r;
	if (!debug_file_read(file, id, offset, section->lent.bytes, n))
		return -ENODATA;
	section->lent.offset = offset;
	section->lent.n = n;
	*ret_bytes = section->lent.bytes;
	return 0;
}

/* Reads the block with this number; shorter at the end of the section. */
static const uint8_t *read_block(struct debug_file *file, enum debug_section_id id, uint64_t number)
{
	struct debug_section *section = &file->sections[id];
	size_t slot = slot_of(id, number);
	uint64_t at = number * DEBUG_BLOCK;

	if (!section->blocks[slot].bytes)
		section->blocks[slot].bytes = malloc(DEBUG_BLOCK);
	section->blocks[slot].number = 0;
	if (!section->blocks[slot].bytes ||
		byte_source_read(&file->elf.source, section->offset + at,
			section->blocks[slot].bytes,
			MIN((uint64_t)DEBUG_BLOCK, section->size - at)) < 0)
		return NULL;
	section->blocks[slot].number = number + 1;
	return section->blocks[slot].bytes;
}

const uint8_t *debug_file_view(
	struct debug_file *file, enum debug_section_id id, uint64_t offset, size_t n)
{
	struct debug_section *section = &file->sections[id];
	const uint8_t *bytes;
	size_t in_block = offset % DEBUG_BLOCK;

	if (!contains(file, section, offset, n) || n > DEBUG_BLOCK)
		return NULL;
	bytes = in_memory(file, id, offset, n);
	if (bytes)
		return bytes;
	if (in_block + n <= DEBUG_BLOCK) {
		bytes = read_block(file, id, offset / DEBUG_BLOCK);
		return bytes ? bytes + in_block : NULL;
	}
	if (!section->joined)
		section->joined = malloc(DEBUG_BLOCK);
	if (!section->joined || byte_source_read(&file->elf.source, section->offset + offset,
					section->joined, n) < 0)
		return NULL;
	return section->joined;
}

bool debug_file_number(struct debug_file *file, enum debug_section_id id, uint64_t offset,
	size_t size, uint64_t *ret_value)
{
	const uint8_t *bytes = debug_file_view(file, id, offset, size);
	uint16_t u16;
	uint32_t u32;

	if (!bytes)
		return false;
	switch (size) {
	case 1:
		*ret_value = *bytes;
		return true;
	case 2:
		memcpy(&u16, bytes, 2);
		*ret_value = u16;
		return true;
	case 4:
		memcpy(&u32, bytes, 4);
		*ret_value = u32;
		return true;
	default:
		memcpy(ret_value, bytes, 8);
		return true;
	}
}

bool debug_file_string(
	struct debug_file *file, enum debug_section_id id, uint64_t offset, struct buf *text)
{
	uint64_t size = file->sections[id].size;
	size_t taken = 0;

	while (taken < DEBUG_STRING_MAX && offset < size) {
		size_t n = (size_t)MIN(size - offset, DEBUG_BLOCK - offset % DEBUG_BLOCK);
		const uint8_t *bytes = debug_file_view(file, id, offset, n), *nul;

		if (!bytes)
			return false;
		n = MIN(n, DEBUG_STRING_MAX - taken);
		nul = memchr(bytes, 0, n);
		buf_add(text, bytes, nul ? (size_t)(nul - bytes) : n);
		if (nul)
			return true;
		taken += n;
		offset += n;
	}
	return taken;
}
