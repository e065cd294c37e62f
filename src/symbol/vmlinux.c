/* SPDX-License-Identifier: MIT */
#include "symbol/vmlinux.h"

#include "elf/function.h"
#include "elf/kallsyms_text.h"
#include "elf/kernel_notes.h"
#include "symbol/kernel_file.h"
#include "symbol/symbols.h"

/* The same symbol in kallsyms and in the file: the start of the code, on all architectures. */
static const char start_of_code[] = "_stext";

/* Takes the address of the start of the code. */
static bool has_start(void *ctx, const struct elf *elf)
{
	return elf_symbol_address(elf, start_of_code, ctx);
}

static int try_root(const struct kernel_file *wanted, const char *root, size_t n)
{
	int fd = kernel_file_try_id(wanted, root, n);

	if (fd < 0)
		fd = kernel_file_try_release(wanted, root, n, "/boot/vmlinux-", "");
	if (fd < 0)
		fd = kernel_file_try_release(wanted, root, n, "/lib/modules/", "/vmlinux");
	return fd;
}

static int find_file(struct attar_symbols *symbols, const struct kernel_file *wanted)
{
	int fd = kernel_file_try_debug_path(symbols, wanted, try_root);

	if (fd < 0)
		fd = kernel_file_try_release(wanted, "", 0, "/lib/modules/", "/build/vmlinux");
	if (fd < 0)
		fd = kernel_file_try_release(wanted, "", 0, "/boot/vmlinux-", "");
	return fd < 0 ? kernel_file_download(symbols, wanted) : fd;
}

static int find_start(void *ctx, const struct kallsyms_line *line)
{
	uint64_t *address = ctx;

	if (line->owner || line->name_len != strlen(start_of_code) ||
		memcmp(line->name, start_of_code, line->name_len) != 0)
		return 0;
	*address = line->address;
	return 1;
}

static void vmlinux_find(struct attar_symbols *symbols)
{
	uint64_t address = 0, linked = 0;
	struct kernel_file wanted = {.name = "the kernel", .fits = has_start, .ctx = &linked};
	int fd;

	if (kallsyms_each(symbols->kernel.path, find_start, &address) < 0 || !address)
		return;
	wanted.id_size = kernel_notes_build_id(wanted.id);
	if (wanted.id_size < 2 || uname(&wanted.names) < 0)
		return;
	fd = find_file(symbols, &wanted);
	if (fd < 0)
		return;
	symbols->vmlinux.slide = address - linked;
	symbols->vmlinux.number = kernel_file_add(symbols, fd);
	close(fd);
}

struct dso *vmlinux_of(struct attar_symbols *symbols, uint64_t *ret_slide)
{
	struct vmlinux *vmlinux = &symbols->vmlinux;
	struct dso *dso;

	if (!symbols->kernel.path)
		return NULL;
	if (!vmlinux->is_sought) {
		vmlinux->is_sought = true;
		vmlinux_find(symbols);
		attar_error_clear();
	}
	if (!vmlinux->number)
		return NULL;
	dso = symbols_load(symbols, dsos_get(&symbols->dsos, vmlinux->number));
	*ret_slide = vmlinux->slide;
	return dso;
}
