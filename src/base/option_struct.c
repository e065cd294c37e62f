/* SPDX-License-Identifier: MIT */
#include "base/option_struct.h"

/* Bytes. A larger size is uninitialized, and reading that much could fault. */
enum { OPTS_MAX = 64 << 10 };

int option_struct_take(void *mine, size_t known, const void *theirs)
{
	const unsigned char *bytes = theirs;
	size_t size;

	if (!theirs)
		return 0;
	memcpy(&size, theirs, sizeof(size));
	if (size < sizeof(size_t) || size > OPTS_MAX)
		return attar_fail(-EINVAL,
			"the member 'size' of the options is %zu" ATTAR_FIX
			"set it to the size of their struct with sizeof",
			size);
	for (size_t i = known; i < size; i++)
		if (bytes[i])
			return attar_fail(-E2BIG,
				"options of %zu bytes set members that this version of libattar "
				"does not support (it supports %zu bytes)",
				size, known);
	memcpy(mine, theirs, MIN(known, size));
	return 0;
}
