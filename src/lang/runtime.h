/* SPDX-License-Identifier: MIT */
/* What each runtime implements, see lang.c. All memory of the process is untrusted. */
#ifndef LANG_RUNTIME_H
#define LANG_RUNTIME_H

#include "base/buf.h"
#include "elf/elf.h"
#include "lang/memory.h"
#include "lang/thread.h"

enum {
	LANG_FRAMES_MAX = 4096, /* of a thread */
	LANG_TEXT_MAX = 512,    /* bytes of a name or path */
};

/* Where a frame of a thread is. */
struct lang_place {
	uint64_t function; /* the object that describes it */
	uint64_t at;       /* in its code, as the runtime counts it; UINT64_MAX: unknown */
	bool is_entry;
};

/* A module of the process that may have the runtime. */
struct lang_module {
	const struct elf *elf;
	uint64_t bias; /* address in the process - address in the file */
	const char *path;
};

/* The name and place in the source of a frame. */
struct lang_names {
	struct buf name, file;
	uint32_t line;
};

struct lang_runtime {
	const char *language;
	const char *pattern; /* of file names that may have the runtime, as for fnmatch(3) */
	const char *loop;    /* the native function that executes code */
	size_t state_size;

	/*
	 * Looks for the runtime in a module. Returns 1, 0 if it is not there, or -EOPNOTSUPP with a
	 * sentence. Fills ret_version.
	 */
	int (*open)(void *state, const struct lang_module *module, struct lang_memory *memory,
		char ret_version[16]);

	/* Fills in at most max places of a thread, innermost first, and returns their number. */
	size_t (*take)(void *state, struct lang_memory *memory, const struct lang_thread *thread,
		struct lang_place *places, size_t max);

	/* False if the place has no function. */
	bool (*name)(void *state, struct lang_memory *memory, const struct lang_place *place,
		struct lang_names *ret_names);
};

/* The address of a variable of the runtime in the process; 0: the file has none of this name. */
uint64_t lang_variable(const struct lang_module *module, const char *name);

extern const struct lang_runtime lang_python, lang_ruby, lang_php, lang_perl;

#endif
