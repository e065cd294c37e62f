/* SPDX-License-Identifier: MIT */
#include "elf/symtab.h"

#include "base/radix.h"
#include "elf/symbol_table.h"

enum {
	MAX_ALIASES = 16,    /* limit of aliases compared to find the plainest name */
	MAX_NESTED = 64,     /* limit of nested symbols skipped to find the enclosing one */
	NEAR = 4,            /* symbols after the last one that are tried first */
	WHOLE_MAX = 4 << 20, /* bytes of names that are read as a whole when many are needed */
	PART = 32 << 10,     /* bytes before and after an address whose symbols a part has */
};

/* Bits of a rank. Weak names are not ranked lower: "write" is one, an alias of "__write". */
enum {
	RANK_OLD = 1, /* a version no longer used by new links: glibc's "cfree" for free() */
	RANK_LOCAL = 2,
	RANK_LABEL = 4, /* NOTYPE: assembly without a .type */
	RANK_UNSIZED = 8,
};

#define SIZE_MAX_BITS ((1u << 28) - 1)

/* State shared by the symbols of a section while they are read. */
struct adding {
	struct symtab *table;
	const struct elf *elf;
	uint64_t bias;
	size_t max;                    /* entries of the table */
	unsigned strings;              /* index in table->strings */
	uint32_t marker_name, no_name; /* names checked last: a mapping symbol, another name */
};

static const struct elf_section *section_of(const struct elf *elf, const struct elf_symbol *s)
{
	return s->section < elf->sections.n ? &elf->sections.at[s->section] : NULL;
}

/* The rank of a function symbol; -1 for all others. */
static int rank_of(const struct elf *elf, const struct elf_symbol *s)
{
	const struct elf_section *section = section_of(elf, s);
	int rank = s->size ? 0 : RANK_UNSIZED;

	if (!s->name || s->section == SHN_UNDEF || s->section == SHN_ABS ||
		s->section == SHN_COMMON)
		return -1;
	if (s->type == STT_NOTYPE) {
		if (!section || !(section->flags & SHF_EXECINSTR))
			return -1;
		rank |= RANK_LABEL;
	} else if (s->type != STT_FUNC && s->type != STT_GNU_IFUNC) {
		return -1;
	}
	if (s->bind == STB_LOCAL)
		rank |= RANK_LOCAL;
	else if (s->old)
		rank |= RANK_OLD;
	return rank;
}

/*
 * "$x", "$d": mapping symbols that mark the start of code and data (ELF for the Arm architecture,
 * 5.5.5; also RISC-V), not function names.
 */
static bool is_mapping_symbol(struct adding *a, const struct elf_symbol *s)
{
	const struct symtab_strings *strings = &a->table->strings[a->strings];
	uint16_t machine = a->elf->machine;
	char first;

	if (s->type != STT_NOTYPE || s->bind != STB_LOCAL)
		return false;
	if (machine != EM_AARCH64 && machine != EM_ARM && machine != EM_RISCV)
		return false;
	if (s->name == a->marker_name || s->name == a->no_name)
		return s->name == a->marker_name;
	if (s->name >= strings->size ||
		byte_source_read(&strings->source, strings->offset + s->name, &first, 1) < 0)
		return true;
	*(first == '$' ? &a->marker_name : &a->no_name) = s->name;
	return first == '$';
}

/*
 * The size of a symbol without one: up to the end of its section. symtab_finish() ends it at the
 * next symbol.
 */
static uint64_t room_of(const struct elf *elf, const struct elf_symbol *s)
{
	const struct elf_section *section = section_of(elf, s);

	if (!section || s->value < section->addr || s->value - section->addr >= section->size)
		return 0;
	return section->size - (s->value - section->addr);
}

/* Returns 1 if the table is full. */
static int add_symbol(void *ctx, const struct elf_symbol *s)
{
	struct adding *a = ctx;
	struct symtab *table = a->table;
	int rank = rank_of(a->elf, s);
	uint64_t low = s->value + a->bias - table->base, size;

	if (table->entries.n >= a->max)
		return 1;
	if (rank < 0 || low > UINT32_MAX || s->name >= 1u << 30)
		return 0;
	if (is_mapping_symbol(a, s))
		return 0;
	size = rank & RANK_UNSIZED ? room_of(a->elf, s) : s->size;
	return vec_push(
		&table->entries, (struct symtab_entry){
					 .low = (uint32_t)low,
					 .name = s->name & 0x3fffffff,
					 .table = a->strings & 3,
					 .size = MIN(size, (uint64_t)SIZE_MAX_BITS) & SIZE_MAX_BITS,
					 .rank = (unsigned)rank & 15,
				 });
}

