/* SPDX-License-Identifier: MIT */
/* elf_file.h - segments, the build ID and kinds of sections of an ELF file. */
#ifndef KPERF_ELF_FILE_H
#define KPERF_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_segment {
	uint64_t address, offset, size; /* in the file's own addresses; bytes */
	bool executable;
};

struct elf_file {
	size_t n;
	struct elf_segment *segments; /* that are loaded */
	unsigned char build_id[64];
	size_t build_id_size; /* 0: none */
	bool has_lines;       /* a section .debug_line */
	bool is_go;           /* made by the compiler of Go */
};

/* Returns SUCCESS, or the code of the failed call. Free it with elf_file_done(). */
int elf_file_read(const char *path, struct elf_file *ret_file);
void elf_file_done(struct elf_file *file);

#endif
