/* SPDX-License-Identifier: MIT */
/*
 * DSOs: binaries that code is mapped from, and the table of their 16-bit numbers. A DSO is
 * identified by its key; the path is not sufficient, because files are replaced.
 *
 * Limit: dsos.max. A DSO that a location refers to is kept, because locations outlive mappings.
 * Others are freed with their last mapping, and the number is reused.
 */
#ifndef SYMBOL_DSO_H
#define SYMBOL_DSO_H

#include "attar/symbol.h"
#include "base/map.h"
#include "base/vec.h"
#include "dwarf/cfi_table.h"
#include "dwarf/debug_info.h"
#include "elf/symtab.h"
#include "symbol/jit.h"
#include "symbol/kernel.h"
#include "symbol/reader_dso.h"

enum { DSO_MAX = 65000, DSO_MAX_TRIES = 8 };

#define PLACE_OFFSET 0xffffffffffffULL /* the bits of an attar_location below the DSO's number */

/* The address of an offset in the kernel. */
static inline uint64_t kernel_address(uint64_t offset)
{
	return offset >> 47 ? offset | ~PLACE_OFFSET : offset;
}

struct file_opener;
struct stored_module;

struct dso_key {
	enum attar_dso_kind kind;
	/*
	 * JIT memory: its address space; vdso: ELF class, 32 or 64; the kernel of another host: its
	 * number; else 0
	 */
	uint32_t owner;
	uint64_t dev, ino;   /* major << 32 | minor; 0, 0: unknown */
	uint32_t generation; /* of the inode; 0: unknown */
	uint8_t build_id_size;
	uint8_t build_id[ELF_MAX_BUILD_ID];
	const char *path; /* without " (deleted)" */
};

enum { DSO_FIXED = ATTAR_DSO_FULL + 1 }; /* numbers that always exist */

enum dso_state {
	DSO_NEW,    /* no location refers to it, or its symbols were dropped */
	DSO_OPEN,   /* file is open, where its symbols are is not known */
	DSO_LOADED, /* symbols can be looked up; the file may still be open for them */
	DSO_LOST,   /* file could not be opened (`tries` attempts) or read */
	DSO_FREE,   /* number is unused */
};

/* Where the symbols are that were not read yet, or of which a part was read. */
enum dso_unread { DSO_UNREAD_NONE, DSO_UNREAD_FILE, DSO_UNREAD_DEBUG_FILE };

/* What DSOs with the same contents share: call frame information, or symbols from a place. */
enum dso_shared { DSO_SHARED_CFI, DSO_SHARED_SYMBOLS };

/*
 * Who wrote the file, and where its process sees files: what its debug information names is read
 * with no more rights than that. Unknown if the file was not opened while its process lived.
 */
struct dso_origin {
	bool has_owner, has_place;
	uid_t owner;     /* of the inode that was opened */
	pid_t pid;       /* has another root directory or mount namespace; 0: no, as attar */
	uint64_t ns_ino; /* mount namespace of pid, whose number another process may have by now */
};

