/* SPDX-License-Identifier: MIT */
#include "elf/plt.h"

enum { MAX_STUBS = 65536, WINDOW = 4096 };

struct stubs {
	const struct elf_section *code, *relocations, *symbols, *strings;
	uint64_t header, stub, n; /* bytes of the header and of one stub; number of stubs */
};

/* Bytes that were read: those needed next are mostly behind the last ones. */
struct window {
	uint64_t at;
	size_t n;
	uint8_t bytes[WINDOW];
};

static bool read_at(const struct elf *elf, struct window *w, uint64_t at, void *to, size_t n)
{
	uint64_t size = elf->source.size;

	if (at > size || n > size - at)
		return false;
	if (at < w->at || at + n > w->at + w->n) {
		w->at = at;
		w->n = (size_t)MIN(size - at, (uint64_t)WINDOW);
		if (byte_source_read(&elf->source, at, w->bytes, w->n) < 0) {
			w->n = 0;
			return false;
		}
	}
	memcpy(to, w->bytes + (at - w->at), n);
	return true;
}

static const struct elf_section *linked(const struct elf *elf, const struct elf_section *section)
{
	return section->link && section->link < elf->sections.n ? &elf->sections.at[section->link]
								: NULL;
}

static uint64_t header_size(const struct elf *elf)
{
	return elf->machine == EM_AARCH64 ? 32 : 16;
}

static bool find(const struct elf *elf, struct stubs *s)
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

/* The name of the symbol of relocation i: an offset in the strings, 0 for none. */
static uint32_t name_of(const struct elf *elf, const struct stubs *s, uint64_t i,
	struct window *relocations, struct window *symbols)
{
	union {
		Elf32_Rel r32;
		Elf64_Rela r64;
	} r;
	uint32_t name;
	uint64_t symbol;
	size_t size = elf->is64 ? sizeof(r.r64) : sizeof(r.r32);

	if (!read_at(elf, relocations, s->relocations->offset + i * size, &r, size))
		return 0;
	symbol = elf->is64 ? ELF64_R_SYM(r.r64.r_info) : ELF32_R_SYM(r.r32.r_info);
	/* st_name comes first in both classes. */
	size = elf->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	if (!symbol || !read_at(elf, symbols, s->symbols->offset + symbol * size, &name, 4))
		return 0;
	return name;
}

int plt_add(struct symtab *table, const struct elf *elf)
{
	const struct elf_range range = symtab_range(table);
	struct window relocations = {0}, symbols = {0};
	struct stubs s = {0};

	if (table->tables == SYMTAB_MAX_TABLES || !find(elf, &s))
		return 0;
	if (!table->tables)
		table->base = symtab_base(elf, 0);
	table->strings[table->tables] = (struct symtab_strings){.source = elf->source,
		.offset = s.strings->offset,
		.size = s.strings->size,
		.suffix = "@plt"};
	for (uint64_t i = 0; i < s.n && table->entries.n < SYMTAB_MAX_SYMBOLS; i++) {
		uint64_t low = s.code->addr + s.header + i * s.stub - table->base;
		uint32_t name;

		if (!elf_range_has(&range, table->base + low, s.stub))
			continue;
		name = name_of(elf, &s, i, &relocations, &symbols);
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
