/* SPDX-License-Identifier: MIT */
/*
 * Writing messages of Protocol Buffers (protobuf.dev/programming-guides/encoding): fields as a
 * number and a varint, or a number, a length and bytes. Fields with their default value, zero, are
 * left out, except in packed lists.
 */
#ifndef BASE_PROTOBUF_H
#define BASE_PROTOBUF_H

#include "base/buf.h"

enum { PROTOBUF_VARINT = 0, PROTOBUF_BYTES = 2 };

static inline void protobuf_varint(struct buf *b, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		buf_char(b, (char)(value | 0x80));
	buf_char(b, (char)value);
}

/* An integer of type int64, uint64 or bool; negative ones as their two's complement. */
static inline void protobuf_number(struct buf *b, unsigned field, uint64_t value)
{
	if (!value)
		return;
	protobuf_varint(b, field << 3 | PROTOBUF_VARINT);
	protobuf_varint(b, value);
}

/* A string, or a message or packed list that is already encoded. */
static inline void protobuf_bytes(struct buf *b, unsigned field, const void *bytes, size_t n)
{
	protobuf_varint(b, field << 3 | PROTOBUF_BYTES);
	protobuf_varint(b, n);
	buf_add(b, bytes, n);
}

/* Moves an encoded message into a field of another one, and empties it for the next. */
static inline void protobuf_message(struct buf *b, unsigned field, struct buf *message)
{
	protobuf_bytes(b, field, message->data, message->len);
	b->failed |= message->failed;
	buf_reset(message);
}

#endif