/* Of the code alone: vmlinux also has a segment at 0, of variables of each CPU. */
uint64_t symtab_base(const struct elf *elf, uint64_t bias)
{
	uint64_t low = UINT64_MAX;

	vec_each (&elf->segments, s)
		if (s->type == PT_LOAD && s->flags & PF_X)
			low = MIN(low, s->vaddr + bias);
	return low == UINT64_MAX ? 0 : low;
}

void symtab_set_part(struct symtab *table, uint64_t vaddr)
{
	table->is_part = true;
	table->covered = (struct elf_range){.first = UINT64_MAX};
	table->near.first = vaddr - MIN(vaddr, (uint64_t)PART);
	table->near.last = vaddr + MIN(UINT64_MAX - vaddr, (uint64_t)PART);
}

struct elf_range symtab_range(const struct symtab *table)
{
	return table->is_part ? table->near : ELF_ALL;
}

static int add_section(struct symtab *table, const struct elf *elf,
	const struct elf_section *section, uint64_t bias, size_t max)
{
	const struct elf_section *strings = elf_symbol_strings(elf, section);
	struct adding a = {
		.table = table, .elf = elf, .bias = bias, .max = max, .strings = table->tables};
	struct elf_range range = symtab_range(table);
	int r;

	if (!strings || table->tables == SYMTAB_MAX_TABLES)
		return 0;
	if (!table->tables)
		table->base = symtab_base(elf, bias);
	table->strings[table->tables++] = (struct symtab_strings){
		.source = elf->source, .offset = strings->offset, .size = strings->size};
	if (range.first >= bias && range.last != UINT64_MAX) /* as addresses of this file */
		range = (struct elf_range){.first = range.first - bias, .last = range.last - bias};
	else
		range = ELF_ALL;
	r = elf_symbol_each(elf, section, range, add_symbol, &a);
	return MIN(r, 0);
}

int symtab_add(struct symtab *table, const struct elf *elf, const struct elf_section *section,
	uint64_t bias)
{
	return add_section(table, elf, section, bias, SYMTAB_MAX_SYMBOLS);
}

bool symtab_has_functions(const struct elf *elf, const struct elf_section *section)
{
	struct symtab first = {0};
	bool found = add_section(&first, elf, section, 0, 1) >= 0 && first.entries.n;

	symtab_done(&first);
	return found;
}

static int by_address(const void *a, const void *b)
{
	const struct symtab_entry *x = a, *y = b;

	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	return (int)x->rank - (int)y->rank;
}

/* Orders the entries of each address, which are few, by rank. */
static void sort_ranks(struct symtab_entry *at, size_t n)
{
	for (size_t i = 0, end; i < n; i = end) {
		bool ranks = false;

		for (end = i + 1; end < n && at[end].low == at[i].low; end++)
			ranks |= at[end].rank != at[i].rank;
		if (ranks)
			qsort(at + i, end - i, sizeof(*at), by_address);
	}
}

/* By address, then rank. */
static void sort(struct symtab *table)
{
	struct symtab_entry *at = table->entries.at;
	size_t n = table->entries.n;

	at = radix_sort(at, n, sizeof(*at), sizeof(at->low), by_address);
	sort_ranks(at, n);
	table->entries.at = at;
	table->entries.size = n;
}

/* Keeps the best-ranked symbols of each address and drops labels inside functions. */
static void prune(struct symtab *table)
{
	struct symtab_entry *at = table->entries.at;
	uint64_t covered = 0; /* end of all sized functions so far */
	size_t kept = 0;

	for (size_t i = 0; i < table->entries.n; i++) {
		if (kept && at[kept - 1].low == at[i].low && at[kept - 1].rank != at[i].rank)
			continue;
		if ((at[i].rank & RANK_UNSIZED) && at[i].low < covered)
			continue;
		if (!(at[i].rank & RANK_UNSIZED))
			covered = MAX(covered, (uint64_t)at[i].low + at[i].size);
		at[kept++] = at[i];
	}
	table->entries.n = kept;
}

/* Tables are many and never grow again. */
static void give_back_room(struct symtab *table)
{
	void *less = realloc(table->entries.at, table->entries.n * sizeof(*table->entries.at));

	if (less) {
		table->entries.at = less;
		table->entries.size = table->entries.n;
	}
}

