/* SPDX-License-Identifier: MIT */
/* The symbols of locations, and their names. */
#include <stdio.h>

#include "base/check_arg.h"
#include "base/radix.h"
#include "elf/demangle.h"
#include "symbol/dso_load.h"
#include "symbol/reader.h"
#include "symbol/symbols.h"

enum { LABEL_BYTES_MAX = 1 << 20 };

/*
 * The version suffix in some symbol tables: "memcpy@@GLIBC_2.14". PLT stubs have "@plt", which is
 * not a version.
 */
static size_t version_at(const char *raw)
{
	const char *at = strchr(raw, '@');

	return at && at != raw && strcmp(at, "@plt") ? (size_t)(at - raw) : strlen(raw);
}

static void write_plain(const char *raw, struct buf *plain)
{
	size_t n = strcspn(raw, "@"), whole = version_at(raw);
	char *core _cleanup_free_ = strndup(raw, n);

	if (core && demangle(core, plain))
		buf_add(plain, raw + n, n < whole ? whole - n : 0);
	else
		buf_add(plain, raw, whole);
}

/*
 * A name is in each stack of a report. Of a longer one, what a reader recognizes is at both ends:
 * the function is behind the arguments of templates.
 */
static void shorten_name(struct buf *name)
{
	enum { HASH = 18, SIDE = (PERFMAP_MAX_NAME - HASH) / 2 }; /* "#0123456789abcdef#" */
	char hash[32];

	if (buf_failed(name) || name->len <= PERFMAP_MAX_NAME)
		return;
	snprintf(hash, sizeof(hash), "#%016llx#",
		(unsigned long long)base_hash_bytes(BASE_HASH_START, name->data, name->len));
	memmove(name->data + SIDE + strlen(hash), name->data + name->len - SIDE, SIDE + 1);
	memcpy(name->data + SIDE, hash, strlen(hash));
	name->len = 2 * SIDE + strlen(hash);
}

const char *symbols_plain_name(struct attar_symbols *symbols, const char *raw)
{
	struct buf plain _cleanup_(buf_done) = {0};
	uint64_t *known;
	const char *name;

	if (symbols->mangled || (raw[0] != '_' && !strchr(raw, '@') &&
					strnlen(raw, PERFMAP_MAX_NAME + 1) <= PERFMAP_MAX_NAME))
		return raw;
	known = map_get(&symbols->plain, (uintptr_t)raw);
	if (known)
		return (const char *)(uintptr_t)*known;
	write_plain(raw, &plain);
	shorten_name(&plain);
	name = buf_failed(&plain) || !strcmp(buf_text(&plain), raw)
		       ? raw
		       : string_pool_add(&symbols->names, plain.data, plain.len);
	map_put(&symbols->plain, (uintptr_t)raw, (uintptr_t)(name ?: raw));
	return name ?: raw;
}

static int resolve_kernel(
	struct attar_symbols *symbols, const struct dso *dso, struct attar_symbol *symbol)
{
	uint64_t address = kernel_address(symbol->offset);
	struct kernel_hit hit;

	if (!kernel_find(symbols_kernel_of(symbols, dso), address, &hit))
		return -ENOENT;
	symbol->mangled = hit.name;
	symbol->name = symbols_plain_name(symbols, hit.name);
	symbol->dso = hit.owner;
	symbol->start = hit.start;
	symbol->size = hit.size;
	symbol->offset = address - hit.start;
	return 0;
}

/* The name of a symbol, read from the file on first use. */
static const char *raw_name(
	struct attar_symbols *symbols, uint64_t key, struct symtab *table, size_t index)
{
	struct buf name _cleanup_(buf_done) = {0};
	uint64_t *known = map_get(&symbols->symbols, key);
	const char *raw = NULL;

	if (known)
		return (const char *)(uintptr_t)*known;
	if (symtab_name(table, index, &name) == 0)
		raw = string_pool_add(&symbols->names, name.data, name.len);
	if (raw)
		map_put(&symbols->symbols, key, (uintptr_t)raw);
	return raw;
}

/* Sets both names of a symbol. Addresses are mostly looked up in their order. */
static bool set_names(struct attar_symbols *symbols, unsigned number, struct symtab *table,
	size_t index, struct attar_symbol *symbol)
{
	uint64_t key = (uint64_t)number << 48 | table->entries.at[index].low;

	if (key != symbols->last_key) {
		const char *raw = raw_name(symbols, key, table, index);

		if (!raw)
			return false;
		symbols->last_key = key;
		symbols->last_name = raw;
		symbols->last_plain = symbols_plain_name(symbols, raw);
	}
	symbol->mangled = symbols->last_name;
	symbol->name = symbols->last_plain;
	return true;
}

