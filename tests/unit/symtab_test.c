/* SPDX-License-Identifier: MIT */
/* Compare the function index with nm(1) for complete binaries. */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf/symtab.h"
#include "symbol_child.h"

struct table {
	struct symtab symtab;
	int fd;
};

/* around: NULL: all symbols. */
static void load(struct table *t, const char *path, uint32_t type, const uint64_t *around)
{
	const struct elf_section *section;
	struct byte_source source;
	struct elf elf;

	memset(t, 0, sizeof(*t));
	t->fd = open(path, O_RDONLY);
	assert_true(t->fd >= 0);
	assert_int_equal(byte_source_file(t->fd, &source), 0);
	assert_int_equal(elf_init(&elf, &source), 0);
	section = elf_section_typed(&elf, type);
	assert_non_null(section);
	if (around)
		symtab_set_part(&t->symtab, *around);
	assert_int_equal(symtab_add(&t->symtab, &elf, section, 0), 0);
	symtab_finish(&t->symtab);
	elf_done(&elf);
}

/* Whether name is one of the table's names for the symbol at index. */
static bool has_name(struct symtab *symtab, size_t index, const char *name)
{
	struct buf best _cleanup_(buf_done) = {0};

	assert_int_equal(symtab_name(symtab, index, &best), 0);
	return !strcmp(best.data, name);
}

/*
 * Checks that every function listed by nm has the same start in the table and covers its last byte,
 * and that the table returns one of the names of an address. Returns the number of functions.
 */
static unsigned agree(struct symtab *symtab, const char *path, const char *option)
{
	unsigned long address, size, last = 0;
	char command[512], type, name[4096];
	unsigned n = 0, matched = 1;
	FILE *f;

	snprintf(command, sizeof(command),
		"nm %s --defined-only --without-symbol-versions -S -n '%s' | grep -E '^[^ ]+ [^ ]+ "
		"[tTiW] '",
		option, path);
	f = popen(command, "r");
	assert_non_null(f);
	while (fscanf(f, "%lx %lx %c %4095s", &address, &size, &type, name) == 4) {
		size_t index;

		if (address != last) {
			assert_true(matched);
			matched = 0;
			last = address;
		}
		assert_true(symtab_find(symtab, address, &index));
		assert_int_equal(symtab_start(symtab, index), address);
		assert_true(symtab_find(symtab, address + size - 1, &index));
		assert_true(symtab_start(symtab, index) >= address);
		matched += has_name(symtab, index, name) || symtab_start(symtab, index) != address;
		n++;
	}
	assert_true(matched);
	pclose(f);
	return n;
}

static void check(const char *path, uint32_t type, const char *option, unsigned at_least)
{
	struct table t;

	load(&t, path, type, NULL);
	assert_true(agree(&t.symtab, path, option) >= at_least);
	assert_int_equal(symtab_keep_names(&t.symtab), 0);
	close(t.fd); /* names must be available without the file */
	t.fd = -1;
	assert_true(agree(&t.symtab, path, option) >= at_least);
	symtab_done(&t.symtab);
}

static void test_own_symtab(void **state)
{
	check(child_path("unit_symtab"), SHT_SYMTAB, "", 40);
}

static void test_library_symtab(void **state)
{
	const char *path = child_path("../../src/libattar.so");

	if (access(path, R_OK) < 0) {
		print_message("# skipped: the shared library is not built\n");
		skip();
	}
	check(path, SHT_SYMTAB, "", 400);
}

static void test_bash_dynsym(void **state)
{
	check("/bin/bash", SHT_DYNSYM, "-D", 1000);
}

/* The answer of a part at an address is that of the whole table. */
static void agree_at(struct symtab *part, struct symtab *whole, uint64_t vaddr)
{
	struct buf name _cleanup_(buf_done) = {0};
	size_t i, j;
	bool found = symtab_find(whole, vaddr, &j);

	assert_int_equal(symtab_find(part, vaddr, &i), found);
	if (!found)
		return;
	assert_int_equal(symtab_start(part, i), symtab_start(whole, j));
	assert_int_equal(part->entries.at[i].size, whole->entries.at[j].size);
	assert_int_equal(symtab_end(part, i, vaddr), symtab_end(whole, j, vaddr));
	assert_int_equal(symtab_name(part, i, &name), 0);
	assert_true(has_name(whole, j, name.data));
}

