/* SPDX-License-Identifier: MIT */
/*
 * A file that is replaced when its new contents are complete: on a full disk, the former file
 * remains. They are written to a file without a name in the same directory (O_TMPFILE), or to a
 * temporary one where the file system has none.
 *
 *	fd = whole_file_begin(&f, path, place_default_mode(), 0);
 *	write(fd, ...);
 *	r = whole_file_finish(&f, fd, is_complete);
 *	close(fd);
 *
 * The directory is looked up once (base/place.h). The new file has the mode and the owner of the
 * former one, if this is the caller or the owner of the directory. Otherwise root replaces it by a
 * file of its own, and other users write in place. Pipes, devices, files with several names and
 * files in directories that cannot be written are written in place, too.
 */
#ifndef BASE_WHOLE_FILE_H
#define BASE_WHOLE_FILE_H

#include "base/place.h"

struct whole_file {
	struct place place;
	bool replaces;   /* otherwise the file is written in place */
	char *temporary; /* the name in the same directory; owned */
	bool is_named;   /* the temporary file exists under its name */
};

enum {
	WHOLE_FILE_NAMED = 1,  /* the caller needs a name of the file that is written */
	WHOLE_FILE_ATOMIC = 2, /* only pipes and devices are written in place: a reader never sees a
				* part of a file */
};

/*
 * mode: of the file if it is new. flags: WHOLE_FILE_*. Returns a descriptor that the caller closes,
 * or a negative errno without an error message, see place_error().
 */
int whole_file_begin(struct whole_file *f, const char *path, mode_t mode, unsigned flags);

/*
 * Replaces the file if all was written, otherwise drops what was written, if it is not in place.
 * Returns 0 or a negative errno as above; nothing is left to free.
 */
int whole_file_finish(struct whole_file *f, int fd, bool is_complete);

#endif