/*
 * The symbol of an address depends on the last one before it and the first one after it, and on
 * symbols that contain it. A part has all of these between two of the symbols that it has read.
 */
static void find_covered(struct symtab *table)
{
	const struct symtab_entry *first = NULL, *last = NULL;

	vec_each (&table->entries, entry) {
		uint64_t start = table->base + entry->low;

		if (start < table->near.first || start > table->near.last)
			continue;
		first = first ?: entry;
		last = entry;
	}
	if (first && first != last)
		table->covered = (struct elf_range){
			.first = table->base + first->low, .last = table->base + last->low - 1};
}

bool symtab_covers(const struct symtab *table, uint64_t vaddr)
{
	return !table->is_part || (vaddr >= table->covered.first && vaddr <= table->covered.last);
}

void symtab_finish(struct symtab *table)
{
	struct symtab_entry *at;
	uint32_t next = UINT32_MAX; /* address of the next higher symbol */

	if (!table->entries.n)
		return;
	sort(table);
	prune(table);
	if (table->is_part)
		find_covered(table);
	give_back_room(table);
	at = table->entries.at;
	for (size_t i = table->entries.n; i--;) {
		if (i + 1 < table->entries.n && at[i + 1].low != at[i].low)
			next = at[i + 1].low;
		if ((at[i].rank & RANK_UNSIZED) && at[i].size > next - at[i].low)
			at[i].size = (next - at[i].low) & SIZE_MAX_BITS;
	}
}

size_t symtab_bytes(const struct symtab *table)
{
	size_t bytes = table->entries.size * sizeof(*table->entries.at);

	for (unsigned i = 0; i < table->tables; i++)
		if (table->strings[i].owned)
			bytes += table->strings[i].size;
	return bytes;
}

/*
 * Returns the last entry at or below low, or n if there is none. Those after the one that was
 * found last are tried first.
 */
static size_t last_below(struct symtab *table, uint32_t low)
{
	const struct symtab_entry *at = table->entries.at;
	size_t first = table->last, end = table->entries.n;

	if (first < end && at[first].low <= low)
		for (size_t near = MIN(end, first + NEAR); first < near; first++)
			if (first + 1 == end || low < at[first + 1].low)
				return table->last = first;
	first = 0;
	while (first < end) {
		size_t middle = first + (end - first) / 2;

		if (at[middle].low <= low)
			first = middle + 1;
		else
			end = middle;
	}
	if (!first)
		return table->entries.n;
	return table->last = first - 1;
}

bool symtab_find(struct symtab *table, uint64_t vaddr, size_t *ret_index)
{
	const struct symtab_entry *at = table->entries.at;
	uint64_t low = vaddr - table->base;
	size_t i;

	if (vaddr < table->base || low > UINT32_MAX)
		return false;
	i = last_below(table, (uint32_t)low);
	if (i == table->entries.n)
		return false;
	for (int steps = 0; steps < MAX_NESTED; steps++, i--) {
		if (low - at[i].low < at[i].size) {
			while (i && at[i - 1].low == at[i].low)
				i--;
			*ret_index = i;
			return true;
		}
		if (!i)
			break;
	}
	return false;
}

uint64_t symtab_end(const struct symtab *table, size_t index, uint64_t vaddr)
{
	const struct symtab_entry *at = table->entries.at;
	uint64_t end = table->base + at[index].low + at[index].size;

	for (; index < table->entries.n; index++)
		if (table->base + at[index].low > vaddr)
			return MIN(end, table->base + at[index].low);
	return end;
}

uint64_t symtab_start(const struct symtab *table, size_t index)
{
	return table->base + table->entries.at[index].low;
}

/* Copies the first n bytes of the names to memory, or all. */
static int keep_strings(struct symtab_strings *strings, uint64_t n)
{
	if (strings->owned)
		return 0;
	n = MIN(strings->size, n);
	n = strings->offset > strings->source.size ? 0
						   : MIN(n, strings->source.size - strings->offset);
	strings->owned = malloc(n ?: 1);
	if (!strings->owned)
		return base_oom();
	if (byte_source_read(&strings->source, strings->offset, strings->owned, n) < 0)
		n = 0;
	strings->source = (struct byte_source){.fd = -1, .memory = strings->owned, .size = n};
	free(strings->window);
	strings->window = NULL;
	strings->offset = 0;
	strings->size = n;
	return 0;
}

