/* SPDX-License-Identifier: MIT */
#include "base/vec.h"

int vec_grow(void **at, size_t *size, size_t n, size_t more, size_t element)
{
	size_t need, bytes, want = *size ? *size : 8;
	void *grown;

	if (__builtin_add_overflow(n, more, &need))
		return base_oom();
	if (need <= *size)
		return 0;
	while (want < need)
		if (__builtin_mul_overflow(want, (size_t)2, &want))
			return base_oom();
	if (__builtin_mul_overflow(want, element, &bytes))
		return base_oom();
	grown = realloc(*at, bytes);
	if (!grown)
		return base_oom();
	*at = grown;
	*size = want;
	return 0;
}
