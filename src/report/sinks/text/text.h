/* SPDX-License-Identifier: MIT */
/* Shared by the parts of the text renderer: lines of limited width, and styles. */
#ifndef REPORT_SINKS_TEXT_TEXT_H
#define REPORT_SINKS_TEXT_TEXT_H

#include "report/sinks/layout.h"
#include "report/sinks/render.h"

enum text_style { TEXT_PLAIN, TEXT_HEADING, TEXT_DIM, TEXT_HOT, TEXT_WARM, TEXT_WARNING };

/* The style for a percentage of the whole, 0..100. */
enum text_style text_heat(double percent);

/*
 * Appends escaped text, truncated to the rest of the line. *used is the number of columns already
 * used, and is updated. Without a width limit nothing is truncated.
 */
void text_add(struct attar_renderer *r, unsigned *used, enum text_style style, const char *text);

/* The same in a field of `width` columns: `right` aligns it right; `last` omits trailing spaces. */
struct shorten;
struct text_field {
	unsigned width;
	bool right, last;
	enum text_style style;
	const struct shorten *shorten; /* NULL: strings lose their ends, paths their beginnings */
};
void text_add_field(
	struct attar_renderer *r, unsigned *used, const struct text_field *field, const char *text);

/* A line of words, wrapped at the width limit. Escapes text. */
void text_wrap(struct attar_renderer *r, enum text_style style, const char *text);
/* The same with an indent before each line. */
void text_wrap_indented(
	struct attar_renderer *r, enum text_style style, const char *indent, const char *text);

/* The heading of a section: "name" or "name, rest"; nothing if name is empty. */
void text_heading(struct attar_renderer *r, const char *name, const char *rest);

/* "(nothing)", for an empty section. */
void text_nothing(struct attar_renderer *r);

void text_table(struct attar_renderer *r, const struct attar_section *s);
void text_events(struct attar_renderer *r, struct attar_section *s);
void text_histogram(struct attar_renderer *r, const struct attar_section *s);

/* Event lines that fit the width of a terminal, or have styles. */
void text_fitted_events(struct attar_renderer *r, const struct attar_section *s);

/*
 * True if event lines have the same columns as those before: no new heading. Their widths are those
 * of the heading then, r->widths: a line with a wider value than its column is wider, but not
 * those after it.
 */
bool text_continues(struct attar_renderer *r, const struct attar_section *s);

/* With a heading: gives columns that later lines fill more room, if there is some. */
void text_keep_widths(struct attar_renderer *r, const struct attar_section *s,
	struct layout_column *columns, size_t n);

/* Makes the drawn report replace the previous one on the screen, and cuts it to the lines there. */
void text_replace_screen(struct attar_renderer *r);

/* Returns 0, or -ENOMEM with an error message. */
int text_tree(struct attar_renderer *r, struct attar_section *section);

#endif
