/* SPDX-License-Identifier: MIT */
/*
 * A .dwp package: the input is the contents of its sections, each after its size (16 bits); the
 * last takes the rest. A unit of a binary refers to it, whose addresses are looked up.
 */
#include <elf.h>
#include <sys/mman.h>

#include "base/base.h"
#include "base/file.h"
#include "dwarf/debug_info.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { DATA_MAX = 1 << 16, SECTIONS = 8, FRAMES = 8, LOW = 0x1000, LENGTH = 0x200 };

struct image {
	Elf64_Ehdr header;
	Elf64_Shdr sections[SECTIONS + 2]; /* an empty one, the data, their names */
	char names[160];
	uint8_t data[DATA_MAX];
};

/* Of the package; the names of the binary's sections are the same without ".dwo". */
static const char *const package_names[SECTIONS] = {".debug_cu_index", ".debug_info.dwo",
	".debug_abbrev.dwo", ".debug_str.dwo", ".debug_str_offsets.dwo", ".debug_line.dwo",
	".debug_rnglists.dwo", ".debug_addr"};

/* A skeleton unit of DWARF 5 for the addresses from LOW on. Its ID is 0x1122334455667788. */
static const uint8_t abbrevs[] = {1, 0x4a, 0, /* DW_TAG_skeleton_unit, no children */
	0x11, 0x01, 0x12, 0x06, 0x73, 0x17,   /* low_pc addr, high_pc data4, addr_base sec_offset */
	0x76, 0x08, 0, 0, 0};                 /* dwo_name string */
static const uint8_t info[] = {39, 0, 0, 0, 5, 0, 4, 8, 0, 0, 0,
	0, /* length, version, type, size */
	0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 1, LOW & 0xff, LOW >> 8, 0, 0, 0, 0, 0, 0,
	LENGTH & 0xff, LENGTH >> 8, 0, 0, 8, 0, 0, 0, 'x', '.', 'd', 'w', 'o', 0};

static void begin(struct image *image)
{
	memset(image, 0, sizeof(*image));
	image->header = (Elf64_Ehdr){.e_ident = ELFMAG,
		.e_machine = EM_X86_64,
		.e_shoff = offsetof(struct image, sections),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = SECTIONS + 2,
		.e_shstrndx = SECTIONS + 1};
	image->header.e_ident[EI_CLASS] = ELFCLASS64;
	image->header.e_ident[EI_DATA] = ELFDATA2LSB;
	image->sections[SECTIONS + 1] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
		.sh_offset = offsetof(struct image, names),
		.sh_size = sizeof(image->names)};
}

static void put(struct image *image, unsigned number, const char *name, uint64_t *at,
	const uint8_t *bytes, size_t n)
{
	size_t end = 1;

	for (unsigned i = 1; i < number; i++)
		end += strlen(image->names + end) + 1;
	strcpy(image->names + end, name);
	memcpy((uint8_t *)image + *at, bytes, n);
	image->sections[number] = (Elf64_Shdr){
		.sh_name = (uint32_t)end, .sh_type = SHT_PROGBITS, .sh_offset = *at, .sh_size = n};
	*at += n;
}

static void make_package(struct image *image, const uint8_t *data, size_t size)
{
	uint64_t at = offsetof(struct image, data);

	begin(image);
	for (unsigned i = 1; i <= SECTIONS && size >= 2; i++) {
		size_t n = (size_t)data[0] | (size_t)data[1] << 8;

		data += 2;
		size -= 2;
		n = i == SECTIONS ? size : MIN(n, size);
		put(image, i, package_names[i - 1], &at, data, n);
		data += n;
		size -= n;
	}
}

/* The binary has the addresses of the package's unit: the last section of the input. */
static void make_binary(struct image *image, const struct image *package)
{
	const Elf64_Shdr *addresses = &package->sections[SECTIONS];
	uint64_t at = offsetof(struct image, data);

	begin(image);
	put(image, 1, ".debug_abbrev", &at, abbrevs, sizeof(abbrevs));
	put(image, 2, ".debug_info", &at, info, sizeof(info));
	put(image, 3, ".debug_addr", &at, (const uint8_t *)package + addresses->sh_offset,
		addresses->sh_size);
}

static int open_package(void *ctx, const char *path)
{
	size_t n = strlen(path);
	int fd;

	if (n < 4 || strcmp(path + n - 4, ".dwp") != 0)
		return -ENOENT;
	fd = memfd_create("package", MFD_CLOEXEC);
	if (fd < 0 || file_write_all(fd, ctx, sizeof(struct image)) < 0)
		abort();
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct image *package = malloc(sizeof(*package)), *binary = malloc(sizeof(*binary));
	struct intern strings = {0};
	struct debug_frame frames[FRAMES];
	struct debug_info *found;

	if (!package || !binary || size > DATA_MAX - 64 - sizeof(info) - sizeof(abbrevs))
		goto end;
	make_package(package, data, size);
	make_binary(binary, package);
	if (debug_info_open(&(struct debug_info_options){.source = {.fd = -1,
								 .memory = (uint8_t *)binary,
								 .size = sizeof(*binary)},
				    .path = "/nowhere/binary",
				    .binary = "/nowhere/binary",
				    .open = open_package,
				    .ctx = package,
				    .strings = &strings},
		    &found) == 0) {
		for (uint64_t i = 0; i < LENGTH; i += 7)
			debug_info_find(found, LOW + i, frames, FRAMES);
		debug_info_close(found);
	}
	intern_done(&strings);
	attar_error_clear();
end:
	free(package);
	free(binary);
	return 0;
}
