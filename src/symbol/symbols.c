/* SPDX-License-Identifier: MIT */
#include "symbol/symbols.h"

#include <stdio.h>

#include "base/check_arg.h"
#include "base/file_limit.h"
#include "base/option_struct.h"
#include "base/radix.h"
#include "elf/demangle.h"
#include "symbol/address_space.h"
#include "symbol/dso_load.h"
#include "symbol/reader.h"
#include "symbol/vdso.h"

enum {
	LABEL_BYTES_MAX = 1 << 20,
	SYMBOL_BYTES_MAX = 256 << 20,
	SOURCE_BYTES_MAX = 64 << 20,
	NAMES_MIN = 1 << 20
};

int attar_symbols_new(const struct attar_symbols_opts *opts, struct attar_symbols **ret_symbols)
{
	CHECK_ARG(ret_symbols, "ret_symbols");

	struct attar_symbols_opts o = {0};
	struct attar_symbols *symbols;
	int r = option_struct_take(&o, sizeof(o), opts);

	if (r < 0)
		return r;
	symbols = calloc(1, sizeof(*symbols));
	if (!symbols)
		return base_oom();
	r = dsos_init(&symbols->dsos, o.max_dsos);
	if (r < 0) {
		free(symbols);
		return r;
	}
	symbols->mangled = o.mangled;
	symbols->own_in_process = o.own_in_process;
	symbols->max_open = o.max_open_files ?: file_limit_for_cache();
	symbols->sources.max_bytes = o.max_source_bytes ?: SOURCE_BYTES_MAX;
	symbols->max_bytes = o.max_symbol_bytes ?: SYMBOL_BYTES_MAX;
	symbols->names.max = MAX(symbols->max_bytes / 2, (size_t)NAMES_MIN);
	symbols->names.max = MIN(symbols->names.max, (size_t)STRING_POOL_MAX_BYTES);
	symbols->debug_path = strdup(o.debug_path ?: "/usr/lib/debug");
	symbols->kallsyms_path = strdup(o.kallsyms_path ?: "/proc/kallsyms");
	if (!symbols->debug_path || !symbols->kallsyms_path) {
		attar_symbols_free(symbols);
		return base_oom();
	}
	if (!o.no_kernel)
		symbols->kernel.path = symbols->kallsyms_path;
	*ret_symbols = symbols;
	return 0;
}

struct attar_symbols *attar_symbols_free(struct attar_symbols *symbols)
{
	if (!symbols)
		return NULL;
	kernel_done(&symbols->kernel);
	kernel_modules_done(&symbols->modules);
	dsos_done(&symbols->dsos);
	string_pool_done(&symbols->names);
	intern_done(&symbols->labels);
	symbol_sources_done(&symbols->sources);
	data_symbols_done(&symbols->data);
	debuginfod_done(&symbols->debuginfod);
	free(symbols->unwind_cache);
	stored_free(symbols->stored);
	readers_free(symbols->readers);
	map_done(&symbols->symbols);
	map_done(&symbols->plain);
	free(symbols->debug_path);
	free(symbols->kallsyms_path);
	free(symbols);
	return NULL;
}

bool attar_symbols_cancel(struct attar_symbols *symbols)
{
	struct attar_symbols *beside;

	if (!symbols)
		return false;
	beside = __atomic_load_n(&symbols->beside, __ATOMIC_RELAXED);
	return debuginfod_cancel(&symbols->debuginfod) ||
	       (beside && debuginfod_cancel(&beside->debuginfod));
}

size_t symbols_build_id(
	const struct attar_symbols *symbols, attar_location location, const uint8_t **ret_id)
{
	const struct dso *dso = dsos_get(&symbols->dsos, attar_location_dso(location));

	if (dso->stored) {
		*ret_id = dso->stored->build_id;
		return dso->stored->build_id_size;
	}
	if (dso->key.kind != ATTAR_DSO_IS_FILE || dso->state == DSO_LOST)
		return 0;
	*ret_id = dso->build_id;
	return dso->build_id_size;
}

