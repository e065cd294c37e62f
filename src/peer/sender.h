/* SPDX-License-Identifier: MIT */
/*
 * Sends the bytes of a recording to all receivers that are connected to an address, in frames
 * (peer/frame.h).
 *
 * struct peer_sender_client is a receiver that has connected and sent START; a file or device is
 * one from the beginning. Each has a queue of bounded size: a round of records that does not fit is
 * dropped, and the next one that fits begins with a LOST record that says how many samples it had.
 * The caller writes the bytes: peer_sender_take_new() returns a receiver that has just started, for
 * which it opens a writer; it writes to each receiver, and ends each round.
 *
 * Nothing here waits, except peer_sender_finish().
 */
#ifndef PEER_SENDER_H
#define PEER_SENDER_H

#include <linux/perf_event.h>

#include "base/buf.h"
#include "peer/address.h"
#include "peer/tls.h"

/* Of an origin other than root and this user (socket_peer_origin()), only some can be connected. */
enum { SENDER_CLIENTS = 16, SENDER_CLIENTS_OF_ORIGIN = SENDER_CLIENTS / 4, SENDER_SILENT_S = 15 };

struct peer_sender_opts {
	const char *option;  /* for messages: "--push" */
	const char *address; /* borrowed */
	struct tls_files tls;
	size_t queue_bytes; /* of each receiver */
};

struct peer_sender_stats {
	uint64_t clients;        /* receivers that have started */
	uint64_t refused;        /* connections that were closed before */
	char refusal[256];       /* why the first of them was */
	uint64_t cut;            /* receivers that ended their connection early */
	uint64_t silent;         /* receivers that had read nothing for SENDER_SILENT_S seconds */
	uint64_t samples;        /* sent to receivers, including those that were lost */
	uint64_t lost;           /* samples dropped since the receiver's queue was full */
	uint64_t unacknowledged; /* samples sent that no receiver has confirmed, at the end */
	uint64_t lost_records;   /* other records that were dropped */
};

struct sender;
struct peer_sender_client;

/*
 * Listens, or opens the file. A file is created, and must not exist or must have been written by
 * attar's push. -EINVAL: the address can be reached from other machines, and no TLS was set up.
 */
int peer_sender_new(const struct peer_sender_opts *opts, struct sender **ret_sender);

/* Checks the address as peer_sender_new() does, which it borrows. Opens nothing. */
int peer_sender_check(const struct peer_sender_opts *opts, struct address *ret_address);

/* Closes all connections. Returns NULL. Accepts NULL. */
struct sender *peer_sender_free(struct sender *sender);

/* Becomes readable when peer_sender_turn() has something to do. */
int peer_sender_fd(const struct sender *sender);

/* Accepts, reads and writes what is possible now. 0 or -ENOMEM. */
int peer_sender_turn(struct sender *sender);

/* A receiver that has started since the last call; NULL: none. Owned by the sender. */
struct peer_sender_client *peer_sender_take_new(struct sender *sender);

/* The i-th receiver that has started; NULL after the last. */
struct peer_sender_client *peer_sender_client(struct sender *sender, size_t i);

/* The caller's object for a receiver. */
void peer_sender_client_set(struct peer_sender_client *client, void *object);
void *peer_sender_client_get(const struct peer_sender_client *client);

/* The samples that did not fit its queue, and are not in struct peer_sender_stats of others. */
uint64_t peer_sender_client_lost(const struct peer_sender_client *client);

/* Whether the connection is over: the caller frees its object, then peer_sender_drop_client(). */
bool peer_sender_client_is_over(const struct peer_sender_client *client);
void peer_sender_drop_client(struct sender *sender, struct peer_sender_client *client);

/*
 * Before the first bytes: the names of the kernel's functions (peer/symbol_list.h). 0 or -ENOMEM.
 */
int peer_sender_send_symbols(struct peer_sender_client *client, const void *symbols, size_t n);

/* Adds bytes to the round of a receiver. */
void peer_sender_write(struct peer_sender_client *client, const void *bytes, size_t n);

/* The bytes before the records were written: it is sent in any case. 0 or -ENOMEM. */
int peer_sender_end_preamble(struct sender *sender, struct peer_sender_client *client);

/*
 * Ends the round, which has this many samples, the newest at `time`. Records of the caller's events
 * have the id and the fields of attr after them. 0 or -ENOMEM.
 */
struct peer_sender_round {
	uint64_t samples, time;
	const struct perf_event_attr *attr;
	uint64_t id;
};
int peer_sender_end_round(struct sender *sender, struct peer_sender_client *client,
	const struct peer_sender_round *round);

/* Appends the fields after a record that is not a sample, see perf_event_open(2): sample_id. */
void peer_sender_put_sample_id(struct buf *to, const struct peer_sender_round *round);

/*
 * Notifies a receiver that later rounds have no event from before `time`, ns of CLOCK_MONOTONIC,
 * unless it has not read what was sent before. 0 or -ENOMEM.
 */
int peer_sender_send_time(struct sender *sender, struct peer_sender_client *client, uint64_t time);

/*
 * Ends the data of all receivers, and waits for those that read until they have confirmed
 * everything. Gives up when none has read anything for SENDER_SILENT_S, since the names of kernel
 * functions can keep a receiver busy for many seconds on a slow machine, or when stop becomes
 * readable. stop -1: it was already, and the wait is shorter.
 */
int peer_sender_finish(struct sender *sender, int stop);

void peer_sender_get_stats(const struct sender *sender, struct peer_sender_stats *ret_stats);

#endif
