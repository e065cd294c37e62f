/* SPDX-License-Identifier: MIT */
#include "symbol/dso_load.h"

#include <fcntl.h>

#include "dwarf/cfi.h"
#include "elf/go_table.h"
#include "elf/plt.h"
#include "symbol/debugfile.h"

enum { PARTS_MAX = 4 }; /* reading one takes about a tenth of the time of all symbols */

static const struct elf_segment *first_load(const struct elf *elf)
{
	vec_each (&elf->segments, segment)
		if (segment->type == PT_LOAD)
			return segment;
	return NULL;
}

/* prelink(8) relocated binaries but not their debug files. */
uint64_t dso_bias(const struct elf *elf, const struct elf *debug)
{
	const struct elf_segment *ours = first_load(elf), *theirs = first_load(debug);

	return ours && theirs ? ours->vaddr - theirs->vaddr : 0;
}

static int add_typed(struct symtab *table, const struct elf *elf, uint32_t type, uint64_t bias)
{
	const struct elf_section *section = elf_section_typed(elf, type);

	return section ? symtab_add(table, elf, section, bias) : 0;
}

/* Where to find the debug file of a DSO. */
struct debug_search {
	const char *roots;
	struct debuginfod *server; /* NULL: none */
	struct dsos *dsos;         /* where one with the same contents may be */
};

static int open_debugfile(
	struct dso *dso, const struct elf *elf, const struct debug_search *where, int root)
{
	struct buf unfit _cleanup_(buf_done) = {0};
	int fd = debugfile_open(&(struct debugfile){.elf = elf,
		.path = dso->key.path,
		.roots = where->roots,
		.root = root,
		.server = where->server,
		.opener = where->dsos ? where->dsos->opener : NULL,
		.unfit = &unfit,
		.reason = &dso->unfit_reason});

	free(dso->unfit_debug);
	dso->unfit_debug = fd < 0 && unfit.len ? buf_take(&unfit) : NULL;
	return fd;
}

static int init_elf(const struct dso *dso, struct elf *elf)
{
	struct byte_source source = {.fd = -1, .memory = dso->image, .size = dso->image_size};
	int r = dso->image ? 0 : byte_source_file(dso->fd, &source);

	return r < 0 ? r : elf_init(elf, &source);
}

/* Opens the debug file of a binary, for as long as its dso->debug_fd is open. */
static int init_debug_elf(const struct dso *dso, struct elf *debug)
{
	struct byte_source source;

	return dso->debug_fd >= 0 && byte_source_file(dso->debug_fd, &source) >= 0 &&
			       elf_init(debug, &source) >= 0
		       ? 0
		       : -ENOENT;
}

static bool has_functions(const struct elf *elf)
{
	const struct elf_section *section = elf_section_typed(elf, SHT_SYMTAB);

	return section && symtab_has_functions(elf, section);
}

static bool has_debugfile(struct dso *dso, const struct elf *elf, const struct debug_search *where)
{
	struct elf debug;
	bool found;

	if (dso->debug_fd < 0 && !dso->image)
		dso->debug_fd = open_debugfile(dso, elf, where, AT_FDCWD);
	if (init_debug_elf(dso, &debug) < 0)
		return false;
	found = has_functions(&debug);
	elf_done(&debug);
	return found;
}

/* .gnu_debugdata has the functions that are not in the dynamic symbol table. */
static int add_unpacked(struct symtab *table, const struct elf *elf)
{
	uint8_t *image _cleanup_free_ = NULL;
	struct byte_source source = {.fd = -1};
	struct elf small;
	size_t size;
	int r;

	if (debugfile_unpack(elf, &image, &size) < 0)
		return 0;
	source.memory = image;
	source.size = size;
	if (elf_init(&small, &source) < 0)
		return 0;
	r = add_typed(table, &small, SHT_SYMTAB, dso_bias(elf, &small));
	elf_done(&small);
	return r < 0 ? r : symtab_keep_names(table);
}

