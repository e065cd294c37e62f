/* SPDX-License-Identifier: MIT */
/*
 * USDT probes in the ELF notes of a file: .note.stapsdt as SystemTap's sdt.h writes it, version 3
 * (address, semaphore, provider, name, arguments), and .note.perfume (the fields of a libperfume
 * event), see perfume/perfume.h. Nothing in a note is trusted.
 */
#ifndef EVENT_USDT_NOTE_H
#define EVENT_USDT_NOTE_H

#include "elf/elf.h"

#define USDT_PERFUME "perfume" /* the provider of libperfume's probes */

/* One location of a probe in a file. Borrowed until the callback returns. */
struct usdt_site {
	const char *provider, *event; /* printable, without characters of the event grammar */
	uint64_t offset;              /* of the probe: file offset in bytes, of code */
	uint64_t vaddr;               /* of the probe */
	uint64_t ref;                 /* of the semaphore: file offset; 0: none */
	const char *operands;         /* "8@-24(%rbp) -4@%eax" */
	/*
	 * "u64 id; __rel_loc char[] symbol" and one letter for each (see perfume.h); NULL: unknown
	 */
	const char *fields, *signs;
	const struct elf *elf; /* the file; NULL: none */
};
typedef int usdt_site_fn(void *ctx, const struct usdt_site *site);

/*
 * Calls fn for each location of a USDT probe in the file; stops at a nonzero result and returns it.
 * Returns 0 also if the file is not ELF; a negative errno if it cannot be read.
 */
int usdt_each(const char *path, usdt_site_fn *fn, void *ctx);

#endif
