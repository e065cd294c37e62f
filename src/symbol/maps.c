/* SPDX-License-Identifier: MIT */
#include "symbol/maps.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/ioctl.h>

#include "base/file_limit.h"
#include "base/proc.h"

enum { READ_BYTES = 32 << 10 }; /* more than a path can take, every byte of it escaped */

static const char MEMFD[] = "/memfd:";

static bool starts_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

bool maps_is_memfd(const char *path)
{
	return starts_with(path, MEMFD);
}

bool maps_is_anonymous(const char *path)
{
	static const char *const prefixes[] = {
		"//anon",
		"[heap]",
		"[stack",
		"[anon",
		"/dev/zero",
		MEMFD,
		"/anon_hugepage",
		"/SYSV",
		"anon_inode:",
	};

	if (!*path)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (starts_with(path, prefixes[i]))
			return true;
	return false;
}

static bool hex(char **p, char after, uint64_t *ret_value)
{
	char *end;

	errno = 0;
	*ret_value = strtoull(*p, &end, 16);
	if (end == *p || *end != after || errno)
		return false;
	*p = end + 1;
	return true;
}

/* The kernel writes a newline in a path as \012. */
static void unescape(char *path)
{
	char *to = path;

	for (const char *from = path; *from; to++) {
		bool newline = !strncmp(from, "\\012", 4);

		*to = newline ? '\n' : *from;
		from += newline ? 4 : 1;
	}
	*to = '\0';
}

bool maps_line(char *line, struct attar_mapping *ret_mapping, bool *ret_executable)
{
	struct attar_mapping m = {0};
	uint64_t end, maj, min;
	char *p = line, *perms;

	if (!hex(&p, '-', &m.start) || !hex(&p, ' ', &end) || end <= m.start)
		return false;
	perms = p;
	if (strnlen(p, 5) < 5 || p[4] != ' ')
		return false;
	p += 5;
	if (!hex(&p, ' ', &m.pgoff) || !hex(&p, ':', &maj) || !hex(&p, ' ', &min))
		return false;
	errno = 0;
	m.ino = strtoull(p, &p, 10);
	if (errno)
		return false;
	p += strspn(p, " ");
	unescape(p);
	m.path = p;
	m.len = end - m.start;
	m.maj = (uint32_t)maj;
	m.min = (uint32_t)min;
	*ret_mapping = m;
	*ret_executable = perms[2] == 'x';
	return true;
}

/* Calls fn for each whole line; returns the bytes used, or the negative result of fn. */
static ssize_t each_line(char *text, size_t n, maps_fn *fn, void *ctx)
{
	char *p = text, *newline;

	while ((newline = memchr(p, '\n', n - (size_t)(p - text)))) {
		struct attar_mapping mapping;
		bool executable;

		*newline = '\0';
		if (maps_line(p, &mapping, &executable)) {
			int r = fn(ctx, &mapping, executable);

			if (r < 0)
				return r;
		}
		p = newline + 1;
	}
	return p - text;
}

static int open_maps(pid_t pid)
{
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	fd = TEMP_FAILURE_RETRY(open(name, O_RDONLY | O_CLOEXEC));
	if (fd < 0 && (errno == EACCES || errno == EPERM))
		return attar_fail(-errno,
			"cannot read the mappings of process %d: %s" ATTAR_FIX "%s", pid,
			strerror(errno), proc_access_fix());
	if (fd < 0 && errno == ENOENT)
		return attar_fail(
			-ESRCH, "cannot read the mappings of process %d: no such process", pid);
	if (fd < 0)
		return file_limit_fail(errno, "cannot read the mappings of process %d", pid);
	return fd;
}

