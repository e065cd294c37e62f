/* SPDX-License-Identifier: MIT */
/*
 * names FILE [bsearch]: names of random addresses of the code of a file: each once to fill the
 * caches, and then TURNS times in random order, which is measured. By attar_symbols_resolve() or by
 * bsearch(3) over the same table of functions, whose names are a separate array. Prints JSON:
 * names of one turn, and the CPU time of a turn in ns.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "attar/private/symbol.h"
#include "attar/symbol.h"
#include "elf/symtab.h"

enum { ADDRESSES = 100000, TURNS = 20 };

struct bench {
	const char *path;
	struct attar_symbols *symbols;
	attar_location locations[ADDRESSES];
	uint64_t addresses[ADDRESSES];
	struct symtab table;
	char **names; /* of the entries of the table */
	size_t found; /* names of a turn */
};

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Addresses of .text, the same in each run. */
static int choose(struct bench *b)
{
	const struct elf_section *text;
	struct elf_file file;

	if (elf_file_open(&file, b->path) < 0)
		return -1;
	text = elf_section_named(&file.elf, ".text");
	if (!text)
		return -1;
	srandom(1);
	for (size_t i = 0; i < ADDRESSES; i++)
		b->addresses[i] = text->addr + (uint64_t)random() % text->size;
	elf_file_close(&file);
	return 0;
}

static int open_symbols(struct bench *b)
{
	attar_location start;

	if (attar_symbols_new(NULL, &b->symbols) < 0 ||
		symbols_find_file(b->symbols, b->path, &start) < 0)
		return -1;
	for (size_t i = 0; i < ADDRESSES; i++)
		if (symbols_vaddr(b->symbols, start, b->addresses[i], &b->locations[i]) < 0)
			return -1;
	return 0;
}

/* The functions of the file, each with its name; of those at one address the first. */
static int open_table(struct bench *b)
{
	struct elf_file file;
	size_t n = 0;

	if (elf_file_open(&file, b->path) < 0 ||
		symtab_add(&b->table, &file.elf, elf_section_typed(&file.elf, SHT_SYMTAB), 0) < 0)
		return -1;
	symtab_finish(&b->table);
	b->names = calloc(b->table.entries.n, sizeof(*b->names));
	vec_each (&b->table.entries, entry) {
		struct buf name = {0};

		if (n && b->table.entries.at[n - 1].low == entry->low)
			continue;
		symtab_name(&b->table, (size_t)(entry - b->table.entries.at), &name);
		b->table.entries.at[n] = *entry;
		b->names[n++] = buf_take(&name);
	}
	b->table.entries.n = n;
	return 0;
}

static int by_range(const void *key, const void *element)
{
	const struct symtab_entry *entry = element;
	uint64_t low = *(const uint64_t *)key;

	return low < entry->low ? -1 : low - entry->low >= entry->size;
}

static void resolve(struct bench *b)
{
	for (size_t i = 0; i < ADDRESSES; i++) {
		struct attar_symbol symbol;

		if (attar_symbols_resolve(b->symbols, b->locations[i], &symbol) == 0)
			b->found += symbol.name && *symbol.name;
	}
}

static void search(struct bench *b)
{
	for (size_t i = 0; i < ADDRESSES; i++) {
		uint64_t low = b->addresses[i] - b->table.base;
		const struct symtab_entry *entry = bsearch(
			&low, b->table.entries.at, b->table.entries.n, sizeof(*entry), by_range);

		if (entry)
			b->found += *b->names[entry - b->table.entries.at] != '\0';
	}
}

int main(int argc, char **argv)
{
	static struct bench b;
	bool bare = argc > 2 && !strcmp(argv[2], "bsearch");
	uint64_t began;

	if (argc < 2)
		return 2;
	b.path = argv[1];
	if (choose(&b) < 0 || (bare ? open_table(&b) : open_symbols(&b)) < 0) {
		fprintf(stderr, "names: %s\n", attar_error());
		return 1;
	}
	(bare ? search : resolve)(&b);
	b.found = 0;
	began = cpu_ns();
	for (int turn = 0; turn < TURNS; turn++)
		(bare ? search : resolve)(&b);
	printf("{\"names\": %zu, \"ns\": %llu}\n", b.found / TURNS,
		(unsigned long long)((cpu_ns() - began) / TURNS));
	return 0;
}
