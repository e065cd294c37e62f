/* SPDX-License-Identifier: MIT */
#include "sections/functions.h"

#include <stdio.h>

#include "base/buf.h"
#include "elf/kernel_notes.h"

void functions_init(struct functions *f, struct attar_symbols *symbols)
{
	*f = (struct functions){.symbols = symbols};
}

void functions_done(struct functions *f)
{
	intern_done(&f->texts);
	vec_done(&f->all);
	map_done(&f->by_location);
	map_done(&f->by_start);
	map_done(&f->separate);
	map_done(&f->at);
	vec_done(&f->numbers);
	map_done(&f->by_name);
	map_done(&f->by_address);
}

void location_text(
	struct attar_symbols *symbols, attar_location location, char text[LOCATION_TEXT_MAX])
{
	enum attar_dso_kind kind;
	const char *path = attar_symbols_dso(symbols, location, &kind);
	const char *slash = strrchr(path, '/');

	snprintf(text, LOCATION_TEXT_MAX, "%.255s+0x%llx", slash ? slash + 1 : path,
		(unsigned long long)location & 0xffffffffffffULL);
}

static int functions_add(
	struct functions *f, const struct function *fn, struct map *map, uint64_t key)
{
	if (vec_push(&f->all, *fn) < 0 || map_put(map, key, f->all.n - 1) < 0)
		return base_oom();
	f->has_mixed |= fn->mixed;
	return (int)(f->all.n - 1);
}

/* The number of the function with this name and address in this DSO; adds a new one. */
static int enter(struct functions *f, struct function fn)
{
	uint64_t key, *found;

	fn.name = intern_text(&f->texts, fn.name);
	fn.dso = intern_text(&f->texts, fn.dso);
	fn.plain = fn.plain ? intern_text(&f->texts, fn.plain) : fn.name;
	if (fn.file)
		fn.file = intern_text(&f->texts, fn.file) ?: "";
	if (!fn.name || !fn.dso || !fn.plain)
		return base_oom();
	key = base_hash64((uintptr_t)fn.name) ^ (uintptr_t)fn.dso;
	found = map_get(&f->by_name, key);
	fn.row = found ? (uint32_t)*found : (uint32_t)f->all.n;
	if (!found)
		return functions_add(f, &fn, &f->by_name, key);
	if (f->all.at[fn.row].address == fn.address || fn.kind == ATTAR_DSO_IS_JIT)
		return (int)fn.row;
	key = base_hash64(key ^ base_hash64(fn.address));
	found = map_get(&f->by_address, key);
	return found ? (int)*found : functions_add(f, &fn, &f->by_address, key);
}

