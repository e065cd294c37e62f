/* SPDX-License-Identifier: MIT */
/*
 * An HTTP server for the newest results: /metrics, /healthz and an HTML page at /. A thread answers
 * from copies, so that a slow client delays nothing. libmicrohttpd is loaded when it is used.
 */
#ifndef CLI_SERVER_H
#define CLI_SERVER_H

#include <stddef.h>

#include "attar/base.h"

struct server_opts {
	const char *
		address; /* "PORT", "ADDRESS:PORT" or "[ADDRESS]:PORT"; without address: loopback */
	const char
		*token_file; /* clients must send its first line as bearer token; NULL: anybody */
	const char *certificate, *key; /* files in PEM; NULL: without TLS */
	bool insecure; /* other addresses than loopback without TLS and token, too */
};

enum server_page { SERVER_PROMETHEUS, SERVER_OPENMETRICS, SERVER_HTML, SERVER_PAGES };

struct server;

/* Listens, and logs the address. Returns 0 or a negative errno with an error text. */
int server_start(const struct server_opts *opts, struct server **ret_server);

/* Replaces a page with a copy of n bytes. Returns 0 or -ENOMEM. */
int server_publish(struct server *server, enum server_page page, const char *text, size_t n);

/* Closes all connections. Returns NULL. server may be NULL. */
struct server *server_free(struct server *server);

#endif
