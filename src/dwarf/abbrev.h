/* SPDX-License-Identifier: MIT */
/* Abbreviation tables: which attributes an entry of .debug_info has (DWARF 5, section 7.5.3). */
#ifndef DWARF_ABBREV_H
#define DWARF_ABBREV_H

#include "base/map.h"
#include "dwarf/debug_file.h"
#include "dwarf/form.h"

enum { ABBREV_MAX = 1 << 20, ABBREV_ATTRIBUTES_MAX = 1 << 22 }; /* of a table */

struct abbrev_attribute {
	uint16_t name;
	uint16_t run_bytes;
	/* number of consecutive attributes from this one whose size is the same in all entries */
	uint8_t run;
	/* how many of them precede the next one that describes the code or name of a function */
	uint8_t skip;
	uint16_t skip_bytes;
	struct form form;
	int32_t implicit; /* of DW_FORM_implicit_const, whose higher bits no attribute needs */
};

struct abbrev {
	uint16_t tag;
	bool children;
	bool declaration; /* has DW_AT_declaration */
	bool plain;       /* of entries of the same size that have no children and no code */
	/* bytes before the 4 of DW_AT_sibling, if that is the same in all entries; -1: it is not */
	int16_t sibling;
	/* bytes of all attributes if that is the same in all entries of the unit; -1: it is not */
	int32_t size;
	uint32_t first, n; /* attributes */
};

struct abbrevs {
	struct debug_file *file; /* borrowed; NULL: nothing was read */
	uint64_t offset;
	uint8_t address_size, offset_size, version; /* of the units */
	VEC(struct abbrev) list;                    /* of code i + 1 */
	VEC(struct abbrev_attribute) attributes;
	struct map others; /* from code to the index in list, if codes are not 1, 2, 3... */
};

/*
 * Reads the table at an offset, for units of these sizes, in the memory of the last one. Returns 0;
 * -EBADMSG; -ENOMEM. Free with abbrevs_done().
 */
int abbrevs_read(struct abbrevs *abbrevs);
void abbrevs_done(struct abbrevs *abbrevs);

/* The abbreviation with a code, or NULL. */
static inline const struct abbrev *abbrevs_find(const struct abbrevs *abbrevs, uint64_t code)
{
	const uint64_t *index;

	if (!abbrevs->others.n)
		return code - 1 < abbrevs->list.n ? &abbrevs->list.at[code - 1] : NULL;
	index = map_get(&abbrevs->others, code);
	return index ? &abbrevs->list.at[*index] : NULL;
}

#endif
