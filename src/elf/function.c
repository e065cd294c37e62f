/* SPDX-License-Identifier: MIT */
#include "elf/function.h"

#include <stdio.h>

#include "base/suggest.h"
#include "elf/demangle.h"
#include "elf/symbol_table.h"

enum { BEST_MAX = 256, NAMES_MAX = 256 << 20 };

/* A function that was found by its name in the source. */
struct match {
	bool is_found, is_ambiguous;
	uint64_t vaddr;
	char symbol[BEST_MAX];
};

struct search {
	const char *name;
	const char *strings; /* of the current table, NUL-terminated */
	size_t strings_size;
	bool variables; /* too */
	uint64_t vaddr;
	struct suggest near;
	char best[BEST_MAX];
	elf_symbol_fn *compare;
	struct buf base, clone;     /* of the name, see function_split() */
	struct match exact, clones; /* clones: that replace the whole function */
	struct buf text, text_clone, plain;
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
	const char *name = name_of(s, symbol);

	if (!name || !is_named(name, s->name))
		return 0;
	s->vaddr = symbol->value;
	return 1;
}

/* ---- names in the source ---- */

static void cut(struct buf *text, size_t len)
{
	text->len = len;
	text->data[len] = '\0';
}

/*
 * Takes the suffixes of clones off a name, as this and other tools show them: "f [clone .isra.0]",
 * "f(int) [clone .constprop.0] [clone .isra.0]", "f(int) (.cold)".
 */
static void function_split(struct buf *name, struct buf *ret_clone)
{
	static const char clone[] = " [clone ";
	char *at = strstr(buf_text(name), clone), *end;

	buf_reset(ret_clone);
	if (at) {
		size_t len = (size_t)(at - name->data);

		for (; !strncmp(at, clone, strlen(clone)); at = end + 1) {
			at += strlen(clone);
			end = at + strcspn(at, "]");
			buf_add(ret_clone, at, (size_t)(end - at));
			if (!*end)
				break;
		}
		cut(name, len);
	} else if ((at = strstr(buf_text(name), " (."))) {
		buf_add(ret_clone, at + 2, strcspn(at + 2, ")"));
		cut(name, (size_t)(at - name->data));
	}
}

/* Whether a clone is the only code of a function: its parameters were removed or fixed. */
static bool is_whole(const char *clone)
{
	static const char *const starts[] = {".isra.", ".constprop.", ".llvm.", ".lto_priv."};
	bool is_start = false;

	for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
		is_start |= !strncmp(clone, starts[i], strlen(starts[i]));
	return is_start && !strstr(clone, ".cold") && !strstr(clone, ".part");
}

static void found(struct match *match, uint64_t vaddr, const char *symbol)
{
	if (match->is_found && match->vaddr == vaddr)
		return;
	match->is_ambiguous |= match->is_found;
	match->is_found = true;
	match->vaddr = vaddr;
	snprintf(match->symbol, sizeof(match->symbol), "%s", symbol);
}

/* Rust's v0 names have angle brackets around a type that others write without: "<a::B>::c". */
static bool is_without_brackets(const char *text, const char *name)
{
	const char *end = *text == '<' ? strstr(text, ">::") : NULL;
	size_t n = end ? (size_t)(end - text) - 1 : 0;

	return end && !memchr(text + 1, '<', n) && !strncmp(text + 1, name, n) &&
	       !strcmp(end + 1, name + n);
}

/* The name in `text`, of a symbol. */
static void compare_text(struct search *s, uint64_t vaddr, const char *symbol)
{
	const char *base = buf_text(&s->base), *clone = buf_text(&s->clone);

	function_split(&s->text, &s->text_clone);
	if (strcmp(buf_text(&s->text), base) && !is_without_brackets(buf_text(&s->text), base))
		return;
	if (!strcmp(buf_text(&s->text_clone), clone))
		found(&s->exact, vaddr, symbol);
	else if (!*clone && is_whole(buf_text(&s->text_clone)))
		found(&s->clones, vaddr, symbol);
}

/* Without angle brackets: "ns::Box<int>::run" becomes "ns::Box::run", "<a::B>::c" "a::B::c". */
static const char *without_brackets(struct buf *plain, const char *text)
{
	const char *end = *text == '<' ? strstr(text, ">::") : NULL;
	unsigned depth = 0;

	buf_reset(plain);
	if (end && !memchr(text + 1, '<', (size_t)(end - text) - 1)) {
		buf_add(plain, text + 1, (size_t)(end - text) - 1);
		text = end + 1;
	}
	for (; *text; text++) {
		depth += *text == '<' && plain->len > 0;
		if (!depth)
			buf_char(plain, *text);
		depth -= *text == '>' && depth > 0;
	}
	return buf_text(plain);
}

