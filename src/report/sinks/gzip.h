/* SPDX-License-Identifier: MIT */
/* Compression of reports. */
#ifndef REPORT_SINKS_GZIP_H
#define REPORT_SINKS_GZIP_H

#include "base/buf.h"

/* zlib's levels. GZIP_FAST takes half of the time; real profiles are 4 % larger. */
enum gzip_level { GZIP_FAST = 3, GZIP_SMALL = 6 };

/*
 * Appends the bytes as a gzip file (RFC 1952) to out. Returns 0, -ENOMEM, or -EOPNOTSUPP if attar
 * was built without zlib.
 */
int gzip(struct buf *out, const void *bytes, size_t n, enum gzip_level level);

#endif
