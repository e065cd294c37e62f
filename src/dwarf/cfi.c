/* SPDX-License-Identifier: MIT */
#include "dwarf/cfi.h"

#include "dwarf/cfi_frames.h"

/*
 * Making all rules costs about as much as finding single ones by instructions that have COST times
 * the bytes of the section.
 */
enum { ROWS_MAX = 1 << 25, COST = 4 };

/*
 * Bytes of instructions that are run for all rules, in sections: each function runs the ones in its
 * CIE again, which are few unless the file was made to keep attar busy.
 */
enum { SECTIONS_RUN_MAX = 4 };

/* ---- all functions ---- */

static struct cursor all_of(const struct cfi_frames *f)
{
	return (struct cursor){.at = f->bytes, .end = f->bytes + f->size};
}

static uint64_t bytes_of(const struct cursor *c)
{
	return (uint64_t)(c->end - c->at);
}

/* left: bytes that may be run. */
static int add_function(struct cfi_frames *f, struct cfi_entry *e, uint64_t *left)
{
	struct cfi_code code;
	int r = cfi_frames_code(f, e, &code);
	uint64_t n;

	if (r < 0)
		return r;
	n = bytes_of(&code.cie->instructions) + bytes_of(&code.instructions);
	if (n > *left)
		return -E2BIG;
	*left -= n;
	return cfi_program_run(
		&f->builder, code.cie, &code.instructions, code.vaddr, code.size, code.offset);
}

static int add_functions(struct cfi_frames *f)
{
	struct cfi_table *t = f->builder.table;
	struct cursor all = all_of(f);
	uint64_t left = SECTIONS_RUN_MAX * f->size;
	struct cfi_entry e;
	int r = 0;

	while (r != -ENOMEM && r != -E2BIG && cfi_frames_take(f, &all, &e)) {
		if (e.is_cie)
			continue;
		if (f->builder.functions.n >= CFI_FUNCTIONS_MAX || f->builder.rows.n >= ROWS_MAX) {
			t->skipped++;
			break;
		}
		t->functions++;
		r = add_function(f, &e, &left);
		t->skipped += r < 0;
	}
	return r == -ENOMEM ? r : 0;
}

int cfi_complete(struct cfi_table *table)
{
	struct cfi_frames *f = table->frames;
	int r;

	if (!f)
		return 0;
	f->builder.table = table;
	table->functions = table->skipped = 0;
	r = add_functions(f);
	if (r == 0 && f->builder.functions.n)
		r = cfi_builder_finish(&f->builder);
	f->builder.functions.n = f->builder.rows.n = 0;
	if (r < 0)
		return r;
	cfi_frames_free(f);
	table->frames = NULL;
	return 0;
}

/* ---- the index of functions ---- */

static int by_start(const void *a, const void *b)
{
	const struct cfi_place *x = a, *y = b;

	return x->start != y->start ? (x->start > y->start) - (x->start < y->start)
				    : (x->entry > y->entry) - (x->entry < y->entry);
}

/* Reads all entries. */
static int find_functions(struct cfi_frames *f, size_t n)
{
	struct cursor all = all_of(f);
	struct cfi_entry e;
	struct cfi_code code;

	if (vec_reserve(&f->places, n) < 0)
		return base_oom();
	for (const uint8_t *at = all.at; f->places.n < n && cfi_frames_take(f, &all, &e);
		at = all.at)
		if (!e.is_cie && cfi_frames_code(f, &e, &code) == 0)
			f->places.at[f->places.n++] = (struct cfi_place){
				.start = (uint32_t)code.offset, .entry = (uint32_t)(at - f->bytes)};
	if (f->places.n)
		qsort(f->places.at, f->places.n, sizeof(*f->places.at), by_start);
	return 0;
}

/* The header that linkers write: a table of the addresses of functions and of their FDEs. */
struct eh_frame_hdr {
	uint8_t version, section_encoding, count_encoding, table_encoding;
	int32_t section; /* relative to its own address */
	uint32_t n;
};

/* An address in the header, which is relative to that, as an offset in a file. */
static bool place_of_header(const struct cfi_frames *f, uint64_t header, struct cfi_place *place)
{
	uint64_t start = header + (uint64_t)(int64_t)(int32_t)place->start, offset;
	uint64_t entry = header + (uint64_t)(int64_t)(int32_t)place->entry - f->vaddr;

	if (entry >= f->size || !elf_file_offset(&f->elf, start, &offset) || offset > UINT32_MAX)
		return false;
	*place = (struct cfi_place){.start = (uint32_t)offset, .entry = (uint32_t)entry};
	return true;
}