/* The names around an offset, read from the file. */
static const struct symtab_window *window_at(struct symtab_strings *strings, uint64_t at)
{
	struct symtab_window *w = strings->window;
	uint64_t end = strings->source.size, start = at & ~(uint64_t)(sizeof(w->bytes) - 1);
	uint64_t room;

	if (w && at - w->at < w->n)
		return w;
	strings->windows++;
	if (!w)
		w = strings->window = calloc(1, sizeof(*w));
	if (!w || strings->offset >= end || at >= end - strings->offset)
		return NULL;
	room = MIN(strings->size, end - strings->offset) - start;
	w->n = (size_t)MIN(sizeof(w->bytes), room);
	w->at = start;
	if (byte_source_read(&strings->source, strings->offset + start, w->bytes, w->n) == 0)
		return w;
	w->n = 0;
	return NULL;
}

/* The bytes of a name from an offset on, as far as they are in memory. */
static const char *bytes_at(struct symtab_strings *strings, uint64_t at, size_t *ret_n)
{
	const struct byte_source *source = &strings->source;
	const struct symtab_window *w;
	uint64_t offset;

	if (!source->memory && strings->size <= WHOLE_MAX &&
		strings->windows > strings->size / sizeof(w->bytes) &&
		keep_strings(strings, WHOLE_MAX) < 0)
		attar_error_clear();
	offset = strings->offset + at;
	if (source->memory) {
		*ret_n = (size_t)MIN(
			strings->size - at, offset < source->size ? source->size - offset : 0);
		return *ret_n ? (const char *)source->memory + offset : NULL;
	}
	w = window_at(strings, at);
	*ret_n = w ? (size_t)(w->at + w->n - at) : 0;
	return w ? w->bytes + (at - w->at) : NULL;
}

static int read_name(struct symtab *table, const struct symtab_entry *entry, struct buf *name)
{
	struct symtab_strings *strings = &table->strings[entry->table];
	size_t start = name->len;

	for (uint64_t at = entry->name;
		at < strings->size && name->len - start < SYMTAB_MAX_NAME;) {
		size_t n, len;
		const char *bytes = bytes_at(strings, at, &n);

		if (!bytes)
			break;
		n = MIN(n, SYMTAB_MAX_NAME - (name->len - start));
		len = strnlen(bytes, n);
		buf_add(name, bytes, len);
		if (len < n)
			break;
		at += n;
	}
	if (name->len == start)
		return -ENODATA;
	buf_str(name, strings->suffix ?: "");
	return buf_failed(name) ? base_oom() : 0;
}

/*
 * How much a name differs from its usual form: old versions ("f@V", not "f@@V"), glibc-internal
 * names ("__GI_f"), then underscores.
 */
static size_t decoration_count(const char *name)
{
	const char *version = strchr(name, '@');
	bool mangled = name[0] == '_' && (name[1] == 'Z' || name[1] == 'R' || name[1] == 'D');

	return (version && version[1] != '@' ? 100 : 0) + (strncmp(name, "__GI_", 5) ? 0 : 10) +
	       (mangled ? 0 : strspn(name, "_"));
}

/* Among equally plain names, prefer the longest: "strchr", not "index". */
static bool is_plainer(const char *a, const char *b)
{
	size_t odd_a = decoration_count(a), odd_b = decoration_count(b);

	return odd_a != odd_b ? odd_a < odd_b : strlen(a) > strlen(b);
}

int symtab_name(struct symtab *table, size_t index, struct buf *name)
{
	struct buf best _cleanup_(buf_done) = {0}, other _cleanup_(buf_done) = {0};
	const struct symtab_entry *at = table->entries.at;
	size_t end = MIN(table->entries.n, index + MAX_ALIASES);

	for (size_t i = index; i < end && at[i].low == at[index].low; i++) {
		buf_reset(&other);
		if (read_name(table, &at[i], &other) < 0)
			continue;
		if (!best.len || is_plainer(buf_text(&other), buf_text(&best))) {
			struct buf swap = best;

			best = other;
			other = swap;
		}
	}
	if (!best.len)
		return -ENODATA;
	buf_add(name, best.data, best.len);
	return buf_failed(name) ? base_oom() : 0;
}

int symtab_keep_names(struct symtab *table)
{
	for (unsigned i = 0; i < table->tables; i++)
		if (keep_strings(&table->strings[i], SYMTAB_MAX_STRINGS) < 0)
			return -ENOMEM;
	return 0;
}

void symtab_done(struct symtab *table)
{
	for (unsigned i = 0; i < table->tables; i++) {
		free(table->strings[i].owned);
		free(table->strings[i].window);
	}
	vec_done(&table->entries);
	*table = (struct symtab){0};
}