struct cfi_table *symbols_cfi(const struct attar_address_space *space, attar_location location)
{
	struct dso *dso = dsos_get(&space->symbols->dsos, attar_location_dso(location));
	struct dso_search where = {.key = &dso->key};
	int fd _cleanup_close_ = -1;

	if (dso->cfi_read)
		return dso_cfi(dso);
	if (dso->stored && dso->stored->has_cfi) {
		dso->cfi_read = true;
		dso->cfi = dso->stored->cfi;
		dso->stored->cfi = (struct cfi_table){0};
		return &dso->cfi;
	}
	if (dso->key.kind != ATTAR_DSO_IS_FILE && dso->key.kind != ATTAR_DSO_IS_VDSO) {
		dso->cfi_read = true;
		return &dso->cfi;
	}
	memcpy(where.pids, space->pids, sizeof(where.pids));
	if (dso->fd < 0 && !dso->image)
		fd = symbols_file(space->symbols, &where);
	dso_load_cfi(dso, fd, &space->symbols->dsos);
	return dso_cfi(dso);
}

void symbols_cache_kernel(struct attar_symbols *symbols)
{
	symbols->kernel.cache = geteuid() == 0 ? "/run/attar" : NULL;
}

void symbols_allow_kernel(struct attar_symbols *symbols)
{
	symbols->kernel.path = symbols->kallsyms_path;
}

int symbols_set_kernel(struct attar_symbols *symbols, const char *kallsyms, size_t n)
{
	return kernel_add_list(&symbols->kernel, kallsyms, n);
}

int symbols_add_kernel(
	struct attar_symbols *symbols, const char *kallsyms, size_t n, uint16_t *ret_dso)
{
	const struct dso_key key = {.kind = ATTAR_DSO_IS_KERNEL,
		.owner = (uint32_t)symbols->dsos.at.n,
		.path = "[kernel.kallsyms]"};
	struct dso *dso;

	*ret_dso = dsos_intern(&symbols->dsos, &key);
	if (*ret_dso < DSO_FIXED) /* no numbers are left */
		return 0;
	dso = dsos_get(&symbols->dsos, *ret_dso);
	dso->kept = true;
	dso->kernel = calloc(1, sizeof(*dso->kernel));
	return dso->kernel ? kernel_add_list(dso->kernel, kallsyms, n) : base_oom();
}

static struct kernel *kernel_of(struct attar_symbols *symbols, const struct dso *dso)
{
	return dso->kernel ?: &symbols->kernel;
}

/* A file whose functions have no names. */
static bool is_lost(const struct dso *dso)
{
	return dso->key.kind == ATTAR_DSO_IS_FILE && dso->state == DSO_LOST && !dso->stored &&
	       !dso->apart.shown;
}

static bool is_replaced(const struct dso *dso)
{
	return is_lost(dso) && dso->error == -ESTALE;
}

const struct dso *symbols_lost_file(const struct attar_symbols *symbols, bool replaced)
{
	vec_each (&symbols->dsos.at, dso)
		if (is_lost(*dso) && is_replaced(*dso) == replaced)
			return *dso;
	return NULL;
}

/* ---- the memory of symbols ---- */

static void drop_symbols(struct attar_symbols *symbols, struct dso *dso)
{
	if (dso->key.kind == ATTAR_DSO_IS_JIT) { /* its file is read again on the next lookup */
		jit_drop(&dso->jit);
		return;
	}
	symbols->open -= dso_files(dso);
	reader_dso_done(&dso->apart);
	symtab_done(&dso->table);
	dso->unread = DSO_UNREAD_NONE;
	vec_done(&dso->segments);
	dso_close(dso);
	dso->state = DSO_NEW;
	dso->tries = 0;
	dso->dropped = true;
}

static void count_bytes(struct attar_symbols *symbols, struct dso *dso)
{
	size_t bytes = symtab_bytes(&dso->table) + jit_bytes(&dso->jit);

	symbols->bytes += bytes - dso->bytes;
	dso->bytes = bytes;
}

