/* SPDX-License-Identifier: MIT */
/*
 * Files that the user has named, such as configurations, keys and recordings. A program with file
 * capabilities (AT_SECURE) can read files that its user cannot: these files are opened with the
 * rights of the user.
 */
#ifndef BASE_USER_FILE_H
#define BASE_USER_FILE_H

#include <stdbool.h>

#include "base/buf.h"

/* Opens a file for reading with these flags and O_CLOEXEC. Returns a descriptor, or -1 and errno */
int user_file_open(const char *path, int flags);

/*
 * Opens a file with O_PATH, of which attar later shows some contents: EACCES if the user cannot
 * read it. Returns a descriptor, or -1 and errno.
 */
int user_file_open_handle(const char *path);

/* As file_read(), for such a file. */
int user_file_read(const char *path, size_t max, struct buf *b);

/*
 * The same for a key, token or password: -EINVAL if other users can read it, except members of the
 * group if it belongs to root. A pipe, as of <(command), is accepted.
 */
int user_file_read_secret(const char *path, size_t max, struct buf *b);

/*
 * The same for a configuration, which decides what attar does: -EINVAL if users other than root and
 * the caller can change it.
 */
int user_file_read_config(const char *path, size_t max, struct buf *b);

/* Gives up the capabilities for files that the user does not have, until the end of the scope. */
struct user_rights {
	bool are_less;
	unsigned effective[2]; /* capabilities before */
};

struct user_rights user_rights_begin(void);

/* The same also if the capabilities are not the capabilities of the program's file. */
struct user_rights user_rights_drop(void);
void user_rights_end(struct user_rights *rights);
#define USER_RIGHTS                                                                                \
	struct user_rights rights_ __attribute__((cleanup(user_rights_end), unused)) =             \
		user_rights_begin()

#endif
