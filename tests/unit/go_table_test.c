/* SPDX-License-Identifier: MIT */
/* The tables of a Go program in each layout and of other linkers, and damaged ones. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "go_file.h"

/* A file in memory, its functions and lines. */
struct program {
	struct buf file;
	struct elf elf;
	struct symtab symbols;
	struct go_table table;
	bool found;
};

static void load(struct program *p, const void *table, size_t n, bool is_shared)
{
	struct byte_source source = {.fd = -1};

	memset(p, 0, sizeof(*p));
	go_file_make(&p->file, table, n, is_shared);
	source.memory = (const uint8_t *)p->file.data;
	source.size = p->file.len;
	assert_int_equal(elf_init(&p->elf, &source), 0);
	p->found = go_table_open(&p->elf, &p->table);
	if (p->found)
		go_table_open_inlined(&p->elf, &p->table);
	assert_int_equal(go_table_add(&p->symbols, &p->elf), 0);
	symtab_finish(&p->symbols);
}

static void unload(struct program *p)
{
	symtab_done(&p->symbols);
	elf_done(&p->elf);
	buf_done(&p->file);
}

/* Appends " NAME FILE:LINE" of the functions at an address, or " -". */
static void add_frames(struct program *p, uint64_t vaddr, struct buf *text)
{
	struct go_frame frames[4];
	size_t n = p->found ? go_table_find(&p->table, vaddr, frames, ARRAY_SIZE(frames)) : 0;

	for (size_t i = 0; i < n; i++) {
		buf_char(text, ' ');
		if (frames[i].inlined) {
			assert_true(go_table_text(&p->table, frames[i].name, text));
			buf_char(text, ' ');
		}
		assert_true(go_table_text(&p->table, frames[i].file, text));
		buf_printf(text, ":%u", frames[i].line);
	}
	if (!n)
		buf_str(text, " -");
}

/* "main.main+0x10 /src/main.go:12", or "-" for what is not known. */
static void check(struct program *p, uint64_t vaddr, const char *expected)
{
	struct buf text _cleanup_(buf_done) = {0};
	size_t index;

	if (symtab_find(&p->symbols, vaddr, &index)) {
		assert_int_equal(symtab_name(&p->symbols, index, &text), 0);
		buf_printf(&text, "+0x%x", (unsigned)(vaddr - symtab_start(&p->symbols, index)));
	} else {
		buf_str(&text, "-");
	}
	add_frames(p, vaddr, &text);
	assert_string_equal(buf_text(&text), expected);
}

static void check_all(struct program *p)
{
	assert_true(p->found);
	check(p, GO_FILE_TEXT - 1, "- -");
	check(p, GO_FILE_TEXT, "main.main+0x0 /src/main.go:10");
	check(p, GO_FILE_TEXT + 0x0f, "main.main+0xf /src/main.go:10");
	check(p, GO_FILE_TEXT + 0x10,
		p->table.layout >= GO_1_18 && p->table.pointer == 8
			? "main.main+0x10 main.square /src/sum.go:3 /src/main.go:12"
			: "main.main+0x10 /src/sum.go:3");
	check(p, GO_FILE_TEXT + 0x20, "main.main+0x20 /src/main.go:12");
	check(p, GO_FILE_TEXT + 0x3f, "main.main+0x3f /src/main.go:12");
	check(p, GO_FILE_TEXT + 0x40, "main.sum+0x0 /src/sum.go:5");
	check(p, GO_FILE_TEXT + 0x48, "main.sum+0x8 /src/sum.go:600");
	check(p, GO_FILE_TEXT + 0x5f, "main.sum+0x1f /src/sum.go:600");
	check(p, GO_FILE_TEXT + 0x60, "- -");
}

static void test_layouts(void **state)
{
	for (enum go_layout layout = GO_1_2; layout <= GO_1_20; layout++)
		for (uint8_t pointer = 4; pointer <= 8; pointer += 4) {
			struct buf table _cleanup_(buf_done) = {0};
			struct program p;

			go_file_table(&table, layout, pointer, GO_FILE_TEXT);
			load(&p, table.data, table.len, false);
			check_all(&p);
			assert_int_equal(symtab_keep_names(&p.symbols), 0);
			check_all(&p);
			unload(&p);
		}
}

static void test_other_linkers(void **state)
{
	for (enum go_layout layout = GO_1_18; layout <= GO_1_20; layout++) {
		struct buf table _cleanup_(buf_done) = {0};
		struct program p;

		go_file_table(&table, layout, 8, 0);
		load(&p, table.data, table.len, true);
		check_all(&p);
		unload(&p);
	}
}

/* Go 1.26 does not say where the code starts: in .text, here 0x20 bytes later. */
static void test_unknown_start_of_the_code(void **state)
{
	struct buf table _cleanup_(buf_done) = {0};
	struct program p;

	go_file_table(&table, GO_1_20, 8, 0);
	load(&p, table.data, table.len, false);
	check(&p, GO_FILE_TEXT, "- -");
	check(&p, GO_FILE_TEXT + 0x20, "main.main+0x0 /src/main.go:10");
	unload(&p);
}

static void look_up_all(const char *table, size_t n, bool is_shared)
{
	struct go_frame frames[4];
	struct program p;

	load(&p, table, n, is_shared);
	for (uint64_t i = 0; p.found && i < GO_FILE_TEXT_SIZE; i++)
		assert_true(go_table_find(&p.table, GO_FILE_TEXT + i, frames, ARRAY_SIZE(frames)) <=
			    ARRAY_SIZE(frames));
	unload(&p);
}

/* Each byte another one, and each length: see fuzz_go_table. */
static void test_damaged(void **state)
{
	for (enum go_layout layout = GO_1_2; layout <= GO_1_20; layout++) {
		struct buf table _cleanup_(buf_done) = {0};

		go_file_table(&table, layout, 8, GO_FILE_TEXT);
		for (size_t i = 0; i < table.len; i++) {
			char kept = table.data[i];

			look_up_all(table.data, i, i & 1);
			table.data[i] = (char)0xff;
			look_up_all(table.data, table.len, false);
			look_up_all(table.data, table.len, true);
			table.data[i] = kept;
		}
	}
}

static void test_other_tables(void **state)
{
	static const uint8_t unknown[16] = {0xf2, 0xff, 0xff, 0xff, 0, 0, 1, 8, 1};
	struct program p;

	load(&p, unknown, sizeof(unknown), false);
	assert_false(p.found);
	check(&p, GO_FILE_TEXT, "- -");
	unload(&p);
	load(&p, unknown, 0, false);
	assert_false(p.found);
	unload(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layouts),
		cmocka_unit_test(test_other_linkers),
		cmocka_unit_test(test_unknown_start_of_the_code),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_other_tables),
	};

	return cmocka_run_group_tests_name("go_table", tests, NULL, NULL);
}
