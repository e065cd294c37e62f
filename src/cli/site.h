/* SPDX-License-Identifier: MIT */
/* --listen: the newest report as pages of a server. */
#ifndef CLI_SITE_H
#define CLI_SITE_H

#include "attar/report.h"
#include "base/vec.h"
#include "cli/output_options.h"
#include "cli/server.h"

struct site {
	struct server *server; /* NULL: none */
	VEC(struct site_page *) pages;
	const char *command; /* borrowed */
};

/* Starts the server if the options ask for it. Returns 0 or a negative errno. */
int site_open(struct site *site, const struct output_options *options, const char *command,
	bool has_intervals);

/* Draws the pages of a report of an interval. Returns 0 or a negative errno. */
int site_draw(struct site *site, const struct attar_report *report);

void site_close(struct site *site);

#endif
