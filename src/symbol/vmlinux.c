/* SPDX-License-Identifier: MIT */
#include "symbol/vmlinux.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/utsname.h>

#include "elf/function.h"
#include "elf/kallsyms_text.h"
#include "elf/kernel_notes.h"
#include "symbol/debugfile.h"
#include "symbol/symbols.h"

/* The same symbol in kallsyms and in the file: the start of the code, on all architectures. */
static const char start_of_code[] = "_stext";

/* The running kernel. */
struct identity {
	uint8_t id[ELF_MAX_BUILD_ID];
	size_t id_size;
	struct utsname names;
};

/* An open file that may be the one. */
struct found {
	int fd;
	uint64_t start; /* of its code */
};

static bool fits(const struct identity *wanted, struct found *found)
{
	struct byte_source source;
	uint8_t id[ELF_MAX_BUILD_ID];
	struct elf elf;
	bool same;

	if (byte_source_file(found->fd, &source) < 0 || elf_init(&elf, &source) < 0)
		return false;
	same = elf_build_id(&elf, id) == wanted->id_size &&
	       !memcmp(id, wanted->id, wanted->id_size) &&
	       elf_symbol_address(&elf, start_of_code, &found->start);
	elf_done(&elf);
	return same;
}

/* Takes the fd. */
static bool try_fd(const struct identity *wanted, int fd, struct found *found)
{
	found->fd = fd;
	if (fd >= 0 && fits(wanted, found))
		return true;
	if (fd >= 0)
		close(fd);
	return false;
}

static bool try_path(const struct identity *wanted, const struct buf *path, struct found *found)
{
	int handle _cleanup_close_ = -1;

	if (buf_failed(path))
		return false;
	handle = dso_open_path(AT_FDCWD, buf_text(path), 0);
	return handle >= 0 && try_fd(wanted, dso_reopen(handle), found);
}

/* root + before + the release + after */
static bool try_release(const struct identity *wanted, const char *root, size_t n,
	const char *before, const char *after, struct found *found)
{
	struct buf path _cleanup_(buf_done) = {0};

	buf_add(&path, root, n);
	buf_printf(&path, "%s%s%s", before, wanted->names.release, after);
	return try_path(wanted, &path, found);
}

static bool try_root(const struct identity *wanted, const char *root, size_t n, struct found *found)
{
	struct buf path _cleanup_(buf_done) = {0};

	debugfile_id_path(&path, root, n, wanted->id, wanted->id_size);
	return try_path(wanted, &path, found) ||
	       try_release(wanted, root, n, "/boot/vmlinux-", "", found) ||
	       try_release(wanted, root, n, "/lib/modules/", "/vmlinux", found);
}

static bool find_file(
	struct attar_symbols *symbols, const struct identity *wanted, struct found *found)
{
	for (const char *p = symbols->debug_path; *p; p += strspn(p, ":")) {
		size_t n = strcspn(p, ":");

		if (n && try_root(wanted, p, n, found))
			return true;
		p += n;
	}
	return try_release(wanted, "", 0, "/lib/modules/", "/build/vmlinux", found) ||
	       try_release(wanted, "", 0, "/boot/vmlinux-", "", found) ||
	       try_fd(wanted,
		       debuginfod_open(
			       &symbols->debuginfod, "the kernel", wanted->id, wanted->id_size),
		       found);
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

/* Its path: that of a downloaded file is only known from the descriptor. */
static uint16_t add(struct attar_symbols *symbols, int fd)
{
	char link[64], path[PATH_MAX];
	attar_location location;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 0)
		return 0;
	path[n] = '\0';
	if (attar_symbols_file(symbols, path, &location) < 0)
		return 0;
	return (uint16_t)attar_location_dso(location);
}

static void find(struct attar_symbols *symbols)
{
	struct identity wanted = {0};
	struct found found;
	uint64_t address = 0;

	if (kallsyms_each(symbols->kernel.path, find_start, &address) < 0 || !address)
		return;
	wanted.id_size = kernel_notes_build_id(wanted.id);
	if (wanted.id_size < 2 || uname(&wanted.names) < 0 || !find_file(symbols, &wanted, &found))
		return;
	symbols->vmlinux.slide = address - found.start;
	symbols->vmlinux.number = add(symbols, found.fd);
	close(found.fd);
}

struct dso *vmlinux_of(struct attar_symbols *symbols, uint64_t *ret_slide)
{
	struct vmlinux *vmlinux = &symbols->vmlinux;
	struct dso *dso;

	if (!symbols->kernel.path)
		return NULL;
	if (!vmlinux->is_sought) {
		vmlinux->is_sought = true;
		find(symbols);
		attar_error_clear();
	}
	if (!vmlinux->number)
		return NULL;
	dso = dsos_get(&symbols->dsos, vmlinux->number);
	symbols_load(symbols, dso);
	*ret_slide = vmlinux->slide;
	return dso;
}
