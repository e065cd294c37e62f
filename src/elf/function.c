/* SPDX-License-Identifier: MIT */
#include "elf/function.h"

#include <stdio.h>

#include "base/suggest.h"
#include "elf/demangle.h"
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
	elf_symbol_fn *compare;
	bool is_found, is_ambiguous; /* by the demangled name */
	struct buf text;
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

/* The name of a symbol that can be the function; NULL: it cannot. */
static const char *name_of(const struct search *s, const struct elf_symbol *symbol)
{
	if (symbol->section == SHN_UNDEF || !symbol->name || symbol->name >= s->strings_size ||
		!is_wanted(s, symbol->type))
		return NULL;
	return s->strings + symbol->name;
}

/* Returns 1 if this is the function. */
static int compare_symbol(void *ctx, const struct elf_symbol *symbol)
{
	struct search *s = ctx;
	const char *before = s->near.best, *name = name_of(s, symbol);

	if (!name)
		return 0;
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

static bool is_demangled(
	struct search *s, const char *name, bool (*as)(const char *mangled, struct buf *ret_text))
{
	s->text.len = 0;
	return as(name, &s->text) && !strcmp(buf_text(&s->text), s->name);
}

/* The name as in the source, with or without parameters. Looks at all symbols, for ambiguity. */
static int compare_demangled(void *ctx, const struct elf_symbol *symbol)
{
	struct search *s = ctx;
	const char *name = name_of(s, symbol);

	if (!name || (s->is_found && s->vaddr == symbol->value) ||
		!(is_demangled(s, name, demangle) || is_demangled(s, name, demangle_whole)))
		return 0;
	s->is_ambiguous |= s->is_found;
	s->is_found = true;
	s->vaddr = symbol->value;
	snprintf(s->best, sizeof(s->best), "%s", name);
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
	return elf_symbol_each(elf, section, ELF_ALL, s->compare, s);
}

/* Returns 1 if found. */
static int search_tables(struct search *s, const struct elf *elf, elf_symbol_fn *compare)
{
	int r = 0;

	s->compare = compare;
	vec_each (&elf->sections, section)
		if (r == 0 && (section->type == SHT_SYMTAB || section->type == SHT_DYNSYM))
			r = search_table(s, elf, section);
	return r;
}

/* By the name in the symbol table, otherwise by the one in the source. Returns 1 if found. */
static int search(struct search *s, const struct elf *elf)
{
	int r = search_tables(s, elf, compare_symbol);

	if (r == 0)
		r = search_tables(s, elf, compare_demangled);
	buf_done(&s->text);
	return r == 0 ? s->is_found && !s->is_ambiguous : r;
}

bool elf_symbol_address(const struct elf *elf, const char *name, uint64_t *ret_vaddr)
{
	struct search s = {.name = name, .near.word = name, .variables = true};

	if (search(&s, elf) != 1)
		return false;
	*ret_vaddr = s.vaddr;
	return true;
}

static int find(const struct elf *elf, const char *path, const char *name, uint64_t *ret_offset)
{
	struct search s = {.name = name, .near.word = name};
	int r = search(&s, elf);

	if (r < 0)
		return r;
	if (r == 1 && elf_file_offset(elf, s.vaddr, ret_offset))
		return 0;
	if (s.is_ambiguous)
		return attar_fail(-ENOENT,
			"several functions in %s are named '%s'" ATTAR_FIX
			"use the name in the symbol table, such as '%s'",
			CLIP(path), CLIP(name), s.best);
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
	r = find(&file.elf, path, name, ret_offset);
	elf_file_close(&file);
	return r;
}
