/* SPDX-License-Identifier: MIT */
/*
 * Names in a recording: functions, source lines and build IDs of the locations in its samples, and
 * call frame information of their binaries, so that it reads the same on a machine without the
 * binaries. They are feature 255 of the file, which perf skips; docs/symbols.md has the format.
 *
 *	recording_writer_open(...portable = true...);	// reserves the entry of the feature
 *	recording_writer_close(w);
 *	...						// reads it, and fills `symbols`
 *	portable_names_encode(symbols, locations, n, &bytes);
 *	portable_names_put(path, &bytes);
 */
#ifndef PERFDATA_PORTABLE_NAMES_H
#define PERFDATA_PORTABLE_NAMES_H

#include "base/buf.h"
#include "perfdata/recording.h"
#include "symbol/stored_symbols.h"

#define NAMES_MAGIC 0x73656d616e727461ULL /* "atrnames" on a little-endian machine */

enum {
	NAMES_VERSION = 1,
	NAMES_RESERVED = 8,            /* bytes of the feature before portable_names_put() */
	NAMES_LOCATIONS_MAX = 1 << 20, /* of a recording */
	NAMES_FRAME_BYTES = 20,        /* of a frame in the file, ... */
	NAMES_PLACE_BYTES = 48,        /* ... and of a location */
};

/*
 * Appends the names of the locations, in the format of the feature. symbols has resolved them,
 * and unwound the stacks. Returns 0 or -ENOMEM.
 */
int portable_names_encode(struct attar_symbols *symbols, const attar_location *locations, size_t n,
	struct buf *bytes);

/*
 * Puts the feature into a finished file of a writer with opts.portable. Returns 0; -EFBIG if it is
 * too large to be read; or another negative errno.
 */
int portable_names_put(const char *path, const struct buf *bytes);

/*
 * Reads the names of a recording. Returns 1; 0 if it has none, or if they are malformed, which is
 * reported as damage; -ENOMEM. The caller frees or passes on *ret_stored.
 */
int portable_names_read(struct recording *r, struct stored **ret_stored);

#endif
