/* SPDX-License-Identifier: MIT */
/*
 * attar/symbol.h - from an address to a name that outlives its process.
 *
 * Three objects. A struct attar_symbols is the shared cache: the kernel's symbols and every binary file
 * (DSO) that was seen, each read once and lazily. A struct attar_address_space is one address space: which file
 * is mapped where, by whom. An attar_location is a code address made independent of its space: DSO and
 * offset in one word, so that stacks of different processes compare equal and keep their meaning when
 * the process is gone.
 *
 *	struct attar_symbols *syms;
 *	attar_symbols_new(NULL, &syms);
 *	struct attar_address_space *space = attar_address_space_new(syms, pid);
 *	attar_address_space_scan(space);				// /proc/PID/maps
 *	attar_location location = attar_address_space_locate(space, ip);	// cheap: no file is read for names
 *	struct attar_symbol sym;
 *	attar_symbols_resolve(syms, location, &sym);		// may read the ELF file, once
 *	attar_address_space_free(space);
 *	attar_symbols_free(syms);
 *
 * Life: a cache outlives its spaces. All of it belongs to one thread at a time.
 */
#ifndef ATTAR_SYMBOL_H
#define ATTAR_SYMBOL_H

#include "attar/base.h"

#ifdef __cplusplus
extern "C" {
#endif

struct attar_symbols;
struct attar_address_space;

/*
 * DSO number in the upper 16 bits, offset in the lower 48. For a file the offset is the file offset (as
 * pgoff + ip - start of the mapping), for the kernel and for memory without a file it is the address,
 * cut to 48 bits.
 */
typedef uint64_t attar_location;

enum attar_dso_id {            /* numbers that always exist */
	ATTAR_DSO_UNKNOWN = 0, /* the address lies in no known mapping; offset = address */
	ATTAR_DSO_KERNEL = 1,  /* kernel, modules, BPF programs; offset = address */
	ATTAR_DSO_FULL = 2,    /* the table of DSOs is full (counted in the statistics) */
};

enum attar_dso_kind {
	ATTAR_DSO_IS_UNKNOWN,
	ATTAR_DSO_IS_KERNEL,
	ATTAR_DSO_IS_FILE, /* an ELF file, also a deleted one */
	ATTAR_DSO_IS_VDSO,
	ATTAR_DSO_IS_JIT, /* anonymous executable memory of one process, named by perf-PID.map if at all */
};

struct attar_symbols_opts {
	size_t size; /* sizeof(struct attar_symbols_opts) */
	/* colon-separated roots for separate debug files; NULL: "/usr/lib/debug" */
	const char *debug_path;
	const char *kallsyms_path; /* NULL: "/proc/kallsyms" */
	bool no_kernel;            /* never read kernel symbols */
	/*
	 * Bound of the DSO table; 0: 65,000. Only those of which a location was made are kept beyond their last
	 * mapping.
	 */
	unsigned max_dsos;
	/*
	 * Files that are kept open for names that are not read yet: binaries, separate debug files and
	 * perf-PID.map files together; 0: a quarter of RLIMIT_NOFILE, at most 256.
	 */
	unsigned max_open_files;
};

/*
 * A new, empty cache: nothing is read before the first name is asked for. opts may be NULL. 0; -EINVAL and
 * -E2BIG for opts of another version; -ENOMEM. For attar_symbols_free().
 */
ATTAR_API int attar_symbols_new(
	const struct attar_symbols_opts *opts, struct attar_symbols **ret_symbols);

/*
 * Frees the cache and every string that it gave; its spaces must be gone. NULL, for the caller's
 * variable. Takes NULL.
 */
ATTAR_API struct attar_symbols *attar_symbols_free(struct attar_symbols *symbols);

/* One resolved location. Strings are borrowed from the cache, which keeps them until it is freed. */
struct attar_symbol {
	/* demangled, without parameters; NULL when nothing is known but the location */
	const char *name;
	const char *mangled; /* as the symbol table has it; NULL like name */
	uint64_t offset;     /* bytes from the symbol's start */
	/* the symbol's address in its DSO's own terms (ELF vaddr; kernel address) */
	uint64_t start;
	uint64_t size; /* bytes, 0 when unknown */
	/*
	 * The path as the process saw it, or that of its perf-PID.map; "[kernel.kallsyms]", a module's
	 * "[name]", "[bpf]", "[vdso]", "[anon]", "[unknown]".
	 */
	const char *dso;
	enum attar_dso_kind kind;
	/* Source file, line and inlined frames will stand here. */
};

/*
 * Looks the name up. 0 when a name was found; -ENOENT when not (ret_symbol still tells dso, kind
 * and the location's offset in `offset`). Reading a file happens at most once per DSO; a file that
 * cannot be read (cut, noise, a fifo, replaced since it was mapped) only costs its names, and one
 * debug log line.
 */
ATTAR_API int attar_symbols_resolve(
	struct attar_symbols *symbols, attar_location location, struct attar_symbol *ret_symbol);

/* The DSO of a location without reading its symbols: its path and kind. Borrowed from the cache. */
ATTAR_API const char *attar_symbols_dso(
	struct attar_symbols *symbols, attar_location location, enum attar_dso_kind *ret_kind);

/* A kernel address as a location. */
static inline attar_location attar_location_kernel(uint64_t address)
{
	return ATTAR_CAST(uint64_t, ATTAR_DSO_KERNEL) << 48 | (address & 0xffffffffffffULL);
}

/* The DSO's number in a location. */
static inline unsigned attar_location_dso(attar_location location)
{
	return ATTAR_CAST(unsigned, location >> 48);
}

/*
 * A new symbol of the kernel (PERF_RECORD_KSYMBOL): len bytes from addr; copies name. Its end
 * (unregister) changes nothing: older stacks still go through it. 0; -EINVAL: it has no extent;
 * -ENOSPC after 65,536 of them; -ENOMEM.
 */
ATTAR_API int attar_symbols_ksymbol(struct attar_symbols *symbols, uint64_t addr, uint32_t len,
	const char *name, bool unregister);

/* What the cache did, for notes and tests. */
struct attar_symbols_stats {
	uint64_t dsos;         /* known: mapped, or with a location made of them */
	uint64_t dsos_refused; /* not entered because the table was full */
	uint64_t files_read;   /* ELF files whose symbols were loaded */
	uint64_t files_unreadable;
	uint64_t files_replaced;   /* refused because another file stood at their path */
	uint64_t mappings_refused; /* beyond the bound of one space */
};
ATTAR_API void attar_symbols_get_stats(
	const struct attar_symbols *symbols, struct attar_symbols_stats *ret_stats);

/* Who backs a mapping, as PERF_RECORD_MMAP2 or /proc/PID/maps tells. */
struct attar_mapping {
	uint64_t start, len, pgoff; /* bytes */
	/* as in the record: "/usr/bin/x", "/memfd:x (deleted)", "[vdso]", "//anon", "" */
	const char *path;
	uint32_t maj, min;
	uint64_t ino;            /* 0: unknown */
	uint32_t ino_generation; /* 0: unknown, as from /proc */
	uint8_t build_id_size;   /* 0: unknown */
	uint8_t build_id[20];
};

/*
 * A new, empty space of process pid (the id as this process sees it, for /proc). NULL when out of
 * memory. The space notes nothing of /proc until it is asked to.
 */
ATTAR_API struct attar_address_space *attar_address_space_new(
	struct attar_symbols *symbols, pid_t pid);

/* NULL, for the caller's variable. Takes NULL. */
ATTAR_API struct attar_address_space *attar_address_space_free(struct attar_address_space *space);

/*
 * A child after fork: the same mappings, its own pid. Cheap: mappings are shared until one side
 * changes. NULL when out of memory.
 */
ATTAR_API struct attar_address_space *attar_address_space_fork(
	const struct attar_address_space *space, pid_t pid);

/*
 * Reads /proc/PID/maps (executable mappings). 0; -ESRCH when the process is gone, -EACCES or -EPERM
 * without the right to look, -ENOMEM.
 */
ATTAR_API int attar_address_space_scan(struct attar_address_space *space);

/*
 * One new mapping; it replaces what it overlaps. 0; -EINVAL: it has no extent; -ENOSPC: the space holds
 * 65,536 already (the statistics count what was refused); -ENOMEM.
 */
ATTAR_API int attar_address_space_map(
	struct attar_address_space *space, const struct attar_mapping *mapping);

/* Forgets all mappings (exec). */
ATTAR_API void attar_address_space_reset(struct attar_address_space *space);

/*
 * The user address ip as a location. No symbol is read. The first time a DSO is hit its file is opened
 * (while the process lives, through /proc/PID/map_files or /proc/PID/root; so a deleted file or
 * another mount namespace does not matter) and kept open, within max_open_files, until its names
 * are read.
 */
ATTAR_API attar_location attar_address_space_locate(struct attar_address_space *space, uint64_t ip);

#ifdef __cplusplus
}
#endif

#endif
