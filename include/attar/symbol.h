/* SPDX-License-Identifier: MIT */
/*
 * attar/symbol.h - resolves addresses to symbols, also after the process has exited.
 *
 * There are three types. A struct attar_symbols is a shared cache of kernel symbols and of every
 * binary file (DSO) seen; each file is read once, on demand. A struct attar_address_space holds the
 * file mappings of one process. An attar_location is a code address that does not depend on an
 * address space: DSO number and offset in one word. Stacks of different processes can therefore be
 * compared, and can be resolved after the process has exited.
 *
 *	struct attar_symbols *syms;
 *	attar_symbols_new(NULL, &syms);
 *	struct attar_address_space *space = attar_address_space_new(syms, pid);
 *	attar_address_space_scan(space);				// /proc/PID/maps
 *	attar_location location = attar_address_space_locate(space, ip); // reads no symbols
 *	struct attar_symbol sym;
 *	attar_symbols_resolve(syms, location, &sym);		// may read the ELF file, once
 *	attar_address_space_free(space);
 *	attar_symbols_free(syms);
 *
 * Lifetime: free address spaces before their cache. A cache and its address spaces must be used by
 * one thread at a time.
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
 * DSO number in the upper 16 bits, offset in the lower 48. For a file the offset is the file offset
 * (pgoff + ip - start of the mapping); for the kernel and for anonymous memory it is the address,
 * truncated to 48 bits.
 */
typedef uint64_t attar_location;

enum attar_dso_id {               /* numbers that always exist */
	ATTAR_DSO_UNKNOWN = 0,    /* the address is in no known mapping; offset = address */
	ATTAR_DSO_KERNEL = 1,     /* kernel, modules, BPF programs; offset = address */
	ATTAR_DSO_FULL = 2,       /* the table of DSOs is full (counted in the statistics) */
	ATTAR_DSO_LABEL = 0xffff, /* no code, but a string; see attar_symbols_label() */
};

enum attar_dso_kind {
	ATTAR_DSO_IS_UNKNOWN,
	ATTAR_DSO_IS_KERNEL,
	ATTAR_DSO_IS_FILE, /* an ELF file, possibly deleted */
	ATTAR_DSO_IS_VDSO,
	ATTAR_DSO_IS_JIT, /* anonymous executable memory of a process; symbols from perf-PID.map */
	ATTAR_DSO_IS_LABEL,
};

struct attar_symbols_opts {
	size_t size; /* sizeof(struct attar_symbols_opts) */
	/* colon-separated root directories of separate debug files; NULL: "/usr/lib/debug" */
	const char *debug_path;
	const char *kallsyms_path; /* NULL: "/proc/kallsyms" */
	bool no_kernel;            /* never read kernel symbols */
	/*
	 * Maximum number of DSOs; 0: 65,000. After its last mapping is gone, a DSO is kept only if
	 * a location refers to it.
	 */
	unsigned max_dsos;
	/*
	 * Maximum number of files kept open because their symbols are not read yet: binaries,
	 * separate debug files and perf-PID.map files together; 0: a quarter of RLIMIT_NOFILE, at
	 * most 256.
	 */
	unsigned max_open_files;
	/*
	 * Maximum memory in bytes for the addresses of symbols that were read, and for names of
	 * files that had to be closed; 0: 256 MiB. Above, the symbols of some files are dropped,
	 * and read again when they are needed, if the file is still at its path.
	 */
	size_t max_symbol_bytes;
	/*
	 * Maximum memory in bytes for the tables of source lines and inlined functions; 0: 64 MiB.
	 * Above, the lines of the source files that were not used for longest are dropped, and read
	 * again when they are needed (counted in the statistics).
	 */
	size_t max_source_bytes;
	/*
	 * Names are taken from the symbol table: for callers that use attar_symbol.mangled only,
	 * for which it saves the time to demangle them.
	 */
	bool mangled;
	/*
	 * Read the files of root and the caller in this process also after
	 * attar_symbols_use_readers(): many addresses of one file are then looked up faster.
	 */
	bool own_in_process;
};

/*
 * Lets processes without rights parse the files of programs, for caches that are created from now
 * on: a malformed file can then crash, delay or take over a reader, but not this process. A reader
 * is started for the first file of a user: "PROGRAM --read-files USER", which must call
 * attar_reader_main(). It gets descriptors of files from this process; if it crashes, or needs too
 * much time or memory, the file has no names, and the path in its symbols is "[unreadable: PATH]".
 * Call frame information is parsed by this process. program is borrowed; "/proc/self/exe" is the
 * calling program. NULL: no readers (the default). Not to be called while other threads create
 * caches.
 */
ATTAR_API void attar_symbols_use_readers(const char *program);

/*
 * To be called first in main(): does not return if these are the arguments of a reader, which has
 * its connection as descriptor 3.
 */
ATTAR_API void attar_reader_main(int argc, char **argv);

/*
 * Creates an empty cache. Nothing is read before the first symbol is resolved. opts may be NULL.
 * Returns 0; -EINVAL or -E2BIG for opts of an incompatible version; -ENOMEM. Free with
 * attar_symbols_free().
 */
ATTAR_API int attar_symbols_new(
	const struct attar_symbols_opts *opts, struct attar_symbols **ret_symbols);

/*
 * Frees the cache and all strings borrowed from it. Its address spaces must be freed first. Returns
 * NULL. symbols may be NULL.
 */
ATTAR_API struct attar_symbols *attar_symbols_free(struct attar_symbols *symbols);

