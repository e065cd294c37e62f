/* SPDX-License-Identifier: MIT */
/*
 * A self-describing event of arbitrary bytes: parses and prints it, complete, truncated and as
 * JSON, within its bounds.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "eventheader/eventheader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct attar_eventheader header;
	char line[1024], cut[16];
	struct buf json = {0};
	size_t n = attar_eventheader_print(data, size, line, sizeof(line));

	if (strlen(line) >= sizeof(line) || (n < sizeof(line) && strlen(line) > n))
		abort();
	attar_eventheader_print(data, size, cut, sizeof(cut));
	attar_eventheader_print(data, size, NULL, 0);
	eventheader_json(&json, data, size);
	buf_done(&json);
	if (attar_eventheader_parse(data, size, &header) < 0)
		return 0;
	if (header.data < data || header.data + header.data_len != data + size)
		abort();
	if (header.name &&
		(header.fields < data || header.fields + header.fields_len > header.data))
		abort();
	return 0;
}