static bool is_droppable(const struct dso *dso)
{
	return dso->bytes &&
	       (dso->key.kind == ATTAR_DSO_IS_JIT ||
		       (dso->key.kind == ATTAR_DSO_IS_FILE && dso->state == DSO_LOADED));
}

/*
 * After the symbols of `used` were read: drops those of others, the oldest first, until the limit
 * is met. They are read again when needed, from the path of the file.
 */
static void limit_bytes(struct attar_symbols *symbols, struct dso *used)
{
	size_t n = symbols->dsos.at.n;

	count_bytes(symbols, used);
	for (size_t seen = 0;
		symbols->bytes + symbols->names.bytes > symbols->max_bytes && seen < n; seen++) {
		struct dso *dso = symbols->dsos.at.at[symbols->oldest_symbols++ % n];

		if (dso == used || !is_droppable(dso))
			continue;
		drop_symbols(symbols, dso);
		count_bytes(symbols, dso);
	}
}

void symbols_identify(struct attar_symbols *symbols, const struct attar_mapping *before,
	const struct attar_mapping *now)
{
	struct dso_key old, new;
	char *path _cleanup_free_ = dso_key_of_file(before, &old),
		   *same _cleanup_free_ = dso_key_of_file(now, &new);
	struct dso *dso = path && same ? dsos_find(&symbols->dsos, &old) : NULL;

	if (!dso)
		return;
	dsos_change_key(&symbols->dsos, dso, &new);
	source_close(symbols, dso);
	drop_symbols(symbols, dso);
	count_bytes(symbols, dso);
	map_reset(&symbols->symbols); /* it has names of the other file */
	dso->dropped = false;
	dso->twin = NULL;
	dso->stored = NULL;
	symbols_use_stored(symbols, dso);
	symbols->last_location = symbols->last_key = 0;
}

/* False: readers cannot be started. */
static bool load_apart(
	struct attar_symbols *symbols, struct dso *dso, struct debuginfod *server, int root)
{
	if (readers_load(symbols, dso, server, root) < 0 && dso->state == DSO_LOST)
		log_debug("cannot read symbols of %s: %s", dso->key.path, dso_lost_reason(dso));
	attar_error_clear();
	if (dso->state == DSO_LOST) {
		symbols->open -= dso_files(dso);
		dso_close(dso);
	}
	return dso->state != DSO_OPEN;
}

/* server: NULL while events arrive, which must not wait for a download. */
static void load(struct attar_symbols *symbols, struct dso *dso, struct debuginfod *server)
{
	if (dso->state != DSO_OPEN)
		return;
	if (readers_want(symbols, dso) && load_apart(symbols, dso, server, -1))
		return;
	symbols->open -= dso_files(dso);
	if (dso_load(dso, symbols->debug_path, server, &symbols->dsos) < 0)
		log_debug("%s", attar_error());
	if (dso->unfit_debug)
		source_add_missing(
			&symbols->sources, SOURCE_PART_LINK, dso->unfit_debug, dso->unfit_reason);
	symbols->open += dso_files(dso);
	limit_bytes(symbols, dso_tables(dso));
}

/* Makes room for an open file: reads the names of the oldest DSO and closes its file. */
static void make_room(struct attar_symbols *symbols)
{
	size_t n = symbols->dsos.at.n;

	for (size_t seen = 0; symbols->open + symbols->jits >= symbols->max_open && seen < n;
		seen++) {
		struct dso *dso = symbols->dsos.at.at[symbols->oldest++ % n];

		load(symbols, dso, NULL);
		if (!dso_files(dso))
			continue;
		dso_read_all(dso);
		symbols->open -= dso_files(dso);
		dso_close(dso);
		limit_bytes(symbols, dso);
	}
}

void symbols_load_open(struct attar_symbols *symbols, struct dso *dso, bool is_foreign)
{
	make_room(symbols);
	if (is_foreign && dso->debug_fd < 0)
		dso_find_debugfile_in(dso, symbols->debug_path, &symbols->dsos, FILE_OPENER_ROOT);
	symbols->open += dso_files(dso);
	load(symbols, dso, &symbols->debuginfod);
}

