/* SPDX-License-Identifier: MIT */
/*
 * Debug files from the servers in $DEBUGINFOD_URLS. libdebuginfod does the transfers and keeps the
 * files in its cache, ~/.cache/debuginfod_client; it is loaded with dlopen(3) for the first file
 * that is not found locally, if the variable is set. {0} before its first use.
 *
 * Limits: the transfers of an object take at most DEBUGINFOD_SECONDS together, and
 * $DEBUGINFOD_TIMEOUT without progress; after a server that does not answer no more are tried.
 */
#ifndef SYMBOL_DEBUGINFOD_H
#define SYMBOL_DEBUGINFOD_H

#include "base/base.h"

enum { DEBUGINFOD_SECONDS = 300 };

struct debuginfod_client; /* of libdebuginfod */

struct debuginfod_functions {
	struct debuginfod_client *(*begin)(void);
	void (*progress)(struct debuginfod_client *client,
		int (*fn)(struct debuginfod_client *client, long done, long all));
	void (*set_data)(struct debuginfod_client *client, void *data);
	int (*find)(struct debuginfod_client *client, const uint8_t *id, int id_size, char **path);
	void (*end)(struct debuginfod_client *client);
};

struct debuginfod {
	bool is_loaded, is_off;
	struct debuginfod_client *client;
	uint64_t left, began;          /* ns: for transfers; the start of the current one */
	uint64_t reported;             /* ns: when its last message was printed */
	const char *binary;            /* whose file is transferred; borrowed during the call */
	bool is_running, is_cancelled; /* atomic: see debuginfod_cancel() */
	struct debuginfod_functions lib;
};

/*
 * Finds the debug file of a build ID; binary is its path, for messages. Returns an fd owned by the
 * caller; -ENOENT: there is none, or no server. The file is not checked.
 */
int debuginfod_open(struct debuginfod *d, const char *binary, const uint8_t *id, size_t id_size);
void debuginfod_done(struct debuginfod *d);

/*
 * Ends the transfer that is running, within about a second, and prevents others; libdebuginfod
 * removes what it has of the file. Returns whether one was running. Async-signal-safe.
 */
bool debuginfod_cancel(struct debuginfod *d);

#endif
