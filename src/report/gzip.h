/* SPDX-License-Identifier: MIT */
/* Compression of reports. */
#ifndef REPORT_GZIP_H
#define REPORT_GZIP_H

#include "base/buf.h"

/*
 * Appends the bytes as a gzip file (RFC 1952) to out. Returns 0, -ENOMEM, or -EOPNOTSUPP if attar
 * was built without zlib.
 */
int gzip(struct buf *out, const void *bytes, size_t n);

#endif
