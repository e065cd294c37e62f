/* SPDX-License-Identifier: MIT */
/*
 * The cell that was last written in each of the first columns, for formats of lines: many events
 * have the name, the thread and the CPU of the one before. Its text is copied then.
 */
#ifndef REPORT_SINKS_REPEATED_H
#define REPORT_SINKS_REPEATED_H

#include "base/buf.h"
#include "base/recent.h"
#include "report/model/model.h"

enum { REPEATED_COLUMNS = 8 };

struct repeated {
	enum cell_kind kind;
	struct recent_text text; /* with the comma that precedes it */
};

/* Writes the text of this cell if it is the last one. */
static inline bool repeated_put(const struct repeated *last, struct cell cell, struct buf *b)
{
	char *end;

	if (last->kind != cell.kind || !buf_reserve(b, RECENT_TEXT_MAX))
		return false;
	end = recent_text_put(&last->text, cell.bits, b->data + b->len);
	if (!end)
		return false;
	*end = '\0';
	b->len = (size_t)(end - b->data);
	return true;
}

/* Keeps the text of a cell, which was written from this position on. */
static inline void repeated_keep(
	struct repeated *last, struct cell cell, struct buf *b, size_t from)
{
	if (cell.kind == CELL_FIELDS || !buf_reserve(b, RECENT_TEXT_MAX))
		return;
	last->kind = cell.kind;
	recent_text_keep(&last->text, cell.bits, b->data + from, b->data + b->len);
}

#endif
