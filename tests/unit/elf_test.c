/* SPDX-License-Identifier: MIT */
/* Malformed ELF files: truncated anywhere, every byte flipped, huge, or not regular files. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "attar/symbol.h"
#include "base/file.h"
#include "symbol/dso_load.h"
#include "symbol_child.h"

static int start(void **state)
{
	struct buf *file = calloc(1, sizeof(*file));

	assert_int_equal(file_read(child_path("symbol_target"), 1 << 20, file), 0);
	*state = file;
	return 0;
}

static int stop(void **state)
{
	buf_done(*state);
	free(*state);
	child_clean();
	return 0;
}

/* Loads bytes and calls all functions on them, ignoring the results. */
static void survive(const char *bytes, size_t n)
{
	struct dso dso = {
		.key = {.kind = ATTAR_DSO_IS_VDSO, .path = "[vdso]"}, .fd = -1, .debug_fd = -1};
	struct buf name _cleanup_(buf_done) = {0};
	size_t index;

	dso.image = malloc(n ?: 1);
	memcpy(dso.image, bytes, n);
	dso.image_size = n;
	dso.state = DSO_OPEN;
	dso_load(&dso, "/nowhere", NULL, NULL);
	assert_true(dso.table.entries.n <= n / sizeof(Elf32_Sym));
	for (size_t i = 0; i < dso.table.entries.n; i++) {
		buf_reset(&name);
		symtab_name(&dso.table, i, &name);
		symtab_find(&dso.table, symtab_start(&dso.table, i), &index);
	}
	symtab_done(&dso.table);
	vec_done(&dso.segments);
	free(dso.image);
}

static void test_truncated(void **state)
{
	struct buf *file = *state;

	for (size_t n = 0; n < file->len; n += n < 1024 ? 1 : 97)
		survive(file->data, n);
}

/* Each byte of the headers, and others, set to extreme values. */
static void test_corrupted_bytes(void **state)
{
	static const unsigned char values[] = {0, 1, 0x7f, 0x80, 0xff};
	struct buf *file = *state;
	Elf64_Ehdr header;

	memcpy(&header, file->data, sizeof(header));
	for (size_t i = 0; i < file->len; i++) {
		char saved = file->data[i];

		if (i > 1024 && i < header.e_shoff && i % 31)
			continue;
		for (size_t v = 0; v < ARRAY_SIZE(values); v++) {
			file->data[i] = (char)values[v];
			survive(file->data, file->len);
		}
		file->data[i] = saved;
	}
}

static void functions(struct symtab *table, struct buf *file)
{
	struct byte_source source = {
		.fd = -1, .memory = (const uint8_t *)file->data, .size = file->len};
	const struct elf_section *section;
	struct elf elf;

	assert_int_equal(elf_init(&elf, &source), 0);
	section = elf_section_typed(&elf, SHT_DYNSYM);
	assert_non_null(section);
	assert_int_equal(symtab_add(table, &elf, section, 0), 0);
	symtab_finish(table);
	elf_done(&elf);
}

/* Without section headers the dynamic segment yields the same functions. */
static void test_no_sections(void **state)
{
	struct buf file _cleanup_(buf_done) = {0}, name _cleanup_(buf_done) = {0};
	struct symtab with = {0}, without = {0};
	Elf64_Ehdr header;
	size_t index;

	assert_int_equal(file_read("/bin/bash", 64 << 20, &file), 0);
	functions(&with, &file);
	memcpy(&header, file.data, sizeof(header));
	header.e_shoff = header.e_shnum = header.e_shstrndx = 0;
	memcpy(file.data, &header, sizeof(header));
	functions(&without, &file);
	assert_true(with.entries.n > 1000);
	for (size_t i = 0; i < with.entries.n; i++) {
		if (with.entries.at[i].rank) /* labels are known only with sections */
			continue;
		assert_true(symtab_find(&without, symtab_start(&with, i), &index));
		assert_int_equal(symtab_start(&without, index), symtab_start(&with, i));
		buf_reset(&name);
		assert_int_equal(symtab_name(&without, index, &name), 0);
	}
	symtab_done(&with);
	symtab_done(&without);
}

