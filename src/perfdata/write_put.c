/* SPDX-License-Identifier: MIT */
/* Numbers, strings and headers in the format of perf.data. */
#include "perfdata/writer_internal.h"

enum { STRING_ALIGN = 64 };

void writer_put_u32(struct buf *b, uint32_t value)
{
	buf_add(b, &value, sizeof(value));
}

void writer_put_u64(struct buf *b, uint64_t value)
{
	buf_add(b, &value, sizeof(value));
}

void writer_pad(struct buf *b, size_t to)
{
	while (!buf_failed(b) && b->len % to)
		buf_add(b, "", 1);
}

void writer_put_string(struct buf *b, const char *text)
{
	static const char zeros[STRING_ALIGN];
	size_t len = strlen(text), padded = ROUND_UP(len + 1, (size_t)STRING_ALIGN);

	writer_put_u32(b, (uint32_t)padded);
	buf_add(b, text, len);
	buf_add(b, zeros, padded - len);
}

void writer_put_header(struct buf *b, uint32_t type, uint16_t misc, size_t size)
{
	struct perf_event_header header = {.type = type, .misc = misc, .size = (uint16_t)size};

	buf_add(b, &header, sizeof(header));
}
