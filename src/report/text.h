/* SPDX-License-Identifier: MIT */
/* What the parts of the text renderer share: lines of a limited width, and styles. */
#ifndef REPORT_TEXT_H
#define REPORT_TEXT_H

#include "report/render.h"

enum text_style { TEXT_PLAIN, TEXT_HEADING, TEXT_DIM, TEXT_HOT, TEXT_WARM, TEXT_WARNING };

/* Begins and ends a style; nothing without colour. */
void text_style(struct attar_renderer *r, enum text_style style);

/* The style of a share of the whole, 0..100. */
enum text_style text_heat(double percent);

/*
 * Appends harmless (escaped) text, cut to what is left of the line: *used columns are taken and
 * grow. Without a width limit nothing is cut.
 */
void text_add(struct attar_renderer *r, unsigned *used, enum text_style style, const char *text);

/* The same in a field of `width` columns: `right` puts the blanks first; `last` leaves them out. */
struct text_field {
	unsigned width;
	bool right, last;
	enum text_style style;
};
void text_add_field(
	struct attar_renderer *r, unsigned *used, const struct text_field *field, const char *text);

/* A whole line of words, broken where the width asks for it. text is escaped here. */
void text_wrap(struct attar_renderer *r, enum text_style style, const char *text);

/* "name" or "name, rest" as the heading of a section; nothing for an empty name. */
void text_heading(struct attar_renderer *r, const char *name, const char *rest);

void text_table(struct attar_renderer *r, const struct attar_section *s);
void text_events(struct attar_renderer *r, const struct attar_section *s);
void text_histogram(struct attar_renderer *r, const struct attar_section *s);

/* 0 or -ENOMEM with its error text. */
int text_tree(struct attar_renderer *r, struct attar_section *s);

#endif
