/* SPDX-License-Identifier: MIT */
/* An ELF file with a given .gopclntab, and such a table, for tests of names and lines of Go. */
#ifndef GO_FILE_H
#define GO_FILE_H

#include "base/buf.h"
#include "elf/go_table.h"

/* Addresses of the code, the table, the word of its header with that of the code, and data. */
enum {
	GO_FILE_TEXT = 0x401000,
	GO_FILE_TEXT_SIZE = 0x60,
	GO_FILE_TABLE = 0x500000,
	GO_FILE_TEXT_WORD = GO_FILE_TABLE + 24,
	GO_FILE_DATA = 0x600000,
};

/*
 * Appends a table of two functions:
 *
 *	0x401000 main.main  16 bytes of /src/main.go:10, 16 of /src/sum.go:3, 32 of main.go:12
 *	0x401040 main.sum    8 bytes of /src/sum.go:5, 24 of :600
 *
 * Since GO_1_18, the code of sum.go in main.main is main.square, called in line 12.
 *
 * text: the address that its header has, from GO_1_18 on. pointer: 4 or 8.
 */
void go_file_table(struct buf *table, enum go_layout layout, uint8_t pointer, uint64_t text);

/*
 * Appends the file. is_shared: as linkers other than Go's make it, which can be loaded anywhere:
 * the table is in a section with more, and relocations put all addresses in place.
 */
void go_file_make(struct buf *file, const void *table, size_t n, bool is_shared);

#endif
