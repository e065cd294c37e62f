/* SPDX-License-Identifier: MIT */
#include "symbol/jit.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/file.h"
#include "symbol/dso_open.h"

#define REFRESH_NS 100000000ULL /* a file is not looked at more often, unless a name is missing */
#define RETRY_NS 20000000ULL /* nor looked for more often */

void jit_init(struct jit *jit, pid_t pid)
{
	*jit = (struct jit){.pid = pid, .fd = -1, .dump_fd = -1};
}

/*
 * Reads a number from the line that starts with `key`: number `field`, or the last if negative.
 */
static bool status_field(const char *status, const char *key, int field, unsigned *ret_value)
{
	const char *p = strstr(status, key);
	bool found = false;

	if (!p)
		return false;
	p += strlen(key);
	for (int i = 0; *p == '\t' || *p == ' '; i++) {
		char *end;
		unsigned long value = strtoul(p, &end, 10);

		if (end == p)
			break;
		if (i == field || field < 0) {
			*ret_value = (unsigned)value;
			found = true;
		}
		p = end;
	}
	return found;
}

/* The file is named after the PID in the process's own namespace, and owned by its user. */
static bool look_at_process(struct jit *jit)
{
	struct buf status _cleanup_(buf_done) = {0};
	unsigned inner, uid;
	char name[64];

	snprintf(name, sizeof(name), "/proc/%d/status", jit->pid);
	if (file_read(name, 64 << 10, &status) < 0)
		return false;
	if (!status_field(buf_text(&status), "\nUid:", 1, &uid))
		return false;
	if (!status_field(buf_text(&status), "\nNSpid:", -1, &inner)) /* since 4.1 */
		inner = (unsigned)jit->pid;
	jit->uid = uid;
	jit->inner = (pid_t)inner;
	return true;
}

/* Exactly one link: another user could have hard-linked a file to this name. */
static bool is_trusted(struct jit *jit, const struct stat *st)
{
	uid_t owner;

	(void)look_at_process(jit); /* it may have changed its user */
	owner = jit->inner ? jit->uid : geteuid();
	return S_ISREG(st->st_mode) && (st->st_uid == owner || st->st_uid == 0) &&
	       st->st_nlink == 1;
}

/* Opens a file as the process sees it. Returns an fd or a negative errno. */
static int open_trusted(struct jit *jit, int root, const char *path)
{
	int handle _cleanup_close_ = dso_open_path(root, path, O_NOFOLLOW);
	struct stat st;

	if (handle < 0)
		return handle;
	if (fstat(handle, &st) < 0 || !is_trusted(jit, &st)) {
		log_debug(
			"%s is ignored: not a regular file owned by the process's user or by root",
			path);
		return -ENOENT;
	}
	return dso_reopen(handle);
}

static void open_map(struct jit *jit, int root)
{
	char path[sizeof(jit->path)];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", jit->inner ?: jit->pid);
	jit->fd = open_trusted(jit, root, path);
	if (jit->fd >= 0)
		memcpy(jit->path, path, sizeof(path));
}

static void open_in(struct jit *jit, int root)
{
	if (jit->fd < 0)
		open_map(jit, root);
	if (jit->dump_fd < 0 && jit->dump_path)
		jit->dump_fd = open_trusted(jit, root, jit->dump_path);
}

void jit_set_dump(struct jit *jit, const char *path)
{
	if (jit->dump_path && !strcmp(jit->dump_path, path))
		return;
	jit->dump_path = path;
	jit->dumps++;
	jit->missed = 0;
	base_close_p(&jit->dump_fd);
	jit->dump_fd = -1;
	jitdump_done(&jit->dump);
}

int jit_open(struct jit *jit)
{
	int root _cleanup_close_ = -1;

	if (jit->dump_path ? jit->dump_fd >= 0 : jit->fd >= 0)
		return 0;
	/* each address of a process without names asks for them */
	if (jit->missed && base_now_coarse() - jit->missed < RETRY_NS)
		return -ENOENT;
	/* Mostly there is no file. What names it does not change, and /proc/PID/status is slow. */
	if (jit->inner || look_at_process(jit))
		root = dso_open_root(jit->pid);
	if (root >= 0)
		open_in(jit, root);
	open_in(jit, AT_FDCWD);
	jit->missed = jit_is_open(jit) ? 0 : base_now_coarse();
	return jit->missed ? -ENOENT : 0;
}

