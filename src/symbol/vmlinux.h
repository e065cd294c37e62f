/* SPDX-License-Identifier: MIT */
/*
 * vmlinux: the uncompressed file of the running kernel, which has its debug information and code.
 * It is looked for by the build ID of the kernel when lines or code of the kernel are asked for
 * first. {0} before that.
 */
#ifndef SYMBOL_VMLINUX_H
#define SYMBOL_VMLINUX_H

#include "attar/symbol.h"

struct dso;

struct vmlinux {
	bool is_sought;
	uint16_t number; /* of its DSO; 0: there is none */
	uint64_t slide;  /* address in the kernel - address in the file (KASLR) */
};

/*
 * The file, whose symbols are read; NULL: there is none, or its addresses are not known. Owned by
 * symbols. *ret_slide: see struct vmlinux.
 */
struct dso *vmlinux_of(struct attar_symbols *symbols, uint64_t *ret_slide);

#endif
