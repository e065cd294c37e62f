/* SPDX-License-Identifier: MIT */
/*
 * The line table of a unit: a line program (DWARF 5, section 6.2) run into a sorted array of 12
 * bytes a row. Names of files are read when they are needed.
 */
#ifndef DWARF_LINE_TABLE_H
#define DWARF_LINE_TABLE_H

#include "dwarf/unit.h"

enum {
	LINE_PROGRAM_MAX = 256 << 20, /* bytes */
	LINE_ROWS_MAX = 1 << 26,      /* rows of a unit */
	LINE_FILES_MAX = 65533,
	LINE_NO_FILE = UINT16_MAX, /* no code: a gap between sequences */
};

struct line_row {
	uint32_t start; /* address - base; the row extends to the next */
	uint32_t line;  /* 0: none */
	uint16_t column;
	uint16_t file; /* number as in the program, or LINE_NO_FILE */
};

struct line_file {
	struct debug_value name;
	uint32_t directory;
};

struct line_table {
	uint64_t base;     /* the lowest address */
	uint64_t from, to; /* the code of which it has the rows */
	VEC(struct line_row) rows;
	size_t last;                         /* index of the row that was found last */
	VEC(struct line_file) files;         /* by number */
	VEC(struct debug_value) directories; /* by number */
	uint8_t version;
};

/*
 * Runs the program of a unit whose root entry was read. only: keep the rows around this address;
 * NULL: all. Returns 0; the table has the rows before a malformed part, and none if the unit has no
 * program; -ENOMEM. Free with line_table_done().
 */
int line_table_read(
	const struct debug_unit *unit, const uint64_t *only, struct line_table *ret_table);
void line_table_done(struct line_table *table);

/* The row of an address, or NULL. */
const struct line_row *line_table_find(struct line_table *table, uint64_t address);

/*
 * Appends the path of a file as the compiler was given it, below its directory and the directory of
 * the unit. False if there is no such file.
 */
bool line_table_path(const struct line_table *table, const struct debug_unit *unit,
	struct debug_file *alt, uint64_t number, struct buf *path);

size_t line_table_memory(const struct line_table *table);

#endif
