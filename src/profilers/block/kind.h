/* SPDX-License-Identifier: MIT */
/*
 * What a request of a block device does to its medium, by the fields of its events.
 *
 * Filesystems and fsync(2) ask for flushes with flags of writes. From a write with REQ_PREFLUSH,
 * the kernel makes a flush of its own, waits for it, and then issues the write, if it has data.
 * After a write with REQ_FUA, for which the device has no command, it makes another flush. One
 * flush can serve several writes. The events of a write of 4 KiB with both flags:
 *
 *	getrq FWFS 64+8, issue FF 0+0, complete FF -1+0,
 *	issue WS 64+8, complete WS 64+8, issue FF 0+0, complete FF -1+0, complete WS 64+0
 *
 * A write without data, as of fsync(2) of a device, has only its first and last event.
 */
#ifndef PROFILERS_BLOCK_KIND_H
#define PROFILERS_BLOCK_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum block_kind {
	BLOCK_DATA,    /* has a first sector, which its events agree on */
	BLOCK_FLUSH,   /* the kernel's own request for a flush */
	BLOCK_COMMAND, /* of a driver or ioctl(2), not of a filesystem */
	BLOCK_ASKING,  /* a write without data, or the end of one that asked for a flush */
};

/* Of completed requests without a sector; until Linux 4.20 of all of their events, later 0. */
#define BLOCK_NO_SECTOR UINT64_MAX

/* "FWFS" of field rwbs: whether the request asks for a flush before it. */
static inline bool block_asks_preflush(const char *type)
{
	return *type == 'F' && type[1] && strchr("RWDNF", type[1]);
}

/* Whether the data must be on the medium when it completes. */
static inline bool block_asks_fua(const char *type)
{
	const char *op = type + block_asks_preflush(type);

	return *op == 'W' && op[1] == 'F';
}

static inline enum block_kind block_kind_of(const char *type, uint64_t sector, uint64_t sectors)
{
	char op = type[block_asks_preflush(type)];

	if (op == 'F' || (op == 'W' && sector == BLOCK_NO_SECTOR)) /* "FWS" before Linux 4.8 */
		return BLOCK_FLUSH;
	if (op == 'W' && !sectors)
		return BLOCK_ASKING;
	return sector == BLOCK_NO_SECTOR || (!sector && !sectors) ? BLOCK_COMMAND : BLOCK_DATA;
}

#endif
