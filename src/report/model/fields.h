/* SPDX-License-Identifier: MIT */
/*
 * Cells that hold the record of a tracepoint: CELL_FIELDS. Its fields are formatted when the cell
 * is drawn, so that adding an event to a report costs no more than a copy of its record.
 *
 * The renderers of event lines format such cells directly into their output. All others, and the
 * accessors of attar/report.h, call section_expand_fields() first.
 */
#ifndef REPORT_MODEL_FIELDS_H
#define REPORT_MODEL_FIELDS_H

#include "attar/format.h"
#include "base/buf.h"
#include "report/model/model.h"

enum { FIELDS_TEXT_MAX = 4096 /* bytes of text, with the NUL; longer text is cut */ };

struct fields {
	const struct attar_format *format;
	const uint8_t *raw;
	size_t size; /* bytes of raw */
	bool has_values;
};

/* The content of a cell of kind CELL_FIELDS. Borrowed until the section changes. */
struct fields section_fields(const struct attar_section *section, struct cell cell);

/* Formats the text. Returns its length, without the NUL. Not escaped. */
size_t fields_text(const struct fields *fields, char text[FIELDS_TEXT_MAX]);

/*
 * Appends the values as members of a JSON object, after a comma unless they are its first ones.
 * Returns false if there are none.
 */
bool fields_json(struct buf *b, const struct fields *fields, bool is_first);

/* Replaces all cells of kind CELL_FIELDS by cells of text and named values. */
void section_expand_fields(struct attar_section *section);

#endif
