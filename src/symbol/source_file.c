/* SPDX-License-Identifier: MIT */
/*
 * Source files. Their names are in the debug information of a program, so anybody can have chosen
 * them: /etc/shadow is a name, too.
 */
#include <fcntl.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>

#include "attar/private/symbol.h"
#include "base/check_arg.h"
#include "base/user_file.h"
#include "symbol/dso_open.h"
#include "symbol/symbols.h"

enum { NO_GROUP = 65534, GROUPS_MAX = 65536 };

/* The rights of this thread, to be restored. */
struct thread_rights {
	struct user_rights user; /* of a caller that is not root */
	gid_t *groups;
	long n_groups;
	int uid, gid;
};

/*
 * For files only, and for this thread only: setgroups(3) of glibc changes all threads. The group of
 * the program's file is not used, since a directory may have given it. With a user ID other than 0,
 * the kernel takes the capabilities for files away.
 */
static int become(uid_t uid, struct thread_rights *before)
{
	if (geteuid() != 0) {
		before->user = user_rights_drop();
		return 0;
	}
	if (uid == 0)
		return 0;
	before->groups = malloc(GROUPS_MAX * sizeof(*before->groups));
	if (!before->groups)
		return base_oom();
	before->n_groups = syscall(SYS_getgroups, GROUPS_MAX, before->groups);
	if (before->n_groups < 0 || syscall(SYS_setgroups, 0, NULL) < 0) {
		before->n_groups = -1;
		return -EACCES;
	}
	before->gid = setfsgid(NO_GROUP);
	before->uid = setfsuid(uid);
	return setfsuid(uid) == (int)uid ? 0 : -EACCES;
}

static void restore(struct thread_rights *before)
{
	user_rights_end(&before->user);
	if (before->groups && before->n_groups >= 0) {
		setfsuid((uid_t)before->uid);
		setfsgid((gid_t)before->gid);
		syscall(SYS_setgroups, (size_t)before->n_groups, before->groups);
	}
	free(before->groups);
}

static int open_in(int root, const char *path, uid_t owner)
{
	struct thread_rights before = {0};
	int handle _cleanup_close_ = -1, r = become(owner, &before);

	if (r == 0)
		r = handle = dso_open_path(root, path, O_NOFOLLOW);
	if (handle >= 0)
		r = dso_reopen(handle);
	restore(&before);
	return r;
}

/* The file with the debug information: the file of another DSO if it has the same contents. */
static struct dso_origin *origin_of(struct attar_symbols *symbols, struct dso *dso)
{
	static struct dso_origin own = {.has_owner = true, .has_place = true};
	int fd _cleanup_close_ = -1;

	if (dso->key.kind == ATTAR_DSO_IS_KERNEL)
		return &own;
	dso = dso_tables(dso);
	if (dso->key.kind == ATTAR_DSO_IS_JIT) {
		if (!dso->origin.has_owner && symbols_open_jit(symbols, &dso->jit) == 0) {
			dso_note_owner(&dso->origin, dso->jit.dump_fd, NULL);
			jit_close(&dso->jit);
		}
	} else if (!dso->origin.has_owner) {
		fd = symbols_file(symbols, &(struct dso_search){.key = &dso->key});
		if (fd >= 0)
			dso_note_owner(&dso->origin, fd, &dso->key);
	}
	return &dso->origin;
}

void symbols_set_author(struct attar_symbols *symbols, uid_t author)
{
	symbols->author = author;
}

/* Whose rights are used: the author's and the owner's, of whom at most one is not root. */
static int find_reader(const struct attar_symbols *symbols, const struct dso *dso,
	const struct dso_origin *origin, const char *path, uid_t *ret_reader)
{
	uid_t author = geteuid() == 0 ? symbols->author : 0;

	if (author && origin->owner && author != origin->owner)
		return attar_fail(-EACCES,
			"cannot read the source file %s: the recording belongs to uid %u, and %s "
			"to uid %u",
			CLIP(path), author, CLIP(dso->key.path), origin->owner);
	*ret_reader = author ?: origin->owner;
	return 0;
}

int symbols_open_source(struct attar_symbols *symbols, attar_location location, const char *path)
{
	CHECK_ARG(symbols, "symbols");
	CHECK_ARG(path, "path");

	struct dso *dso = dsos_get(&symbols->dsos, attar_location_dso(location));
	struct dso_origin *origin = origin_of(symbols, dso);
	int root _cleanup_close_ = -1, r;
	uid_t reader = 0;

	/* A file without an inode is of a recording, and was found here by its build ID. */
	origin->has_place |= dso->key.kind == ATTAR_DSO_IS_FILE && !dso->key.ino;
	if (geteuid() == 0 && !(origin->has_owner && origin->has_place))
		return attar_fail(-EACCES,
			"cannot read the source file %s: the owner of %s, or the root directory of "
			"its process, is not known",
			CLIP(path), CLIP(dso->key.path));
	r = find_reader(symbols, dso, origin, path, &reader);
	if (r < 0)
		return r;
	root = dso_open_origin(origin);
	if (path[0] != '/' && !origin->pid && (geteuid() != 0 || reader == 0))
		r = open_in(AT_FDCWD, path, reader);
	else
		r = root < 0 ? root : open_in(root, path, reader);
	if (r == -EACCES && geteuid() == 0 && reader)
		return attar_fail(r,
			"cannot read the source file %s: the owner of %s (uid %u) may not read it",
			CLIP(path), reader == origin->owner ? CLIP(dso->key.path) : "the recording",
			reader);
	if (r == -ENOEXEC)
		return attar_fail(-EINVAL,
			"cannot read the source file %s: it is not a regular file", CLIP(path));
	return r < 0 ? attar_fail(r, "cannot read the source file %s: %s", CLIP(path), strerror(-r))
		     : r;
}
