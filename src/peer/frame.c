/* SPDX-License-Identifier: MIT */
#include "peer/frame.h"

#ifdef HAVE_ZLIB
#include <zlib.h>
#endif

#define MAGIC "ATFR"

enum { AT_VERSION = 4, AT_TYPE = 5, AT_LENGTH = 8, AT_CRC = 12, AT_SEQUENCE = 16, AT_SAMPLES = 24 };

static void put_number(char *to, uint64_t value, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		to[i] = (char)(value >> 8 * i);
}

static uint64_t get_number(const char *from, size_t bytes)
{
	uint64_t value = 0;

	for (size_t i = 0; i < bytes; i++)
		value |= (uint64_t)(unsigned char)from[i] << 8 * i;
	return value;
}

void frame_put_u64(struct buf *to, uint64_t value)
{
	char bytes[8];

	put_number(bytes, value, sizeof(bytes));
	buf_add(to, bytes, sizeof(bytes));
}

uint64_t frame_get_u64(const char *bytes)
{
	return get_number(bytes, 8);
}

/* Without zlib there is no checksum: address_parse() refuses every peer then. */
static uint32_t checksum(const char header[FRAME_HEADER], const char *payload, size_t len)
{
#ifdef HAVE_ZLIB
	Bytef clean[FRAME_HEADER];
	uLong sum;

	memcpy(clean, header, sizeof(clean));
	memset(clean + AT_CRC, 0, 4);
	sum = crc32(0, clean, sizeof(clean));
	return (uint32_t)(len ? crc32(sum, (const Bytef *)payload, (uInt)len) : sum);
#else
	return 0;
#endif
}

void frame_put(struct buf *to, const struct frame *frame)
{
	char header[FRAME_HEADER] = MAGIC;

	header[AT_VERSION] = FRAME_VERSION;
	header[AT_TYPE] = (char)frame->type;
	put_number(header + AT_LENGTH, frame->len, 4);
	put_number(header + AT_SEQUENCE, frame->sequence, 8);
	put_number(header + AT_SAMPLES, frame->samples, 8);
	put_number(header + AT_CRC, checksum(header, frame->payload, frame->len), 4);
	buf_add(to, header, sizeof(header));
	buf_add(to, frame->payload, frame->len);
}

static int check_header(const char *bytes, size_t len)
{
	if (bytes[AT_VERSION] != FRAME_VERSION)
		return attar_fail(-EBADMSG,
			"the frames have version %u, but this attar has version %u" ATTAR_FIX
			"use the same attar on both sides",
			(unsigned char)bytes[AT_VERSION], FRAME_VERSION);
	if (len > FRAME_PAYLOAD_MAX)
		return attar_fail(-EBADMSG, "a frame of %zu bytes is corrupted", len);
	return 0;
}

ssize_t frame_get(const char *bytes, size_t n, uint64_t sequence, struct frame *ret_frame)
{
	struct frame frame;
	size_t len;
	int r;

	if (n && memcmp(bytes, MAGIC, MIN(n, strlen(MAGIC))) != 0)
		return attar_fail(-EBADMSG, "the data does not consist of frames of attar");
	if (n < FRAME_HEADER)
		return 0;
	len = (size_t)get_number(bytes + AT_LENGTH, 4);
	r = check_header(bytes, len);
	if (r < 0)
		return r;
	if (n - FRAME_HEADER < len)
		return 0;
	frame = (struct frame){.type = (uint8_t)bytes[AT_TYPE],
		.sequence = get_number(bytes + AT_SEQUENCE, 8),
		.samples = get_number(bytes + AT_SAMPLES, 8),
		.payload = bytes + FRAME_HEADER,
		.len = len};
	if (get_number(bytes + AT_CRC, 4) != checksum(bytes, frame.payload, len))
		return attar_fail(-EBADMSG, "the checksum of a frame is wrong");
	if (frame.sequence != sequence)
		return attar_fail(-EBADMSG, "expected frame %llu, received frame %llu",
			(unsigned long long)sequence, (unsigned long long)frame.sequence);
	*ret_frame = frame;
	return (ssize_t)(FRAME_HEADER + len);
}

void frame_reason(const struct frame *frame, char ret_reason[FRAME_REASON_MAX + 1])
{
	size_t n = MIN(frame->len, (size_t)FRAME_REASON_MAX);

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)frame->payload[i];

		ret_reason[i] = c < ' ' || c > '~' ? '?' : (char)c;
	}
	ret_reason[n] = '\0';
}
