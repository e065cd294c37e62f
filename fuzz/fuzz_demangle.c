/* SPDX-License-Identifier: MIT */
/* Mangled names from malicious binaries: output length and time are bounded. */
#include "elf/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf plain _cleanup_(buf_done) = {0};
	char *name _cleanup_free_ = strndup((const char *)data, size);

	if (name && demangle(name, &plain) && plain.len > (16 << 10) + size)
		abort();
	buf_reset(&plain);
	if (name && demangle_whole(name, &plain) && plain.len > (1 << 20))
		abort();
	return 0;
}
