/* SPDX-License-Identifier: MIT */
#include <fcntl.h>

#include "base/file_limit.h"
#include "elf/elf.h"

int elf_file_open_named(struct elf_file *file, const char *path, const char *name)
{
	struct byte_source source;
	int r;

	/* O_NONBLOCK: do not block if path is a FIFO. */
	file->fd = TEMP_FAILURE_RETRY(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
	if (file->fd < 0)
		return file_limit_fail(errno, "cannot open %s", CLIP(name));
	r = byte_source_file(file->fd, &source);
	if (r == 0)
		r = elf_init(&file->elf, &source);
	if (r == 0)
		return 0;
	close(file->fd);
	return r == -ENOEXEC ? attar_fail(-ENOEXEC, "%s is not an ELF file", CLIP(name))
			     : attar_context(r, "cannot read %s", CLIP(name));
}

int elf_file_open(struct elf_file *file, const char *path)
{
	return elf_file_open_named(file, path, path);
}

void elf_file_close(struct elf_file *file)
{
	elf_done(&file->elf);
	close(file->fd);
}
