/* SPDX-License-Identifier: MIT */
/* Shared by html.c, html_tree.c and html_states.c, which write the data of the page page.html. */
#ifndef REPORT_SINKS_HTML_HTML_H
#define REPORT_SINKS_HTML_HTML_H

#include "report/sinks/render.h"

/* page.html, embedded by tools/embed. NUL-terminated. */
extern const char html_page[];

/* Appends a JSON string that is safe inside <script>: control bytes as \xNN, no '<'. */
void html_string(struct buf *b, const char *text);

/* Appends a number in the digits that html_tree.c describes. */
void html_number(struct buf *b, uint64_t n);

/* Appends a tree as a JSON object. 0 or a negative errno. */
int html_tree(struct attar_renderer *r, struct attar_section *s);

/*
 * Appends the states of threads of a time line as a JSON object. tree: the tree with the nodes of
 * the stacks; NULL: none. 0 or a negative errno.
 */
int html_states(
	struct attar_renderer *r, const struct attar_section *section, struct attar_section *tree);

#endif
