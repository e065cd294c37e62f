/* SPDX-License-Identifier: MIT */
/*
 * Reads the recording that a sender (peer/sender.h) sends in frames, as a stream of bytes.
 *
 *	receiver_new(&opts, &r);
 *	...					// the begin of the recording
 *	receiver_begin(r, 0);
 *	while ((n = receiver_read(r, bytes, room)) > 0 || n == -EAGAIN)
 *		...					// after -EAGAIN: poll receiver_fd()
 *	if (receiver_damage(r)) ...			// reason for a premature end
 *	receiver_free(r);
 */
#ifndef PEER_RECEIVER_H
#define PEER_RECEIVER_H

#include "peer/address.h"
#include "peer/tls.h"

struct receiver_opts {
	const char *option;  /* for messages: "--pull" */
	const char *address; /* borrowed */
	struct tls_files tls;
	int stop;          /* as for address_connect() */
	uint64_t deadline; /* ns of base_now(): until when the sender must have answered */
};

struct receiver;

/*
 * Connects, measures the clocks and asks for the data. -EINVAL: the address can be reached from
 * other machines, and no TLS was set up.
 */
int receiver_new(const struct receiver_opts *opts, struct receiver **ret_receiver);
struct receiver *receiver_free(struct receiver *receiver);

/*
 * Returns the number of bytes read; 0 at the end, including a premature one; -EAGAIN if no data is
 * available; -ENOMEM; -ECANCELED: opts.stop, before receiver_begin(). Does not block.
 */
ssize_t receiver_read(struct receiver *receiver, void *bytes, size_t room);

/*
 * The begin of the recording was read. The rest ends early if the sender does not report later
 * times although it should have reached the end of this duration, ns; 0: none.
 */
void receiver_begin(struct receiver *receiver, uint64_t duration);

/* To poll for input; -1: a regular file, which is always readable. */
int receiver_fd(const struct receiver *receiver);

/* The reason for a premature end, as a clause, or NULL. */
const char *receiver_damage(const struct receiver *receiver);

/* No unread event is older than this time, ns on the sender's clock; 0: unknown. */
uint64_t receiver_since(const struct receiver *receiver);

/*
 * The names of the sender's kernel functions (peer/symbol_list.h), after data has been read: *ret_n
 * is 0 if it has none. Borrowed.
 */
const char *receiver_symbols(const struct receiver *receiver, size_t *ret_n);

/* The time of the last data from the sender, ns on the clock of this machine. */
uint64_t receiver_last_received(const struct receiver *receiver);

/* The name of the sender's host. */
const char *receiver_host(const struct receiver *receiver);

/*
 * A time of the sender's CLOCK_MONOTONIC by the clock of this machine. The clocks are compared
 * again and again, and a drift is corrected; times that were converted before do not change.
 */
uint64_t receiver_here(const struct receiver *receiver, uint64_t time);

/* ns: the maximum error of these times until now; UINT64_MAX: unknown, they are from the dates. */
uint64_t receiver_clock_error(const struct receiver *receiver);

#endif
