/* SPDX-License-Identifier: MIT */
#include "elf/go_table.h"

enum {
	VALUES_MAX = 1 << 20,  /* bytes of the values of a function */
	TEXT_MAX = 4096,       /* bytes of a name or path */
	TRIES_MAX = 16,        /* candidates that a search examines */
	TABLE_ALIGN = 16,      /* bytes */
	DATA_BYTES = 64 << 20, /* that are searched */
};

#define MAGIC_MIN 0xfffffff0
#define NONE      UINT32_MAX /* no offset */

/* The words of a function after its address, of 4 bytes each. */
enum word { WORD_NAME = 0, WORD_FILES = 4, WORD_LINES = 5, WORD_VALUES = 6, WORD_UNIT = 7 };

/* A function: its code, and where it is described. */
struct function {
	uint64_t start, end, at;
};

static const struct elf_section *stored_section(const struct elf *elf, const char *name)
{
	const struct elf_section *section = elf_section_named(elf, name);

	return section && section->type != SHT_NOBITS && !elf->relocatable ? section : NULL;
}

static const struct elf_section *own_section(const struct elf *elf)
{
	return stored_section(elf, ".gopclntab") ?: stored_section(elf, ".data.rel.ro.gopclntab");
}

/* The section that has the table among other data, if another linker than Go's was used. */
static const struct elf_section *shared_section(const struct elf *elf)
{
	return elf_section_named(elf, ".go.buildinfo") ? stored_section(elf, ".data.rel.ro") : NULL;
}

bool go_table_exists(const struct elf *elf)
{
	return own_section(elf) || shared_section(elf);
}

/* A number of 4 or 8 bytes at an offset of the table; 0, and false, beyond its end. */
static bool number_at(struct go_table *t, struct byte_window *window, uint64_t at, uint8_t size,
	uint64_t *ret_number)
{
	uint64_t wide;
	uint32_t narrow;
	bool ok = at <= t->size && size <= t->size - at &&
		  byte_window_read(window, &t->source, t->offset + at,
			  size == 8 ? (void *)&wide : (void *)&narrow, size);

	*ret_number = !ok ? 0 : size == 8 ? wide : narrow;
	return ok;
}

/* ---- the header ---- */

/* Bytes of an address in the list, and at the start of a function. */
static uint8_t address_size(const struct go_table *t)
{
	return t->layout >= GO_1_18 ? 4 : t->pointer;
}

/* The start of the table. */
struct start {
	uint32_t magic;
	uint8_t zero[2], quantum, pointer;
};

static bool take_layout(struct go_table *t)
{
	static const uint32_t magic[] = {
		[GO_1_2] = 0xfffffffb,
		[GO_1_16] = 0xfffffffa,
		[GO_1_18] = 0xfffffff0,
		[GO_1_20] = 0xfffffff1,
	};
	struct start start;

	if (t->size < sizeof(start) ||
		!byte_window_read(&t->numbers, &t->source, t->offset, &start, sizeof(start)) ||
		start.zero[0] || start.zero[1] || !start.quantum ||
		(start.pointer != 4 && start.pointer != 8))
		return false;
	t->quantum = start.quantum;
	t->pointer = start.pointer;
	for (size_t i = 0; i < ARRAY_SIZE(magic); i++) {
		t->layout = (enum go_layout)i;
		if (start.magic == magic[i])
			return true;
	}
	return false;
}

/* A word of the header. */
static uint64_t header_word(struct go_table *t, unsigned number)
{
	uint64_t value;

	number_at(t, &t->numbers, 8 + (uint64_t)number * t->pointer, t->pointer, &value);
	return value;
}

/* The relocations of a 64-bit file: those without a symbol put an address at another one. */
struct relocations {
	const struct elf *elf;
	const struct elf_section *section; /* NULL: there are none */
	uint64_t n;
	struct byte_window window;
};

static void open_relocations(struct relocations *r, const struct elf *elf)
{
	r->elf = elf;
	r->section = elf->is64 ? stored_section(elf, ".rela.dyn") : NULL;
	r->n = r->section ? r->section->size / sizeof(Elf64_Rela) : 0;
	r->window.n = r->window.at = 0;
}

