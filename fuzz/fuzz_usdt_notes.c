/* SPDX-License-Identifier: MIT */
/*
 * The section .note.stapsdt of a file. Probes must be in the file's code, and what is written to
 * tracefs must be one line without a second command.
 */
#include <ctype.h>
#include <stdio.h>
#include <sys/mman.h>

#include "../tests/unit/usdt_file.h"
#include "base/file.h"
#include "event/usdt_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_name(const char *name)
{
	if (!*name)
		abort();
	for (; *name; name++)
		if (!isgraph((unsigned char)*name) || strchr(":,/{}\"'", *name))
			abort();
}

static void check(const struct usdt_location *l)
{
	check_name(l->provider);
	check_name(l->name);
	for (const char *p = l->fetch; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr(" =%:+-()@\\", *p))
			abort();
	if (l->offset < USDT_FILE_CODE || l->offset >= USDT_FILE_CODE + USDT_FILE_CODE_SIZE)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf file _cleanup_(buf_done) = {0};
	struct usdt_table table = {0};
	int fd _cleanup_close_ = memfd_create("notes", MFD_CLOEXEC);
	char path[64];

	usdt_file_make(&file, data, size);
	if (fd < 0 || buf_failed(&file) || file_write_all(fd, file.data, file.len) < 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	usdt_table_add(&table, path, "*", "*");
	usdt_table_sort(&table);
	vec_each (&table.locations, l)
		check(l);
	usdt_table_done(&table);
	return 0;
}
