/* SPDX-License-Identifier: MIT */
/*
 * USDT probes of libperfume events: creates uprobes that fetch their arguments, and converts uprobe
 * records to the layout that the event has with all other transports. Fetch arguments:
 * Documentation/trace/uprobetracer.rst.
 */
#ifndef EVENT_USDT_H
#define EVENT_USDT_H

#include "base/buf.h"
#include "tracefs/format.h"
#include "event/list.h"
#include "event/usdt_note.h"

struct usdt;

/*
 * Creates a uprobe for the site. It exists in tracefs until the catalog is freed. Free with
 * usdt_free().
 */
int usdt_new(struct attar_catalog *catalog, const char *path, const struct usdt_site *site,
	struct usdt **ret_usdt);
struct usdt *usdt_free(struct usdt *usdt);

/* perf_event_attr.config of the uprobe. */
uint64_t usdt_id(const struct usdt *usdt);

/* The format of the records returned by usdt_convert(); borrowed. */
const struct attar_format *usdt_format(const struct usdt *usdt);

/*
 * Converts the raw data of a uprobe record to the raw data of the event. Returns its size in bytes;
 * 0 if the record is too short. *ret_raw is borrowed until the next call.
 */
size_t usdt_convert(struct usdt *usdt, const void *raw, size_t size, const void **ret_raw);

/* ---- usdt_args.c ---- */

enum { USDT_ARGS = 12, USDT_FIELDS = 20, USDT_CHUNKS = 8 };

/* A field of the event, and the uprobe fields that its value comes from. */
struct usdt_field {
	char sign; /* n number, t string, p bytes with a size, m numbers with a count, a array */
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
 * Writes the fetch arguments of the uprobe (" name=+0(-24(%bp)):string ...") and the fields in the
 * kernel's syntax. -EOPNOTSUPP: uprobes cannot fetch an operand; -EBADMSG: malformed note.
 */
int usdt_plan(const struct usdt_site *site, struct usdt_field fields[USDT_FIELDS], size_t *ret_n,
	struct buf *fetch, struct buf *spelled);

#endif
