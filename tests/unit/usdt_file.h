/* SPDX-License-Identifier: MIT */
/* An ELF file with a given .note.stapsdt, for tests of USDT probes. */
#ifndef USDT_FILE_H
#define USDT_FILE_H

#include "base/buf.h"

/* Code is at CODE in the file and at ADDRESS in memory; data, at DATA in memory, follow it. */
enum {
	USDT_FILE_CODE = 0x1000,
	USDT_FILE_CODE_SIZE = 0x1000,
	USDT_FILE_ADDRESS = 0x401000,
	USDT_FILE_DATA = 0x403000,
};

/* Appends the file, with the notes and the symbol `counter` at USDT_FILE_DATA + 16. */
void usdt_file_make(struct buf *file, const void *notes, size_t n);

#endif