/* The reader looks for a debug file in the root directory of the process, while that is there. */
static bool find_foreign_apart(
	struct attar_symbols *symbols, struct dso *dso, const struct dso_search *where)
{
	int root _cleanup_close_ = -1;

	if (!readers_want(symbols, dso))
		return false;
	for (int i = 0; i < DSO_SEARCH_PIDS && where->pids[i] && root < 0; i++) {
		root = dso_open_root(where->pids[i]);
		if (root >= 0 && !dso_is_foreign(where->pids[i]))
			return true;
	}
	return root < 0 || load_apart(symbols, dso, NULL, root);
}

static void open_file(
	struct attar_symbols *symbols, struct dso *dso, const struct dso_search *where)
{
	int fd;

	make_room(symbols);
	fd = symbols_file(symbols, where);
	dso_note_place(&dso->origin, where->pids, DSO_SEARCH_PIDS);
	if (fd < 0) {
		dso->tries++;
		dso->error = fd;
		dso->state = DSO_LOST;
		log_debug("cannot read symbols of %s: %s", dso->key.path, dso_lost_reason(dso));
		return;
	}
	dso->fd = fd;
	dso_note_owner(&dso->origin, fd, &dso->key);
	dso->state = DSO_OPEN;
	dso->debug_fd = kept_files_open_debug(symbols->kept, &dso->key);
	symbols->open += dso_files(dso);
	if (dso->debug_fd >= 0 || find_foreign_apart(symbols, dso, where))
		return;
	dso_find_foreign_debugfile(dso, symbols->debug_path, where);
	symbols->open += dso->debug_fd >= 0;
}

/*
 * The files of JIT code may be half of the open files, or all if they have jitdumps; others are
 * opened for each lookup.
 */
static void keep_jit(struct attar_symbols *symbols, struct jit *jit)
{
	if (!jit_is_open(jit))
		return;
	if (symbols->jits < symbols->max_open / 2)
		symbols->jits++;
	else
		jit_close(jit);
}

static void open_jit(struct attar_symbols *symbols, struct dso *dso)
{
	dso->state = DSO_LOST;
	dso->tries++;
	dso_note_place(&dso->origin, &dso->jit.pid, 1);
	if (!jit_is_open(&dso->jit) && symbols_open_jit(symbols, &dso->jit) == 0)
		keep_jit(symbols, &dso->jit);
}

static void open_vdso(
	const struct attar_symbols *symbols, struct dso *dso, const struct dso_search *where)
{
	if (!symbols->kernel.path) /* it belongs to the kernel */
		return;
	dso->state = DSO_OPEN;
	if (vdso_copy(dso->key.owner == 32, where->pids[0], where->start, where->end, &dso->image,
		    &dso->image_size) >= 0)
		return;
	log_debug("cannot read symbols of the vdso: %s", attar_error());
	dso->state = DSO_LOST;
	dso->tries++;
}

static void open_dso(struct attar_symbols *symbols, struct dso *dso, const struct dso_search *where)
{
	bool wanted =
		dso->state == DSO_NEW || (dso->state == DSO_LOST && dso->tries < DSO_MAX_TRIES);

	if (wanted && dso->key.kind == ATTAR_DSO_IS_FILE)
		open_file(symbols, dso, where);
	else if (wanted && dso->key.kind == ATTAR_DSO_IS_VDSO)
		open_vdso(symbols, dso, where);
	else if (wanted && dso->key.kind == ATTAR_DSO_IS_JIT)
		open_jit(symbols, dso);
}

void symbols_open(struct attar_symbols *symbols, struct dso *dso, const struct dso_search *where)
{
	symbols_use_stored(symbols, dso);
	if (!dso->stored)
		open_dso(symbols, dso, where);
}

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

	if (!kernel_find(kernel_of(symbols, dso), address, &hit))
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
		keep_jit(symbols, &dso->jit);
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
		keep_jit(symbols, &dso->jit);
	limit_bytes(symbols, dso);
	return raw ? 0 : -ENOENT;
}

