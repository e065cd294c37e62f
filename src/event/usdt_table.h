/* SPDX-License-Identifier: MIT */
/* The USDT probes of files: their locations, and fetch arguments for each. */
#ifndef EVENT_USDT_TABLE_H
#define EVENT_USDT_TABLE_H

#include "base/intern.h"

/* One location. All strings are owned by the table. */
struct usdt_location {
	const char *file, *provider, *name;
	const char *link; /* to the file, see list_file(); NULL: none */
	uint64_t offset;  /* in the file, bytes */
	uint64_t ref;     /* of the semaphore: file offset; 0: none */
	/*
	 * "s32 arg1, x64 arg2, ? arg3": x is of a floating-point number, whose bits are fetched,
	 * and ? of an argument that cannot be fetched.
	 */
	const char *arguments;
	const char *operands;  /* as in the note */
	const char *fetch;     /* " arg1=%di:s32 ...", for a uprobe */
	const char *unfetched; /* " arg3 (%xmm0)": what cannot be fetched, and its operands */
};

struct usdt_table {
	VEC(struct usdt_location) locations;
	struct intern texts;
	/* of variables in symbol tables: their number and time are bounded */
	unsigned lookups;
	uint64_t lookup_ns;
};

/*
 * Adds the locations of probes whose provider and name match two patterns of fnmatch(3). Returns 0,
 * also if there are none or the file is not ELF; or a negative errno.
 */
int usdt_table_add(
	struct usdt_table *table, const char *file, const char *provider, const char *name);

/*
 * Sorts by provider, name, arguments, file and offset, and removes duplicates. Locations with equal
 * arguments can share an event.
 */
void usdt_table_sort(struct usdt_table *table);
void usdt_table_done(struct usdt_table *table);

#endif
