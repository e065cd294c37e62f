/* SPDX-License-Identifier: MIT */
#include "symbol/vdso.h"

#include "base/file_limit.h"
#include "base/proc.h"
#include "base/proc_memory.h"
#include "symbol/maps.h"

enum { MAX_IMAGE = 1 << 20 };

static int find_own(void *ctx, const struct attar_mapping *mapping, bool executable)
{
	struct attar_mapping *found = ctx;

	if (executable && !strcmp(mapping->path, "[vdso]"))
		*found = *mapping;
	return 0;
}

static int read_memory(pid_t pid, uint64_t start, void *bytes, size_t n)
{
	ssize_t got = proc_memory_read(proc_with_memory(pid), start, bytes, n);

	if (got < 0)
		return file_limit_fail((int)-got, "cannot read the memory of process %d", pid);
	return got == (ssize_t)n ? 0
				 : attar_fail(-EIO, "short read of the memory of process %d", pid);
}

int vdso_copy(
	bool compat, pid_t pid, uint64_t start, uint64_t end, uint8_t **ret_image, size_t *ret_size)
{
	struct attar_mapping own = {0};
	uint8_t *image _cleanup_free_ = NULL;
	int r;

	if (!compat) {
		pid = getpid();
		r = maps_read(pid, find_own, &own);
		if (r < 0)
			return r;
		start = own.start;
		end = own.start + own.len;
	}
	if (end <= start || end - start > MAX_IMAGE)
		return attar_fail(-ENOENT, "no [vdso] mapping was found");
	image = malloc(end - start);
	if (!image)
		return base_oom();
	r = read_memory(pid, start, image, end - start);
	if (r < 0)
		return r;
	*ret_size = end - start;
	*ret_image = TAKE_PTR(image);
	return 0;
}
