/* SPDX-License-Identifier: MIT */
/*
 * Files of the loaded modules of the running kernel with debug information. They are relocatable:
 * /sys/module/NAME/sections (for root only) says where the kernel has put each section.
 */
#ifndef SYMBOL_KERNEL_MODULE_H
#define SYMBOL_KERNEL_MODULE_H

#include "attar/symbol.h"
#include "base/vec.h"

struct dso;

/* Code of a module. */
struct module_section {
	uint64_t start, size; /* in the kernel */
	uint64_t vaddr;       /* in the file */
};

struct kernel_module {
	char *name;      /* owned; "[name]" */
	uint16_t number; /* of its DSO; 0: there is none */
	VEC(struct module_section) sections;
};

struct kernel_modules {
	VEC(struct kernel_module) list;
};

/*
 * The file of a module, which is looked for once, and whose symbols are read. owner: "[name]", as
 * symbols have it. *address becomes that in the file. NULL: there is no file, or the address is not
 * in its code. Owned by symbols.
 */
struct dso *kernel_module_of(struct attar_symbols *symbols, const char *owner, uint64_t *address);

void kernel_modules_done(struct kernel_modules *modules);

#endif
