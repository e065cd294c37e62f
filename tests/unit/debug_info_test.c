/* SPDX-License-Identifier: MIT */
/* Lines and inlined functions of this program itself, and of damaged copies of it. */
#include "unit.h"

#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/base.h"
#include "dwarf/debug_info.h"
#include "dwarf/decompress.h"
#include "elf/elf.h"
#include "inlined.h"

enum { FRAMES = 16, LOOKUPS = 64 };

static struct intern strings;

static struct debug_info *open_self(size_t max_bytes)
{
	struct debug_info_options options = {.strings = &strings, .max_bytes = max_bytes};
	struct debug_info *info = NULL;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_int_equal(byte_source_file(fd, &options.source), 0);
	assert_int_equal(debug_info_open(&options, &info), 0);
	return info;
}

static void check_frame(
	const struct debug_frame *frame, const char *function, unsigned line, bool inlined)
{
	assert_string_equal(frame->function, function);
	assert_int_equal(frame->line, line);
	assert_int_equal(frame->inlined, inlined);
	assert_non_null(frame->file);
	assert_string_equal(strrchr(frame->file, '/'), "/inlined.h");
}

static void test_inlined_functions(void **state)
{
	struct debug_info *info = open_self(0);
	struct debug_frame frames[FRAMES];
	uint64_t vaddr = vaddr_of(outer());

	assert_int_equal(debug_info_find(info, vaddr, frames, FRAMES), 3);
	check_frame(&frames[0], "inner", INNER_LINE, true);
	check_frame(&frames[1], "middle", MIDDLE_LINE, true);
	check_frame(&frames[2], "outer", OUTER_LINE, false);
	/* Fewer are stored, all are counted. */
	memset(frames, 0, sizeof(frames));
	assert_int_equal(debug_info_find(info, vaddr, frames, 1), 3);
	check_frame(&frames[0], "inner", INNER_LINE, true);
	assert_null(frames[1].function);
	debug_info_close(info);
}

static void test_no_code(void **state)
{
	struct debug_info *info = open_self(0);
	struct debug_frame frames[FRAMES];

	assert_int_equal(debug_info_find(info, 0, frames, FRAMES), 0);
	assert_int_equal(debug_info_find(info, UINT64_MAX, frames, FRAMES), 0);
	assert_int_equal(debug_info_find(info, UINT64_MAX >> 1, frames, FRAMES), 0);
	debug_info_close(info);
}

/* The first look-ups search .debug_aranges, later ones a table of it: the answers are equal. */
static void test_first_lookups(void **state)
{
	enum { WARM = 8, ADDRESSES = 200 };
	struct debug_info *warm = open_self(0);
	uint64_t here = vaddr_of(outer()), there = vaddr_of((uintptr_t)decompress);
	uint64_t start = MIN(here, there) - 1000, end = MAX(here, there) + 1000;
	struct debug_frame frames[FRAMES], first[FRAMES];
	unsigned known = 0;

	for (uint64_t i = 0; i < WARM; i++)
		debug_info_find(warm, here + i, frames, FRAMES);
	for (uint64_t i = 0; i < ADDRESSES; i++) {
		struct debug_info *fresh = open_self(0);
		uint64_t vaddr = start + (end - start) * i / ADDRESSES;
		size_t n = debug_info_find(warm, vaddr, frames, FRAMES);

		assert_int_equal(debug_info_find(fresh, vaddr, first, FRAMES), n);
		for (size_t j = 0; j < MIN(n, (size_t)FRAMES); j++) {
			assert_ptr_equal(first[j].function, frames[j].function); /* interned */
			assert_ptr_equal(first[j].file, frames[j].file);
			assert_int_equal(first[j].line, frames[j].line);
		}
		assert_true(debug_info_end(fresh) <= debug_info_end(warm));
		known += n > 0;
		debug_info_close(fresh);
	}
	assert_true(known > ADDRESSES / 4);
	debug_info_close(warm);
}

