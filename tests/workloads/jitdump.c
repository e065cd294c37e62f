/* SPDX-License-Identifier: MIT */
/*
 * Expected: 70% of the time runs in anonymous memory that only a jitdump in the current directory
 * names "dump_heavy", line 17 of heavy.js, and 30% in "dump_light", which was moved there and is
 * line 23 of light.js. usage: jitdump [CYCLES [BIAS]]; prints the path of the file. BIAS
 * is added to the addresses of lines, as V8 does
 */
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "workload.h"

/* Counts its argument down to 0 and returns: like the code of a just-in-time compiler. */
#if defined(__x86_64__)
static const uint8_t loop[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xff, 0xcf, 0x75, 0xfb, 0x5d, 0xc3};
enum { MACHINE = 62 };
#elif defined(__aarch64__)
static const uint32_t loop[] = {0xf1000400, 0x54ffffe1, 0xd65f03c0};
enum { MACHINE = 183 };
#endif

enum { LOAD, MOVE, LINES, STEP = 4096, SIZE = 64 };

typedef void (*jitted)(uint64_t n);

static FILE *dump;
static uint64_t bias;

static void put32(uint32_t value)
{
	fwrite(&value, sizeof(value), 1, dump);
}

static void put64(uint64_t value)
{
	fwrite(&value, sizeof(value), 1, dump);
}

static void put_header(uint32_t id, size_t size)
{
	put32(id);
	put32((uint32_t)size);
	put64(0);
}

static void put_lines(const char *code, const char *file, uint32_t line)
{
	put_header(LINES, 32 + 16 + strlen(file) + 1 + 16 + 2);
	put64((uint64_t)code);
	put64(2);
	put64((uint64_t)code + bias);
	put32(line);
	put32(0);
	fwrite(file, strlen(file) + 1, 1, dump);
	/* behind the loop: another line of the same file */
	put64((uint64_t)code + sizeof(loop) + bias);
	put32(line + 1);
	put32(0);
	fwrite("\377", 2, 1, dump);
}

static void put_load(const char *code, const char *name)
{
	put_header(LOAD, 56 + strlen(name) + 1 + SIZE);
	put32((uint32_t)getpid());
	put32((uint32_t)syscall(SYS_gettid));
	put64((uint64_t)code);
	put64((uint64_t)code);
	put64(SIZE);
	put64(0);
	fwrite(name, strlen(name) + 1, 1, dump);
	fwrite(code, SIZE, 1, dump);
}

static void put_move(const char *from, const char *to)
{
	put_header(MOVE, 64);
	put32((uint32_t)getpid());
	put32((uint32_t)syscall(SYS_gettid));
	put64((uint64_t)to);
	put64((uint64_t)from);
	put64((uint64_t)to);
	put64(SIZE);
	put64(1);
}

static int write_dump(const char *code)
{
	char path[64];
	void *mark;

	snprintf(path, sizeof(path), "jit-%d.dump", getpid());
	dump = fopen(path, "w+");
	if (!dump)
		return -1;
	mark = mmap(NULL, STEP, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(dump), 0);
	put32(0x4a695444);
	put32(1);
	put32(40);
	put32(MACHINE);
	put32(0);
	put32((uint32_t)getpid());
	put64(0);
	put64(0);
	put_lines(code, "heavy.js", 17);
	put_load(code, "dump_heavy");
	put_lines(code + 2L * STEP, "light.js", 23);
	put_load(code + 2L * STEP, "dump_light");
	put_move(code + 2L * STEP, code + STEP);
	fflush(dump);
	printf("%s\n", path);
	fflush(stdout);
	return mark == MAP_FAILED ? -1 : 0;
}

int main(int argc, char **argv)
{
	uint64_t seed = 1;
	char *code = mmap(NULL, 3UL * STEP, PROT_READ | PROT_WRITE | PROT_EXEC,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (code == MAP_FAILED)
		return 1;
	bias = argument(argc, argv, 2, 0);
	memcpy(code, loop, sizeof(loop));
	memcpy(code + STEP, loop, sizeof(loop));
	memcpy(code + 2L * STEP, loop, sizeof(loop));
	__builtin___clear_cache(code, code + 3L * STEP);
	if (write_dump(code) < 0)
		return 1;
	for (uint64_t left = argument(argc, argv, 1, 2000); left; left--) {
		uint64_t n = 25000 * uneven(&seed);

		((jitted)code)(7 * n);
		((jitted)(code + STEP))(3 * n);
	}
	return 0;
}
