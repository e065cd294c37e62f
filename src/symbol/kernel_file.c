/* SPDX-License-Identifier: MIT */
#include "symbol/kernel_file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>

#include "attar/private/symbol.h"
#include "symbol/debugfile.h"
#include "symbol/symbols.h"

static bool fits(const struct kernel_file *wanted, int fd)
{
	struct byte_source source;
	uint8_t id[ELF_MAX_BUILD_ID];
	struct elf elf;
	bool same;

	if (byte_source_file(fd, &source) < 0 || elf_init(&elf, &source) < 0)
		return false;
	same = elf_build_id(&elf, id) == wanted->id_size &&
	       !memcmp(id, wanted->id, wanted->id_size) && wanted->fits(wanted->ctx, &elf);
	elf_done(&elf);
	return same;
}

/* Takes the fd. */
static int check(const struct kernel_file *wanted, int fd)
{
	if (fd >= 0 && fits(wanted, fd))
		return fd;
	if (fd >= 0)
		close(fd);
	return -ENOENT;
}

int kernel_file_try(const struct kernel_file *wanted, const struct buf *path)
{
	int handle _cleanup_close_ = -1;

	if (buf_failed(path))
		return -ENOENT;
	handle = dso_open_path(AT_FDCWD, buf_text(path), 0);
	return handle < 0 ? -ENOENT : check(wanted, dso_reopen(handle));
}

int kernel_file_try_id(const struct kernel_file *wanted, const char *root, size_t n)
{
	struct buf path _cleanup_(buf_done) = {0};

	debugfile_id_path(&path, root, n, wanted->id, wanted->id_size);
	return kernel_file_try(wanted, &path);
}

int kernel_file_try_release(const struct kernel_file *wanted, const char *root, size_t n,
	const char *before, const char *after)
{
	struct buf path _cleanup_(buf_done) = {0};

	buf_add(&path, root, n);
	buf_printf(&path, "%s%s%s", before, wanted->names.release, after);
	return kernel_file_try(wanted, &path);
}

int kernel_file_try_debug_path(const struct attar_symbols *symbols,
	const struct kernel_file *wanted,
	int (*try_root)(const struct kernel_file *wanted, const char *root, size_t n))
{
	int fd = -ENOENT;

	for (const char *p = symbols->debug_path; fd < 0 && *p; p += strspn(p, ":")) {
		size_t n = strcspn(p, ":");

		if (n)
			fd = try_root(wanted, p, n);
		p += n;
	}
	return fd;
}

int kernel_file_download(struct attar_symbols *symbols, const struct kernel_file *wanted)
{
	return check(wanted,
		debuginfod_open(&symbols->debuginfod, wanted->name, wanted->id, wanted->id_size));
}

/* Its path: the path of a downloaded file is only known from the descriptor. */
uint16_t kernel_file_add(struct attar_symbols *symbols, int fd)
{
	char link[64], path[PATH_MAX];
	attar_location location;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 0)
		return 0;
	path[n] = '\0';
	if (symbols_find_file(symbols, path, &location) < 0)
		return 0;
	return (uint16_t)attar_location_dso(location);
}
