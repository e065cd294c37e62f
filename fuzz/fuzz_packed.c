/* SPDX-License-Identifier: MIT */
/*
 * Compressed sections of an ELF file. The first byte says what the others are: .gnu_debugdata, the
 * file in it, a section with SHF_COMPRESSED, or the contents of three of them, the first two each
 * after their size (16 bits).
 */
#include <elf.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include "base/base.h"
#include "dwarf/debug_info.h"
#include "symbol/dso_load.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { DATA_MAX = 1 << 16, SECTIONS = 3, FRAMES = 8 };
enum form { FORM_XZ, FORM_FILE, FORM_PACKED, FORM_ZLIB, FORM_ZSTD, FORMS };

static const char names[] = "\0.debug_info\0.debug_abbrev\0.debug_line\0.gnu_debugdata";
static const uint16_t name_at[SECTIONS + 1] = {1, 13, 27, 39};

struct image {
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	Elf64_Shdr sections[SECTIONS + 2]; /* an empty one, the contents, their names */
	char names[sizeof(names)];
	uint8_t data[4 * DATA_MAX];
};

static struct image *new_image(void)
{
	struct image *image = calloc(1, sizeof(*image));

	if (!image)
		abort();
	image->header = (Elf64_Ehdr){.e_ident = ELFMAG,
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_phoff = offsetof(struct image, segment),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shoff = offsetof(struct image, sections),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = SECTIONS + 2,
		.e_shstrndx = SECTIONS + 1};
	image->header.e_ident[EI_CLASS] = ELFCLASS64;
	image->header.e_ident[EI_DATA] = ELFDATA2LSB;
	image->segment = (Elf64_Phdr){
		.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = 0x4000, .p_memsz = 0x4000};
	memcpy(image->names, names, sizeof(names));
	image->sections[SECTIONS + 1] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
		.sh_offset = offsetof(struct image, names),
		.sh_size = sizeof(names)};
	return image;
}

/* The section's contents lie at image->data + at. */
static void put(
	struct image *image, unsigned number, unsigned name, size_t at, size_t n, uint64_t flags)
{
	image->sections[number] = (Elf64_Shdr){.sh_name = name_at[name],
		.sh_type = SHT_PROGBITS,
		.sh_flags = flags,
		.sh_offset = offsetof(struct image, data) + at,
		.sh_size = n};
}

/* ---- .gnu_debugdata ---- */

static void load(struct image *image)
{
	struct dso dso = {.key = {.kind = ATTAR_DSO_IS_VDSO, .path = "[vdso]"},
		.fd = -1,
		.debug_fd = -1,
		.image = (uint8_t *)image,
		.image_size = sizeof(*image),
		.state = DSO_OPEN};
	struct buf name _cleanup_(buf_done) = {0};
	size_t index;
	bool read;

	dso_load(&dso, "/nowhere", NULL, NULL);
	for (uint64_t vaddr = 0; vaddr < 0x4000; vaddr += 64)
		dso_find(&dso, vaddr, &index, &read);
	for (size_t i = 0; i < dso.table.entries.n && i < 64; i++)
		symtab_name(&dso.table, i, &name);
	dso_read_all(&dso);
	dso_close(&dso);
	symtab_done(&dso.table);
	vec_done(&dso.segments);
}

static void take_debugdata(const uint8_t *data, size_t size, bool is_packed)
{
	struct image *image = new_image();
	size_t n = 0;

	if (is_packed) {
		memcpy(image->data, data, size);
		n = size;
	} else if (lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, data, size, image->data, &n,
			   sizeof(image->data)) != LZMA_OK) {
		abort();
	}
	put(image, 1, 3, 0, n, 0);
	load(image);
	free(image);
}

/* ---- SHF_COMPRESSED ---- */

static void look_up(const struct image *image)
{
	struct intern strings = {0};
	struct debug_frame frames[FRAMES];
	struct debug_info *info;

	if (debug_info_open(&(struct debug_info_options){.source = {.fd = -1,
								 .memory = (const uint8_t *)image,
								 .size = sizeof(*image)},
				    .strings = &strings},
		    &info) == 0) {
		for (uint64_t i = 0; i < 64; i++)
			debug_info_find(info, 0x401000 + 9 * i, frames, FRAMES);
		debug_info_close(info);
	}
	intern_done(&strings);
}

static size_t pack(struct image *image, size_t at, const uint8_t *data, size_t n, enum form form)
{
	Elf64_Chdr header = {.ch_type = form == FORM_ZLIB ? ELFCOMPRESS_ZLIB : 2 /* ZSTD */,
		.ch_size = n,
		.ch_addralign = 1};
	uint8_t *to = image->data + at + sizeof(header);
	uLongf packed = sizeof(image->data) - at - sizeof(header);

	memcpy(image->data + at, &header, sizeof(header));
	if (form == FORM_ZLIB && compress2(to, &packed, data, n, 1) != Z_OK)
		abort();
	if (form == FORM_ZSTD)
		packed = ZSTD_compress(to, packed, data, n, 1);
	return sizeof(header) + packed;
}

static void take_sections(const uint8_t *data, size_t size, enum form form)
{
	struct image *image = new_image();
	size_t at = 0;

	for (unsigned i = 1; i <= SECTIONS && size >= 2; i++) {
		size_t n = (size_t)data[0] | (size_t)data[1] << 8, packed;

		if (i < SECTIONS) {
			data += 2;
			size -= 2;
		}
		n = i == SECTIONS ? size : MIN(n, size);
		if (form == FORM_PACKED) {
			memcpy(image->data + at, data, n);
			packed = n;
		} else {
			packed = pack(image, at, data, n, form);
		}
		put(image, i, i - 1, at, packed, SHF_COMPRESSED);
		at += packed;
		data += n;
		size -= n;
	}
	look_up(image);
	free(image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum form form;

	if (!size || size > DATA_MAX)
		return 0;
	form = *data % FORMS;
	if (form <= FORM_FILE)
		take_debugdata(data + 1, size - 1, form == FORM_XZ);
	else
		take_sections(data + 1, size - 1, form);
	attar_error_clear();
	return 0;
}
