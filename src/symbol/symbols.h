/* SPDX-License-Identifier: MIT */
/* The shared cache behind include/attar/symbol.h. */
#ifndef SYMBOL_SYMBOLS_H
#define SYMBOL_SYMBOLS_H

#include "base/intern.h"
#include "symbol/data_symbols.h"
#include "symbol/debuginfod.h"
#include "symbol/file_opener.h"
#include "symbol/dso.h"
#include "symbol/dso_open.h"
#include "symbol/kept_files.h"
#include "symbol/kernel.h"
#include "symbol/kernel_module.h"
#include "symbol/source.h"
#include "symbol/stored_symbols.h"
#include "symbol/string_pool.h"
#include "symbol/vmlinux.h"

/* Rules for addresses that stacks go through often. */
struct unwind_cache;

/* Unwound stacks with more frames than the caller of attar_event_stack() takes. */
struct cut_stacks {
	uint64_t n;
	uint32_t frames; /* at most in a stack, with frames of the kernel */
};

/* User stacks that the kernel took by frame pointers. */
struct fp_stacks {
	uint64_t n;
	uint64_t n_alone; /* of one function without callers */
	uint64_t n_full;  /* with frames of the kernel, as many as the limit */
	uint32_t limit;   /* kernel.perf_event_max_stack; 0: unknown */
};

/* Stacks from last branch records. */
struct branch_stacks {
	uint64_t n;
	uint64_t n_most; /* with the most callers */
	uint32_t most;   /* callers of one stack */
};

struct attar_symbols {
	struct kernel kernel;
	struct vmlinux vmlinux;
	struct kernel_modules modules;
	struct dsos dsos;
	struct string_pool names;
	struct map symbols; /* DSO number << 48 | symtab_entry.low, to address of the name */
	struct map plain;   /* address of a mangled name to the demangled name */
	uint64_t last_key;  /* in `symbols`, of the name that was looked up last; 0: none */
	const char *last_name, *last_plain;
	attar_location last_location; /* of a file, whose name was looked up last */
	size_t last_index;            /* of its symbol, in the table of the file */
	char *debug_path, *kallsyms_path;
	unsigned max_open, open; /* open files of DSOs and debug files: limit and number */
	unsigned jits;           /* perf-PID.map files kept open */
	size_t max_bytes, bytes; /* of the symbols of all DSOs: limit and number */
	unsigned oldest_symbols; /* modulo the number of DSOs: the next DSO whose symbols to drop */
	unsigned oldest;         /* modulo the number of DSOs: the next DSO whose file to close */
	uint32_t spaces;         /* JIT owner numbers assigned */
	uint64_t ranges_refused;
	size_t ranges; /* that memory was allocated for, of all address spaces */
	bool told_cut; /* the log names a process with more mappings than are read */
	struct intern labels;
	struct symbol_sources sources;
	struct symbol_readers *readers; /* owned; NULL: files are read in this process */
	bool own_in_process;            /* also the files of root and the caller */
	struct data_symbols data;       /* of the file that symbols_data() was asked for last */
	struct debuginfod debuginfod;
	struct attar_symbols *beside;      /* atomic: cancelled with this one; NULL: none */
	bool mangled;                      /* names are not demangled */
	bool show_inlined, show_lines;     /* in stacks of reports */
	struct scan_budget *java;          /* for their maps; NULL: they are not asked. Owned */
	struct stored *stored;             /* names of a recording; NULL: none */
	uid_t author;                      /* of the recording; root: of none, or root's own */
	const struct kept_files *kept;     /* opened while processes lived, borrowed; NULL: none */
	struct unwind_cache *unwind_cache; /* memory of the unwinder, freed with the cache; NULL */
	struct branch_stacks branch_stacks;
	struct cut_stacks cut_stacks;
	struct fp_stacks fp_stacks;
	uint64_t foreign_stacks; /* not unwound, see attar_address_space */
};

/*
 * The build ID of the file of a location, once its symbols were read: its size in bytes, 0 if it is
 * unknown. *ret_id is borrowed until the cache is freed.
 */
size_t symbols_build_id(
	const struct attar_symbols *symbols, attar_location location, const uint8_t **ret_id);

/*
 * Opens a file: one that was kept, otherwise as dso_open(), whose result it returns if perf's cache
 * has no file with the build ID.
 */
int symbols_file(const struct attar_symbols *symbols, const struct dso_search *where);

/* The same for the files with the names of JIT code, as jit_open(). */
int symbols_open_jit(const struct attar_symbols *symbols, struct jit *jit);

