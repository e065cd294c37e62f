/* SPDX-License-Identifier: MIT */
/*
 * cfi_table FILE: compiles the call frame information of a binary, TURNS times. Prints JSON: the
 * CPU time of a turn in ns, the functions (FDEs) and ranges of the table, and its bytes.
 */
#include <stdio.h>
#include <time.h>

#include "dwarf/cfi.h"

enum { TURNS = 20 };

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

int main(int argc, char **argv)
{
	struct cfi_table table = {0};
	struct elf_file file;
	uint64_t began;

	if (argc < 2)
		return 2;
	if (elf_file_open(&file, argv[1]) < 0) {
		fprintf(stderr, "cfi_table: %s\n", attar_error());
		return 1;
	}
	began = cpu_ns();
	for (int turn = 0; turn < TURNS; turn++) {
		cfi_table_done(&table);
		if (cfi_read(&file.elf, &table) < 0)
			return 1;
	}
	printf("{\"ns\": %llu, \"functions\": %u, \"ranges\": %u, \"bytes\": %zu}\n",
		(unsigned long long)(cpu_ns() - began) / TURNS, table.functions, table.n,
		cfi_table_memory(&table));
	cfi_table_done(&table);
	elf_file_close(&file);
	return 0;
}
