/* SPDX-License-Identifier: MIT */
/*
 * The functions of a Go program with their files and lines, which it has for its own stack traces
 * and which stripping keeps: in the section .gopclntab, or as a part of .data.rel.ro if it was not
 * Go's linker that made a position-independent program. The layouts are the layouts of Go 1.2,
 * 1.16, 1.18 and 1.20 (runtime/symtab.go and debug/gosym of Go). Inlined functions are described
 * elsewhere (runtime/symtabinl.go), which is read for 64-bit programs of Go 1.18 and later.
 *
 *	if (go_table_open(&elf, &table)) {
 *		go_table_open_inlined(&elf, &table);
 *		n = go_table_find(&table, vaddr, frames, ARRAY_SIZE(frames));
 *	}
 *
 * Hostile files: all is read by offset and checked, and searches and look-ups are limited.
 */
#ifndef ELF_GO_TABLE_H
#define ELF_GO_TABLE_H

#include "elf/symtab.h"

/* A program of Go before 1.2 has another table, which is not read. */
enum go_layout { GO_1_2, GO_1_16, GO_1_18, GO_1_20 };

struct go_table {
	struct byte_source source; /* the source of the file: it is not owned */
	uint64_t offset, size;     /* of the table in the file, and at most; others are relative */
	uint64_t address;          /* of the table */
	uint64_t text;             /* what addresses are relative to; 0 before GO_1_18 */
	/* Offsets in the table: of the list of functions, and what others are relative to. */
	uint64_t list, names, units, files, values, functions;
	uint64_t n;       /* functions */
	uint64_t inlined; /* offset in the file of what inlined functions are relative to; or 0 */
	enum go_layout layout;
	uint8_t quantum, pointer; /* bytes of the shortest instruction, of an address */
	struct byte_window numbers, values_window, strings;
};

/* Finds the table. False: the file has none, or one of another layout. */
bool go_table_open(const struct elf *elf, struct go_table *ret_table);

/* Whether a file has a section in which the table is or may be. */
bool go_table_exists(const struct elf *elf);

/* Adds the functions of a file to a symbol table. Returns 0, or -ENOMEM. */
int go_table_add(struct symtab *symbols, const struct elf *elf);

/* Finds where inlined functions are described. Without it, go_table_find() leaves them out. */
void go_table_open_inlined(const struct elf *elf, struct go_table *table);

/* A function at an address, or one that another was inlined into. */
struct go_frame {
	uint64_t name, file; /* see go_table_text() */
	uint32_t line;
	bool inlined; /* into the next frame */
};

enum { GO_FRAMES_MAX = 64 };

/* The functions at an address, the innermost first. Returns their number, at most max. */
size_t go_table_find(struct go_table *table, uint64_t vaddr, struct go_frame *frames, size_t max);

/* Appends a name or the path of a file. False: it cannot be read. */
bool go_table_text(struct go_table *table, uint64_t text, struct buf *to);

#endif
