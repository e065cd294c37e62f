/* SPDX-License-Identifier: MIT */
/*
 * Frames: how events travel between two attars. A connection carries frames in both directions; a
 * file or character device carries the frames of the sender only.
 *
 * All numbers are little-endian. A frame is a header of 32 bytes and its payload:
 *
 *	offset  bytes
 *	0       4      magic "ATFR"
 *	4       1      version: 1. A frame of another version is refused
 *	5       1      type, of enum frame_type. Unknown types are skipped
 *	6       2      0
 *	8       4      length of the payload, at most FRAME_PAYLOAD_MAX
 *	12      4      CRC-32 (as in zlib) of the frame, with these four bytes as 0
 *	16      8      sequence number: 0, 1, 2, ... for each direction
 *	24      8      samples in the DATA frames up to the end of this one
 *
 *	type         from       payload
 *	HELLO        both       name of the host; of the sender, after 24 bytes: bits of enum
 *				frame_hello, CLOCK_MONOTONIC and CLOCK_REALTIME, ns
 *	PING         receiver   8 bytes, which PONG returns
 *	PONG         sender     the bytes of PING; CLOCK_MONOTONIC of the sender, ns
 *	START        receiver   none: the sender may send DATA
 *	DATA         sender     the next bytes of a recording in the pipe format of perf.data
 *	ACK          receiver   none; the samples of the header are those that arrived
 *	END          sender     none: no DATA follow
 *	TIME         sender     8 bytes, CLOCK_MONOTONIC of the sender, ns: later DATA have no
 *				older events. Sent about 10 times a second, also without events
 *	SYMBOLS      sender     the next bytes of the names of its kernel's functions
 *				(peer/symbol_list.h), before the first DATA
 *	REFUSED      both       why this side ends the connection, as text: the answer to the HELLO
 *				of the other side
 *
 * The receiver connects and sends HELLO, some PINGs, and START. The sender answers with HELLO and
 * PONGs, then sends DATA; it closes a connection that does not send START in time, or that sends
 * PINGs without reading the PONGs. A sender with HELLO_PONGS also answers PINGs after START, unless
 * data wait for the receiver: these show how the clocks drift apart.
 *
 * In a file or device, DATA follow HELLO at once. Samples that the sender drops because the
 * receiver is slow are reported by a LOST record in the DATA, as the kernel reports the losses of
 * its rings.
 */
#ifndef PEER_FRAME_H
#define PEER_FRAME_H

#include "base/buf.h"

enum {
	FRAME_VERSION = 1,
	FRAME_HEADER = 32,           /* bytes */
	FRAME_PAYLOAD_MAX = 1 << 20, /* bytes */
	FRAME_REASON_MAX = 255,      /* bytes that are read of REFUSED */
};

enum frame_type {
	FRAME_HELLO = 1,
	FRAME_PING,
	FRAME_PONG,
	FRAME_START,
	FRAME_DATA,
	FRAME_ACK,
	FRAME_END,
	FRAME_TIME,
	FRAME_SYMBOLS,
	FRAME_REFUSED,
};

/* Bits of the first number in the HELLO of a sender. Its others are its clocks. */
enum frame_hello {
	HELLO_ONE_WAY = 1, /* a file or device */
	HELLO_PONGS = 2,   /* answers PINGs after START */
};

struct frame {
	uint8_t type; /* can be unknown */
	uint64_t sequence, samples;
	const char *payload; /* borrowed from the decoder's buffer */
	size_t len;          /* bytes of the payload */
};

/* Appends a frame. len is at most FRAME_PAYLOAD_MAX. */
void frame_put(struct buf *to, const struct frame *frame);

/*
 * Decodes the frame at the start of n bytes, whose sequence number must be `sequence`. Returns its
 * size in bytes; 0 if more bytes are needed; -EBADMSG, with an error message, if the bytes are not
 * a frame, are damaged, or a frame before it is missing.
 */
ssize_t frame_get(const char *bytes, size_t n, uint64_t sequence, struct frame *ret_frame);

/* The text of REFUSED, with '?' for characters that are not printable ASCII. */
void frame_reason(const struct frame *frame, char ret_reason[FRAME_REASON_MAX + 1]);

/* The numbers of a payload. */
void frame_put_u64(struct buf *to, uint64_t value);
uint64_t frame_get_u64(const char *bytes);

#endif