/* One resolved location. Strings are borrowed from the cache and valid until it is freed. */
struct attar_symbol {
	/* demangled, without parameters; NULL if no symbol was found */
	const char *name;
	const char *mangled; /* as in the symbol table; NULL if name is NULL */
	uint64_t offset;     /* bytes from the symbol's start */
	/* address of the symbol within its DSO (ELF virtual address, or kernel address) */
	uint64_t start;
	uint64_t size; /* bytes; 0: unknown */
	/*
	 * The path as seen by the process, or the path of its perf-PID.map; "[kernel.kallsyms]", a
	 * module's "[name]", "[bpf]", "[vdso]", "[anon]", "[unknown]".
	 */
	const char *dso;
	enum attar_dso_kind kind;
};

/*
 * Looks up the symbol at a location. Returns 0 if a name was found; -ENOENT otherwise, with dso,
 * kind and offset (the offset of the location) set in ret_symbol. Each file is read at most once.
 * If a file cannot be read (truncated, malformed, not a regular file, replaced since it was
 * mapped), its symbols are missing and one debug message is logged.
 */
ATTAR_API int attar_symbols_resolve(
	struct attar_symbols *symbols, attar_location location, struct attar_symbol *ret_symbol);

/*
 * A function at a location: the innermost one, or one that it was inlined into. Strings are
 * borrowed from the cache and valid until it is freed.
 */
struct attar_frame {
	const char *module; /* as attar_symbol.dso */
	enum attar_dso_kind kind;
	const uint8_t *build_id; /* of the file; NULL: unknown. Valid until the next call */
	size_t build_id_size;    /* bytes */
	const char *name;        /* demangled, without parameters; NULL: unknown */
	const char *mangled;     /* linkage name; NULL if name is NULL */
	/*
	 * bytes from the start of the symbol that has the code, which is the last frame; if name is
	 * NULL, as attar_symbol.offset
	 */
	uint64_t offset;
	const char *file; /* path of the source file; NULL: unknown */
	uint32_t line;    /* from 1; 0: unknown. Not the first frame: of the inlined call */
	uint32_t column;  /* from 1; 0: unknown */
	bool inlined;     /* into the next frame */
};

/*
 * Looks up the functions at a location with their source lines, from the debug information (DWARF 2
 * to 5) of the binary or of its separate debug file, for the kernel of its vmlinux: the innermost
 * first, then those that it was inlined into; the last is the function of attar_symbols_resolve().
 * At most max are stored. Returns the number of frames, at least 1, which may be more than max.
 * Without debug information there is one frame without a file; without a symbol its name is NULL.
 */
ATTAR_API int attar_symbols_frames(struct attar_symbols *symbols, attar_location location,
	struct attar_frame *ret_frames, size_t max);

/*
 * Receives the frames of locations[index]; they are valid until it returns, their strings longer.
 * With attar_symbols_use_readers(), it must not look up other locations in the cache.
 */
typedef void attar_frames_fn(void *ctx, size_t index, const struct attar_frame *frames, size_t n);

/* The path and kind of a location's DSO, without reading its symbols. Borrowed from the cache. */
ATTAR_API const char *attar_symbols_dso(
	struct attar_symbols *symbols, attar_location location, enum attar_dso_kind *ret_kind);

/* The location of a kernel address. */
static inline attar_location attar_location_kernel(uint64_t address)
{
	return ATTAR_CAST(uint64_t, ATTAR_DSO_KERNEL) << 48 | (address & 0xffffffffffffULL);
}

/*
 * A location that is a string instead of code, to separate the parts of a stack or to name them:
 * the program that woke up a task. Equal strings have equal locations. The string is copied; after
 * 1 MiB of them, and if out of memory, the location is the location of "[other]".
 */
ATTAR_API attar_location attar_symbols_label(struct attar_symbols *symbols, const char *text);

/* The DSO number of a location. */
static inline unsigned attar_location_dso(attar_location location)
{
	return ATTAR_CAST(unsigned, location >> 48);
}

/* A mapping and its file, from PERF_RECORD_MMAP2 or /proc/PID/maps. */
struct attar_mapping {
	uint64_t start, len, pgoff; /* bytes */
	/* as in the record: "/usr/bin/x", "/memfd:x (deleted)", "[vdso]", "//anon", "" */
	const char *path;
	uint32_t maj, min;
	uint64_t ino;            /* 0: unknown */
	uint32_t ino_generation; /* 0: unknown (always for /proc) */
	uint8_t build_id_size;   /* 0: unknown */
	uint8_t build_id[20];
};

/*
 * Creates an empty address space for process pid (in the PID namespace of the caller's /proc). Does
 * not read /proc. Returns NULL if out of memory.
 */
ATTAR_API struct attar_address_space *attar_address_space_new(
	struct attar_symbols *symbols, pid_t pid);

/* Frees the address space. Returns NULL. space may be NULL. */
ATTAR_API struct attar_address_space *attar_address_space_free(struct attar_address_space *space);

/*
 * Reads the executable mappings from /proc/PID/maps. Returns 0; -ESRCH if there is no such process,
 * -EACCES or -EPERM without permission, -ENOMEM.
 */
ATTAR_API int attar_address_space_scan(struct attar_address_space *space);

/*
 * Adds a mapping; it replaces those it overlaps. Returns 0; -EINVAL if its length is 0 or its range
 * overflows; -ENOSPC if the address space already has 65,536 mappings (counted in the statistics);
 * -ENOMEM.
 */
ATTAR_API int attar_address_space_map(
	struct attar_address_space *space, const struct attar_mapping *mapping);

/*
 * The location of user address ip. Reads no symbols. The first location in a DSO opens its file and
 * keeps it open, within max_open_files, until its symbols are read. While the process is alive, the
 * file is opened through /proc/PID/map_files or /proc/PID/root, which also works for deleted files
 * and other mount namespaces.
 */
ATTAR_API attar_location attar_address_space_locate(struct attar_address_space *space, uint64_t ip);

#ifdef __cplusplus
}
#endif

#endif
