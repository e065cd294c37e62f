/* SPDX-License-Identifier: MIT */
#include "base/vec.h"

int vec_grow(void **at, size_t *size, size_t n, size_t more, size_t element)
{
	size_t need, bytes, want = *size ? *size : 8;
	void *grown;

	if (__builtin_add_overflow(n, more, &need))
		return -ENOMEM;
	if (need <= *size)
		return 0;
	while (want < need)
		if (__builtin_mul_overflow(want, (size_t)2, &want))
			return -ENOMEM;
	if (__builtin_mul_overflow(want, element, &bytes))
		return -ENOMEM;
	grown = realloc(*at, bytes);
	if (!grown)
		return -ENOMEM;
	*at = grown;
	*size = want;
	return 0;
}