static void load_own(struct attar_symbols *symbols, struct dso *dso)
{
	struct dso_search no_server = {.key = &dso->key};

	if (dso->state == DSO_LOADED)
		return;
	open_dso(symbols, dso, &no_server);
	load(symbols, dso, &symbols->debuginfod);
}

struct dso *symbols_load(struct attar_symbols *symbols, struct dso *dso)
{
	if (likely(dso->state == DSO_LOADED && !dso->twin))
		return dso;
	load_own(symbols, dso);
	if (!dso->twin)
		return dso;
	load_own(symbols, dso->twin); /* they may have been dropped */
	if (dso->twin->state == DSO_LOADED && !dso->twin->twin)
		return dso->twin;
	dso->twin = NULL;
	dso->state = DSO_NEW;
	load_own(symbols, dso);
	return dso_tables(dso);
}

/* The symbol that contains an address. */
static bool find_in_file(
	struct attar_symbols *symbols, struct dso *dso, uint64_t vaddr, size_t *ret_index)
{
	bool read, found = dso_find(dso, vaddr, ret_index, &read);

	if (read)
		limit_bytes(symbols, dso);
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

int symbols_add_ksymbol(struct attar_symbols *symbols, uint16_t dso, uint64_t address, uint32_t len,
	const char *name)
{
	struct kernel *kernel = kernel_of(symbols, dsos_get(&symbols->dsos, dso));
	size_t n = strcspn(name, "\t");
	const char *copy = string_pool_add(&symbols->names, name, n);
	const char *owner = NULL;

	if (copy && name[n])
		owner = string_pool_add(&symbols->names, name + n + 1, strlen(name + n + 1));
	if (!copy || (name[n] && !owner))
		return base_oom();
	return kernel_add(kernel, &(struct kernel_symbol){address, len, copy, owner});
}

int attar_symbols_ksymbol(struct attar_symbols *symbols, uint64_t addr, uint32_t len,
	const char *name, bool unregister)
{
	CHECK_ARG(symbols, "symbols");
	CHECK_ARG(name, "name");

	/* Keep the symbol: earlier stacks may still refer to it. */
	return unregister ? 0 : symbols_add_ksymbol(symbols, ATTAR_DSO_KERNEL, addr, len, name);
}

static void count_source(const struct dso *dso, struct attar_symbols_stats *stats)
{
	struct debug_info_stats source;

	if (!dso->source)
		return;
	debug_info_get_stats(dso->source, &source);
	stats->sources_read += source.units_read;
	stats->sources_dropped += source.units_dropped;
}

void attar_symbols_get_stats(
	const struct attar_symbols *symbols, struct attar_symbols_stats *ret_stats)
{
	CHECK_ARG_OR(symbols, "symbols", );
	CHECK_ARG_OR(ret_stats, "ret_stats", );

	struct attar_symbols_stats stats = {
		.dsos_refused = symbols->dsos.refused,
		.mappings_refused = symbols->ranges_refused,
		.sources_read = symbols->sources.closed.units_read,
		.sources_dropped = symbols->sources.closed.units_dropped,
	};

	for (size_t i = 0; i < symbols->dsos.at.n; i++) {
		const struct dso *dso = symbols->dsos.at.at[i];

		stats.dsos += dso->state != DSO_FREE;
		count_source(dso, &stats);
		if (dso->key.kind != ATTAR_DSO_IS_FILE)
			continue;
		stats.files_read +=
			!dso->twin && !dso->apart.is_twin &&
			(dso->state == DSO_LOADED || (dso->state == DSO_NEW && dso->dropped));
		stats.files_replaced += is_replaced(dso);
		stats.files_unreadable += dso->apart.shown || (is_lost(dso) && !is_replaced(dso));
	}
	readers_add_stats(symbols->readers, &stats);
	*ret_stats = stats;
}
