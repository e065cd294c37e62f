/* SPDX-License-Identifier: MIT */
#include "symbol/data_symbols.h"

#include <fcntl.h>

#include "elf/symtab.h"
#include "symbol/debugfile.h"

struct reading {
	struct data_symbols *symbols;
	const struct elf *elf;
	const char *strings;
	size_t strings_size;
};

void data_symbols_done(struct data_symbols *symbols)
{
	vec_done(&symbols->list);
	free(symbols->strings);
	*symbols = (struct data_symbols){0};
}

/* Symbols of functions and variables, and labels; values of thread-local ones are no addresses.
 */
static bool is_wanted(const struct elf *elf, const struct elf_symbol *s)
{
	if (!s->name || s->section == SHN_UNDEF || s->section >= elf->sections.n)
		return false;
	return s->type == STT_NOTYPE || s->type == STT_OBJECT || s->type == STT_FUNC ||
	       s->type == STT_COMMON;
}

static int data_symbols_add(void *ctx, const struct elf_symbol *s)
{
	struct reading *r = ctx;
	struct data_symbols *symbols = r->symbols;
	uint16_t machine = r->elf->machine;

	if (!is_wanted(r->elf, s) || s->name >= r->strings_size)
		return 0;
	if (s->type == STT_NOTYPE && s->bind == STB_LOCAL && r->strings[s->name] == '$' &&
		(machine == EM_AARCH64 || machine == EM_ARM || machine == EM_RISCV))
		return 0; /* a mapping symbol, see elf/symtab.c */
	return vec_push(&symbols->list, (struct data_symbol){.start = s->value,
						.size = s->size,
						.name = s->name,
						.index = (uint32_t)symbols->list.n});
}

static int by_address(const void *a, const void *b)
{
	const struct data_symbol *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	return x->index < y->index ? -1 : 1;
}

/* Sorts them and keeps the largest of each address; of equal ones, the last of the file. */
static void data_symbols_finish(struct data_symbols *symbols)
{
	struct data_symbol *at = symbols->list.at;
	size_t kept = 0;

	if (symbols->list.n)
		qsort(at, symbols->list.n, sizeof(*at), by_address);
	for (size_t i = 0; i < symbols->list.n; i++) {
		if (kept && at[kept - 1].start == at[i].start)
			kept--;
		at[kept++] = at[i];
	}
	symbols->list.n = kept;
}

/* Whether the file has such a table with symbols: 1, 0 or -ENOMEM. */
static int read_table(struct data_symbols *symbols, const struct elf *elf, uint32_t type)
{
	const struct elf_section *section = elf_section_typed(elf, type);
	const struct elf_section *strings = section ? elf_symbol_strings(elf, section) : NULL;
	struct reading reading = {.symbols = symbols, .elf = elf};
	int r;

	if (!strings)
		return 0;
	data_symbols_done(symbols);
	r = elf_section_read(elf, strings, SYMTAB_MAX_STRINGS, &symbols->strings);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	reading.strings = (const char *)symbols->strings;
	reading.strings_size = strings->size;
	r = elf_symbol_each(elf, section, ELF_ALL, data_symbols_add, &reading);
	data_symbols_finish(symbols);
	return r < 0 ? r : symbols->list.n > 0;
}

static int read_debug_file(struct data_symbols *symbols, const struct elf *elf,
	const struct dso *dso, const char *debug_roots)
{
	int fd _cleanup_close_ = debugfile_open(&(struct debugfile){
		.elf = elf, .path = dso->key.path, .roots = debug_roots, .root = AT_FDCWD});
	struct byte_source source;
	struct elf debug;
	int r;

	if (fd < 0 || byte_source_file(fd, &source) < 0 || elf_init(&debug, &source) < 0) {
		attar_error_clear();
		return 0;
	}
	r = read_table(symbols, &debug, SHT_SYMTAB);
	elf_done(&debug);
	return r;
}

int data_symbols_read(struct data_symbols *symbols, const struct dso *dso, const char *debug_roots)
{
	struct elf_file file;
	int r = elf_file_open(&file, dso->key.path);

	if (r < 0)
		return r;
	r = read_table(symbols, &file.elf, SHT_SYMTAB);
	if (r == 0)
		r = read_debug_file(symbols, &file.elf, dso, debug_roots);
	if (r == 0)
		r = read_table(symbols, &file.elf, SHT_DYNSYM);
	elf_file_close(&file);
	symbols->dso = dso->number;
	return MIN(r, 0);
}

const struct data_symbol *data_symbols_find(
	const struct data_symbols *symbols, uint64_t vaddr, const char **ret_name)
{
	const struct data_symbol *at = symbols->list.at;
	size_t first = 0, end = symbols->list.n;

	while (first < end) {
		size_t middle = first + (end - first) / 2;

		if (at[middle].start <= vaddr)
			first = middle + 1;
		else
			end = middle;
	}
	if (!first--)
		return NULL;
	if (at[first].size && vaddr - at[first].start >= at[first].size)
		return NULL;
	*ret_name = (const char *)symbols->strings + at[first].name;
	return &at[first];
}
