/* SPDX-License-Identifier: MIT */
#include "symbol/jit.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/file.h"
#include "symbol/dso_open.h"

#define REFRESH_NS 100000000ULL /* a file is not looked at more often, unless a name is missing */

void jit_init(struct jit *jit, pid_t pid)
{
	*jit = (struct jit){.pid = pid, .fd = -1};
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
static bool trusted(const struct jit *jit, const struct stat *st)
{
	uid_t owner = jit->inner ? jit->uid : geteuid();

	return S_ISREG(st->st_mode) && (st->st_uid == owner || st->st_uid == 0) &&
	       st->st_nlink == 1;
}

static int open_trusted(struct jit *jit, int root)
{
	int handle _cleanup_close_ = -1;
	struct stat st;
	char path[40];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", jit->inner ?: jit->pid);
	handle = dso_open_path(root, path, O_NOFOLLOW);
	if (handle < 0)
		return handle;
	if (fstat(handle, &st) < 0 || !trusted(jit, &st)) {
		log_debug(
			"%s is ignored: not a regular file owned by the process's user or by root",
			path);
		return -ENOENT;
	}
	jit->fd = dso_reopen(handle);
	if (jit->fd < 0)
		return jit->fd;
	memcpy(jit->path, path, sizeof(path));
	return 0;
}

int jit_open(struct jit *jit)
{
	int root _cleanup_close_ = -1;
	bool alive;

	if (jit->fd >= 0)
		return 0;
	alive = look_at_process(jit);
	root = alive ? dso_open_root(jit->pid) : -1;
	if (alive && root >= 0 && open_trusted(jit, root) >= 0)
		return 0;
	return open_trusted(jit, AT_FDCWD) < 0 ? -ENOENT : 0;
}

static void refresh(struct jit *jit)
{
	struct byte_source source;

	jit->checked = base_now_coarse();
	if (byte_source_file(jit->fd, &source) < 0 || perfmap_index(&jit->map, &source) < 0)
		log_debug("cannot read %s: %s", jit->path, attar_error());
}

const struct perfmap_entry *jit_find(struct jit *jit, uint64_t address)
{
	const struct perfmap_entry *entry;

	if (jit->fd < 0)
		return NULL;
	if (base_now_coarse() - jit->checked >= REFRESH_NS)
		refresh(jit);
	entry = perfmap_find(&jit->map, address);
	if (entry)
		return entry;
	refresh(jit);
	return perfmap_find(&jit->map, address);
}

int jit_name(const struct jit *jit, const struct perfmap_entry *entry, struct buf *name)
{
	struct byte_source source;

	if (jit->fd < 0 || byte_source_file(jit->fd, &source) < 0)
		return -ENODATA;
	return perfmap_name(&source, entry, name);
}

void jit_close(struct jit *jit)
{
	base_close_p(&jit->fd);
	jit->fd = -1;
}

void jit_done(struct jit *jit)
{
	jit_close(jit);
	perfmap_done(&jit->map);
}