/* Bytes as hexadecimal digits; NULL if there are none. */
static const char *hex_text(struct functions *f, const uint8_t *bytes, size_t n)
{
	char text[2 * 20 + 1] = "";

	for (size_t i = 0; i < MIN(n, (size_t)20); i++) {
		text[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
		text[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
	}
	return n ? intern_text(&f->texts, text) : NULL;
}

/* NULL if the names of kernel functions are of another kernel than the running one. */
static const char *kernel_build_id(struct functions *f)
{
	uint8_t id[ELF_MAX_BUILD_ID];

	const uint8_t *stored = NULL;
	size_t n;

	if (symbols_are_stored(f->symbols)) {
		n = symbols_build_id(f->symbols, attar_location_kernel(0), &stored);
		return hex_text(f, stored, n);
	}
	if (!f->symbols->kernel.path)
		return NULL;
	if (!f->kernel_build_id)
		f->kernel_build_id = hex_text(f, id, kernel_notes_build_id(id)) ?: "";
	return *f->kernel_build_id ? f->kernel_build_id : NULL;
}

/* The build ID of a function's DSO; NULL: unknown. */
static const char *build_id_of(
	struct functions *f, attar_location location, const struct attar_symbol *sym)
{
	const uint8_t *id;
	size_t n;

	if (sym->kind == ATTAR_DSO_IS_KERNEL)
		return attar_location_dso(location) != ATTAR_DSO_KERNEL ||
				       strcmp(sym->dso, "[kernel.kallsyms]")
			       ? NULL
			       : kernel_build_id(f);
	n = symbols_build_id(f->symbols, location, &id);
	return n ? hex_text(f, id, n) : NULL;
}

/* The number of the function of a symbol, which may be the number for all locations without one. */
static int enter_symbol(
	struct functions *f, attar_location location, const struct attar_symbol *sym, bool named)
{
	bool in_file = sym->kind == ATTAR_DSO_IS_FILE || sym->kind == ATTAR_DSO_IS_VDSO;
	size_t before = f->all.n;
	int number = enter(f, (struct function){.name = named ? sym->name : "[unknown]",
				      .dso = sym->dso,
				      .address = named ? sym->start : 0,
				      .kind = sym->kind,
				      .named = named,
				      .mixed = !named && in_file});

	if (named && number >= (int)before)
		f->all.at[number].build_id = build_id_of(f, location, sym);
	return number;
}

static int lookup(struct functions *f, attar_location location)
{
	uint64_t *known = map_get(&f->separate, location);
	struct attar_symbol sym;
	bool named, is_fixed;
	int number;

	if (known)
		return (int)*known;
	named = attar_symbols_resolve(f->symbols, location, &sym) == 0;
	is_fixed = named && sym.kind != ATTAR_DSO_IS_JIT;
	known = is_fixed ? map_get(&f->by_start, location - sym.offset) : NULL;
	if (known)
		return (int)*known;
	number = enter_symbol(f, location, &sym, named);
	if (is_fixed && number >= 0 &&
		map_put(&f->by_start, location - sym.offset, (uint64_t)number) < 0)
		return base_oom();
	return number;
}

int functions_enter(struct functions *f, attar_location location)
{
	int number = lookup(f, location);

	if (f->by_location.n >= FUNCTIONS_LOCATIONS_MAX)
		map_reset(&f->by_location);
	if (number >= 0 && map_put(&f->by_location, location, (uint64_t)number) < 0)
		return base_oom();
	return number;
}

/* "measure shapes.cc:26", "area shapes.cc:11 (inlined)" */
static void write_name(struct functions *f, const struct attar_frame *named,
	const struct attar_frame *line, struct buf *name)
{
	const char *slash = line->file ? strrchr(line->file, '/') : NULL;

	buf_str(name, named->name ?: "[unknown]");
	if (f->symbols->show_lines && line->file)
		buf_printf(name, " %s:%u", slash ? slash + 1 : line->file, line->line);
	if (named->inlined)
		buf_str(name, " (inlined)");
}

/* Adds the number of a function that is named by a frame, with the line of another. */
static int add_number(struct functions *f, attar_location location, const struct attar_frame *named,
	const struct attar_frame *line)
{
	struct buf name _cleanup_(buf_done) = {0};
	const struct function *plain;
	int number = functions_of(f, location);

	if (number < 0)
		return number;
	plain = &f->all.at[number];
	if (named->inlined || (named->name && plain->named)) {
		write_name(f, named, line, &name);
		number = enter(f, (struct function){.name = buf_text(&name),
					  .dso = plain->dso,
					  .build_id = plain->build_id,
					  .address = plain->address,
					  .kind = plain->kind,
					  .plain = named->name ?: "[unknown]",
					  .file = f->symbols->show_lines ? line->file : NULL,
					  .line = f->symbols->show_lines ? line->line : 0,
					  .inlined = named->inlined,
					  .named = true});
	}
	return number < 0 ? number : vec_push(&f->numbers, (uint32_t)number);
}

static int add_functions(struct functions *f, attar_location location)
{
	struct attar_frame frames[FUNCTIONS_INLINED_MAX];
	bool all = f->symbols->show_inlined;
	int n = attar_symbols_frames(f->symbols, location, frames, FUNCTIONS_INLINED_MAX), r;

	n = MIN(n, (int)FUNCTIONS_INLINED_MAX);
	r = n < 0 ? n : vec_push(&f->numbers, (uint32_t)(all ? n : 1));
	for (int i = 0; r == 0 && i < (all ? n : 1); i++)
		r = add_number(f, location, &frames[all ? i : n - 1], &frames[i]);
	return r;
}

int functions_with_lines(struct functions *f, attar_location location, const uint32_t **ret_numbers)
{
	const uint64_t *found = map_get(&f->at, location);
	size_t start = found ? *found : f->numbers.n;

	if (!found && (add_functions(f, location) < 0 || map_put(&f->at, location, start) < 0))
		return -ENOMEM;
	*ret_numbers = f->numbers.at + start + 1;
	return (int)f->numbers.at[start];
}

int functions_no_stack(struct functions *f)
{
	return enter(f, (struct function){.name = "[no stack]", .dso = "[unknown]"});
}

int functions_separate(struct functions *f, attar_location location)
{
	enum attar_dso_kind kind;
	const char *dso = attar_symbols_dso(f->symbols, location, &kind);
	char name[LOCATION_TEXT_MAX];
	int number;

	if (f->separate.n >= FUNCTIONS_SEPARATE_MAX)
		return 0;
	location_text(f->symbols, location, name);
	number = enter(f, (struct function){.name = name, .dso = dso, .kind = kind});
	if (number < 0 || map_put(&f->separate, location, (uint64_t)number) < 0 ||
		map_put(&f->by_location, location, (uint64_t)number) < 0)
		return base_oom();
	map_remove(&f->at, location);
	return 1;
}
