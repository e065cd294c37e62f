/* SPDX-License-Identifier: MIT */
#include "elf/plt.h"

#include "base/radix.h"

enum { MAX_STUBS = 65536 };

struct stubs {
	const struct elf_section *code, *relocations, *symbols, *strings;
	uint64_t header, stub, n; /* bytes of the header and of one stub; number of stubs */
};

static const struct elf_section *linked(const struct elf *elf, const struct elf_section *section)
{
	return section->link && section->link < elf->sections.n ? &elf->sections.at[section->link]
								: NULL;
}

static uint64_t header_size(const struct elf *elf)
{
	return elf->machine == EM_AARCH64 ? 32 : 16;
}

static bool plt_find(const struct elf *elf, struct stubs *s)
{
	uint64_t relocation;

	if (elf->machine != EM_X86_64 && elf->machine != EM_386 && elf->machine != EM_AARCH64)
		return false;
	s->code = elf_section_named(elf, ".plt.sec");
	s->header = s->code ? 0 : header_size(elf);
	s->code = s->code ?: elf_section_named(elf, ".plt");
	s->relocations = elf_section_named(elf, ".rela.plt") ?: elf_section_named(elf, ".rel.plt");
	if (!s->code || !s->relocations || s->code->size <= s->header)
		return false;
	s->symbols = linked(elf, s->relocations);
	s->strings = s->symbols ? linked(elf, s->symbols) : NULL;
	if (!s->strings || s->strings->type != SHT_STRTAB)
		return false;
	relocation = elf->is64 ? sizeof(Elf64_Rela) : sizeof(Elf32_Rel);
	if (s->relocations->entsize != relocation)
		return false;
	s->n = s->relocations->size / relocation;
	if (!s->n || s->n > MAX_STUBS)
		return false;
	s->stub = (s->code->size - s->header) / s->n;
	return s->stub == 16 || s->stub == 24;
}

/* A stub and its symbol, 0: none. */
struct use {
	uint32_t symbol, stub;
};

static uint32_t symbol_of(const struct elf *elf, const struct stubs *s, uint32_t stub,
	struct byte_window *relocations)
{
	union {
		Elf32_Rel r32;
		Elf64_Rela r64;
	} r;
	size_t size = elf->is64 ? sizeof(r.r64) : sizeof(r.r32);

	if (!byte_window_read(
		    relocations, &elf->source, s->relocations->offset + stub * size, &r, size))
		return 0;
	return elf->is64 ? (uint32_t)ELF64_R_SYM(r.r64.r_info) : ELF32_R_SYM(r.r32.r_info);
}

/* The name of a symbol: an offset in the strings, 0 for none. */
static uint32_t name_of(
	const struct elf *elf, const struct stubs *s, uint32_t symbol, struct byte_window *symbols)
{
	size_t size = elf->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	uint32_t name;

	/* st_name comes first in both classes. */
	if (!symbol || !byte_window_read(
			       symbols, &elf->source, s->symbols->offset + symbol * size, &name, 4))
		return 0;
	return name;
}

static int by_symbol(const void *a, const void *b)
{
	const struct use *x = a, *y = b;

	if (x->symbol != y->symbol)
		return x->symbol < y->symbol ? -1 : 1;
	return x->stub < y->stub ? -1 : x->stub > y->stub;
}

/* The stubs in the range, by their symbols: these are then read from the file once. */
static struct use *find_uses(
	const struct elf *elf, const struct stubs *s, const struct elf_range *range, size_t *ret_n)
{
	struct use *uses = malloc(s->n * sizeof(*uses));
	struct byte_window relocations = {0};

	*ret_n = 0;
	for (uint32_t i = 0; uses && i < s->n; i++)
		if (elf_range_has(range, s->code->addr + s->header + i * s->stub, s->stub))
			uses[(*ret_n)++] = (struct use){symbol_of(elf, s, i, &relocations), i};
	return uses ? radix_sort(uses, *ret_n, sizeof(*uses), sizeof(uses->symbol), by_symbol)
		    : NULL;
}

int plt_add(struct symtab *table, const struct elf *elf)
{
	const struct elf_range range = symtab_range(table);
	struct use *uses _cleanup_free_ = NULL;
	struct byte_window symbols = {0};
	struct stubs s = {0};
	size_t n;

	if (table->tables == SYMTAB_MAX_TABLES || !plt_find(elf, &s))
		return 0;
	uses = find_uses(elf, &s, &range, &n);
	if (!uses)
		return base_oom();
	if (!table->tables)
		table->base = symtab_base(elf, 0);
	table->strings[table->tables] = (struct symtab_strings){.source = elf->source,
		.offset = s.strings->offset,
		.size = s.strings->size,
		.suffix = "@plt"};
	for (size_t i = 0; i < n && table->entries.n < SYMTAB_MAX_SYMBOLS; i++) {
		uint64_t low = s.code->addr + s.header + uses[i].stub * s.stub - table->base;
		uint32_t name = name_of(elf, &s, uses[i].symbol, &symbols);

		if (!name || name >= 1u << 30 || low > UINT32_MAX)
			continue;
		if (vec_push(&table->entries, (struct symtab_entry){
						      .low = (uint32_t)low,
						      .name = name & 0x3fffffff,
						      .table = table->tables & 3,
						      .size = s.stub & 31,
					      }) < 0)
			return base_oom();
	}
	table->tables++;
	return 0;
}
