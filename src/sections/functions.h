/* SPDX-License-Identifier: MIT */
/*
 * Functions and their small numbers: all locations in the same function of the same binary share
 * one. Symbols are resolved when a report is drawn. Static functions of one name are different
 * functions with one row in tables; code of a JIT compiler at another address is the same function.
 *
 * All locations of a binary without a symbol share one function, "[unknown]", unless
 * functions_separate() gave a location its own: "MODULE+0xOFFSET", the offset in the file.
 *
 * Bounds: FUNCTIONS_LOCATIONS_MAX locations are cached, then the cache is emptied; at most
 * FUNCTIONS_SEPARATE_MAX locations without a symbol get their own function; names are bounded by
 * the symbol cache.
 */
#ifndef SECTIONS_FUNCTIONS_H
#define SECTIONS_FUNCTIONS_H

#include "attar/symbol.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/vec.h"
#include "symbol/symbols.h"

enum {
	FUNCTIONS_LOCATIONS_MAX = 1 << 18,
	FUNCTIONS_SEPARATE_MAX = 4096,
	FUNCTIONS_INLINED_MAX = 64, /* functions of a location */
};

struct function {
	const char *name; /* the symbol, "[unknown]" or "MODULE+0xOFFSET" */
	const char *dso;
	const char *build_id; /* of the DSO, hexadecimal; NULL: unknown */
	uint64_t address;     /* of the symbol, in its ELF file or of the kernel; 0: no symbol */
	enum attar_dso_kind kind;
	uint32_t row;      /* the number of the first function with this name and dso */
	const char *plain; /* the name without line and "(inlined)"; NULL: the same */
	const char *file;  /* of the source line that is part of the name; NULL: none */
	unsigned line;
	bool inlined;
	bool named;
	bool mixed; /* all locations of a binary without a symbol; they can be separated */
};

enum { LOCATION_TEXT_MAX = 288 };

/*
 * "MODULE+0xOFFSET": the last part of the DSO's path, at most 255 bytes of it, and the offset in
 * its file.
 */
void location_text(
	struct attar_symbols *symbols, attar_location location, char text[LOCATION_TEXT_MAX]);

struct functions {
	struct attar_symbols *symbols; /* borrowed */
	struct intern texts;
	const char *kernel_build_id; /* hexadecimal; "": unknown; NULL: not read yet */
	VEC(struct function) all;
	struct map by_location; /* location -> number; emptied when full */
	struct map by_start;    /* start of a symbol -> number; not of JIT code, which changes */
	struct map separate;    /* location without a symbol -> its own number */
	struct map at;          /* location -> index in numbers */
	VEC(uint32_t) numbers;  /* of the functions at a location, after their number */
	uint32_t one;           /* the number of the only function, for functions_at() */
	bool has_mixed;         /* one of all is mixed */
	struct map by_name; /* name and dso, hashed by their interned addresses -> first number */
	struct map by_address; /* the same and the address -> number of each further function */
};

void functions_init(struct functions *f, struct attar_symbols *symbols);
void functions_done(struct functions *f);

/* The slow path of functions_of(). */
int functions_enter(struct functions *f, attar_location location);

/* The number of the location's function; -ENOMEM. */
static inline int functions_of(struct functions *f, attar_location location)
{
	const uint64_t *found = map_get(&f->by_location, location);

	return likely(found) ? (int)*found : functions_enter(f, location);
}

/* functions_at() for --inline and --lines. */
int functions_with_lines(
	struct functions *f, attar_location location, const uint32_t **ret_numbers);

/*
 * The functions at a location, the innermost first: one, or with --inline those that were inlined
 * and the one that they are in. A function and a source line are one function with --lines.
 * *ret_numbers is borrowed until the next call. Returns how many, or -ENOMEM.
 */
static inline int functions_at(
	struct functions *f, attar_location location, const uint32_t **ret_numbers)
{
	int number;

	if (f->symbols->show_inlined || f->symbols->show_lines)
		return functions_with_lines(f, location, ret_numbers);
	number = functions_of(f, location);
	f->one = (uint32_t)number;
	*ret_numbers = &f->one;
	return number < 0 ? number : 1;
}

/* The number of the function "[no stack]", for samples without a stack; -ENOMEM. */
int functions_no_stack(struct functions *f);

/*
 * Gives a location of a mixed function its own number from here on. Returns 1; 0 if there are too
 * many; or -ENOMEM.
 */
int functions_separate(struct functions *f, attar_location location);

#endif
