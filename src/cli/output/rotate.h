/* SPDX-License-Identifier: MIT */
/*
 * Files that follow each other: their names have the time (UTC), as `cpu-%Y%m%d-%H.csv`, and the
 * oldest ones are deleted when all together are larger than a quota. A file that exists is never
 * opened: if the name of a time is taken, by an earlier run or because the clock was set back, the
 * new file is `cpu-20260102-03.1.csv`.
 *
 *     struct rotation rotation = {.pattern = path, .period = period, .max_bytes = quota};
 *     r = rotation_check(&rotation);
 *     r = rotation_open(&rotation, base_realtime(), &fd);
 *     ... (before each report) if (rotation_is_due(&rotation, begun)) close the file, open
 *         the next
 *     ... (after each report) rotation_keep(&rotation, own)
 *     rotation_done(&rotation);
 */
#ifndef CLI_OUTPUT_ROTATE_H
#define CLI_OUTPUT_ROTATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct rotation {
	const char *pattern; /* borrowed; NULL: one file, not rotated */
	uint64_t period;     /* ns that a file covers */
	uint64_t max_bytes;  /* of all files together; 0: no quota */

	char *name;       /* of the current file */
	uint64_t begun;   /* its time, ns since 1970 */
	uint64_t others;  /* bytes in the other files, when last counted */
	uint64_t counted; /* `begun` of the file then */
	bool is_full;     /* the current file alone is larger than the quota */
};

/*
 * Checks the pattern: conversions are %Y %m %d %H %M %S and %%, in the last part of the path, and
 * names of consecutive files differ. Returns 0, -EINVAL or -ENOMEM, with an error message.
 */
int rotation_check(const struct rotation *rotation);

/* Whether a name has one of the conversions of a time. */
bool rotation_has_time(const char *pattern);

/*
 * Whether an interval that began at this time belongs to another file. Files begin at multiples of
 * the period.
 */
bool rotation_is_due(const struct rotation *rotation, uint64_t begun);

/*
 * Creates the file of a time, with this mode. *ret_fd is owned by the caller. Returns 0, or -EIO or
 * -ENOMEM with an error message.
 */
int rotation_open(struct rotation *rotation, uint64_t time, mode_t mode, int *ret_fd);

/*
 * After a report was written to the current file, which has `own` bytes then: deletes the oldest
 * files of the pattern, also files of earlier runs, until all have at most max_bytes; never the
 * current one. Returns 0, or -EIO or -ENOMEM with the error message of the first failure.
 */
int rotation_keep(struct rotation *rotation, uint64_t own);

void rotation_done(struct rotation *rotation);

#endif
