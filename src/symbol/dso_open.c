/* SPDX-License-Identifier: MIT */
#include "symbol/dso_open.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "base/proc.h"
#include "symbol/maps.h"

/* Overlayfs may encode the layer in the upper bits of an inode number ("xino"). */
#define INO_BITS 0xffffffffffffULL

/*
 * Whether stat() and the mapping refer to the same file. The device may differ if stat() reports
 * one per subvolume (btrfs) or mount (overlayfs), but the mapping has the underlying one.
 */
static bool same_inode(int fd, const struct stat *st, const struct dso_key *key)
{
	uint64_t dev = (uint64_t)major(st->st_dev) << 32 | minor(st->st_dev);
	struct statfs fs;

	if (!key->ino)
		return true;
	if (st->st_ino == key->ino && dev == key->dev)
		return true;
	if ((st->st_ino & INO_BITS) != (key->ino & INO_BITS) || fstatfs(fd, &fs) < 0)
		return false;
	return fs.f_type == OVERLAYFS_SUPER_MAGIC || fs.f_type == BTRFS_SUPER_MAGIC;
}

/* Detects a reused inode number by its generation, on local file systems. */
static bool same_generation(int fd, const struct dso_key *key)
{
	struct statfs fs;
	int generation = 0;

	if (!key->generation || fstatfs(fd, &fs) < 0)
		return true;
	if (fs.f_type != EXT4_SUPER_MAGIC && fs.f_type != XFS_SUPER_MAGIC &&
		fs.f_type != F2FS_SUPER_MAGIC)
		return true;
	return ioctl(fd, FS_IOC_GETVERSION, &generation) < 0 ||
	       (uint32_t)generation == key->generation;
}

/*
 * From an O_PATH fd, because opening a FIFO or device has side effects.
 */
int dso_reopen(int handle)
{
	char link[64];
	struct stat st;
	int fd;

	if (fstat(handle, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOEXEC;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", handle);
	fd = TEMP_FAILURE_RETRY(open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
	return fd < 0 ? -errno : fd;
}

bool dso_is_build(int fd, const uint8_t *id, size_t size)
{
	struct byte_source source;
	uint8_t own[ELF_MAX_BUILD_ID];
	struct elf elf = {0};
	size_t n = 0;

	if (byte_source_file(fd, &source) >= 0 && elf_init(&elf, &source) >= 0)
		n = elf_build_id(&elf, own);
	elf_done(&elf);
	attar_error_clear();
	return n == size && !memcmp(own, id, n);
}

/*
 * A build ID identifies a file that has no inode, as in a recording. With both, it is compared when
 * the symbols are read.
 */
static bool same_build(int fd, const struct dso_key *key)
{
	return !key->build_id_size || key->ino ||
	       dso_is_build(fd, key->build_id, key->build_id_size);
}

/* Reopens an O_PATH fd if the file matches. */
static int open_checked(int handle, const struct dso_key *key)
{
	struct stat st;
	int fd = dso_reopen(handle);

	if (fd == -ENOEXEC && key->ino)
		return -ESTALE;
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) == 0 && same_inode(fd, &st, key) && same_generation(fd, key) &&
		same_build(fd, key))
		return fd;
	close(fd);
	return -ESTALE;
}

/* Through a /proc link to the file itself, regardless of its current path. */
static int open_link(const char *link, const struct dso_key *key)
{
	int handle _cleanup_close_ = TEMP_FAILURE_RETRY(open(link, O_PATH | O_CLOEXEC));

	return handle < 0 ? -errno : open_checked(handle, key);
}

/* A process that exists but whose link cannot be opened: the number of another thread; or 0. */
static pid_t other_thread(pid_t pid, int error)
{
	pid_t thread = error == -ENOENT ? proc_with_memory(pid) : pid;

	return thread == pid ? 0 : thread;
}

static int open_mapping_of(pid_t tid, const struct dso_search *where)
{
	char link[96];

	snprintf(link, sizeof(link), "/proc/%d/map_files/%llx-%llx", tid,
		(unsigned long long)where->start, (unsigned long long)where->end);
	return open_link(link, where->key);
}

static int open_mapped(const struct dso_search *where)
{
	pid_t pid = where->pids[0], thread;
	int r;

	if (!pid || !where->end)
		return -ESRCH;
	r = open_mapping_of(pid, where);
	thread = other_thread(pid, r);
	return thread ? open_mapping_of(thread, where) : r;
}

/* Tries other mappings of the file, if this one was split or unmapped. */
struct sibling {
	const struct dso_key *key;
	uint64_t start, end;
};

static int find_sibling(void *ctx, const struct attar_mapping *mapping, bool executable)
{
	struct sibling *sibling = ctx;
	uint64_t dev = (uint64_t)mapping->maj << 32 | mapping->min;

	if (mapping->ino != sibling->key->ino || dev != sibling->key->dev)
		return 0;
	sibling->start = mapping->start;
	sibling->end = mapping->start + mapping->len;
	return -EEXIST; /* enough */
}

static int open_sibling(const struct dso_search *where)
{
	struct sibling sibling = {.key = where->key};
	struct dso_search other = *where;

	if (!where->pids[0] || !where->key->ino)
		return -ESRCH;
	if (maps_read(where->pids[0], find_sibling, &sibling) != -EEXIST)
		return -ENOENT;
	other.start = sibling.start;
	other.end = sibling.end;
	return open_mapped(&other);
}

/* For users without access to map_files: /proc/PID/exe, if it is this file. */
static int open_exe(const struct dso_search *where)
{
	char link[64];

	if (!where->pids[0] || !where->key->ino)
		return -ESRCH;
	snprintf(link, sizeof(link), "/proc/%d/exe", proc_with_memory(where->pids[0]));
	return open_link(link, where->key);
}

static int open_root_of(pid_t tid)
{
	char name[64];
	int root;

	snprintf(name, sizeof(name), "/proc/%d/root", tid);
	root = TEMP_FAILURE_RETRY(open(name, O_PATH | O_DIRECTORY | O_CLOEXEC));
	return root < 0 ? -errno : root;
}

int dso_open_root(pid_t pid)
{
	int root = open_root_of(pid);
	pid_t thread = other_thread(pid, root);

	return thread ? open_root_of(thread) : root;
}

static bool same_file(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) < 0 || stat(b, &y) < 0 || (x.st_dev == y.st_dev && x.st_ino == y.st_ino);
}