/*
 * The call frame information of the binary of a user location, read on first use; it is empty for
 * other memory. space is the address space of the location. Borrowed until the cache is freed, like
 * the rules in it: a DSO that a location refers to is kept.
 */
struct cfi_table *symbols_cfi(const struct attar_address_space *space, attar_location location);

/* Reads the functions of the running kernel from the cache of the system, for root. */
void symbols_cache_kernel(struct attar_symbols *symbols);

/* Undoes attar_symbols_opts.no_kernel: the addresses belong to the running kernel. */
void symbols_allow_kernel(struct attar_symbols *symbols);

/*
 * Gives the kernel the names in the text of a kallsyms file, in place of the names of this machine.
 * Returns 0, or a negative errno with an error message.
 */
int symbols_set_kernel(struct attar_symbols *symbols, const char *kallsyms, size_t n);

/*
 * Adds the kernel of another host, with the text of such a file. *ret_dso: the number of its code.
 */
int symbols_add_kernel(
	struct attar_symbols *symbols, const char *kallsyms, size_t n, uint16_t *ret_dso);

/* symbols_ksymbol() for the kernel with this number. */
int symbols_add_ksymbol(struct attar_symbols *symbols, uint16_t dso, uint64_t address, uint32_t len,
	const char *name);

/*
 * A file that is not read since it was replaced, or one that cannot be read for another reason;
 * NULL: there is none.
 */
const struct dso *symbols_lost_file(const struct attar_symbols *symbols, bool replaced);

/* The display name of a symbol: demangled, without a version. Borrowed as the name itself. */
const char *symbols_plain_name(struct attar_symbols *symbols, const char *raw);

/*
 * Reads the symbols of a file, if they are not read yet. Returns the DSO that has them: another one
 * if that has the same contents.
 */
struct dso *symbols_load(struct attar_symbols *symbols, struct dso *dso);

/*
 * After the symbols of `used` were read: drops the symbols of other DSOs, the oldest first, until
 * the limit is met. They are read again when needed, from the path of the file.
 */
void symbols_limit_bytes(struct attar_symbols *symbols, struct dso *used);

/*
 * After a lookup: closes the files of JIT code, unless they may stay open. They may be half of the
 * open files, or all if they have jitdumps; others are opened for each lookup.
 */
void symbols_keep_jit(struct attar_symbols *symbols, struct jit *jit);

/* The functions of the kernel that a DSO stands for. */
struct kernel *symbols_kernel_of(struct attar_symbols *symbols, const struct dso *dso);

/*
 * Reads the symbols of a DSO whose file was just opened. is_foreign: looks for its debug file in
 * the root directory of its process.
 */
void symbols_load_open(struct attar_symbols *symbols, struct dso *dso, bool is_foreign);

/*
 * Code from a location of a file to this one has the symbol that attar_symbols_resolve() has just
 * found for the location; 0: that is not known.
 */
attar_location symbols_end(const struct attar_symbols *symbols, attar_location location);

/*
 * Looks up the symbols of locations together, if a reader does it (symbol/reader.h). They may be in
 * any order, and repeat.
 */
void symbols_prefetch(struct attar_symbols *symbols, const attar_location *locations, size_t n);

/* Prefers the names in a recording; symbols owns stored from now on. Once. */
void symbols_set_stored(struct attar_symbols *symbols, struct stored *stored);

/*
 * The user who can have chosen paths and names: the owner of a recording. Source files are opened
 * only if this user can read them, too.
 */
void symbols_set_author(struct attar_symbols *symbols, uid_t author);

/* Whether symbols_set_stored() was called. */
bool symbols_are_stored(const struct attar_symbols *symbols);

/* Finds the names in a recording for a DSO. */
void symbols_use_stored(struct attar_symbols *symbols, struct dso *dso);

/* Sets the symbol, whose other members are set, from a place. Returns 0; -ENOENT: no name. */
int stored_resolve(struct attar_symbols *symbols, const struct stored_place *place,
	struct attar_symbol *symbol);

/*
 * Changes what identifies a file that is mapped, such as its inode instead of a build ID; path is
 * the same. Its symbols are read again.
 */
void symbols_identify(struct attar_symbols *symbols, const struct attar_mapping *before,
	const struct attar_mapping *now);

/* Opens the file of a DSO on its first location, or again after a failure. */
void symbols_open(struct attar_symbols *symbols, struct dso *dso, const struct dso_search *where);

#endif
