/* SPDX-License-Identifier: MIT */
/* Line programs of DWARF 4 that are written here, in bytes. */
#include "unit.h"

#include "dwarf/constants.h"
#include "dwarf/line_table.h"

enum {
	LINE_BASE = -5,
	LINE_RANGE = 14,
	OPCODE_BASE = 13,
	BYTES_MAX = 1 << 10,
	START = 0x401000,
};

struct bytes {
	uint8_t at[BYTES_MAX];
	size_t n;
	bool padded; /* operands have a byte more than they need */
};

static void put(struct bytes *b, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		b->at[b->n++] = (uint8_t)(value >> (8 * i));
}

static void put_leb(struct bytes *b, uint8_t bits)
{
	uint8_t sign = bits & 0x40 ? 0x7f : 0;

	if (b->padded)
		put(b, bits | 0x80U, 1);
	put(b, b->padded ? sign : bits, 1);
}

static void set_column(struct bytes *b, uint8_t column)
{
	put(b, DW_LNS_set_column, 1);
	if (b->padded)
		put(b, column | 0x80U, 1);
	put(b, b->padded ? 0 : column, 1);
}

static void advance_line(struct bytes *b, int lines)
{
	put(b, DW_LNS_advance_line, 1);
	put_leb(b, (uint8_t)lines & 0x7f);
}

/* A row `bytes` and `lines` further. */
static void special(struct bytes *b, int bytes, int lines)
{
	put(b, (uint64_t)(OPCODE_BASE + bytes * LINE_RANGE + lines - LINE_BASE), 1);
}

static void set_address(struct bytes *b, uint64_t address)
{
	put(b, 0, 1);
	put(b, 9, 1);
	put(b, DW_LNE_set_address, 1);
	put(b, address, 8);
}

static void end_sequence(struct bytes *b)
{
	put(b, 0, 1);
	put(b, 1, 1);
	put(b, DW_LNE_end_sequence, 1);
}

static void put_header(struct bytes *b, uint8_t line_range)
{
	static const uint8_t operands[] = {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1};

	put(b, 0, 4); /* the length, see run() */
	put(b, 4, 2);
	put(b, 6 + sizeof(operands) + 2, 4); /* of the rest of the header */
	put(b, 1, 1);
	put(b, 1, 1);
	put(b, 1, 1);
	put(b, (uint8_t)LINE_BASE, 1);
	put(b, line_range, 1);
	put(b, OPCODE_BASE, 1);
	for (size_t i = 0; i < sizeof(operands); i++)
		put(b, operands[i], 1);
	put(b, 0, 2); /* no directories and no files */
}

static struct line_table run(struct bytes *b)
{
	struct debug_file file = {.sections[DEBUG_LINE] = {.size = b->n, .bytes = b->at}};
	struct debug_unit unit = {.file = &file,
		.version = 4,
		.address_size = 8,
		.offset_size = 4,
		.lines = {.class = DEBUG_OFFSET}};
	struct line_table table;
	uint32_t length = (uint32_t)b->n - 4;

	memcpy(b->at, &length, sizeof(length));
	assert_int_equal(line_table_read(&unit, NULL, &table), 0);
	return table;
}

static void assert_row(const struct line_table *table, size_t i, uint64_t address, uint32_t line,
	unsigned column, unsigned file)
{
	assert_true(i < table->rows.n);
	assert_int_equal(table->base + table->rows.at[i].start, address);
	assert_int_equal(table->rows.at[i].file, file);
	if (file == LINE_NO_FILE)
		return;
	assert_int_equal(table->rows.at[i].line, line);
	assert_int_equal(table->rows.at[i].column, column);
}

/* The same rows, however their operands are written. */
static void test_rows(void **state)
{
	(void)state;
	for (int padded = 0; padded < 2; padded++) {
		struct bytes b = {.padded = padded};
		struct line_table table;

		put_header(&b, LINE_RANGE);
		set_address(&b, START);
		set_column(&b, 7);
		special(&b, 0, 1); /* line 2 */
		special(&b, 4, 3); /* line 5 at 4 */
		set_column(&b, 9);
		put(&b, DW_LNS_negate_stmt, 1);
		special(&b, 0, 0); /* the same address: replaces it */
		advance_line(&b, -3);
		set_column(&b, 7);
		special(&b, 2, 0); /* line 2 at 6 */
		special(&b, 3, 0); /* an equal row */
		advance_line(&b, 63);
		put(&b, DW_LNS_advance_pc, 1);
		put(&b, 16, 1);
		put(&b, DW_LNS_set_file, 1);
		put_leb(&b, 3);
		put(&b, DW_LNS_copy, 1);         /* line 65 at 25 */
		put(&b, DW_LNS_const_add_pc, 1); /* (255 - 13) / 14 = 17 bytes */
		end_sequence(&b);
		table = run(&b);
		assert_int_equal(table.rows.n, 5);
		assert_row(&table, 0, START, 2, 7, 1);
		assert_row(&table, 1, START + 4, 5, 9, 1);
		assert_row(&table, 2, START + 6, 2, 7, 1);
		assert_row(&table, 3, START + 25, 65, 7, 3);
		assert_row(&table, 4, START + 42, 0, 0, LINE_NO_FILE);
		line_table_done(&table);
	}
}