bool dso_is_foreign(pid_t pid)
{
	char name[64];

	pid = proc_with_memory(pid);
	snprintf(name, sizeof(name), "/proc/%d/ns/mnt", pid);
	if (!same_file(name, "/proc/self/ns/mnt"))
		return true;
	snprintf(name, sizeof(name), "/proc/%d/root/", pid);
	return !same_file(name, "/");
}

/* The number of the mount namespace of a process; 0: it has exited, or may not be looked at. */
static uint64_t mount_namespace(pid_t pid)
{
	char name[64];
	struct stat st;

	snprintf(name, sizeof(name), "/proc/%d/ns/mnt", proc_with_memory(pid));
	return stat(name, &st) < 0 ? 0 : st.st_ino;
}

static bool is_copy(const struct stat *st, const struct dso_key *key)
{
	struct stat at_path;

	if (key->ino)
		return (st->st_ino & INO_BITS) != (key->ino & INO_BITS);
	return stat(key->path, &at_path) < 0 || at_path.st_dev != st->st_dev ||
	       at_path.st_ino != st->st_ino;
}

void dso_note_owner(struct dso_origin *origin, int fd, const struct dso_key *key)
{
	struct stat st;

	if (origin->has_owner || fstat(fd, &st) < 0 || (key && is_copy(&st, key)))
		return;
	origin->has_owner = true;
	origin->owner = st.st_uid;
}

/* A process that attar has started sees what attar sees, also if it has exited. */
void dso_note_place(struct dso_origin *origin, const pid_t *pids, size_t n)
{
	uint64_t ns;

	if (origin->has_place)
		return;
	ns = n && pids[0] ? mount_namespace(pids[0]) : 0;
	origin->has_place = ns || !n || !pids[0];
	if (ns && dso_is_foreign(pids[0])) {
		origin->pid = pids[0];
		origin->ns_ino = ns;
	}
	for (size_t i = 1; i < n && !ns; i++)
		origin->has_place |= pids[i] == getpid();
}

int dso_open_origin(const struct dso_origin *origin)
{
	int root;

	if (!origin->has_place)
		return -EACCES;
	root = origin->pid ? dso_open_root(origin->pid)
			   : TEMP_FAILURE_RETRY(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
	if (!origin->pid)
		return root < 0 ? -errno : root;
	if (root >= 0 && mount_namespace(origin->pid) == origin->ns_ino)
		return root;
	if (root >= 0)
		close(root);
	return -EACCES;
}

int dso_open_path(int root, const char *path, int flags)
{
	/* openat2() since 5.6 */
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | (unsigned)flags,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int handle;

	if (root == AT_FDCWD) {
		handle = TEMP_FAILURE_RETRY(open(path, O_PATH | O_CLOEXEC | flags));
		return handle < 0 ? -errno : handle;
	}
	handle = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	/* EPERM: from a seccomp filter that does not include the call. */
	if (handle < 0 && (errno == ENOSYS || errno == EPERM))
		handle = TEMP_FAILURE_RETRY(
			openat(root, path + strspn(path, "/"), O_PATH | O_NOFOLLOW | O_CLOEXEC));
	return handle < 0 ? -errno : handle;
}

static int open_in_root(pid_t pid, const struct dso_key *key)
{
	int root _cleanup_close_ = dso_open_root(pid), handle _cleanup_close_ = -1;

	if (root < 0)
		return root;
	handle = dso_open_path(root, key->path, 0);
	return handle < 0 ? handle : open_checked(handle, key);
}

/* Of two errors, prefer -ESTALE: the path has a different file. */
static int worse(int a, int b)
{
	return a == -ESTALE ? a : b;
}

static int open_by_path(const struct dso_search *where)
{
	int r = -ENOENT, said = -ENOENT;

	if (where->key->path[0] != '/')
		return -ENOENT;
	for (int i = 0; r < 0 && i < DSO_SEARCH_PIDS && where->pids[i]; i++)
		said = worse(said, r = open_in_root(where->pids[i], where->key));
	if (r < 0)
		said = worse(said, r = open_link(where->key->path, where->key));
	return r < 0 ? said : r;
}

int dso_open(const struct dso_search *where)
{
	int r = open_mapped(where), said;

	if (r < 0)
		r = open_exe(where);
	if (r >= 0)
		return r;
	said = r = open_by_path(where);
	if (r < 0)
		r = open_sibling(where);
	return r < 0 ? said : r;
}
