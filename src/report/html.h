/* SPDX-License-Identifier: MIT */
/* Shared by html.c and html_tree.c, which write the data of the page page.html. */
#ifndef REPORT_HTML_H
#define REPORT_HTML_H

#include "report/render.h"

/* page.html, embedded by tools/embed. NUL-terminated. */
extern const char html_page[];

/* Appends a JSON string that is safe inside <script>: control bytes as \xNN, no '<'. */
void html_string(struct buf *b, const char *text);

/* Appends a tree as a JSON object. 0 or a negative errno. */
int html_tree(struct attar_renderer *r, struct attar_section *s);

#endif
