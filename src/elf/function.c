/* SPDX-License-Identifier: MIT */
#include "elf/function.h"

#include "base/suggest.h"
#include "elf/symbol_table.h"

enum { BEST_MAX = 256, NAMES_MAX = 256 << 20 };

struct search {
	const char *name;
	const char *strings; /* of the current table, NUL-terminated */
	size_t strings_size;
	bool variables; /* too */
	uint64_t vaddr;
	struct suggest near;
	char best[BEST_MAX];
};

/* Names in .symtab may carry a version: "memcpy@@GLIBC_2.14". */
static bool is_named(const char *symbol, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(symbol, name, n) && (!symbol[n] || symbol[n] == '@');
}

static bool is_wanted(const struct search *s, uint8_t type)
{
	return type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE ||
	       (s->variables && type == STT_OBJECT);
}

/* Returns 1 if this is the function. */
static int compare_symbol(void *ctx, const struct elf_symbol *symbol)
{
	struct search *s = ctx;
	const char *before = s->near.best, *name;

	if (symbol->section == SHN_UNDEF || !symbol->name || symbol->name >= s->strings_size ||
		!is_wanted(s, symbol->type))
		return 0;
	name = s->strings + symbol->name;
	if (is_named(name, s->name)) {
		s->vaddr = symbol->value;
		return 1;
	}
	if (strlen(name) >= BEST_MAX)
		return 0;
	suggest_offer(&s->near, name);
	if (s->near.best != before)
		s->near.best = strcpy(s->best, name);
	return 0;
}

/* Returns 1 if found. */
static int search_table(struct search *s, const struct elf *elf, const struct elf_section *section)
{
	const struct elf_section *strings = elf_symbol_strings(elf, section);
	char *names _cleanup_free_ = NULL;
	int r;

	if (!strings)
		return 0;
	r = elf_section_read(elf, strings, NAMES_MAX, (uint8_t **)&names);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	s->strings = names;
	s->strings_size = strings->size;
	return elf_symbol_each(elf, section, ELF_ALL, compare_symbol, s);
}

/* Returns 1 if found. */
static int search_tables(struct search *s, const struct elf *elf)
{
	int r = 0;

	vec_each (&elf->sections, section)
		if (r == 0 && (section->type == SHT_SYMTAB || section->type == SHT_DYNSYM))
			r = search_table(s, elf, section);
	return r;
}

bool elf_symbol_address(const struct elf *elf, const char *name, uint64_t *ret_vaddr)
{
	struct search s = {.name = name, .near.word = name, .variables = true};

	if (search_tables(&s, elf) != 1)
		return false;
	*ret_vaddr = s.vaddr;
	return true;
}

static int search(const struct elf *elf, const char *path, const char *name, uint64_t *ret_offset)
{
	struct search s = {.name = name, .near.word = name};
	int r = search_tables(&s, elf);

	if (r < 0)
		return r;
	if (r == 1 && elf_file_offset(elf, s.vaddr, ret_offset))
		return 0;
	if (s.near.best)
		return attar_fail(-ENOENT, "no function '%s' in %s" ATTAR_FIX "did you mean '%s'?",
			CLIP(name), CLIP(path), s.best);
	return attar_fail(-ENOENT,
		"no function '%s' in the symbol tables of %s" ATTAR_FIX
		"use its file offset instead, as in uprobe:0x1234@...",
		CLIP(name), CLIP(path));
}

int elf_function_offset(const char *path, const char *name, uint64_t *ret_offset)
{
	struct elf_file file;
	int r = elf_file_open(&file, path);

	if (r < 0)
		return r;
	r = search(&file.elf, path, name, ret_offset);
	elf_file_close(&file);
	return r;
}
