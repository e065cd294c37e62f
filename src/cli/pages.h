/* SPDX-License-Identifier: MIT */
/* The profilers' pages of docs/profilers/, embedded when attar is built. */
#ifndef CLI_PAGES_H
#define CLI_PAGES_H

struct page {
	const char *name;
	const char *text; /* Markdown */
};

extern const struct page pages[]; /* ends with a NULL name */

#endif