static bool read_relocation(struct relocations *r, uint64_t i, Elf64_Rela *ret_relocation)
{
	return i < r->n && byte_window_read(&r->window, &r->elf->source,
				   r->section->offset + i * sizeof(*ret_relocation), ret_relocation,
				   sizeof(*ret_relocation));
}

/* The address that is at another one in memory; 0: none. */
static uint64_t address_at(const struct elf *elf, uint64_t vaddr)
{
	struct relocations relocations;
	uint64_t value, offset;
	Elf64_Rela r;

	if (elf_file_offset(elf, vaddr, &offset) &&
		byte_source_read(&elf->source, offset, &value, sizeof(value)) == 0 && value)
		return value;
	open_relocations(&relocations, elf);
	for (uint64_t i = 0; read_relocation(&relocations, i, &r); i++)
		if (r.r_offset == vaddr)
			return (uint64_t)r.r_addend;
	return 0;
}

/* Where the code starts. The word of the header may be one that is relocated, or be unused. */
static uint64_t text_of(struct go_table *t, const struct elf *elf)
{
	const struct elf_section *text = elf_section_named(elf, ".text");
	uint64_t start = header_word(t, 2);

	if (!start && t->pointer == 8)
		start = address_at(elf, t->address + 8 + 2U * t->pointer);
	return start ?: text ? text->addr : 0;
}

/* Limits the number of functions to those for which the list has room. */
static bool has_functions(struct go_table *t)
{
	if (t->list < t->size)
		t->n = MIN(t->n, (t->size - t->list) / (2U * address_size(t)));
	return t->n && t->list < t->size;
}

/* Reads the header of the table, whose offset and size are known. */
static bool take_header(struct go_table *t, const struct elf *elf)
{
	unsigned first; /* word of the header with the first of the offsets */

	if (!take_layout(t))
		return false;
	t->n = MIN(header_word(t, 0), (uint64_t)SYMTAB_MAX_SYMBOLS);
	if (t->layout == GO_1_2) {
		t->list = 8 + t->pointer;
		number_at(t, &t->numbers, t->list + (2 * t->n + 1) * t->pointer, 4, &t->files);
		return has_functions(t);
	}
	first = t->layout >= GO_1_18 ? 3 : 2;
	if (t->layout >= GO_1_18)
		t->text = text_of(t, elf);
	t->names = header_word(t, first);
	t->units = header_word(t, first + 1);
	t->files = header_word(t, first + 2);
	t->values = header_word(t, first + 3);
	t->list = t->functions = header_word(t, first + 4);
	return has_functions(t) && t->names < t->size && t->units < t->size && t->files < t->size &&
	       t->values < t->size;
}

/* Takes the table at a distance from the start of a section. */
static bool open_at(struct go_table *t, const struct elf *elf, const struct elf_section *section,
	uint64_t distance)
{
	memset(t, 0, sizeof(*t));
	t->source = elf->source;
	t->address = section->addr + distance;
	t->offset = section->offset + distance;
	if (section->offset > elf->source.size || t->offset > elf->source.size)
		return false;
	t->size = MIN(section->size - distance, elf->source.size - t->offset);
	return take_header(t, elf);
}

/* Finds the table in a section that has other data, too. */
static bool search(struct go_table *t, const struct elf *elf, const struct elf_section *section)
{
	uint64_t size = MIN(section->size, (uint64_t)DATA_BYTES);
	struct byte_window window = {0};
	struct start start;

	for (uint64_t at = -section->addr % TABLE_ALIGN, tries = 0; at < size && tries < TRIES_MAX;
		at += TABLE_ALIGN) {
		if (!byte_window_read(
			    &window, &elf->source, section->offset + at, &start, sizeof(start)))
			return false;
		if (start.magic < MAGIC_MIN || start.zero[0] || start.zero[1] || !start.quantum ||
			start.pointer != 8)
			continue;
		tries++;
		if (open_at(t, elf, section, at))
			return true;
	}
	return false;
}

bool go_table_open(const struct elf *elf, struct go_table *ret_table)
{
	const struct elf_section *own = own_section(elf), *shared = shared_section(elf);

	if (own)
		return open_at(ret_table, elf, own, 0);
	return shared && search(ret_table, elf, shared);
}

/* ---- functions ---- */

