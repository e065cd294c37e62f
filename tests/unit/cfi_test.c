/* SPDX-License-Identifier: MIT */
/* Rules that are made when they are needed, compared with those of the complete table. */
#include "unit.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "dwarf/cfi.h"
#include "dwarf/cfi_frames.h"

/* The C library: its image, and the call frame information of that. */
struct library {
	struct buf image;
	struct elf elf;
	struct cfi_table complete;
};

static int start(void **state)
{
	struct library *p = calloc(1, sizeof(*p));
	struct byte_source source = {.fd = -1};
	Dl_info found;

	assert_true(dladdr((void *)(uintptr_t)fclose, &found));
	assert_int_equal(file_read(found.dli_fname, 256 << 20, &p->image), 0);
	source.memory = (const uint8_t *)p->image.data;
	source.size = p->image.len;
	assert_int_equal(elf_init(&p->elf, &source), 0);
	assert_int_equal(cfi_read(&p->elf, &p->complete), 0);
	*state = p;
	return 0;
}

static int stop(void **state)
{
	struct library *p = *state;

	cfi_table_done(&p->complete);
	elf_done(&p->elf);
	buf_done(&p->image);
	free(p);
	return 0;
}

static struct elf_segment header_of(const struct library *p)
{
	vec_each (&p->elf.segments, segment)
		if (segment->type == PT_GNU_EH_FRAME)
			return *segment;
	fail_msg("the C library has no .eh_frame_hdr");
	return (struct elf_segment){0};
}

/* ---- rules ---- */

static bool same(const struct cfi_rules *a, const struct cfi_rules *b)
{
	if (!a || !b)
		return a == b;
	return a->n == b->n && !memcmp(a, b, sizeof(*a) + a->n * sizeof(*a->rules));
}

/* The rules of the first and of the last byte of each range, before the table is complete. */
static void test_rules(void **state)
{
	struct library *p = *state;
	struct cfi_table table = {0};
	size_t compared = 0;

	for (uint32_t i = 0; i + 1 < p->complete.n; i++) {
		const uint32_t *at = &p->complete.starts[i];

		if (!table.frames) {
			cfi_table_done(&table);
			assert_int_equal(cfi_open(&p->elf, &table), 0);
		}
		assert_non_null(table.frames);
		assert_true(same(cfi_find(&table, at[0]), cfi_table_find(&p->complete, at[0])));
		assert_true(same(cfi_find(&table, at[1] - 1), cfi_table_find(&p->complete, at[0])));
		compared += p->complete.rule_of[i] > 0;
	}
	assert_true(compared > 1000);
	assert_int_equal(p->complete.skipped, 0);
	assert_null(cfi_find(&table, UINT32_MAX));
	cfi_table_done(&table);
}

/* Borrowed rules remain when others are made, and when the table becomes complete. */
static void test_rules_remain(void **state)
{
	struct library *p = *state;
	struct cfi_table table;
	const struct cfi_rules *first = NULL;
	uint32_t at = 0;

	assert_int_equal(cfi_open(&p->elf, &table), 0);
	for (uint32_t i = 0; i < p->complete.n && table.frames; i++) {
		const struct cfi_rules *rules = cfi_find(&table, p->complete.starts[i]);

		if (!first && rules) {
			first = rules;
			at = p->complete.starts[i];
		}
	}
	assert_int_equal(cfi_complete(&table), 0);
	assert_null(table.frames);
	assert_ptr_equal(cfi_find(&table, at), first);
	assert_int_equal(table.n, p->complete.n);
	assert_memory_equal(table.starts, p->complete.starts, table.n * sizeof(*table.starts));
	for (uint32_t i = 0; i < table.n; i++)
		assert_true(same(cfi_find(&table, table.starts[i]),
			cfi_table_find(&p->complete, table.starts[i])));
	cfi_table_done(&table);
}

/* An address whose rules were made costs nothing, nor do those around it that have the same. */
static void test_rules_are_made_once(void **state)
{
	struct library *p = *state;
	const uint32_t *at = &p->complete.starts[p->complete.n - 2];
	struct cfi_table table;
	uint64_t run;

	assert_int_equal(cfi_open(&p->elf, &table), 0);
	assert_non_null(cfi_find(&table, at[0]));
	run = table.frames->run;
	assert_true(run > 0);
	for (uint32_t i = at[0]; i < at[1]; i++)
		assert_ptr_equal(cfi_find(&table, i), cfi_find(&table, at[0]));
	assert_int_equal(table.frames->run, run);
	assert_int_equal(table.frames->found.n, 1);
	cfi_table_done(&table);
}

