/* SPDX-License-Identifier: MIT */
/* Decodes the packets of Arm SPE on stdin, and prints a line of numbers for each sample. */
#include <inttypes.h>
#include <stdio.h>

#include "attar/spe.h"

int main(void)
{
	static unsigned char bytes[1 << 20];
	size_t n = fread(bytes, 1, sizeof(bytes), stdin);
	struct attar_spe_sample s;
	struct attar_spe spe;

	attar_spe_init(&spe, bytes, n, NULL, 0, 0);
	while (attar_spe_next(&spe, &s))
		printf("pc=%" PRIu64 " level=%u target=%" PRIu64 " va=%" PRIu64 " pa=%" PRIu64
		       " context=%" PRIu32 " class=%u access=%" PRIu32 " events=%" PRIu64
		       " latency=%u issue=%u translation=%u source=%u time=%" PRIu64 "\n",
			s.pc, s.level, s.target, s.va, s.pa, s.context, s.op_class, s.access,
			s.events, s.latency, s.issue, s.translation, s.source, s.time);
	return spe.malformed > 0;
}
