/* SPDX-License-Identifier: MIT */
/*
 * What attar/symbol.h has for attar itself only. It may change with each version, and is not
 * installed.
 */
#ifndef ATTAR_PRIVATE_SYMBOL_H
#define ATTAR_PRIVATE_SYMBOL_H

#include "attar/symbol.h"

/*
 * Ends the download of a debug file (DEBUGINFOD_URLS) that another call is waiting for, within
 * about a second: the call continues without the file, and no more files are downloaded. Returns
 * true if there was one; otherwise nothing changes. Safe in signal handlers and from other threads.
 */
bool symbols_cancel(struct attar_symbols *symbols);

/*
 * Asks each Java virtual machine of this host once for the names of its methods, when the first one
 * is looked up, see symbol/java_map.h.
 */
void symbols_ask_java(struct attar_symbols *symbols);

/*
 * Like attar_symbols_frames(), for n locations, in the order of the addresses instead of the order
 * of the array, so that each part of the debug information is read once however many of its
 * addresses there are. At most 128 frames of a location. Returns 0; -E2BIG if n exceeds UINT32_MAX;
 * -ENOMEM.
 */
int symbols_frames_batch(struct attar_symbols *symbols, const attar_location *locations, size_t n,
	attar_frames_fn *fn, void *ctx);

/*
 * Opens an ELF file that need not be mapped by a process: the location of its first byte. Returns
 * 0; -ENOENT, -EACCES or another errno of open(2); -ENOEXEC if it is not an ELF file of this
 * machine; -EBADMSG if it is truncated; -ENOSPC if the table of DSOs is full; -ENOMEM.
 */
int symbols_find_file(struct attar_symbols *symbols, const char *path, attar_location *ret_file);

/*
 * The location of a virtual address of a file, as in its symbol table. In a relocatable file (.o,
 * .ko), which has none, addresses are offsets in .text, which the other sections with code follow.
 * file is from symbols_find_file(). Returns 0, or -ENOENT if the file has no code or data there.
 */
int symbols_vaddr(struct attar_symbols *symbols, attar_location file, uint64_t vaddr,
	attar_location *ret_location);

/*
 * The symbol at a virtual address of a file, of a variable or of code, as the symbol table has it:
 * the last one that begins at or before the address and does not end before it. file is from
 * symbols_find_file(). The members of ret_symbol are as of attar_symbols_resolve(), except that
 * name is not demangled, and is borrowed until another file is asked for. Returns 0; -ENOENT if
 * there is no such symbol; -ENOMEM; or another errno if the file cannot be read.
 */
int symbols_data(struct attar_symbols *symbols, attar_location file, uint64_t vaddr,
	struct attar_symbol *ret_symbol);

/*
 * Reads n bytes of machine code at a location: of a file; of the kernel from /proc/kcore or its
 * vmlinux; of a JIT compiler from its jitdump. *ret_machine is EM_* of elf(5);
 * ret_machine may be NULL. Returns 0; -ENOENT if the code cannot be read.
 */
int symbols_code(struct attar_symbols *symbols, attar_location location, void *bytes, size_t n,
	uint16_t *ret_machine);

/*
 * Opens a source file that attar_symbols_frames() has named for a location, for reading. The name
 * comes from the program, so only what the owner of the program's file could read is opened: with
 * the user ID of the owner and no groups if the caller is root; regular files, no symbolic link as
 * the last component of the path; below the root directory of the process if that is not the one of
 * the caller. Owner and root directory are those when the program's file was opened, see
 * attar_address_space_locate(). Other threads keep their rights. Returns a descriptor; -EACCES if
 * it may not be read, or if the owner or root directory is not known; another errno of open(2).
 */
int symbols_open_source(struct attar_symbols *symbols, attar_location location, const char *path);

/*
 * Adds a kernel symbol (PERF_RECORD_KSYMBOL) of len bytes at addr; name is copied. unregister is
 * ignored, because earlier stacks may still refer to the symbol. Returns 0; -EINVAL if len is 0 or
 * the range overflows; -ENOSPC after 65,536 symbols; -ENOMEM.
 */
int symbols_ksymbol(struct attar_symbols *symbols, uint64_t addr, uint32_t len, const char *name,
	bool unregister);

/*
 * Writes the whole name of a C++ or Rust function, with parameters, for a linkage name: "f(int)
 * (.cold)"; NUL-terminated, cut after size - 1 bytes. Returns its length in bytes without the NUL,
 * which may be more than size; -ENOENT if the name is not mangled; -ENOMEM.
 */
ssize_t symbol_demangle(const char *mangled, char *name, size_t size);

/* Statistics of the cache. */
struct attar_symbols_stats {
	uint64_t dsos;         /* in the table: mapped, or referred to by a location */
	uint64_t dsos_refused; /* not added because the table was full */
	uint64_t files_read;   /* ELF files whose symbols were loaded */
	uint64_t files_unreadable;
	uint64_t files_replaced;   /* not read because the file at their path is a different one */
	uint64_t mappings_refused; /* over the limit of an address space */
	uint64_t sources_read;     /* source files whose lines were read, also again or in part */
	uint64_t sources_dropped;  /* of them, dropped because of max_source_bytes */
};

void symbols_get_stats(const struct attar_symbols *symbols, struct attar_symbols_stats *ret_stats);

/*
 * The address space of a forked child: the same mappings, another pid. Cheap: mappings are shared
 * until one of them changes (copy-on-write). Returns NULL if out of memory.
 */
struct attar_address_space *address_space_fork(const struct attar_address_space *space, pid_t pid);

/* Removes all mappings (exec). */
void address_space_reset(struct attar_address_space *space);

#endif