/* Making the rules of one address after another costs no more than making all. */
static void test_limit(void **state)
{
	struct library *p = *state;
	struct cfi_table table;
	uint32_t n = p->complete.n, i = 0;

	assert_int_equal(cfi_open(&p->elf, &table), 0);
	for (; i < n && table.frames; i++) {
		uint32_t at = p->complete.starts[n - 1 - i];

		assert_true(same(cfi_find(&table, at), cfi_table_find(&p->complete, at)));
	}
	assert_null(table.frames);
	assert_in_range(i, 100, n - 1);
	cfi_table_done(&table);
}

/* ---- the index ---- */

static void assert_same_index(const struct library *p, const struct cfi_table *expected)
{
	struct cfi_table table;
	size_t n = expected->frames->places.n;

	assert_int_equal(cfi_open(&p->elf, &table), 0);
	assert_non_null(table.frames);
	assert_int_equal(table.frames->places.n, n);
	assert_memory_equal(
		table.frames->places.at, expected->frames->places.at, n * sizeof(struct cfi_place));
	cfi_table_done(&table);
}

/* A header with other encodings or another count, or that is not sorted, is not used. */
static void test_bad_header(void **state)
{
	struct library *p = *state;
	const struct elf_segment header = header_of(p);
	uint8_t *bytes = (uint8_t *)p->image.data + header.offset, saved[28];
	struct cfi_table table;

	assert_int_equal(cfi_open(&p->elf, &table), 0);
	assert_int_equal(table.frames->places.n, p->complete.functions);
	memcpy(saved, bytes, sizeof(saved));
	for (size_t i = 0; i < 12; i++) {
		bytes[i] ^= 0x80;
		assert_same_index(p, &table);
		bytes[i] = saved[i];
	}
	memcpy(bytes + 12, saved + 20, 8);
	memcpy(bytes + 20, saved + 12, 8);
	assert_same_index(p, &table);
	memcpy(bytes, saved, sizeof(saved));
	cfi_table_done(&table);
}

/* An entry that leads to another function's FDE, or into the middle of one, yields no rules. */
static void test_bad_entry(void **state)
{
	struct library *p = *state;
	const struct elf_segment header = header_of(p);
	uint8_t *entry = (uint8_t *)p->image.data + header.offset + 16, saved[4];
	struct cfi_table table;
	uint32_t at;

	memcpy(saved, entry, sizeof(saved));
	for (int i = 0; i < 2; i++) {
		if (i)
			entry[0] += 4;
		else
			memcpy(entry, entry + 8, sizeof(saved));
		assert_int_equal(cfi_open(&p->elf, &table), 0);
		at = table.frames->places.at[0].start;
		assert_non_null(cfi_table_find(&p->complete, at));
		assert_null(cfi_find(&table, at));
		memcpy(entry, saved, sizeof(saved));
		cfi_table_done(&table);
	}
}

/* ---- work ---- */

static void put(struct buf *b, const void *bytes, size_t n)
{
	buf_add(b, bytes, n);
}

/* Each of many functions runs the long instructions of their CIE: not all of them are made. */
static void test_work_is_limited(void **state)
{
	static const uint8_t head[] = {0, 0, 0, 0, 1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1};
	enum { NOPS = 4002, FUNCTIONS = 2000, ENTRY = 20 };
	const uint32_t cie_size = sizeof(head) + NOPS, entry_size = ENTRY;
	struct elf_segment segment = {.type = PT_LOAD, .filesz = 1 << 20};
	struct cfi_frames *f = calloc(1, sizeof(*f));
	struct cfi_table table = {.frames = f};
	static const uint8_t nops[NOPS];
	struct buf b = {0};

	put(&b, &cie_size, 4);
	put(&b, head, sizeof(head));
	put(&b, nops, sizeof(nops));
	for (uint64_t i = 0; i < FUNCTIONS; i++) {
		uint64_t at = 0x1000 + i, size = 1;
		uint32_t cie = (uint32_t)b.len + 4;

		put(&b, &entry_size, 4);
		put(&b, &cie, 4);
		put(&b, &at, 8);
		put(&b, &size, 8);
	}
	f->elf.is64 = true;
	assert_int_equal(vec_push(&f->elf.segments, segment), 0);
	f->is_eh = true;
	f->cie.offset = UINT64_MAX;
	f->size = b.len;
	f->bytes = malloc(b.len);
	memcpy(f->bytes, b.data, b.len);
	assert_int_equal(cfi_complete(&table), 0);
	assert_in_range(table.functions, 16, FUNCTIONS / 4);
	assert_int_equal(table.skipped, 1);
	assert_non_null(cfi_table_find(&table, 0x1000));
	cfi_table_done(&table);
	buf_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_work_is_limited),
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_rules_remain),
		cmocka_unit_test(test_rules_are_made_once),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_bad_header),
		cmocka_unit_test(test_bad_entry),
	};

	return cmocka_run_group_tests_name("cfi", tests, start, stop);
}