struct dso {
	struct dso_key key; /* path owned */
	uint16_t number;
	enum dso_state state;
	int error; /* why it was lost, a negative errno; -ESTALE: its path has a different file */
	uint8_t tries;
	bool kept;        /* a location refers to it */
	bool dropped;     /* its symbols were read, and dropped to save memory */
	size_t bytes;     /* of its symbols, as in attar_symbols.bytes */
	uint32_t refs;    /* mappings, and address spaces with this as anonymous memory */
	uint32_t next;    /* next with the same hash, or next free; 0: none */
	int fd, debug_fd; /* -1: closed */
	uint8_t *image;   /* vdso: the copied ELF image, owned */
	size_t image_size;
	VEC(struct elf_segment) segments; /* PT_LOAD, once loaded */
	uint64_t placed;                  /* see ELF_PLACE, of a relocatable file; else 0 */
	uint8_t build_id_size;            /* of the file that was loaded; 0: none */
	uint8_t build_id[ELF_MAX_BUILD_ID];
	uint64_t file_size;
	struct dso_origin origin;
	/*
	 * One with the same contents, whose table, segments and source, or whose cfi, are used;
	 * NULL: its own. It is kept, so never freed.
	 */
	struct dso *twin, *cfi_twin;
	struct symtab table; /* dso_find() reads more of it if `unread` */
	enum dso_unread unread;
	uint8_t parts; /* how often a part of it was read */
	bool cfi_read; /* cfi was read, or cannot be */
	struct cfi_table cfi;
	struct debug_info *source; /* lines and inlined functions, owned; NULL: not open */
	bool source_missing;       /* there is none, or it cannot be read */
	char *unfit_debug;         /* path of a debug file that is not its own, owned; or NULL */
	const char *unfit_reason;
	uint64_t source_bias;         /* address in its debug file - address in the binary */
	uint64_t source_used;         /* when it was last used */
	uint64_t source_units;        /* read when the limit was last checked */
	struct jit jit;               /* of kind ATTAR_DSO_IS_JIT */
	struct kernel *kernel;        /* of another host, owned; NULL: none */
	struct stored_module *stored; /* its names in a recording, borrowed; NULL: none */
	struct reader_dso apart;      /* instead of table and source */
};

struct dsos {
	VEC(struct dso *) at; /* by number; 0, 1 and 2 are fixed */
	struct map by_hash;   /* hash of the key to the newest number */
	struct map by_build;  /* hash of build ID and size to the number that is shared */
	uint32_t free;        /* the first free number; 0: none */
	unsigned max;
	uint64_t refused;
	const struct file_opener *opener; /* borrowed; NULL: files are opened here */
};

/* Whether both are the same file, or the same memory. */
bool dso_key_equal(const struct dso_key *a, const struct dso_key *b);

/* The key of a mapped file. Returns its path, which the caller frees; NULL if out of memory. */
char *dso_key_of_file(const struct attar_mapping *mapping, struct dso_key *ret_key);

int dsos_init(struct dsos *dsos, unsigned max);
void dsos_done(struct dsos *dsos);

/*
 * Looks up or adds a DSO and returns its number; ATTAR_DSO_FULL if the table is full; 0 if out of
 * memory. Does not take a reference: a new DSO has none, and is kept until its first one is
 * released.
 */
uint16_t dsos_intern(struct dsos *dsos, const struct dso_key *key);

/* Looks up a DSO; NULL: there is none. */
struct dso *dsos_find(const struct dsos *dsos, const struct dso_key *key);

static inline struct dso *dsos_get(const struct dsos *dsos, unsigned number)
{
	return dsos->at.at[number < dsos->at.n ? number : ATTAR_DSO_UNKNOWN];
}

/* Changes the key of a DSO, except for its path. */
void dsos_change_key(struct dsos *dsos, struct dso *dso, const struct dso_key *key);

/* Reference counts, one per mapping; the fixed DSOs are not counted. */
void dsos_ref(struct dsos *dsos, unsigned number);
void dsos_unref(struct dsos *dsos, unsigned number);

/*
 * The DSO whose contents were read first of those with the same build ID and size of file, which
 * are set; adds this one if it is the first. NULL: it has to be read.
 */
struct dso *dsos_share(struct dsos *dsos, struct dso *dso, unsigned what);

/* The one that has the symbols and lines of a DSO. */
static inline struct dso *dso_tables(struct dso *dso)
{
	return dso->twin ?: dso;
}

static inline struct cfi_table *dso_cfi(struct dso *dso)
{
	return dso->cfi_twin ? &dso->cfi_twin->cfi : &dso->cfi;
}

/* How many files of it are open. */
static inline unsigned dso_files(const struct dso *dso)
{
	return (unsigned)(dso->fd >= 0) + (dso->debug_fd >= 0);
}

/* Why a file was lost; a static string, or of strerror(3). */
const char *dso_lost_reason(const struct dso *dso);

/* Closes its files, after reading the remaining names of the table into memory. */
void dso_close(struct dso *dso);

#endif
