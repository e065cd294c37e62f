/* SPDX-License-Identifier: MIT */
/*
 * A file that is replaced when its new contents are complete: on a full disk, the former file
 * remains. They are written to a file without a name in the same folder (O_TMPFILE), or to a
 * temporary one where the file system has none.
 *
 *	fd = whole_file_begin(&f, path, 0);
 *	write(fd, ...);
 *	r = whole_file_finish(&f, fd, is_complete);
 *	close(fd);
 *
 * The new file has the mode and the owner of the former one. Pipes, devices, files with several
 * names, files of others and files in folders that cannot be written are written in place.
 */
#ifndef BASE_WHOLE_FILE_H
#define BASE_WHOLE_FILE_H

#include <stdbool.h>

struct whole_file {
	char *target;    /* owned; NULL: the file is written in place */
	char *temporary; /* owned */
	bool is_named;   /* the temporary file exists under its name */
};

enum {
	WHOLE_FILE_NAMED = 1,  /* the caller needs a name of the file that is written */
	WHOLE_FILE_ATOMIC = 2, /* only pipes and devices are written in place: a reader never sees a
				* part of a file */
};

/*
 * Returns a descriptor that the caller closes, or a negative errno without an error message. flags:
 * WHOLE_FILE_*.
 */
int whole_file_begin(struct whole_file *f, const char *path, unsigned flags);

/*
 * Replaces the file if all was written, otherwise drops what was written, if it is not in place.
 * Returns 0 or a negative errno as above; nothing is left to free.
 */
int whole_file_finish(struct whole_file *f, int fd, bool is_complete);

#endif
