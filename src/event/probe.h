/* SPDX-License-Identifier: MIT */
/* Probes: places in the kernel or in a file that become events. */
#ifndef EVENT_PROBE_H
#define EVENT_PROBE_H

#include "event/list.h"
#include "tracefs/dynamic_event.h"

/* "kprobe:", "kretprobe:", "uprobe:", "uretprobe:" with parser->p behind the colon. */
int probe_parse(struct parser *parser, const char *word, size_t n);

/* True for one of these four words. */
bool probe_word(const char *word, size_t n);

/* The offset in the file of a function that its symbol tables name. -ENOENT with a suggestion. */
int elf_function_offset(const char *path, const char *name, uint64_t *ret_offset);

struct Elf; /* of libelf */

/* Where the byte at that address lies in the file, by the segment that maps it. -ENOENT: nowhere. */
int elf_file_offset(struct Elf *elf, uint64_t vaddr, uint64_t *ret_offset);

/* True unless /proc/kallsyms can be read and lacks the function; ret_best: one like it, or "". */
bool kernel_has_function(struct attar_catalog *catalog, const char *name, char ret_best[128]);

#endif