/*
 * The same for code of a JIT compiler, identified by file and offset, because its index may change.
 */
static const char *jit_raw_name(struct attar_symbols *symbols, unsigned number,
	const struct jit *jit, const struct jit_code *code)
{
	uint64_t file = code->in_dump ? jit->dumps : 0;
	uint64_t key = (uint64_t)number << 48 | file << 32 | code->entry.line,
		 *known = map_get(&symbols->symbols, key);
	struct buf name _cleanup_(buf_done) = {0};
	const char *raw = NULL;

	if (known)
		return (const char *)(uintptr_t)*known;
	if (jit_name(jit, code, &name) == 0)
		raw = string_pool_add(&symbols->names, name.data, name.len);
	if (raw)
		map_put(&symbols->symbols, key, (uintptr_t)raw);
	return raw;
}

/* Of anonymous memory the file that describes it. */
static const char *shown_path(const struct dso *dso)
{
	if (dso->stored && dso->stored->shown)
		return dso->stored->shown;
	if (dso->apart.shown)
		return dso->apart.shown;
	if (dso->jit.dump_path)
		return dso->jit.dump_path;
	return dso->jit.path[0] ? dso->jit.path : dso->key.path;
}

static int resolve_jit_apart(
	struct attar_symbols *symbols, struct dso *dso, struct attar_symbol *symbol, bool kept)
{
	int r;

	symbol->dso = dso->stored ? shown_path(dso) : dso->key.path;
	r = readers_resolve(symbols, dso, symbol);
	if (!kept)
		symbols_keep_jit(symbols, &dso->jit);
	return r;
}

static int resolve_jit(struct attar_symbols *symbols, unsigned number, struct dso *dso,
	struct attar_symbol *symbol)
{
	struct jit_code code;
	const char *raw = NULL;
	bool kept = jit_is_open(&dso->jit);

	if (symbols_open_jit(symbols, &dso->jit) == 0 && readers_want(symbols, dso))
		return resolve_jit_apart(symbols, dso, symbol, kept);
	if (jit_is_open(&dso->jit) && jit_find(&dso->jit, symbol->offset, &code))
		raw = jit_raw_name(symbols, number, &dso->jit, &code);
	/* code that the files do not have may belong to another compiler, or to none */
	symbol->dso = dso->stored ? shown_path(dso) : dso->key.path;
	if (raw) {
		symbol->mangled = raw;
		symbol->name = symbols_plain_name(symbols, raw);
		if (strlen(symbol->name) >
			PERFMAP_MAX_NAME) /* short names can stand for long ones */
			symbol->name = raw;
		symbol->dso = jit_path(&dso->jit, &code);
		symbol->start = code.entry.start;
		symbol->size = code.entry.size;
		symbol->offset -= code.entry.start;
	}
	if (!kept)
		symbols_keep_jit(symbols, &dso->jit);
	symbols_limit_bytes(symbols, dso);
	return raw ? 0 : -ENOENT;
}

/* The symbol that contains an address. */
static bool find_in_file(
	struct attar_symbols *symbols, struct dso *dso, uint64_t vaddr, size_t *ret_index)
{
	bool read, found = dso_find(dso, vaddr, ret_index, &read);

	if (read)
		symbols_limit_bytes(symbols, dso);
	return found;
}

/* The DSO of a location whose symbols a reader has; NULL: none has. */
static struct dso *find_apart(struct attar_symbols *symbols, attar_location location)
{
	struct dso *dso = dsos_get(&symbols->dsos, attar_location_dso(location));

	if (attar_location_dso(location) == ATTAR_DSO_LABEL || dso->stored ||
		(dso->key.kind != ATTAR_DSO_IS_FILE && dso->key.kind != ATTAR_DSO_IS_VDSO))
		return NULL;
	dso = symbols_load(symbols, dso);
	return dso->apart.is_apart && dso->state == DSO_LOADED ? dso : NULL;
}

void symbols_prefetch(struct attar_symbols *symbols, const attar_location *locations, size_t n)
{
	uint32_t *order _cleanup_free_ =
		readers_are_used(symbols) ? radix_order(locations, n) : NULL;
	VEC(uint64_t) offsets = {0};

	for (size_t i = 0, end; order && i < n; i = end) {
		unsigned number = attar_location_dso(locations[order[i]]);
		struct dso *dso = find_apart(symbols, locations[order[i]]);

		offsets.n = 0;
		for (end = i; end < n; end++) {
			attar_location location = locations[order[end]];
			uint64_t offset = location & PLACE_OFFSET;

			if (attar_location_dso(location) != number)
				break;
			if (dso && (!offsets.n || offsets.at[offsets.n - 1] != offset) &&
				!readers_know(dso, offset) && vec_push(&offsets, offset) < 0)
				break;
		}
		if (offsets.n)
			readers_prefetch(symbols, dso, offsets.at, offsets.n);
		end = MAX(end, i + 1);
	}
	vec_done(&offsets);
}