/* Parts around addresses in all of the code, at all addresses around which they are valid. */
static void check_parts(const char *path, uint32_t type)
{
	enum { STEPS = 300 };
	struct table whole;
	uint64_t first, last, covers = 0;

	load(&whole, path, type, NULL);
	assert_true(whole.symtab.entries.n > 100);
	first = symtab_start(&whole.symtab, 0);
	last = symtab_start(&whole.symtab, whole.symtab.entries.n - 1) + 100;
	for (int step = 0; step <= STEPS; step++) {
		uint64_t vaddr = first + (last - first) * (uint64_t)step / STEPS;
		struct table part;

		load(&part, path, type, &vaddr);
		covers += symtab_covers(&part.symtab, vaddr);
		if (part.symtab.covered.first <= part.symtab.covered.last) {
			agree_at(&part.symtab, &whole.symtab, part.symtab.covered.first);
			agree_at(&part.symtab, &whole.symtab, part.symtab.covered.last);
			assert_false(symtab_covers(&part.symtab, part.symtab.covered.last + 1));
		}
		for (uint64_t at = vaddr - MIN(vaddr, 2000UL); at < vaddr + 2000; at += 7)
			if (symtab_covers(&part.symtab, at))
				agree_at(&part.symtab, &whole.symtab, at);
		symtab_done(&part.symtab);
		close(part.fd);
	}
	assert_true(covers > STEPS / 2);
	symtab_done(&whole.symtab);
	close(whole.fd);
}

static void test_parts(void **state)
{
	const char *path = child_path("../../src/libattar.so");

	check_parts("/bin/bash", SHT_DYNSYM);
	if (access(path, R_OK) == 0)
		check_parts(path, SHT_SYMTAB);
}

static struct symtab_entry entry(uint32_t low, uint32_t size, unsigned rank)
{
	return (struct symtab_entry){.low = low, .size = size & 0xfffffff, .rank = rank & 15};
}

static void find(struct symtab *table, uint64_t vaddr, int64_t start)
{
	size_t index;

	if (symtab_find(table, vaddr, &index))
		assert_int_equal(symtab_start(table, index), start);
	else
		assert_int_equal(start, -1);
}

/* A nested function, a label in a function, a label between functions, gaps. */
static void test_nesting(void **state)
{
	struct symtab table = {.base = 0x1000};

	vec_push(&table.entries,
		entry(0x300, 0x50, 8 | 4)); /* a label, then no symbols up to the section's end */
	vec_push(&table.entries, entry(0x100, 0x100, 0));
	vec_push(&table.entries, entry(0x180, 0x10, 3));
	vec_push(&table.entries, entry(0x1a0, 0x300, 8 | 4));
	vec_push(&table.entries, entry(0x200, 0x200, 8 | 4)); /* up to the next symbol */
	vec_push(&table.entries, entry(0x280, 0x10, 0));
	symtab_finish(&table);
	find(&table, 0x0, -1);
	find(&table, 0x10ff, -1);
	find(&table, 0x1100, 0x1100);
	find(&table, 0x1180, 0x1180);
	find(&table, 0x118f, 0x1180);
	find(&table, 0x1190, 0x1100);
	find(&table, 0x11a8, 0x1100);
	find(&table, 0x11ff, 0x1100);
	find(&table, 0x1200, 0x1200);
	find(&table, 0x127f, 0x1200);
	find(&table, 0x1280, 0x1280);
	find(&table, 0x1290, -1);
	find(&table, 0x1300, 0x1300);
	find(&table, 0x134f, 0x1300);
	find(&table, 0x1350, -1);
	find(&table, UINT64_MAX, -1);
	symtab_done(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_symtab),
		cmocka_unit_test(test_library_symtab),
		cmocka_unit_test(test_bash_dynsym),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_nesting),
	};

	if (!child_shell("command -v nm > /dev/null")) {
		print_message("1..0 # SKIP nm (binutils) is not installed\n");
		return 0;
	}
	return cmocka_run_group_tests_name("symtab", tests, NULL, NULL);
}
