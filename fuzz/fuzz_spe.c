/* SPDX-License-Identifier: MIT */
/*
 * Arm SPE packets of arbitrary bytes: the first byte says where the two parts meet, and the second
 * the offset. Both parts have memory of exactly their size, so that the sanitizer detects reads
 * beyond it; what is decoded must not depend on where they meet.
 */
#include <stdlib.h>
#include <string.h>

#include "attar/spe.h"

static void *copy_of(const uint8_t *bytes, size_t n)
{
	void *copy = malloc(n ? n : 1);

	if (!copy)
		abort();
	return n ? memcpy(copy, bytes, n) : copy;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct attar_spe_sample sample, whole_sample;
	struct attar_spe spe, whole;
	void *first, *second;
	size_t n, rest;

	if (size < 2)
		return 0;
	rest = size - 2;
	n = data[0] < rest ? data[0] : rest;
	first = copy_of(data + 2, n);
	second = copy_of(data + 2 + n, rest - n);
	attar_spe_init(&spe, first, n, second, rest - n, data[1]);
	attar_spe_init(&whole, data + 2, rest, NULL, 0, data[1]);
	while (attar_spe_next(&spe, &sample))
		if (!attar_spe_next(&whole, &whole_sample) ||
			memcmp(&sample, &whole_sample, sizeof(sample)) != 0)
			abort();
	if (attar_spe_next(&whole, &whole_sample) || spe.malformed != whole.malformed ||
		spe.samples + spe.malformed > rest)
		abort();
	free(first);
	free(second);
	return 0;
}
