/* SPDX-License-Identifier: MIT */
#include "symbol/kernel_module.h"

#include <fts.h>

#include "base/file.h"
#include "elf/kernel_notes.h"
#include "symbol/kernel_file.h"
#include "symbol/symbols.h"

enum {
	MODULES_MAX = 4096,
	NAME_MAX_BYTES = 64, /* of a module, as in the kernel */
	ADDRESS_BYTES = 64,  /* of a file with an address */
	DEPTH_MAX = 16,      /* of folders below the folder of the modules */
};

/* ---- where the file is ---- */

/* Whether a file belongs to module "a_b": a-b.ko or, in some distributions, a-b.ko.debug */
static bool is_file_of(const char *file, const char *name)
{
	size_t i = 0;

	for (; name[i]; i++)
		if ((file[i] == '-' ? '_' : file[i]) != name[i])
			return false;
	return !strcmp(file + i, ".ko") || !strcmp(file + i, ".ko.debug");
}

static bool has_lines(void *ctx, const struct elf *elf)
{
	return elf->relocatable && elf_section_named(elf, ".debug_info");
}

/* Looks through the folders below ROOT/lib/modules/RELEASE, without following links. */
static int try_folders(const struct kernel_file *wanted, const char *root, size_t n)
{
	struct buf folder _cleanup_(buf_done) = {0}, path _cleanup_(buf_done) = {0};
	char *folders[2] = {NULL};
	int fd = -ENOENT;
	FTSENT *entry;
	FTS *fts;

	buf_add(&folder, root, n);
	buf_printf(&folder, "/lib/modules/%s", wanted->names.release);
	if (buf_failed(&folder))
		return -ENOENT;
	folders[0] = folder.data;
	fts = fts_open(folders, FTS_PHYSICAL | FTS_NOCHDIR | FTS_NOSTAT, NULL);
	while (fts && fd < 0 && (entry = fts_read(fts))) {
		if (entry->fts_level > DEPTH_MAX)
			fts_set(fts, entry, FTS_SKIP);
		if (!is_file_of(entry->fts_name, wanted->name))
			continue;
		buf_reset(&path);
		buf_str(&path, entry->fts_path);
		fd = kernel_file_try(wanted, &path);
	}
	if (fts)
		fts_close(fts);
	return fd;
}

static int try_root(const struct kernel_file *wanted, const char *root, size_t n)
{
	int fd = kernel_file_try_id(wanted, root, n);

	return fd < 0 ? try_folders(wanted, root, n) : fd;
}

static int find_file(struct attar_symbols *symbols, const struct kernel_file *wanted)
{
	int fd = kernel_file_try_debug_path(symbols, wanted, try_root);

	if (fd < 0)
		fd = try_folders(wanted, "", 0);
	return fd < 0 ? kernel_file_download(symbols, wanted) : fd;
}

/* ---- where the kernel has put it ---- */

/* The address of a section of a module; 0: unknown, or hidden from this user. */
static uint64_t section_start(const char *module, const char *section)
{
	struct buf path _cleanup_(buf_done) = {0}, text _cleanup_(buf_done) = {0};

	if (strchr(section, '/'))
		return 0;
	buf_printf(&path, "/sys/module/%s/sections/%s", module, section);
	if (buf_failed(&path) || file_read(buf_text(&path), ADDRESS_BYTES, &text) < 0)
		return 0;
	return strtoull(buf_text(&text), NULL, 16);
}

static int add_section(
	struct kernel_module *module, const char *name, const struct elf *elf, size_t index)
{
	const struct elf_section *section = &elf->sections.at[index];
	uint64_t start;

	if (section->addr < ELF_PLACE || section->name >= elf->section_names_size)
		return 0;
	start = section_start(name, elf->section_names + section->name);
	if (!start)
		return 0;
	return vec_push(&module->sections,
		(struct module_section){
			.start = start, .size = section->size, .vaddr = section->addr});
}

static int add_sections(struct kernel_module *module, const char *name, int fd)
{
	struct byte_source source;
	struct elf elf;
	int r = byte_source_file(fd, &source);

	if (r == 0)
		r = elf_init(&elf, &source);
	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < elf.sections.n; i++)
		r = add_section(module, name, &elf, i);
	elf_done(&elf);
	return r;
}

/* name: as in /sys/module */
static void kernel_module_find(
	struct attar_symbols *symbols, struct kernel_module *module, const char *name)
{
	struct kernel_file wanted = {.name = name, .fits = has_lines};
	int fd;

	wanted.id_size = kernel_notes_module(name, wanted.id);
	if (wanted.id_size < 2 || uname(&wanted.names) < 0)
		return;
	fd = find_file(symbols, &wanted);
	if (fd < 0)
		return;
	if (add_sections(module, name, fd) == 0 && module->sections.n)
		module->number = kernel_file_add(symbols, fd);
	close(fd);
}

/* ---- look-ups ---- */

/* The name without its brackets. False if it does not name a module. */
static bool plain_name(const char *owner, char name[NAME_MAX_BYTES])
{
	size_t n = strlen(owner);

	if (n < 3 || n - 2 >= NAME_MAX_BYTES || owner[0] != '[' || owner[n - 1] != ']' ||
		strchr(owner, '/') || owner[1] == '.')
		return false;
	memcpy(name, owner + 1, n - 2);
	name[n - 2] = '\0';
	return true;
}

static struct kernel_module *kernel_module_add(struct attar_symbols *symbols, const char *owner)
{
	struct kernel_module module = {0};
	char name[NAME_MAX_BYTES];

	if (symbols->modules.list.n >= MODULES_MAX || !plain_name(owner, name))
		return NULL;
	module.name = strdup(owner);
	if (!module.name || vec_push(&symbols->modules.list, module) < 0) {
		free(module.name);
		return NULL;
	}
	kernel_module_find(symbols, &symbols->modules.list.at[symbols->modules.list.n - 1], name);
	attar_error_clear();
	return &symbols->modules.list.at[symbols->modules.list.n - 1];
}

static struct kernel_module *module_named(struct attar_symbols *symbols, const char *owner)
{
	vec_each (&symbols->modules.list, module)
		if (!strcmp(module->name, owner))
			return module;
	return kernel_module_add(symbols, owner);
}

struct dso *kernel_module_of(struct attar_symbols *symbols, const char *owner, uint64_t *address)
{
	struct kernel_module *module;
	struct dso *dso;

	if (!symbols->kernel.path)
		return NULL;
	module = module_named(symbols, owner);
	if (!module || !module->number)
		return NULL;
	vec_each (&module->sections, section) {
		if (*address < section->start || *address - section->start >= section->size)
			continue;
		dso = symbols_load(symbols, dsos_get(&symbols->dsos, module->number));
		*address = *address - section->start + section->vaddr;
		return dso;
	}
	return NULL;
}

void kernel_modules_done(struct kernel_modules *modules)
{
	vec_each (&modules->list, module) {
		free(module->name);
		vec_done(&module->sections);
	}
	vec_done(&modules->list);
}
