/* SPDX-License-Identifier: MIT */
/* --listen: the newest report as pages of a server. */
#ifndef CLI_OUTPUT_REPORT_SERVER_H
#define CLI_OUTPUT_REPORT_SERVER_H

#include "attar/report.h"
#include "base/vec.h"
#include "cli/output/output_options.h"
#include "cli/output/http_server.h"

struct report_server {
	struct http_server *server; /* NULL: none */
	VEC(struct report_server_page *) pages;
	const char *command; /* borrowed */
};

/* Starts the server if the options ask for it. Returns 0 or a negative errno. */
int report_server_open(struct report_server *served, const struct output_options *options,
	const char *command, bool has_intervals);

/*
 * Checks the options without listening. *ret_address is of family 0 without --listen. Returns 0 or
 * a negative errno with an error message.
 */
int report_server_check(const struct output_options *options, bool has_intervals,
	struct sockaddr_storage *ret_address);

/* Draws the pages of a report of an interval. Returns 0 or a negative errno. */
int report_server_draw(struct report_server *served, const struct attar_report *report);

void report_server_close(struct report_server *served);

#endif
