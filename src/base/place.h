/* SPDX-License-Identifier: MIT */
/*
 * Where a file is written that the user has named: an open directory and a name in it. Other users
 * may be able to change the directory meanwhile, so that no path is looked up twice.
 *
 *	r = place_find(&place, path);
 *	if (r == 0)
 *		fd = place_open(&place, O_WRONLY | O_CREAT, place_default_mode());
 *	place_done(&place);
 *
 * Symbolic links of another user (for root: of any user but root) are not followed, neither the
 * name nor directories on the way, and a file of another user is not opened in a directory where
 * everybody can create files. These are the rules of the sysctls fs.protected_symlinks,
 * protected_regular and protected_fifos, whatever their values. Root writes to no regular file of
 * another user at all, who could read it, unless that user owns the directory; and to no file of
 * root with several names in a directory that others can change, who may have made the link.
 */
#ifndef BASE_PLACE_H
#define BASE_PLACE_H

#include <stdbool.h>
#include <sys/stat.h>

struct place {
	int dir;          /* O_PATH; owned */
	char *name;       /* without '/'; owned */
	struct stat st;   /* of the directory */
	bool is_own_file; /* an open file of a process, as in /proc/self/fd: the name is followed */
};

/*
 * Finds the place of a path, and of the file that it links to. The file need not exist. Returns 0,
 * -EPERM for a link that is not followed, or another negative errno, without an error message.
 */
int place_find(struct place *place, const char *path);

/* Frees the place. Accepts an empty one, {0}. */
void place_done(struct place *place);

/*
 * What is there. Returns 0, -EPERM for a file of another user that place_open() would refuse, or
 * another negative errno; *ret_st is set unless it is missing.
 */
int place_stat(const struct place *place, struct stat *ret_st);

/* Whether such rules allow root to write to this file. */
bool place_is_kept(const struct place *place, const struct stat *file);

/*
 * Opens what is there or, with O_CREAT, a new file of this mode; with O_EXCL, only a new one.
 * O_TRUNC is not allowed. Returns a descriptor with O_CLOEXEC, -EPERM as above, or another negative
 * errno.
 */
int place_open(const struct place *place, int flags, mode_t mode);

/* The same for a path. */
int place_open_path(const char *path, int flags, mode_t mode);

/*
 * The same for a result, but a file that may not be kept is replaced by a new one.
 */
int place_open_result(const char *path, int flags, mode_t mode);

/* Removes a file that this process has made. */
void place_unlink_path(const char *path);

/* Opens the directory of a path, to list it. Returns a descriptor or a negative errno. */
int place_open_directory(const char *path);

/*
 * The mode of new files: as the umask allows, but for root, whose results concern all users, 0600.
 */
mode_t place_default_mode(void);

/* Reads a mode such as "0640" or "640". Returns 0, or -EINVAL with an error message. */
int place_parse_mode(const char *text, mode_t *ret_mode);

/* What an error of these functions means, for messages. */
const char *place_error(int error);

#endif