/* The functions of a binary without a symbol table. */
static int add_others(struct symtab *table, const struct elf *elf)
{
	int r = add_unpacked(table, elf);

	if (r >= 0)
		r = go_table_add(table, elf);
	if (r >= 0)
		r = add_typed(table, elf, SHT_DYNSYM, 0);
	return r < 0 ? r : plt_add(table, elf);
}

/* Other files of the same contents have the same symbols, if they are in the same place. */
static bool find_twin(struct dso *dso, struct dsos *dsos)
{
	dso->twin = dsos ? dsos_share(dsos, dso, DSO_SHARED_SYMBOLS + dso->unread) : NULL;
	return dso->twin;
}

static int find_symbols(struct dso *dso, const struct elf *elf, const struct debug_search *where)
{
	int r;

	dso->parts = 0;
	dso->unread = has_functions(elf)               ? DSO_UNREAD_FILE
		      : has_debugfile(dso, elf, where) ? DSO_UNREAD_DEBUG_FILE
						       : DSO_UNREAD_NONE;
	if (find_twin(dso, where->dsos)) {
		dso->unread = DSO_UNREAD_NONE;
		return 0;
	}
	if (dso->unread)
		return 0;
	r = add_others(&dso->table, elf);
	if (r >= 0)
		symtab_finish(&dso->table);
	return r;
}

static int add_debugfile(struct dso *dso, const struct elf *elf)
{
	struct elf debug;
	int r;

	if (init_debug_elf(dso, &debug) < 0)
		return 0;
	r = add_typed(&dso->table, &debug, SHT_SYMTAB, dso_bias(elf, &debug));
	elf_done(&debug);
	return r;
}

/* Adds the symbols that find_symbols() has found. */
static int add_symbols(struct dso *dso)
{
	struct elf elf = {0};
	int r = init_elf(dso, &elf);

	if (r >= 0)
		r = dso->unread == DSO_UNREAD_FILE ? add_typed(&dso->table, &elf, SHT_SYMTAB, 0)
						   : add_debugfile(dso, &elf);
	if (r >= 0)
		r = plt_add(&dso->table, &elf);
	elf_done(&elf);
	return r;
}

/* Reads the table again: a part around an address, or all. */
static void read_table(struct dso *dso, const uint64_t *around)
{
	symtab_done(&dso->table);
	if (around)
		symtab_set_part(&dso->table, *around);
	if (add_symbols(dso) < 0) {
		log_debug("cannot read symbols of %s: %s", dso->key.path, attar_error());
		attar_error_clear();
	}
	symtab_finish(&dso->table);
}

void dso_read_all(struct dso *dso)
{
	if (dso->unread)
		read_table(dso, NULL);
	dso->unread = DSO_UNREAD_NONE;
}

bool dso_find(struct dso *dso, uint64_t vaddr, size_t *ret_index, bool *ret_read)
{
	*ret_read = dso->unread && (!dso->parts || !symtab_covers(&dso->table, vaddr));
	if (*ret_read && dso->parts < PARTS_MAX) {
		dso->parts++;
		read_table(dso, &vaddr);
	}
	if (*ret_read && !symtab_covers(&dso->table, vaddr))
		dso_read_all(dso);
	return symtab_find(&dso->table, vaddr, ret_index);
}

/* A separate debug file has no code: places beyond its end stand for the addresses. */
static struct elf_segment with_places(const struct elf *elf, const struct elf_segment *segment)
{
	struct elf_segment placed = *segment;

	if (!placed.filesz && placed.flags & PF_X) {
		placed.offset = elf->source.size + placed.vaddr - symtab_base(elf, 0);
		placed.filesz = placed.memsz;
	}
	return placed;
}

/* Executable segments first: most look-ups are of code. */
static int keep_segments(struct dso *dso, const struct elf *elf)
{
	for (int executable = 1; executable >= 0; executable--)
		vec_each (&elf->segments, segment)
			if (segment->type == PT_LOAD && !!(segment->flags & PF_X) == executable &&
				vec_push(&dso->segments, with_places(elf, segment)) < 0)
				return base_oom();
	return 0;
}

