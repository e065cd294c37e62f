/* SPDX-License-Identifier: MIT */
/*
 * The cache of binaries that perf fills when it records: DIR/.build-id/ab/cdef... is a link to a
 * directory with the binary "elf", before Linux 4.9 to the binary itself; see
 * perf-buildid-cache(1). DIR is $PERF_BUILDID_DIR, else buildid.dir of perf-config(1), else
 * $HOME/.debug.
 */
#ifndef SYMBOL_BUILD_ID_CACHE_H
#define SYMBOL_BUILD_ID_CACHE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Opens the binary with the build ID. Returns an fd owned by the caller; -ENOENT if there is none,
 * or the file has another build ID. Sets no error message.
 */
int build_id_cache_open(const uint8_t *id, size_t size);

#endif
