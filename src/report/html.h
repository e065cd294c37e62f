/* SPDX-License-Identifier: MIT */
/*
 * What the two halves of the page's data share. The page is flame.html; html.c says what it gets.
 */
#ifndef REPORT_HTML_H
#define REPORT_HTML_H

#include "report/render.h"

/* flame.html, as tools/embed wrote it. NUL-terminated. */
extern const char html_page[];

/* A JSON string that is harmless inside <script>: control bytes as \xNN, no '<'. */
void html_string(struct buf *b, const char *text);

/* A tree as a JSON object. 0 or a negative errno. */
int html_tree(struct attar_renderer *r, struct attar_section *s);

#endif
