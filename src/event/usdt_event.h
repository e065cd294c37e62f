/* SPDX-License-Identifier: MIT */
/* USDT probes of any provider as events: usdt:FILE:PROVIDER:NAME, usdt:PROVIDER:NAME. */
#ifndef EVENT_USDT_EVENT_H
#define EVENT_USDT_EVENT_H

#include "event/list.h"
#include "event/usdt_table.h"

/* What "FILE:PROVIDER:NAME" names; all strings are to be freed. */
struct usdt_request {
	char *file;     /* as written; NULL: none is named */
	char *provider; /* a pattern */
	char *name;     /* a pattern; NULL: none is named */
};

/*
 * Reads the text of an event after "usdt:". FILE may be in quotes. *ret_end is the end of the
 * request. Returns 0 or -EINVAL with an error message.
 */
int usdt_request_read(const char *text, struct usdt_request *ret_request, const char **ret_end);
void usdt_request_done(struct usdt_request *request);

/* Fails: the file has no such probe, or is not an ELF file. Returns a negative errno. */
int usdt_none_found(const char *path, const char *provider, const char *name);

/* "usdt:FILE:PROVIDER:NAME" of a location, to be freed; FILE in quotes if it needs them. */
char *usdt_event_name(const char *file, const struct usdt_location *location);

/*
 * "usdt:" with parser->p after the colon; "sdt_PROVIDER:" as perf names such events, with parser->p
 * after the colon and the provider of n bytes.
 */
int usdt_parse(struct parser *parser);
int usdt_parse_sdt(struct parser *parser, const char *provider, size_t n);

#endif
