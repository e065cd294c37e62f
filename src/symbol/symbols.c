/* SPDX-License-Identifier: MIT */
#include "symbol/symbols.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "attar/private/symbol.h"
#include "base/check_arg.h"
#include "base/file_limit.h"
#include "base/option_struct.h"
#include "base/proc.h"
#include "base/proc_memory.h"
#include "symbol/address_space.h"
#include "symbol/dso_load.h"
#include "symbol/reader.h"
#include "symbol/maps.h"

enum { SYMBOL_BYTES_MAX = 256 << 20, SOURCE_BYTES_MAX = 64 << 20, NAMES_MIN = 1 << 20 };
enum { VDSO_BYTES_MAX = 1 << 20 };

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
	free(symbols->java);
	free(symbols->debug_path);
	free(symbols->kallsyms_path);
	free(symbols);
	return NULL;
}

bool symbols_cancel(struct attar_symbols *symbols)
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

struct kernel *symbols_kernel_of(struct attar_symbols *symbols, const struct dso *dso)
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

void symbols_limit_bytes(struct attar_symbols *symbols, struct dso *used)
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
	symbols_limit_bytes(symbols, dso_tables(dso));
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
		symbols_limit_bytes(symbols, dso);
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

void symbols_keep_jit(struct attar_symbols *symbols, struct jit *jit)
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
		symbols_keep_jit(symbols, &dso->jit);
}

static int find_own_vdso(void *ctx, const struct attar_mapping *mapping, bool executable)
{
	struct attar_mapping *found = ctx;

	if (executable && !strcmp(mapping->path, "[vdso]"))
		*found = *mapping;
	return 0;
}

static int read_vdso(pid_t pid, uint64_t start, void *bytes, size_t n)
{
	ssize_t got = proc_memory_read(proc_with_memory(pid), start, bytes, n);

	if (got < 0)
		return file_limit_fail((int)-got, "cannot read the memory of process %d", pid);
	return got == (ssize_t)n ? 0
				 : attar_fail(-EIO, "short read of the memory of process %d", pid);
}

/*
 * A copy of the 64-bit image (the same in every process: ours is read), or of the mapping [start,
 * end) of process pid if compat is true. Returns 0 or a negative errno; the caller frees the copy.
 */
static int vdso_copy(
	bool compat, pid_t pid, uint64_t start, uint64_t end, uint8_t **ret_image, size_t *ret_size)
{
	struct attar_mapping own = {0};
	uint8_t *image _cleanup_free_ = NULL;
	int r;

	if (!compat) {
		pid = getpid();
		r = maps_read(pid, find_own_vdso, &own);
		if (r < 0)
			return r;
		start = own.start;
		end = own.start + own.len;
	}
	if (end <= start || end - start > VDSO_BYTES_MAX)
		return attar_fail(-ENOENT, "no [vdso] mapping was found");
	image = malloc(end - start);
	if (!image)
		return base_oom();
	r = read_vdso(pid, start, image, end - start);
	if (r < 0)
		return r;
	*ret_size = end - start;
	*ret_image = TAKE_PTR(image);
	return 0;
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

int symbols_add_ksymbol(struct attar_symbols *symbols, uint16_t dso, uint64_t address, uint32_t len,
	const char *name)
{
	struct kernel *kernel = symbols_kernel_of(symbols, dsos_get(&symbols->dsos, dso));
	size_t n = strcspn(name, "\t");
	const char *copy = string_pool_add(&symbols->names, name, n);
	const char *owner = NULL;

	if (copy && name[n])
		owner = string_pool_add(&symbols->names, name + n + 1, strlen(name + n + 1));
	if (!copy || (name[n] && !owner))
		return base_oom();
	return kernel_add(kernel, &(struct kernel_symbol){address, len, copy, owner});
}

int symbols_ksymbol(struct attar_symbols *symbols, uint64_t addr, uint32_t len, const char *name,
	bool unregister)
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

void symbols_get_stats(const struct attar_symbols *symbols, struct attar_symbols_stats *ret_stats)
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

/* ---- files ---- */

static int identify(const char *path, struct dso_key *key)
{
	struct elf_file file;
	struct stat st;
	int r = elf_file_open(&file, path);

	if (r < 0)
		return r;
	r = fstat(file.fd, &st) < 0 ? -errno : 0;
	if (r < 0)
		attar_fail(r, "cannot read %s: %s", CLIP(path), strerror(-r));
	else if (file.elf.end > file.elf.source.size)
		r = attar_fail(-EBADMSG,
			"cannot read %s: it is truncated: its section headers would end at byte "
			"%llu, but it has only %llu bytes",
			CLIP(path), (unsigned long long)file.elf.end,
			(unsigned long long)file.elf.source.size);
	elf_file_close(&file);
	if (r < 0)
		return r;
	key->dev = (uint64_t)major(st.st_dev) << 32 | minor(st.st_dev);
	key->ino = st.st_ino;
	return 0;
}

int symbols_find_file(struct attar_symbols *symbols, const char *path, attar_location *ret_file)
{
	CHECK_ARG(symbols, "symbols");
	CHECK_ARG(path, "path");
	CHECK_ARG(ret_file, "ret_file");

	struct dso_key key = {.kind = ATTAR_DSO_IS_FILE};
	char *real _cleanup_free_ = realpath(path, NULL);
	uint16_t number;
	int r = identify(path, &key);

	if (r < 0)
		return r;
	if (!real)
		return base_oom();
	key.path = real;
	number = dsos_intern(&symbols->dsos, &key);
	if (number == ATTAR_DSO_FULL)
		return attar_fail(-ENOSPC, "no more files: the table of binaries is full");
	if (!number)
		return base_oom();
	dsos_get(&symbols->dsos, number)->kept = true;
	symbols_load(symbols, dsos_get(&symbols->dsos, number));
	*ret_file = (uint64_t)number << 48;
	return 0;
}