/* A number of the list: the address of a function, then where it is. The last one is the end. */
static bool list_number(
	struct go_table *t, struct byte_window *window, uint64_t index, uint64_t *ret_number)
{
	uint8_t size = address_size(t);

	return number_at(t, window, t->list + index * size, size, ret_number);
}

static bool function_at(
	struct go_table *t, struct byte_window *window, uint64_t index, struct function *f)
{
	if (!list_number(t, window, 2 * index, &f->start) ||
		!list_number(t, window, 2 * index + 1, &f->at) ||
		!list_number(t, window, 2 * index + 2, &f->end) || f->start >= f->end ||
		f->at >= t->size - t->functions)
		return false;
	f->start += t->text;
	f->end += t->text;
	f->at += t->functions;
	return true;
}

/* The offset of a word of a function. */
static uint64_t word_of(const struct go_table *t, const struct function *f, unsigned word)
{
	return f->at + address_size(t) + 4U * word;
}

/* Adds a function whose name is at an offset of the names. */
static int add_function(struct symtab *symbols, const struct function *f, uint64_t name)
{
	uint64_t low = f->start - symbols->base;

	if (f->start < symbols->base || low > UINT32_MAX || name >= 1U << 30)
		return 0;
	return vec_push(&symbols->entries,
		(struct symtab_entry){
			.low = (uint32_t)low,
			.name = name & 0x3fffffff,
			.table = symbols->tables & 3,
			.size = MIN(f->end - f->start, (1ULL << 28) - 1) & ((1U << 28) - 1),
		});
}

/* Where the names end, as far as it is known: the tables after them are not kept in memory. */
static uint64_t end_of_names(const struct go_table *t)
{
	return t->units > t->names ? t->units : t->size;
}

int go_table_add(struct symtab *symbols, const struct elf *elf)
{
	struct go_table *t _cleanup_free_ = malloc(sizeof(*t));
	int r = 0;

	if (!t)
		return base_oom();
	if (symbols->tables == SYMTAB_MAX_TABLES || !go_table_open(elf, t))
		return 0;
	if (!symbols->tables)
		symbols->base = symtab_base(elf, 0);
	symbols->strings[symbols->tables] = (struct symtab_strings){
		.source = t->source,
		.offset = t->offset + t->names,
		.size = end_of_names(t) - t->names,
	};
	for (uint64_t i = 0; r == 0 && i < t->n && symbols->entries.n < SYMTAB_MAX_SYMBOLS; i++) {
		struct function f;
		uint64_t name;

		if (function_at(t, &t->numbers, i, &f) &&
			number_at(t, &t->strings, word_of(t, &f, WORD_NAME), 4, &name))
			r = add_function(symbols, &f, name);
	}
	symbols->tables++;
	return r;
}

/* ---- lines ---- */

/* The function with an address. The list is sorted; in another one none is found. */
static bool find_function(struct go_table *t, uint64_t vaddr, struct function *f)
{
	uint64_t low = 0, n = t->n, start;

	if (vaddr < t->text)
		return false;
	while (n > 1) {
		uint64_t half = n / 2;

		if (!list_number(t, &t->numbers, 2 * (low + half), &start))
			return false;
		low = start <= vaddr - t->text ? low + half : low;
		n -= half;
	}
	return function_at(t, &t->numbers, low, f) && f->start <= vaddr && vaddr < f->end;
}

/* The bytes of the values of a function. */
struct values {
	struct go_table *table;
	uint64_t at, end;
};

/* The next number in LEB128 of at most 32 bits; false at the end. */
static bool next_number(struct values *v, uint32_t *ret_number)
{
	struct go_table *t = v->table;
	uint32_t number = 0;
	uint8_t byte;

	for (unsigned shift = 0; shift < 35; shift += 7) {
		if (v->at >= v->end || !byte_window_read(&t->values_window, &t->source,
					       t->offset + v->at, &byte, 1))
			return false;
		v->at++;
		number |= (uint32_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*ret_number = number;
			return true;
		}
	}
	return false;
}

/*
 * The value at an address of a function, of values whose offset a word says. Each is stored as its
 * difference from the one before, of which the lowest bit is the sign, and the length of its code;
 * a difference of 0 ends the list. The first one is relative to -1.
 */