void jit_share(struct jit *jit, const struct jit *from)
{
	bool has_dump =
		jit->dump_path && from->dump_path && !strcmp(jit->dump_path, from->dump_path);

	if (from->inner) {
		jit->inner = from->inner;
		jit->uid = from->uid;
	}
	if (jit->fd < 0 && from->fd >= 0) {
		jit->fd = fcntl(from->fd, F_DUPFD_CLOEXEC, 0);
		memcpy(jit->path, from->path, sizeof(jit->path));
	}
	if (jit->dump_fd < 0 && has_dump && from->dump_fd >= 0)
		jit->dump_fd = fcntl(from->dump_fd, F_DUPFD_CLOEXEC, 0);
}

static void refresh(struct jit *jit)
{
	struct byte_source source;

	jit->checked = base_now_coarse();
	if (jit->dump_fd >= 0 && (byte_source_file(jit->dump_fd, &source) < 0 ||
					 jitdump_index(&jit->dump, &source) < 0))
		log_debug("cannot read %s: %s", jit->dump_path, attar_error());
	if (jit->fd >= 0 &&
		(byte_source_file(jit->fd, &source) < 0 || perfmap_index(&jit->map, &source) < 0))
		log_debug("cannot read %s: %s", jit->path, attar_error());
}

static bool find(const struct jit *jit, uint64_t address, struct jit_code *ret_code)
{
	const struct perfmap_entry *entry = perfmap_find(&jit->dump.code, address);

	ret_code->in_dump = entry;
	if (!entry)
		entry = perfmap_find(&jit->map, address);
	if (entry)
		ret_code->entry = *entry;
	return entry;
}

bool jit_find(struct jit *jit, uint64_t address, struct jit_code *ret_code)
{
	if (!jit_is_open(jit))
		return false;
	if (base_now_coarse() - jit->checked >= REFRESH_NS)
		refresh(jit);
	if (find(jit, address, ret_code))
		return true;
	refresh(jit);
	return find(jit, address, ret_code);
}

const char *jit_path(const struct jit *jit, const struct jit_code *code)
{
	return code->in_dump ? jit->dump_path : jit->path;
}

int jit_name(const struct jit *jit, const struct jit_code *code, struct buf *name)
{
	int fd = code->in_dump ? jit->dump_fd : jit->fd;
	struct byte_source source;

	if (fd < 0 || byte_source_file(fd, &source) < 0)
		return -ENODATA;
	return code->in_dump ? jitdump_name(&jit->dump, &source, &code->entry, name)
			     : perfmap_name(&source, &code->entry, name);
}

int jit_line(const struct jit *jit, const struct jit_code *code, uint64_t address, struct buf *file,
	uint32_t *ret_line)
{
	struct byte_source source;

	if (!code->in_dump || jit->dump_fd < 0 || byte_source_file(jit->dump_fd, &source) < 0)
		return -ENODATA;
	return jitdump_line(&jit->dump, &source, &code->entry, address, file, ret_line);
}

int jit_bytes_at(const struct jit *jit, const struct jit_code *code, uint64_t address, void *bytes,
	size_t n, uint16_t *ret_machine)
{
	struct byte_source source;

	if (!code->in_dump || jit->dump_fd < 0 || byte_source_file(jit->dump_fd, &source) < 0)
		return -ENODATA;
	return jitdump_code(&jit->dump, &source, &code->entry, address, bytes, n, ret_machine);
}

size_t jit_bytes(const struct jit *jit)
{
	return perfmap_bytes(&jit->map) + jitdump_bytes(&jit->dump);
}

void jit_drop(struct jit *jit)
{
	perfmap_done(&jit->map);
	jitdump_done(&jit->dump);
}

void jit_close(struct jit *jit)
{
	base_close_p(&jit->fd);
	base_close_p(&jit->dump_fd);
	jit->fd = jit->dump_fd = -1;
}

void jit_done(struct jit *jit)
{
	jit_close(jit);
	jit_drop(jit);
}
