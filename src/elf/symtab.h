/* SPDX-License-Identifier: MIT */
/*
 * The function symbols of one ELF file as a sorted index of 12 bytes each. Names are read from the
 * file on demand (few are ever needed), or copied to memory: before the file is closed, or when as
 * many bytes were read as all of them have. For few
 * addresses, a table of the symbols around one is read in a fraction of the time.
 *
 *	struct symtab table = {0};
 *	symtab_add(&table, &elf, elf_section_typed(&elf, SHT_SYMTAB), 0);
 *	symtab_finish(&table);
 *	if (symtab_find(&table, vaddr, &index))
 *		symtab_name(&table, index, &name);
 */
#ifndef ELF_SYMTAB_H
#define ELF_SYMTAB_H

#include "base/buf.h"
#include "elf/symbol_table.h"

enum {
	SYMTAB_MAX_SYMBOLS = 4 << 20,  /* functions per file; further ones are ignored */
	SYMTAB_MAX_NAME = 16 << 10,    /* bytes; longer names are truncated */
	SYMTAB_MAX_STRINGS = 64 << 20, /* maximum bytes of names kept in memory per table */
	SYMTAB_MAX_TABLES = 4,
};

struct symtab_entry {
	uint32_t low; /* vaddr - base */
	uint32_t name : 30;
	uint32_t table : 2;
	uint32_t size : 28; /* bytes */
	uint32_t rank : 4;  /* lower is better */
};

/* A part of the names in a file: names of neighbours are mostly adjacent. */
struct symtab_window {
	uint64_t at;
	size_t n; /* 0: nothing was read */
	char bytes[4 << 10];
};

struct symtab_strings {
	struct byte_source source;
	uint64_t offset, size;
	struct symtab_window *window; /* owned; NULL until a name is read */
	uint64_t windows;             /* that were read */
	uint8_t *owned;               /* the strings if copied to memory: source refers to it */
	const char *suffix;           /* suffix of each name: static, or NULL */
};

struct symtab {
	uint64_t base;
	VEC(struct symtab_entry) entries;
	struct symtab_strings strings[SYMTAB_MAX_TABLES];
	unsigned tables;
	size_t last; /* index of the symbol that was found last */
	bool is_part;
	struct elf_range near;    /* of a part: the addresses whose symbols are read */
	struct elf_range covered; /* of a part, once finished: the addresses that it can name */
};

/*
 * Adds the functions of a symbol table section; bias is added to their addresses. The only error is
 * lack of memory: symbols outside the file or the limits are skipped. The source of elf is used to
 * read names until symtab_keep_names() or symtab_done().
 */
int symtab_add(struct symtab *table, const struct elf *elf, const struct elf_section *section,
	uint64_t bias);

/* Whether a symbol table section has functions. */
bool symtab_has_functions(const struct elf *elf, const struct elf_section *section);

/* Makes a new table a part: only the symbols around an address are added to it. */
void symtab_set_part(struct symtab *table, uint64_t vaddr);

/* The addresses that a table is to name: all, or of a part those around its address. */
struct elf_range symtab_range(const struct symtab *table);

/* The base of entries: the lowest address of loaded code. */
uint64_t symtab_base(const struct elf *elf, uint64_t bias);

/*
 * Sorts the table, ends symbols without a size at the next one, and drops labels inside functions.
 */
void symtab_finish(struct symtab *table);

/* Whether symtab_find() is valid for an address: a part that was read around another may not be. */
bool symtab_covers(const struct symtab *table, uint64_t vaddr);

/* Finds the innermost symbol that contains vaddr; among aliases the first. */
bool symtab_find(struct symtab *table, uint64_t vaddr, size_t *ret_index);

/*
 * Appends the plainest name among the aliases of a symbol to name. Returns 0, or -ENODATA if it
 * cannot be read.
 */
int symtab_name(struct symtab *table, size_t index, struct buf *name);

uint64_t symtab_start(const struct symtab *table, size_t index);

/* Up to where symtab_find() finds the symbol of an address that it has found, at least. */
uint64_t symtab_end(const struct symtab *table, size_t index, uint64_t vaddr);

/* The memory of the table, in bytes. */
size_t symtab_bytes(const struct symtab *table);

/* Copies all names to memory, so that the files can be closed. */
int symtab_keep_names(struct symtab *table);
void symtab_done(struct symtab *table);

#endif