static bool value_at(struct go_table *t, const struct function *f, uint64_t word, uint64_t vaddr,
	int32_t *ret_value)
{
	struct values v = {.table = t};
	uint32_t value = UINT32_MAX, change, length;
	uint64_t at, address = f->start;

	if (!number_at(t, &t->numbers, word, 4, &at) || !at || at >= t->size - t->values)
		return false;
	v.at = t->values + at;
	v.end = v.at + MIN(t->size - v.at, (uint64_t)VALUES_MAX);
	for (bool first = true; next_number(&v, &change); first = false) {
		if ((!change && !first) || !next_number(&v, &length))
			return false;
		value += change & 1 ? ~(change >> 1) : change >> 1;
		address += (uint64_t)length * t->quantum;
		if (vaddr < address) {
			*ret_value = (int32_t)value;
			return true;
		}
	}
	return false;
}

/* Where the path of a file is in the section. */
static bool find_path(struct go_table *t, const struct function *f, uint32_t file, uint64_t *ret_at)
{
	uint64_t unit, at;

	if (t->layout == GO_1_2)
		return t->files && number_at(t, &t->numbers, t->files + 4ULL * file, 4, ret_at);
	if (!number_at(t, &t->numbers, word_of(t, f, WORD_UNIT), 4, &unit) ||
		!number_at(t, &t->numbers, t->units + 4 * (unit + file), 4, &at) || at == NONE)
		return false;
	*ret_at = t->files + at;
	return true;
}

/* Sets the file and line of an address. */
static bool find_line(
	struct go_table *t, const struct function *f, uint64_t vaddr, struct go_frame *frame)
{
	int32_t file, line;

	if (!value_at(t, f, word_of(t, f, WORD_FILES), vaddr, &file) ||
		!value_at(t, f, word_of(t, f, WORD_LINES), vaddr, &line) || file < 0 || line < 0)
		return false;
	frame->line = (uint32_t)line;
	return find_path(t, f, (uint32_t)file, &frame->file);
}

/* ---- inlined functions ---- */

/* Words of the description of a module, before which it has the address of the table. */
enum { MODULE_NAMES = 1, MODULE_UNITS = 4, MODULE_FILES = 7, MODULE_FUNCTIONS = 38 };

/* Which of the values and data after the words of a function are about inlining. */
enum { VALUES_INLINED = 2, DATA_INLINED = 3 };

/* Whether the description of the module is at an address: it has addresses of the tables. */
static bool is_module(const struct elf *elf, const struct go_table *t, uint64_t vaddr)
{
	return address_at(elf, vaddr + 8 * MODULE_NAMES) == t->address + t->names &&
	       address_at(elf, vaddr + 8 * MODULE_UNITS) == t->address + t->units &&
	       address_at(elf, vaddr + 8 * MODULE_FILES) == t->address + t->files;
}

/* What is left of a search: a hostile file has many sections, and places that look right. */
struct budget {
	uint64_t bytes;
	unsigned tries;
};

/* The address of the description of the module in data; 0: it is not there. */
static uint64_t find_module(const struct elf *elf, const struct go_table *t,
	const struct elf_section *data, struct budget *left)
{
	struct byte_window window = {0};
	uint64_t value;

	for (uint64_t i = 0; i < data->size / 8 && left->bytes && left->tries; i++) {
		left->bytes -= 8;
		if (!byte_window_read(
			    &window, &t->source, data->offset + 8 * i, &value, sizeof(value)))
			break;
		if (value != t->address)
			continue;
		left->tries--;
		if (is_module(elf, t, data->addr + 8 * i))
			return data->addr + 8 * i;
	}
	return 0;
}

/* The same if a relocation puts the address of the table there. */
static uint64_t find_relocated_module(
	const struct elf *elf, const struct go_table *t, struct budget *left)
{
	struct relocations relocations;
	Elf64_Rela r;

	open_relocations(&relocations, elf);
	for (uint64_t i = 0; left->tries && read_relocation(&relocations, i, &r); i++) {
		if ((uint64_t)r.r_addend != t->address)
			continue;
		left->tries--;
		if (is_module(elf, t, r.r_offset))
			return r.r_offset;
	}
	return 0;
}