static void test_random_bytes(void **state)
{
	char noise[4096];
	uint64_t seed = 1;

	for (int round = 0; round < 200; round++) {
		for (size_t i = 0; i < sizeof(noise); i += 8) {
			seed = base_hash64(seed + i);
			memcpy(noise + i, &seed, 8);
		}
		if (round % 2)
			memcpy(noise, ELFMAG "\2\1\1", 7);
		survive(noise, sizeof(noise));
	}
}

static double seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* A mapping refers to path: resolving names in it must fail quickly and use little memory. */
static void ask_for(const char *path)
{
	struct attar_mapping mapping = {.start = 0x400000, .len = 0x1000000, .path = path};
	double began = seconds(CLOCK_MONOTONIC);
	struct attar_symbols *symbols;
	struct attar_address_space *space;
	struct attar_symbol symbol;
	struct rusage before, after;

	getrusage(RUSAGE_SELF, &before);
	assert_int_equal(attar_symbols_new(NULL, &symbols), 0);
	space = attar_address_space_new(symbols, getpid());
	assert_int_equal(attar_address_space_map(space, &mapping), 0);
	for (uint64_t at = 0; at < mapping.len; at += 0x100000)
		assert_int_equal(
			attar_symbols_resolve(symbols,
				attar_address_space_locate(space, mapping.start + at), &symbol),
			-ENOENT);
	assert_string_equal(symbol.dso, path);
	attar_address_space_free(space);
	attar_symbols_free(symbols);
	getrusage(RUSAGE_SELF, &after);
	assert_true(after.ru_maxrss - before.ru_maxrss < 4096);
	assert_true(seconds(CLOCK_MONOTONIC) - began < 2);
}

static void test_not_regular_files(void **state)
{
	const char *directory = child_directory();
	char path[96];

	snprintf(path, sizeof(path), "%s/x", directory);
	ask_for(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	ask_for(path);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	ask_for(path);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(symlink("/dev/zero", path), 0);
	ask_for(path);
	assert_int_equal(unlink(path), 0);
	assert_true(child_shell("truncate -s 10G '%s'", path));
	ask_for(path);
	assert_true(child_shell("head -c 4096 /dev/urandom > '%s'", path));
	ask_for(path);
	assert_true(child_shell("head -c 3000 '%s' > '%s'", child_path("symbol_target"), path));
	ask_for(path);
	/* A valid header followed by 10 GB of zeros. */
	assert_true(child_shell("truncate -s 10G '%s'", path));
	ask_for(path);
}

/* The table claims to cover all of a sparse file. */
static void test_huge_table(void **state)
{
	struct buf *file = *state;
	const char *directory = child_directory();
	struct dso dso = {.key = {.kind = ATTAR_DSO_IS_FILE}, .debug_fd = -1, .state = DSO_OPEN};
	Elf64_Ehdr header;
	char path[96];
	double began = seconds(CLOCK_PROCESS_CPUTIME_ID);

	memcpy(&header, file->data, sizeof(header));
	for (int i = 0; i < header.e_shnum; i++) {
		Elf64_Shdr section;
		char *at = file->data + header.e_shoff + (size_t)i * sizeof(section);

		memcpy(&section, at, sizeof(section));
		if (section.sh_type == SHT_SYMTAB)
			section.sh_size = 10ULL << 30;
		memcpy(at, &section, sizeof(section));
	}
	snprintf(path, sizeof(path), "%s/x", directory);
	dso.key.path = path;
	dso.fd = open(path, O_RDWR | O_CREAT, 0600);
	assert_int_equal(file_write_all(dso.fd, file->data, file->len), 0);
	assert_int_equal(ftruncate(dso.fd, 10LL << 30), 0);
	dso_load(&dso, "/nowhere", NULL, NULL);
	dso_close(&dso);
	symtab_done(&dso.table);
	vec_done(&dso.segments);
	assert_true(seconds(CLOCK_PROCESS_CPUTIME_ID) - began < 2);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_truncated),
		CASE(test_corrupted_bytes),
		CASE(test_no_sections),
		CASE(test_random_bytes),
		CASE(test_not_regular_files),
		CASE(test_huge_table),
	};

	return cmocka_run_group_tests_name("elf", tests, NULL, NULL);
}