static bool is_trampoline(const char *name)
{
	return strstr(name, "sigreturn") || !strncmp(name, "__restore", 9);
}

/*
 * The byte before the trampoline to which handlers of signals return belongs to it, as in its call
 * frame information: stacks by frame pointers have it as the call of the handler.
 */
static int resolve_file(struct attar_symbols *symbols, struct dso *own, struct attar_symbol *symbol)
{
	struct dso *dso = symbols_load(symbols, own);
	bool is_before = false;
	uint64_t vaddr;
	size_t index;

	if (dso->apart.is_apart)
		return readers_resolve(symbols, dso, symbol);
	if (!elf_vaddr(dso->segments.at, dso->segments.n, symbol->offset, &vaddr))
		return -ENOENT;
	symbols->last_location = 0;
	if (!find_in_file(symbols, dso, vaddr, &index)) {
		is_before = find_in_file(symbols, dso, ++vaddr, &index) &&
			    symtab_start(&dso->table, index) == vaddr;
		if (!is_before)
			return -ENOENT;
	}
	if (!set_names(symbols, dso->number, &dso->table, index, symbol))
		return -ENOENT;
	if (is_before && !is_trampoline(symbol->name)) {
		symbol->name = symbol->mangled = NULL;
		return -ENOENT;
	}
	if (!is_before)
		symbols->last_location = (uint64_t)own->number << 48 | symbol->offset;
	symbols->last_index = index;
	symbol->start = symtab_start(&dso->table, index);
	symbol->size = dso->table.entries.at[index].size;
	symbol->offset = vaddr - symbol->start;
	return 0;
}

attar_location attar_symbols_label(struct attar_symbols *symbols, const char *text)
{
	CHECK_ARG_OR(symbols, "symbols", 0);
	CHECK_ARG_OR(text, "text", 0);

	uint32_t id = 0;

	if (symbols->labels.bytes < LABEL_BYTES_MAX && intern_id(&symbols->labels, text, &id) < 0)
		attar_error_clear();
	return (uint64_t)ATTAR_DSO_LABEL << 48 | id;
}

static int resolve_label(const struct attar_symbols *symbols, attar_location location,
	struct attar_symbol *ret_symbol)
{
	const char *text = intern_get(&symbols->labels, (uint32_t)location);

	*ret_symbol = (struct attar_symbol){
		.name = *text ? text : "[other]", .dso = "", .kind = ATTAR_DSO_IS_LABEL};
	ret_symbol->mangled = ret_symbol->name;
	return 0;
}

int attar_symbols_resolve(
	struct attar_symbols *symbols, attar_location location, struct attar_symbol *ret_symbol)
{
	CHECK_ARG(symbols, "symbols");
	CHECK_ARG(ret_symbol, "ret_symbol");

	unsigned number = attar_location_dso(location);
	const struct stored_place *place;
	struct dso *dso;

	if (number == ATTAR_DSO_LABEL)
		return resolve_label(symbols, location, ret_symbol);
	dso = dsos_get(&symbols->dsos, number);
	*ret_symbol = (struct attar_symbol){
		.offset = location & PLACE_OFFSET,
		.dso = shown_path(dso),
		.kind = dso->key.kind,
	};
	place = stored_find(dso->stored, ret_symbol->offset);
	if (place)
		return stored_resolve(symbols, place, ret_symbol);
	switch (dso->key.kind) {
	case ATTAR_DSO_IS_KERNEL:
		return resolve_kernel(symbols, dso, ret_symbol);
	case ATTAR_DSO_IS_FILE:
	case ATTAR_DSO_IS_VDSO:
		return resolve_file(symbols, dso, ret_symbol);
	case ATTAR_DSO_IS_JIT:
		return resolve_jit(symbols, number, dso, ret_symbol);
	default:
		return -ENOENT;
	}
}

const char *attar_symbols_dso(
	struct attar_symbols *symbols, attar_location location, enum attar_dso_kind *ret_kind)
{
	CHECK_ARG_OR(symbols, "symbols", NULL);
	CHECK_ARG_OR(ret_kind, "ret_kind", NULL);

	const struct dso *dso;

	if (attar_location_dso(location) == ATTAR_DSO_LABEL) {
		*ret_kind = ATTAR_DSO_IS_LABEL;
		return "";
	}
	dso = dsos_get(&symbols->dsos, attar_location_dso(location));
	*ret_kind = dso->key.kind;
	return shown_path(dso);
}