void go_table_open_inlined(const struct elf *elf, struct go_table *t)
{
	/* Go 1.20 has the addresses of counters before it. */
	unsigned word = MODULE_FUNCTIONS + (t->layout >= GO_1_20 ? 2 : 0);
	struct budget left = {.bytes = DATA_BYTES, .tries = TRIES_MAX};
	uint64_t module = 0, offset;

	if (t->layout < GO_1_18 || t->pointer != 8)
		return;
	vec_each (&elf->sections, section)
		if (!module && section->type == SHT_PROGBITS && section->flags & SHF_WRITE)
			module = find_module(elf, t, section, &left);
	module = module ?: find_relocated_module(elf, t, &left);
	if (module && elf_file_offset(elf, address_at(elf, module + 8ULL * word), &offset))
		t->inlined = offset;
}

/* A call that was inlined: the name of the function, and where code of the caller is. */
struct call {
	uint64_t name, caller;
};

/*
 * Behind the words of a function: one with the number of its data in the last byte, the offsets of
 * further values, and the offsets of its data.
 */
static uint64_t behind_words(const struct go_table *t, const struct function *f)
{
	return word_of(t, f, t->layout >= GO_1_20 ? 10 : 9);
}

/* The offset in the file of the inlined calls of a function. */
static bool find_calls(struct go_table *t, const struct function *f, uint64_t *ret_at)
{
	uint64_t behind = behind_words(t, f), n_values, flags, at;
	uint32_t word;
	uint8_t bytes[4];

	if (!t->inlined || !number_at(t, &t->numbers, word_of(t, f, WORD_VALUES), 4, &n_values) ||
		!number_at(t, &t->numbers, behind - 4, 4, &flags))
		return false;
	word = (uint32_t)flags;
	memcpy(bytes, &word, sizeof(bytes));
	if (n_values <= VALUES_INLINED || bytes[3] <= DATA_INLINED ||
		!number_at(t, &t->numbers, behind + 4 * (n_values + DATA_INLINED), 4, &at) ||
		at == NONE)
		return false;
	*ret_at = t->inlined + at;
	return true;
}

/* The innermost call with the code at an address that was inlined. */
static bool find_call(
	struct go_table *t, const struct function *f, uint64_t vaddr, struct call *ret_call)
{
	bool is_new = t->layout >= GO_1_20;
	uint64_t at, word = behind_words(t, f) + 4 * VALUES_INLINED;
	uint32_t fields[2]; /* the name, and the caller's code from the start of the function */
	int32_t number;

	if (!find_calls(t, f, &at) || !value_at(t, f, word, vaddr, &number) || number < 0)
		return false;
	at += (uint64_t)number * (is_new ? 16 : 20) + (is_new ? 4 : 12);
	if (!byte_window_read(&t->strings, &t->source, at, fields, sizeof(fields)))
		return false;
	*ret_call = (struct call){.name = t->names + fields[0], .caller = f->start + fields[1]};
	return true;
}

static uint64_t name_of(struct go_table *t, const struct function *f)
{
	uint64_t name;

	return number_at(t, &t->numbers, word_of(t, f, WORD_NAME), 4, &name) ? t->names + name : 0;
}

size_t go_table_find(struct go_table *table, uint64_t vaddr, struct go_frame *frames, size_t max)
{
	bool inlined = true;
	struct function f;
	size_t n = 0;

	if (!find_function(table, vaddr, &f))
		return 0;
	while (inlined && n < MIN(max, (size_t)GO_FRAMES_MAX)) {
		struct go_frame frame = {0};
		struct call call;

		if (!find_line(table, &f, vaddr, &frame))
			break;
		inlined = find_call(table, &f, vaddr, &call);
		frame.name = inlined ? call.name : name_of(table, &f);
		frame.inlined = inlined;
		frames[n++] = frame;
		vaddr = inlined ? call.caller : vaddr;
	}
	if (n)
		frames[n - 1].inlined = false;
	return n;
}

bool go_table_text(struct go_table *table, uint64_t text, struct buf *to)
{
	for (size_t i = 0; i < TEXT_MAX && text + i < table->size; i++) {
		char c;

		if (!byte_window_read(
			    &table->strings, &table->source, table->offset + text + i, &c, 1))
			return false;
		if (!c)
			return i && !buf_failed(to);
		buf_char(to, c);
	}
	return false;
}