static int read_lines(int fd, pid_t pid, maps_fn *fn, void *ctx)
{
	char *chunk _cleanup_free_ = malloc(READ_BYTES);
	size_t kept = 0;

	if (!chunk)
		return base_oom();
	for (;;) {
		ssize_t got = read(fd, chunk + kept, READ_BYTES - kept), used;

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return file_limit_fail(errno, "cannot read /proc/%d/maps", pid);
		if (got == 0)
			return 0;
		used = each_line(chunk, kept + (size_t)got, fn, ctx);
		if (used < 0)
			return (int)used;
		kept += (size_t)got - (size_t)used;
		if (kept == READ_BYTES) /* no line is that long */
			return attar_fail(-EBADMSG, "/proc/%d/maps is not a list of mappings", pid);
		memmove(chunk, chunk + used, kept);
	}
}

/* ---- of a process ---- */

typedef int read_fn(pid_t pid, maps_fn *fn, void *ctx);

struct passed {
	maps_fn *fn;
	void *ctx;
	bool any;
};

static int pass(void *ctx, const struct attar_mapping *mapping, bool executable)
{
	struct passed *passed = ctx;

	passed->any = true;
	return passed->fn(passed->ctx, mapping, executable);
}

/* The file of an exited main thread is empty, although other threads may still run. */
static int read_process(read_fn *read, pid_t pid, maps_fn *fn, void *ctx)
{
	struct passed passed = {fn, ctx};
	int r = read(pid, pass, &passed);
	pid_t thread = passed.any || r == -ENOMEM ? pid : proc_with_memory(pid);

	if (thread == pid)
		return r;
	attar_error_clear();
	return read(thread, fn, ctx);
}

static int read_all(pid_t pid, maps_fn *fn, void *ctx)
{
	int fd _cleanup_close_ = open_maps(pid);

	return fd < 0 ? fd : read_lines(fd, pid, fn, ctx);
}

int maps_read(pid_t pid, maps_fn *fn, void *ctx)
{
	return read_process(read_all, pid, fn, ctx);
}

/* ---- executable mappings ---- */

/* struct procmap_query of linux/fs.h, since Linux 6.11. */
struct map_query {
	uint64_t size, flags, address;
	uint64_t start, end, protection, page_size, offset, inode;
	uint32_t major, minor;
	uint32_t name_size, build_id_size;
	uint64_t name, build_id;
};

enum { EXECUTABLE = 0x04, OR_NEXT = 0x10 };

#define MAP_QUERY _IOWR('f', 17, struct map_query)

_Static_assert(sizeof(struct map_query) == 104, "the size in linux/fs.h");

/*
 * Calls fn for each executable mapping but [vsyscall]. Returns 1 if the kernel has no such query.
 */
static int query_code(int fd, maps_fn *fn, void *ctx)
{
	char path[PATH_MAX] = ""; /* written by the kernel, which valgrind does not know */
	struct map_query q = {
		.size = sizeof(q), .flags = EXECUTABLE | OR_NEXT, .name = (uintptr_t)path};
	int r = 0;

	while (r >= 0) {
		struct attar_mapping m;

		q.name_size = sizeof(path);
		if (TEMP_FAILURE_RETRY(ioctl(fd, MAP_QUERY, &q)) < 0) /* ESRCH: it has ended */
			return errno != ENOENT && errno != ESRCH;
		m = (struct attar_mapping){.start = q.start,
			.len = q.end - q.start,
			.pgoff = q.offset,
			.maj = q.major,
			.min = q.minor,
			.ino = q.inode,
			.path = q.name_size ? path : ""};
		r = fn(ctx, &m, true);
		q.address = q.end;
	}
	return r;
}

struct code {
	maps_fn *fn;
	void *ctx;
};

static int pass_code(void *ctx, const struct attar_mapping *mapping, bool executable)
{
	const struct code *code = ctx;

	return executable ? code->fn(code->ctx, mapping, true) : 0;
}

static int read_code(pid_t pid, maps_fn *fn, void *ctx)
{
	int fd _cleanup_close_ = open_maps(pid), r = fd < 0 ? fd : query_code(fd, fn, ctx);

	return r == 1 ? read_lines(fd, pid, pass_code, &(struct code){fn, ctx}) : r;
}

int maps_read_code(pid_t pid, maps_fn *fn, void *ctx)
{
	return read_process(read_code, pid, fn, ctx);
}
