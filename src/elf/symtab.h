/* SPDX-License-Identifier: MIT */
/*
 * The function symbols of one ELF file as a sorted index of 12 bytes each. Names stay in the file
 * until somebody asks for one (few are ever asked for), or are taken into memory before the file is
 * closed.
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
#include "elf/elf.h"

enum {
	SYMTAB_MAX_SYMBOLS = 4 << 20,  /* functions of one file; further ones are left out */
	SYMTAB_MAX_NAME = 16 << 10,    /* bytes; longer names are cut */
	SYMTAB_MAX_STRINGS = 64 << 20, /* bytes of names taken into memory per table */
	SYMTAB_MAX_TABLES = 4,
};

struct symtab_entry {
	uint32_t low; /* vaddr - base */
	uint32_t name : 30;
	uint32_t table : 2;
	uint32_t size : 28; /* bytes */
	uint32_t rank : 4;  /* lower is better */
};

struct symtab_strings {
	struct byte_source source;
	uint64_t offset, size;
	uint8_t *owned;     /* the strings when they were taken into memory: source refers to it */
	const char *suffix; /* appended to each name: static, NULL for none */
};

struct symtab {
	uint64_t base;
	VEC(struct symtab_entry) entries;
	struct symtab_strings strings[SYMTAB_MAX_TABLES];
	unsigned tables;
};

/*
 * Adds the functions of a symbol table section; bias is added to their addresses. Nothing is an
 * error but want of memory: what does not fit the file or the bounds is left out. The source of elf
 * stays in use for names until symtab_keep_names() or symtab_done().
 */
int symtab_add(struct symtab *table, const struct elf *elf, const struct elf_section *section,
	uint64_t bias);

/* What entries count from: the lowest loaded address. */
uint64_t symtab_base(const struct elf *elf, uint64_t bias);

/* Sorts, ends symbols without a size at the next one, and drops labels inside of functions. */
void symtab_finish(struct symtab *table);

/* The symbol that covers vaddr: the innermost one; among aliases the first. */
bool symtab_find(const struct symtab *table, uint64_t vaddr, size_t *ret_index);

/*
 * Appends the plainest name among the aliases of a symbol to name. 0; -ENODATA when it cannot be
 * read.
 */
int symtab_name(const struct symtab *table, size_t index, struct buf *name);

uint64_t symtab_start(const struct symtab *table, size_t index);

/* Takes all names into memory, so that the files behind may be closed. */
int symtab_keep_names(struct symtab *table);
void symtab_done(struct symtab *table);

#endif
