/* SPDX-License-Identifier: MIT */
/*
 * The USDT twin of an event of libperfume: a probe, described by notes of the program's file, whose
 * arguments the kernel fetches by a uprobe; and how they become the bytes that the event has by
 * every other way.
 *
 * Notes: .note.stapsdt as SystemTap's sdt.h writes it, version 3, provider "perfume" (where,
 * semaphore, operands), and .note.perfume (the fields of the event), see perfume/perfume.h.
 * Fetching: Documentation/trace/uprobetracer.rst.
 */
#ifndef EVENT_USDT_H
#define EVENT_USDT_H

#include "base/buf.h"
#include "tracefs/format.h"
#include "event/list.h"

/* One place in a file. Borrowed until the callback returns. */
struct usdt_site {
	const char *event;
	uint64_t offset;      /* of the probe, bytes in the file */
	uint64_t ref;         /* of the semaphore; 0: none */
	const char *operands; /* "8@-24(%rbp) -4@%eax" */
	/* "u64 id; __rel_loc char[] symbol" and one letter for each (see perfume.h); NULL: not told */
	const char *fields, *signs;
};
typedef int usdt_site_fn(void *ctx, const struct usdt_site *site);

/*
 * Calls fn for each of libperfume's probes in the file, until it returns what is not 0; that. 0
 * also for what is no ELF file; a negative errno when it cannot be opened.
 */
int usdt_each(const char *path, usdt_site_fn *fn, void *ctx);

struct usdt;

/* Makes a uprobe of the site in the file, an event of tracefs for the catalogue's life. For usdt_free(). */
int usdt_new(struct attar_catalog *catalog, const char *path, const struct usdt_site *site,
	struct usdt **ret_usdt);
struct usdt *usdt_free(struct usdt *usdt);

/* perf_event_attr.config of the uprobe. */
uint64_t usdt_id(const struct usdt *usdt);

/* The event's format, of what usdt_convert() makes; borrowed. */
const struct attar_format *usdt_format(const struct usdt *usdt);

/*
 * The raw bytes of the uprobe's record as those of the event. The number of bytes, borrowed until
 * the next call; 0 for a record that is too short.
 */
size_t usdt_convert(struct usdt *usdt, const void *raw, size_t size, const void **ret_raw);

/* ---- usdtargs.c ---- */

enum { USDT_ARGS = 12, USDT_FIELDS = 20, USDT_CHUNKS = 8 };

/* A field of the event, and where its parts are in the uprobe's record. */
struct usdt_field {
	char sign; /* n number, t text, p bytes with a size, m numbers with a count, a array */
	char name[64];
	uint8_t size; /* of one number, bytes */
	bool is_char;
	uint32_t count;  /* of an array */
	unsigned offset; /* in the payload */
	/* Fields of the uprobe; NULL: none. */
	const struct attar_field *value, *length, *chunks[USDT_CHUNKS];
	unsigned n_chunks;
};

/*
 * What the uprobe is to fetch for each field (" name=+0(-24(%bp)):string ...") and the fields as
 * the kernel would spell them. -EOPNOTSUPP: an operand that uprobes cannot fetch; -EBADMSG: the
 * note makes no sense.
 */
int usdt_plan(const struct usdt_site *site, struct usdt_field fields[USDT_FIELDS], size_t *ret_n,
	struct buf *fetch, struct buf *spelled);

/* "-24(%rbp)" or "[sp, 16]" as tracefs writes it: "-24(%bp)". Appends; -EOPNOTSUPP. */
int usdt_operand(const char *operand, struct buf *b);

#endif
