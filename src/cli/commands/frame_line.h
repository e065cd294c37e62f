/* SPDX-License-Identifier: MIT */
/* Functions and source lines of code, as `attar symbols` and `attar stack` print them. */
#ifndef CLI_COMMANDS_FRAME_LINE_H
#define CLI_COMMANDS_FRAME_LINE_H

#include "attar/attar-run.h"
#include "base/buf.h"

/* A function at a location; strings are borrowed from the cache of symbols. */
struct frame_line {
	const char *name, *mangled, *module, *file;
	uint64_t offset, address;
	uint32_t line, column;
	bool inlined, is_interpreted;
	bool is_file;     /* code of a file: without a name, it is shown as "libc.so.6+0x1f3" */
	bool has_address; /* without a name, it is shown as "[unknown] 0x7f12d000" */
};

struct frame_line frame_line_of(const struct attar_frame *frame);

/* "outer+0x14 at file.c:9:2"; an inlined function has no offset. */
void frame_line_text(struct buf *b, const struct frame_line *line, bool mangled);

/* " (/usr/lib/libc.so.6)" */
void frame_line_module(struct buf *b, const struct frame_line *line);

/* Columns of a table, from "symbol" to "dso", and the cells of a row. */
void frame_line_columns(struct attar_section *table);
void frame_line_cells(struct attar_section *table, const struct frame_line *line, bool mangled);

#endif
