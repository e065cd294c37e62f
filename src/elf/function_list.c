/* SPDX-License-Identifier: MIT */
#include "elf/function_list.h"

#include "base/buf.h"
#include "elf/symbol_table.h"

enum { NAMES_MAX = 256 << 20 };

struct function_list {
	const struct elf *elf;
	const char *strings; /* of the current table, NUL-terminated */
	size_t strings_size;
	struct buf name; /* without its version */
	elf_function_fn *fn;
	void *ctx;
};

/* A part of a function that is jumped to: at its start, the return address is not on the stack. */
static bool is_cold_part(const char *name)
{
	const char *cold = strstr(name, ".cold");

	return cold && (!cold[5] || cold[5] == '.');
}

static int function_list_give(void *ctx, const struct elf_symbol *symbol)
{
	struct function_list *l = ctx;
	uint64_t offset;
	const char *name;

	if (symbol->section == SHN_UNDEF || symbol->type != STT_FUNC || symbol->old ||
		!symbol->name || symbol->name >= l->strings_size)
		return 0;
	name = l->strings + symbol->name;
	buf_reset(&l->name);
	buf_add(&l->name, name, strcspn(name, "@"));
	if (!l->name.len || is_cold_part(buf_text(&l->name)) ||
		!elf_file_offset(l->elf, symbol->value, &offset))
		return 0;
	return l->fn(l->ctx, buf_text(&l->name), offset);
}

static int read_table(struct function_list *l, const struct elf_section *section)
{
	const struct elf_section *strings = elf_symbol_strings(l->elf, section);
	char *names _cleanup_free_ = NULL;
	int r;

	if (!strings)
		return 0;
	r = elf_section_read(l->elf, strings, NAMES_MAX, (uint8_t **)&names);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	l->strings = names;
	l->strings_size = strings->size;
	return elf_symbol_each(l->elf, section, ELF_ALL, function_list_give, l);
}

int elf_functions_each(const char *path, const char *file_name, elf_function_fn *fn, void *ctx)
{
	struct function_list l = {.fn = fn, .ctx = ctx};
	struct elf_file file;
	int r = elf_file_open_named(&file, path, file_name);

	if (r < 0)
		return r;
	l.elf = &file.elf;
	vec_each (&file.elf.sections, section)
		if (r == 0 && (section->type == SHT_SYMTAB || section->type == SHT_DYNSYM))
			r = read_table(&l, section);
	buf_done(&l.name);
	elf_file_close(&file);
	return r;
}