static bool ends_path(const char *path, const char *name)
{
	size_t n = strlen(path), len = strlen(name);

	return n >= len && !strcmp(path + n - len, name) &&
	       (n == len || (n >= len + 2 && path[n - len - 1] == ':'));
}

/* The end of the path is nearer than any other spelling: "A::go" of "program::A::go". */
static void offer(struct search *s, const char *text)
{
	const char *before = s->near.best;
	bool is_path = ends_path(text, s->near.word) ||
		       ends_path(without_brackets(&s->plain, text), s->near.word);

	if (strlen(text) >= BEST_MAX / 2 || (before && s->near.distance == 0))
		return;
	if (is_path) {
		s->near.best = text;
		s->near.distance = 0;
	} else {
		suggest_offer(&s->near, text);
	}
	if (s->near.best != before)
		s->near.best = strcpy(s->best, text);
}

/* The name as in the source, with or without parameters. Looks at all symbols, for ambiguity. */
static int compare_demangled(void *ctx, const struct elf_symbol *symbol)
{
	struct search *s = ctx;
	const char *name = name_of(s, symbol), *dot;

	if (!name || !*name)
		return 0;
	buf_reset(&s->text);
	if (demangle(name, &s->text)) {
		compare_text(s, symbol->value, name);
		if (!s->text_clone.len || is_whole(buf_text(&s->text_clone)))
			offer(s, buf_text(&s->text));
		buf_reset(&s->text);
		if (demangle_whole(name, &s->text))
			compare_text(s, symbol->value, name);
		return 0;
	}
	dot = strchr(name, '.');
	offer(s, name);
	if (dot && !*buf_text(&s->clone) && is_whole(dot) &&
		strlen(s->name) == (size_t)(dot - name) && !strncmp(name, s->name, strlen(s->name)))
		found(&s->clones, symbol->value, name);
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

	if (r == 0) {
		buf_str(&s->base, s->name);
		function_split(&s->base, &s->clone);
		s->near.word = buf_text(&s->base);
		r = search_tables(s, elf, compare_demangled);
		if (!s->exact.is_found)
			s->exact = s->clones;
		s->vaddr = s->exact.vaddr;
		if (r == 0)
			r = s->exact.is_found && !s->exact.is_ambiguous;
	}
	buf_done(&s->base);
	buf_done(&s->clone);
	buf_done(&s->text);
	buf_done(&s->text_clone);
	buf_done(&s->plain);
	return r;
}

bool elf_symbol_address(const struct elf *elf, const char *name, uint64_t *ret_vaddr)
{
	struct search s = {.name = name, .variables = true};

	if (search(&s, elf) != 1)
		return false;
	*ret_vaddr = s.vaddr;
	return true;
}

static int function_find(
	const struct elf *elf, const char *path, const char *name, uint64_t *ret_offset)
{
	struct search s = {.name = name};
	int r = search(&s, elf);

	if (r < 0)
		return r;
	if (r == 1 && elf_file_offset(elf, s.vaddr, ret_offset))
		return 0;
	if (s.exact.is_ambiguous)
		return attar_fail(-ENOENT,
			"several functions in %s are named '%s'" ATTAR_FIX
			"use the name in the symbol table, such as '%s'",
			CLIP(path), CLIP(name), s.exact.symbol);
	if (s.near.best)
		return attar_fail(-ENOENT, "no function '%s' in %s" ATTAR_FIX "did you mean '%s'?",
			CLIP(name), CLIP(path), s.best);
	return attar_fail(-ENOENT,
		"no function '%s' in the symbol tables of %s" ATTAR_FIX
		"use its file offset instead, as in uprobe:0x1234@...",
		CLIP(name), CLIP(path));
}

int elf_function_offset(
	const char *path, const char *file_name, const char *name, uint64_t *ret_offset)
{
	struct elf_file file;
	int r = elf_file_open_named(&file, path, file_name);

	if (r < 0)
		return r;
	r = function_find(&file.elf, file_name, name, ret_offset);
	elf_file_close(&file);
	return r;
}