/* Reads the sorted table of the header if it has as many functions as the section. */
static bool read_header(
	struct cfi_frames *f, const struct elf *elf, const struct elf_segment *segment, size_t n)
{
	enum {
		TABLE = DW_EH_PE_datarel | DW_EH_PE_sdata4,
		SECTION = DW_EH_PE_pcrel | DW_EH_PE_sdata4
	};
	struct eh_frame_hdr header;
	uint32_t before = 0;

	if (segment->filesz < sizeof(header) + n * sizeof(struct cfi_place) ||
		byte_source_read(&elf->source, segment->offset, &header, sizeof(header)) < 0 ||
		header.version != 1 || header.section_encoding != SECTION ||
		header.count_encoding != DW_EH_PE_udata4 || header.table_encoding != TABLE ||
		segment->vaddr + 4 + (uint64_t)(int64_t)header.section != f->vaddr ||
		header.n != n || vec_reserve(&f->places, n) < 0 ||
		byte_source_read(&elf->source, segment->offset + sizeof(header), f->places.at,
			n * sizeof(struct cfi_place)) < 0)
		return false;
	for (size_t i = 0; i < n; i++) {
		struct cfi_place *place = &f->places.at[i];

		if (!place_of_header(f, segment->vaddr, place) || place->start < before)
			return false;
		before = place->start;
	}
	f->places.n = n;
	return true;
}

static bool has_header(struct cfi_frames *f, const struct elf *elf, size_t n)
{
	vec_each (&elf->segments, segment)
		if (f->is_eh && segment->type == PT_GNU_EH_FRAME)
			return read_header(f, elf, segment, n);
	return false;
}

static int make_index(struct cfi_frames *f, const struct elf *elf)
{
	struct cursor all = all_of(f);
	struct cfi_entry e;
	size_t n = 0;

	while (n < CFI_FUNCTIONS_MAX && cfi_frames_take(f, &all, &e))
		n += !e.is_cie;
	if (f->is_eh) /* without section headers, it may be all that follows in the segment */
		cfi_frames_shrink(f, (uint64_t)(all.at - f->bytes));
	return !n || has_header(f, elf, n) ? 0 : find_functions(f, n);
}

/* ---- the binary ---- */

/* A file without section headers: PT_GNU_EH_FRAME leads to the frames. */
static bool find_by_segment(const struct elf *elf, struct elf_section *ret_section)
{
	uint8_t header[12];
	struct cursor c = {.at = header + 4, .end = header + sizeof(header)};

	vec_each (&elf->segments, hdr) {
		uint64_t vaddr, offset;

		if (hdr->type != PT_GNU_EH_FRAME || hdr->filesz < sizeof(header) ||
			byte_source_read(&elf->source, hdr->offset, header, sizeof(header)) < 0 ||
			header[0] != 1)
			continue;
		vaddr = cursor_pointer(&c, header[1], hdr->vaddr + 4, elf->is64 ? 8 : 4);
		if (c.failed)
			return false;
		vec_each (&elf->segments, s) {
			if (s->type != PT_LOAD || vaddr < s->vaddr || vaddr - s->vaddr >= s->filesz)
				continue;
			offset = vaddr - s->vaddr;
			*ret_section = (struct elf_section){.type = SHT_PROGBITS,
				.addr = vaddr,
				.offset = s->offset + offset,
				.size = s->filesz - offset};
			return true;
		}
	}
	return false;
}

/* Reads a section. Without functions, the table remains empty. */
static int open_section(struct cfi_table *table, const struct elf *elf,
	const struct elf_section *section, bool is_eh)
{
	struct cfi_frames *f = NULL;
	int r = cfi_frames_read(elf, section, is_eh, &f);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	r = make_index(f, elf);
	if (r == 0 && f->places.n)
		table->frames = f;
	else
		cfi_frames_free(f);
	return r;
}