/* A row that is replaced by one like the row before it is left out. */
static void test_replaced_rows(void **state)
{
	struct bytes b = {0};
	struct line_table table;

	(void)state;
	put_header(&b, LINE_RANGE);
	set_address(&b, START);
	special(&b, 0, 0);
	special(&b, 8, 1);
	special(&b, 0, -1);
	special(&b, 8, 2);
	put(&b, DW_LNS_advance_pc, 1);
	put(&b, 1, 1);
	end_sequence(&b);
	table = run(&b);
	assert_int_equal(table.rows.n, 3);
	assert_row(&table, 0, START, 1, 0, 1);
	assert_row(&table, 1, START + 16, 3, 0, 1);
	assert_row(&table, 2, START + 17, 0, 0, LINE_NO_FILE);
	line_table_done(&table);
}

/* Sequences that are out of order, that descend, that the linker removed, and that do not end. */
static void test_sequences(void **state)
{
	struct bytes b = {0};
	struct line_table table;

	(void)state;
	put_header(&b, LINE_RANGE);
	set_address(&b, START + 0x100);
	special(&b, 0, 8);
	special(&b, 16, 0);
	end_sequence(&b);
	set_address(&b, START + 0x200);
	special(&b, 0, 0);
	set_address(&b, START + 0x1f0);
	special(&b, 0, 1);
	special(&b, 17, 1);
	end_sequence(&b);
	set_address(&b, 0);
	special(&b, 0, 0);
	special(&b, 16, 0);
	end_sequence(&b);
	set_address(&b, START);
	special(&b, 0, 2);
	special(&b, 16, 1);
	end_sequence(&b);
	set_address(&b, START + 0x300);
	special(&b, 0, 2);
	special(&b, 16, 1);
	table = run(&b);
	assert_int_equal(table.rows.n, 4);
	assert_row(&table, 0, START, 3, 0, 1);
	assert_row(&table, 1, START + 16, 0, 0, LINE_NO_FILE);
	assert_row(&table, 2, START + 0x100, 9, 0, 1);
	assert_row(&table, 3, START + 0x110, 0, 0, LINE_NO_FILE);
	line_table_done(&table);
}

/* Rows more than 4 GiB from the first one have no place in the table. */
static void test_far_rows(void **state)
{
	struct bytes b = {0};
	struct line_table table;

	(void)state;
	put_header(&b, LINE_RANGE);
	set_address(&b, START);
	special(&b, 0, 0);
	set_address(&b, (uint64_t)START + UINT32_MAX);
	special(&b, 0, 1);
	special(&b, 1, 1);
	end_sequence(&b);
	table = run(&b);
	assert_int_equal(table.rows.n, 2);
	assert_row(&table, 0, START, 1, 0, 1);
	assert_row(&table, 1, (uint64_t)START + UINT32_MAX, 2, 0, 1);
	line_table_done(&table);
}

/* More rows than the bytes of a program suggest. */
static void test_many_rows(void **state)
{
	struct bytes b = {0};
	struct line_table table;

	(void)state;
	put_header(&b, LINE_RANGE);
	set_address(&b, START);
	for (unsigned i = 0; i < 500; i++)
		special(&b, 1, 1);
	end_sequence(&b);
	table = run(&b);
	assert_int_equal(table.rows.n, 500);
	for (unsigned i = 0; i < 499; i++)
		assert_row(&table, i, START + 1 + i, 2 + i, 0, 1);
	line_table_done(&table);
}

/* Special opcodes of a program without a line range end it. */
static void test_no_line_range(void **state)
{
	struct bytes b = {0};
	struct line_table table;

	(void)state;
	put_header(&b, 0);
	set_address(&b, START);
	put(&b, DW_LNS_copy, 1);
	put(&b, DW_LNS_advance_pc, 1);
	put(&b, 16, 1);
	end_sequence(&b);
	set_address(&b, START + 0x100);
	special(&b, 0, 1);
	special(&b, 16, 1);
	end_sequence(&b);
	table = run(&b);
	assert_int_equal(table.rows.n, 2);
	assert_row(&table, 0, START, 1, 0, 1);
	assert_row(&table, 1, START + 16, 0, 0, LINE_NO_FILE);
	line_table_done(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_replaced_rows),
		cmocka_unit_test(test_sequences),
		cmocka_unit_test(test_far_rows),
		cmocka_unit_test(test_many_rows),
		cmocka_unit_test(test_no_line_range),
	};

	return cmocka_run_group_tests_name("line_table", tests, NULL, NULL);
}