/* The mapping's record may contain a build ID. */
static int check_build(const struct dso *dso, const struct elf *elf)
{
	uint8_t id[ELF_MAX_BUILD_ID];
	size_t n;

	if (!dso->key.build_id_size)
		return 0;
	n = elf_build_id(elf, id);
	if (n == dso->key.build_id_size && !memcmp(id, dso->key.build_id, n))
		return 0;
	return attar_fail(-ESTALE, "the build ID of the file differs from that of the mapping");
}

static void identify(struct dso *dso, const struct elf *elf)
{
	dso->build_id_size = (uint8_t)elf_build_id(elf, dso->build_id);
	dso->file_size = elf->source.size;
}

static int load_elf(struct dso *dso, const struct elf *elf, const struct debug_search *where)
{
	int r = check_build(dso, elf);

	identify(dso, elf);
	dso->placed = elf->relocatable ? ELF_PLACE : 0;
	if (r >= 0)
		r = keep_segments(dso, elf);
	return r < 0 ? r : find_symbols(dso, elf, where);
}

int dso_load(struct dso *dso, const char *debug_path, struct debuginfod *server, struct dsos *dsos)
{
	const struct debug_search where = {.roots = debug_path, .server = server, .dsos = dsos};
	struct elf elf = {0};
	int r = init_elf(dso, &elf);

	if (r >= 0)
		r = load_elf(dso, &elf, &where);
	elf_done(&elf);
	dso->state = r < 0 ? DSO_LOST : DSO_LOADED;
	if (r < 0) {
		dso->tries = DSO_MAX_TRIES;
		dso->error = r;
	}
	if (r < 0 || (!dso->unread && !dso->table.entries.n)) { /* also if it has a twin */
		symtab_done(&dso->table);
		dso_close(dso);
	}
	return r < 0 ? attar_context(r, "cannot read symbols of %s", dso->key.path) : 0;
}

/* Reads it, unless another file of the same contents has it. */
static int open_cfi(struct dso *dso, const struct elf *elf, struct dsos *dsos)
{
	int r = check_build(dso, elf);

	if (r < 0)
		return r;
	identify(dso, elf);
	dso->cfi_twin = dsos ? dsos_share(dsos, dso, DSO_SHARED_CFI) : NULL;
	return dso->cfi_twin ? 0 : cfi_open(elf, &dso->cfi);
}

void dso_load_cfi(struct dso *dso, int fd, struct dsos *dsos)
{
	struct byte_source source = {.fd = -1, .memory = dso->image, .size = dso->image_size};
	struct elf elf = {0};
	int r = 0;

	if (dso->cfi_read)
		return;
	dso->cfi_read = true;
	if (!dso->image)
		r = byte_source_file(dso->fd >= 0 ? dso->fd : fd, &source);
	if (r >= 0)
		r = elf_init(&elf, &source);
	if (r >= 0)
		r = open_cfi(dso, &elf, dsos);
	if (r < 0)
		log_debug("cannot read the call frame information of %s: %s", dso->key.path,
			attar_error());
	elf_done(&elf);
	attar_error_clear();
}

void dso_find_debugfile_in(struct dso *dso, const char *debug_path, struct dsos *dsos, int root)
{
	const struct debug_search where = {.roots = debug_path, .dsos = dsos};
	struct byte_source source;
	struct elf elf;

	if (byte_source_file(dso->fd, &source) < 0 || elf_init(&elf, &source) < 0)
		return;
	if (!elf_section_typed(&elf, SHT_SYMTAB))
		dso->debug_fd = open_debugfile(dso, &elf, &where, root);
	elf_done(&elf);
}

void dso_find_foreign_debugfile(
	struct dso *dso, const char *debug_path, const struct dso_search *where)
{
	for (int i = 0; i < DSO_SEARCH_PIDS && where->pids[i]; i++) {
		int root _cleanup_close_ = dso_open_root(where->pids[i]);

		if (root < 0)
			continue;
		if (dso_is_foreign(where->pids[i]))
			dso_find_debugfile_in(dso, debug_path, NULL, root);
		return;
	}
}