/* Units are read again after they were dropped, with the same answers. */
static void test_limit_of_memory(void **state)
{
	struct debug_info *info = open_self(1);
	uint64_t here = vaddr_of(outer()), there = vaddr_of((uintptr_t)decompress) + 4;
	struct debug_frame frames[FRAMES];
	struct debug_info_stats stats;

	for (int i = 0; i < 3; i++) {
		assert_int_equal(debug_info_find(info, here, frames, FRAMES), 3);
		check_frame(&frames[2], "outer", OUTER_LINE, false);
		assert_true(debug_info_find(info, there, frames, FRAMES) >= 1);
		assert_string_equal(strrchr(frames[0].file, '/'), "/decompress.c");
	}
	debug_info_get_stats(info, &stats);
	assert_int_equal(stats.units_read, 6);
	assert_int_equal(stats.units_dropped, 5);
	debug_info_close(info);
}

/* ---- damaged files ---- */

static uint8_t *read_self(size_t *ret_size)
{
	struct byte_source source;
	uint8_t *bytes;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_int_equal(byte_source_file(fd, &source), 0);
	bytes = malloc(source.size);
	assert_non_null(bytes);
	assert_int_equal(byte_source_read(&source, 0, bytes, source.size), 0);
	close(fd);
	*ret_size = source.size;
	return bytes;
}

/* Looks up addresses; the names need not be right, but must be there. */
static void look_up(const uint8_t *bytes, size_t size, uint64_t vaddr)
{
	struct intern names = {0};
	struct debug_info_options options = {
		.source = {.fd = -1, .memory = bytes, .size = size}, .strings = &names};
	struct debug_frame frames[FRAMES];
	struct debug_info *info;

	if (debug_info_open(&options, &info) < 0)
		return;
	for (int i = 0; i < LOOKUPS; i++) {
		size_t n = debug_info_find(info, vaddr + (uint64_t)i * 61, frames, FRAMES);

		for (size_t j = 0; j < MIN(n, (size_t)FRAMES); j++)
			sink += (frames[j].function ? (int)strlen(frames[j].function) : 0) +
				(frames[j].file ? (int)strlen(frames[j].file) : 0);
	}
	debug_info_close(info);
	intern_done(&names);
}

static void test_truncated_files(void **state)
{
	uint64_t vaddr = vaddr_of(outer());
	size_t size;
	uint8_t *bytes = read_self(&size);

	for (size_t i = 0; i < unit_rounds(40); i++)
		look_up(bytes, size / 40 * i, vaddr);
	free(bytes);
}

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return *seed >> 33;
}

/* Random bytes within the sections of debug information. */
static void damage(uint8_t *bytes, const struct elf *elf, uint64_t *seed)
{
	vec_each (&elf->sections, section) {
		const char *name = elf->section_names + section->name;

		if (strncmp(name, ".debug_", 7) || !section->size ||
			section->flags & SHF_COMPRESSED)
			continue;
		for (uint64_t i = 0; i < 2 + section->size / 4096; i++)
			bytes[section->offset + next_random(seed) % section->size] =
				(uint8_t)next_random(seed);
	}
}

static void test_damaged_files(void **state)
{
	uint64_t vaddr = vaddr_of(outer()), seed = 1;
	struct elf elf;
	size_t size;
	uint8_t *bytes = read_self(&size), *copy = malloc(size);

	assert_non_null(copy);
	for (size_t i = 0; i < unit_rounds(60); i++) {
		memcpy(copy, bytes, size);
		assert_int_equal(
			elf_init(&elf,
				&(struct byte_source){.fd = -1, .memory = copy, .size = size}),
			0);
		damage(copy, &elf, &seed);
		look_up(copy, size, vaddr);
		elf_done(&elf);
	}
	free(copy);
	free(bytes);
}

static void test_no_debug_information(void **state)
{
	static const uint8_t text[] = "not an ELF file";
	struct debug_info_options options = {
		.source = {.fd = -1, .memory = text, .size = sizeof(text)}, .strings = &strings};
	struct debug_info *info = NULL;

	assert_int_equal(debug_info_open(&options, &info), -ENOEXEC);
	assert_null(info);
	attar_error_clear();
}

