/* SPDX-License-Identifier: MIT */
/*
 * frame_get() on arbitrary bytes, as receiver and sender call it. Then the same bytes as payloads
 * of valid frames, which must be returned unchanged; and as the names of kernel functions that such
 * frames carry.
 */
#include <stdlib.h>
#include <string.h>

#include "peer/frame.h"
#include "peer/symbol_list.h"

/* Copies to a block of exactly n bytes, so that the sanitizer detects reads beyond it. */
static void decode(const uint8_t *data, size_t size)
{
	char *bytes = malloc(size + 1);
	struct frame frame;
	ssize_t n;

	if (!bytes)
		return;
	memcpy(bytes + 1, data, size); /* not aligned, as in a connection */
	for (size_t at = 0, i = 0; at < size; at += (size_t)n, i++) {
		n = frame_get(bytes + 1 + at, size - at, i, &frame);
		if (n <= 0)
			break;
		if ((size_t)n > size - at || frame.len + FRAME_HEADER != (size_t)n)
			abort();
	}
	attar_error_clear();
	free(bytes);
}

static void encode(const uint8_t *data, size_t size)
{
	const struct frame frame = {.type = FRAME_DATA,
		.sequence = size,
		.samples = UINT64_MAX - size,
		.payload = (const char *)data,
		.len = size};
	struct buf out = {0};
	struct frame back;

	if (size > FRAME_PAYLOAD_MAX)
		return;
	frame_put(&out, &frame);
	if (!buf_failed(&out)) {
		if (frame_get(out.data, out.len, size, &back) != (ssize_t)out.len ||
			back.samples != frame.samples || back.len != size ||
			(size && memcmp(back.payload, data, size) != 0))
			abort();
		for (size_t cut = 0; cut < out.len; cut += out.len / 7 + 1)
			if (frame_get(out.data, cut, size, &back) != 0)
				abort();
	}
	buf_done(&out);
}

static void unpack(const uint8_t *data, size_t size)
{
	struct buf text = {0};

	if (symbol_list_unpack(data, size, &text) == 0 && text.len > (size_t)65 << 20)
		abort(); /* a small list can become a long text */
	attar_error_clear();
	buf_done(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	decode(data, size);
	encode(data, size);
	unpack(data, size);
	return 0;
}
