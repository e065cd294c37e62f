/* SPDX-License-Identifier: MIT */
/*
 * Expected: 70% of the time runs in anonymous memory that only /tmp/perf-PID.map names "jit_heavy",
 * 30% in "jit_light". usage: jit [CYCLES]; the map file is removed at the end
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "workload.h"

/* Counts its argument down to 0 and returns: like the code of a just-in-time compiler. */
#if defined(__x86_64__)
static const uint8_t loop[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xff, 0xcf, 0x75, 0xfb, 0x5d, 0xc3};
#elif defined(__aarch64__)
static const uint32_t loop[] = {0xf1000400, 0x54ffffe1, 0xd65f03c0};
#endif

typedef void (*jitted)(uint64_t n);

int main(int argc, char **argv)
{
	uint64_t seed = 1;
	char path[64];
	FILE *map;
	char *code = mmap(
		NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (code == MAP_FAILED)
		return 1;
	memcpy(code, loop, sizeof(loop));
	memcpy(code + 4096, loop, sizeof(loop));
	__builtin___clear_cache(code, code + 8192);

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	map = fopen(path, "w");
	if (!map)
		return 1;
	fprintf(map, "%lx %x jit_heavy\n%lx %x jit_light\n", (long)code, 0x40, (long)code + 4096,
		0x40);
	fclose(map);

	for (uint64_t left = argument(argc, argv, 1, 2000); left; left--) {
		uint64_t n = 25000 * uneven(&seed);

		((jitted)code)(7 * n);
		((jitted)(code + 4096))(3 * n);
	}
	unlink(path);
	return 0;
}