int cfi_open(const struct elf *elf, struct cfi_table *ret_table)
{
	const struct elf_section *section = elf_section_named(elf, ".eh_frame");
	struct elf_section found;
	int r = 0;

	*ret_table = (struct cfi_table){.machine = elf->machine};
	if (!section && find_by_segment(elf, &found))
		section = &found;
	if (section)
		r = open_section(ret_table, elf, section, true);
	section = elf_section_named(elf, ".debug_frame");
	if (r == 0 && section && !ret_table->frames)
		r = open_section(ret_table, elf, section, false);
	return r;
}

int cfi_read(const struct elf *elf, struct cfi_table *ret_table)
{
	int r = cfi_open(elf, ret_table);

	if (r == 0)
		r = cfi_complete(ret_table);
	if (r < 0)
		cfi_table_done(ret_table);
	return r;
}

/* ---- one function ---- */

/* The last function that starts at or before an offset; of several, the first one. */
static const struct cfi_place *place_at(const struct cfi_frames *f, uint64_t offset)
{
	const struct cfi_place *at = f->places.at;
	size_t n = f->places.n;

	if (offset < at->start)
		return NULL;
	while (n > 1) { /* at->start <= offset */
		size_t half = n / 2;

		at = at[half].start <= offset ? at + half : at;
		n -= half;
	}
	while (at > f->places.at && at[-1].start == at->start)
		at--;
	return at;
}

/* The first of the ranges that were found which ends after an offset. */
static size_t found_behind(const struct cfi_frames *f, uint64_t offset)
{
	size_t low = 0, n = f->found.n;

	while (n) {
		size_t half = n / 2;
		bool is_before = f->found.at[low + half].end <= offset;

		low += is_before ? half + 1 : 0;
		n = is_before ? n - half - 1 : half;
	}
	return low;
}

/*
 * Keeps the number of the rules for an offset of a function, which it has at `span`, up to the next
 * function: there can be one inside it. Without memory, they are made again.
 */
static void keep_found(struct cfi_frames *f, const struct cfi_place *place,
	const struct cfi_code *code, const struct cfi_span *span, size_t at, int number)
{
	const struct cfi_place *next = place, *last = f->places.at + f->places.n;
	struct cfi_found found = {.start = (uint32_t)(code->offset + (span->start - code->vaddr)),
		.end = (uint32_t)(code->offset + (span->end - code->vaddr)),
		.number = number};

	while (next < last && next->start == place->start)
		next++;
	if (next < last)
		found.end = MIN(found.end, next->start);
	if (vec_reserve(&f->found, 1) < 0)
		return;
	memmove(&f->found.at[at + 1], &f->found.at[at], (f->found.n - at) * sizeof(found));
	f->found.at[at] = found;
	f->found.n++;
}

/* The number of the rules, as of cfi_program_find(). `at` is found_behind(). */
static int make_rules(struct cfi_frames *f, uint64_t offset, size_t at)
{
	const struct cfi_place *place = place_at(f, offset);
	struct cursor bytes = all_of(f);
	struct cfi_entry e;
	struct cfi_code code;
	struct cfi_span span;
	const uint8_t *first;
	int number;

	if (!place || !cursor_take(&bytes, place->entry) || !cfi_frames_take(f, &bytes, &e) ||
		e.is_cie || cfi_frames_code(f, &e, &code) < 0 || code.offset != place->start ||
		offset - code.offset >= code.size)
		return 0;
	first = code.instructions.at;
	number = cfi_program_find(&f->builder, code.cie, &code.instructions, code.vaddr, code.size,
		code.vaddr + (offset - code.offset), &span);
	f->run += (uint64_t)(code.instructions.at - first);
	if (number > 0)
		keep_found(f, place, &code, &span, at, number);
	return number;
}

/* The same. Neighbouring addresses mostly have the same rules. */
static int find_rules(struct cfi_frames *f, uint64_t offset)
{
	size_t at = found_behind(f, offset);

	if (at < f->found.n && f->found.at[at].start <= offset)
		return f->found.at[at].number;
	return make_rules(f, offset, at);
}

const struct cfi_rules *cfi_find(struct cfi_table *table, uint64_t file_offset)
{
	struct cfi_frames *f = table->frames;
	int number;

	if (!f)
		return cfi_table_find(table, file_offset);
	f->builder.table = table;
	number = find_rules(f, file_offset);
	if (f->run / COST > f->size) {
		f->run = 0;
		cfi_complete(table);
	}
	return number > 0 ? cfi_table_rules(table, (size_t)number) : NULL;
}
