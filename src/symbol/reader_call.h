/* SPDX-License-Identifier: MIT */
/* Requests to readers: see symbol/reader.h. */
#ifndef SYMBOL_READER_CALL_H
#define SYMBOL_READER_CALL_H

#include <limits.h>
#include <time.h>

#include "base/map.h"
#include "symbol/reader.h"
#include "symbol/reader_message.h"

#define READER_WORD "--read-files" /* the first argument of a reader; the second is the user */

enum { READER_SOCKET = 3 }; /* the number of its connection */

struct debuginfod;

/* A user's files, and the process that reads them. */
struct reader {
	bool is_own; /* files of root and the caller */
	uid_t user;  /* of others */
	pid_t pid;
	int socket;
	clockid_t clock;        /* its CPU time */
	uint32_t life;          /* number of the process, unique in the cache; 0: none runs */
	uint32_t opens, logged; /* files that it has asked for, and its messages */
	unsigned failures;
	uint64_t first;          /* ns: when the first file was read */
	uint64_t spent;          /* ns of CPU time for this user's files */
	uint64_t cpu_before;     /* ns of CPU time of processes that were ended */
	uint64_t used;           /* symbol_readers.clock of the last request */
	VEC(const char *) texts; /* by number - 1; NULL: there was no memory for it */
	uint64_t sources_read, sources_dropped; /* of all processes */
	struct message_stats stats;             /* of this one */
};

/* A symbol that a reader has found. */
struct reader_symbol {
	const char *name, *mangled;
	uint64_t start, size;
};

struct symbol_readers {
	VEC(struct reader *) users;
	bool is_off; /* they cannot be started */
	uint32_t lives;
	uint64_t clock; /* requests so far */
	VEC(struct reader_symbol) symbols;
	struct packet in;
};

struct reader_call {
	struct attar_symbols *symbols;
	struct symbol_readers *readers;
	struct reader *reader;
	struct dso *dso;
	struct debuginfod *server; /* for downloads; NULL: none are allowed now */
	int root;                  /* root directory of the process; -1: none */
	uint64_t began;            /* ns */
	uint64_t limit;            /* ns of CPU time */
	uint64_t packets;          /* of the answer, so far */
	uint64_t cpu, spent;       /* ns of CPU time: at the first look, and since then */
};

/* Starts the process if none runs. Returns 0 or a negative errno; then reader_end(). */
int reader_begin(struct reader_call *call);

/* Ends a request. r < 0: the reader has failed, and is killed. */
void reader_end(struct reader_call *call, int r);

int reader_send(struct reader_call *call, uint32_t type, const struct message_pieces *pieces);

/*
 * Waits for the next packet of the answer, which is in readers->in; serves what the reader asks for
 * meanwhile. Returns 1, or a negative errno if the reader has failed.
 */
int reader_next(struct reader_call *call);

/* The text of a number; NULL for 0. -EBADMSG: there is none. */
int reader_text(const struct reader_call *call, uint32_t number, const char **ret_text);

/* The path of an open file; "": unknown. */
void reader_path_of(int fd, char path[PATH_MAX]);

#endif
