/* SPDX-License-Identifier: MIT */
/* Probes: places in the kernel or in a file that become events. */
#ifndef EVENT_PROBE_H
#define EVENT_PROBE_H

#include "event/list.h"

/* A place to probe. Strings are borrowed. */
struct probe {
	bool user;         /* uprobe: in a file */
	bool ret;          /* at the function's return */
	const char *func;  /* NULL: none was named */
	uint64_t offset;   /* bytes from func; else a kernel address, or an offset in the file */
	const char *file;  /* absolute path, of a uprobe */
	const char *fetch; /* " name=FETCH:TYPE ...": what tracefs is to fetch; NULL: nothing */
	uint64_t ref; /* file offset of the counter that the kernel raises while probed; 0: none */
};

/* "kprobe:", "kretprobe:", "uprobe:", "uretprobe:" with parser->p behind the colon. */
int probe_parse(struct parser *parser, const char *word, size_t n);

/* True for one of these four words. */
bool probe_word(const char *word, size_t n);

/*
 * Makes the probe an event of tracefs, for kernels without a PMU for it (before 4.17). The
 * tracepoint is system:name, strings of the catalogue, and is removed with the catalogue.
 */
int dynevent_create(struct attar_catalog *catalog, const struct probe *probe,
	const char **ret_system, const char **ret_name);

/* Removes what this catalogue made; and what was made by processes that are no more. */
void dynevent_remove_own(struct attar_catalog *catalog);
void dynevent_remove_stale(struct attar_catalog *catalog);

/* The offset in the file of a function that its symbol tables name. -ENOENT with a suggestion. */
int elf_function_offset(const char *path, const char *name, uint64_t *ret_offset);

struct Elf; /* of libelf */

/* Where the byte at that address lies in the file, by the segment that maps it. -ENOENT: nowhere. */
int elf_file_offset(struct Elf *elf, uint64_t vaddr, uint64_t *ret_offset);

/* True unless /proc/kallsyms can be read and lacks the function; ret_best: one like it, or "". */
bool kernel_has_function(struct attar_catalog *catalog, const char *name, char ret_best[128]);

#endif