/* "A" sixteen times, with zlib. */
static void test_decompress(void **state)
{
	static const uint8_t packed[] = {
		0x78, 0x9c, 0x73, 0x74, 0x44, 0x05, 0x00, 0x22, 0x98, 0x04, 0x11};
	uint8_t bytes[17];
	int r = decompress(ELFCOMPRESS_ZLIB, packed, sizeof(packed), bytes, 16);

	if (r == -EOPNOTSUPP)
		skip();
	assert_int_equal(r, 0);
	assert_memory_equal(bytes, "AAAAAAAAAAAAAAAA", 16);
	assert_int_equal(decompress(ELFCOMPRESS_ZLIB, packed, sizeof(packed), bytes, 17), -EBADMSG);
	assert_int_equal(decompress(ELFCOMPRESS_ZLIB, packed, sizeof(packed), bytes, 15), -EBADMSG);
	assert_int_equal(decompress(ELFCOMPRESS_ZLIB, packed, 6, bytes, 16), -EBADMSG);
	assert_int_equal(decompress(77, packed, sizeof(packed), bytes, 16), -EOPNOTSUPP);
}

enum { STORED = 65535, STORED_BLOCKS = 64 };

/* Blocks that are not compressed, in the format of zlib. Returns the packed bytes; owned. */
static uint8_t *pack(const uint8_t *bytes, size_t *ret_n)
{
	uint8_t *packed = malloc(2 + STORED_BLOCKS * (5 + STORED)), *to = packed;

	assert_non_null(packed);
	*to++ = 0x78;
	*to++ = 0x01;
	for (int i = 0; i < STORED_BLOCKS; i++) {
		*to++ = i + 1 == STORED_BLOCKS;
		memcpy(to, "\xff\xff\0\0", 4);
		memcpy(to + 4, bytes + (size_t)i * STORED, STORED);
		to += 4 + STORED;
	}
	*ret_n = (size_t)(to - packed);
	return packed;
}

/* What is not needed is not filled; what was filled stays; the rest is lost if it is malformed. */
static void test_decompress_a_part(void **state)
{
	enum { SIZE = STORED * STORED_BLOCKS, CUT = SIZE / 2 };
	uint8_t *bytes = malloc(SIZE), *filled = calloc(1, SIZE), *packed;
	struct byte_source source = {.fd = -1};
	struct decompressor *d;
	uint64_t n;
	int r;

	assert_true(bytes && filled);
	for (size_t i = 0; i < SIZE; i++)
		bytes[i] = (uint8_t)(i * 2654435761U >> 24);
	packed = pack(bytes, &source.size);
	source.memory = packed;
	r = decompressor_open(&source, 0, source.size, ELFCOMPRESS_ZLIB, filled, SIZE, &d);
	if (r == -EOPNOTSUPP)
		skip();
	assert_int_equal(r, 0);
	n = decompressor_fill(d, 1);
	assert_true(n >= 1 && n < CUT);
	assert_memory_equal(filled, bytes, n);
	assert_int_equal(filled[n], 0);
	assert_int_equal(decompressor_fill(d, SIZE), SIZE);
	assert_memory_equal(filled, bytes, SIZE);
	decompressor_close(d);
	assert_int_equal(decompressor_open(&source, 0, CUT, ELFCOMPRESS_ZLIB, filled, SIZE, &d), 0);
	n = decompressor_fill(d, SIZE);
	assert_true(n > CUT - STORED && n < CUT);
	assert_int_equal(decompressor_fill(d, SIZE), n);
	decompressor_close(d);
	assert_int_equal(decompressor_open(&source, 0, CUT, 77, filled, SIZE, &d), -EOPNOTSUPP);
	free(packed);
	free(bytes);
	free(filled);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_inlined_functions),
		cmocka_unit_test(test_no_code),
		cmocka_unit_test(test_first_lookups),
		cmocka_unit_test(test_limit_of_memory),
		cmocka_unit_test(test_truncated_files),
		cmocka_unit_test(test_damaged_files),
		cmocka_unit_test(test_no_debug_information),
		cmocka_unit_test(test_decompress),
		cmocka_unit_test(test_decompress_a_part),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	intern_done(&strings);
	return failed;
}
