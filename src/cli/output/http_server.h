/* SPDX-License-Identifier: MIT */
/*
 * An HTTP server for the newest results, and for /healthz. A thread answers from copies, so that a
 * slow client delays nothing. libmicrohttpd is loaded when it is used.
 */
#ifndef CLI_OUTPUT_HTTP_SERVER_H
#define CLI_OUTPUT_HTTP_SERVER_H

#include <stddef.h>
#include <sys/socket.h>

#include "attar/base.h"

struct http_server_page {
	const char *path; /* "/metrics"; pages with the same path follow each other */
	const char *type; /* media type with parameters; chosen if the client names it in Accept */
};

struct http_server_opts {
	/* copied; the strings must outlive the server */
	const struct http_server_page *pages;
	size_t n_pages;
	/*
	 * "PORT", "ADDRESS:PORT" or "[ADDRESS]:PORT", default address: loopback; "unix:PATH": a
	 * socket for programs of the same user and root
	 */
	const char *address;
	/* clients must send its first line as bearer token; NULL: no authentication */
	const char *token_file;
	const char *certificate, *key; /* files in PEM; NULL: without TLS */
	bool insecure; /* also addresses other than loopback without TLS and token */
};

struct http_server;

/* Listens, and logs the address. Returns 0 or a negative errno with an error message. */
int http_server_start(const struct http_server_opts *opts, struct http_server **ret_server);

/*
 * Checks the options as http_server_start() does, except for files that this user cannot read. The
 * address of the host is looked up; of "unix:PATH" it is 0. Returns 0 or a negative errno with an
 * error message.
 */
int http_server_check(const struct http_server_opts *opts, struct sockaddr_storage *ret_address);

/* Replaces the page with this index with a copy of n bytes. Returns 0 or -ENOMEM. */
int http_server_publish(struct http_server *server, size_t page, const char *text, size_t n);

/* Closes all connections. Returns NULL. server may be NULL. */
struct http_server *http_server_free(struct http_server *server);

#endif
