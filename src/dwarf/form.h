/* SPDX-License-Identifier: MIT */
/*
 * Forms of attributes (DWARF 5, sections 7.5.5 and 7.5.6; GNU extensions of split DWARF and dwz):
 * what a value means and how its bytes are encoded.
 */
#ifndef DWARF_FORM_H
#define DWARF_FORM_H

#include "base/base.h"

enum debug_class {
	DEBUG_NONE,          /* no such attribute, or one that attar does not use */
	DEBUG_ADDRESS,       /* an address */
	DEBUG_ADDRESS_INDEX, /* an index in .debug_addr */
	DEBUG_CONSTANT,
	DEBUG_OFFSET,       /* in the section that the attribute implies */
	DEBUG_RANGE_INDEX,  /* an index in .debug_rnglists */
	DEBUG_INLINE,       /* a string at this offset of .debug_info (or of .debug_line) */
	DEBUG_STRING,       /* at this offset of .debug_str */
	DEBUG_LINE_STRING,  /* at this offset of .debug_line_str */
	DEBUG_STRING_INDEX, /* an index in .debug_str_offsets */
	DEBUG_ALT_STRING,   /* at this offset of .debug_str of the dwz file */
	DEBUG_REF,          /* to an entry at this offset of .debug_info */
	DEBUG_ALT_REF,      /* to an entry at this offset of .debug_info of the dwz file */
};

/* How the bytes of a value are encoded. */
enum form_encoding {
	FORM_UNKNOWN, /* of a form that does not exist */
	BYTES_1,
	BYTES_2,
	BYTES_3,
	BYTES_4,
	BYTES_8,
	BYTES_16,
	OF_ADDRESS, /* as many bytes as an address of the unit */
	OF_OFFSET,  /* as many as an offset */
	OF_REF,     /* DW_FORM_ref_addr: as many as an address in DWARF 2, of an offset later */
	ULEB,
	SLEB,
	TEXT,    /* up to its NUL */
	BLOCK_1, /* preceded by its length in 1 byte */
	BLOCK_2,
	BLOCK_4,
	BLOCK_ULEB,
	IMPLICIT, /* in the abbreviation */
	PRESENT,  /* 1, without bytes */
	INDIRECT, /* the form precedes the value */
	ENCODINGS,
};

struct form {
	uint8_t encoding, class; /* enum form_encoding; enum debug_class */
	bool in_unit;            /* an offset from the unit's start */
};

enum { FORMS_STANDARD = 0x2d };

extern const struct form forms_standard[FORMS_STANDARD];
struct form form_find_other(uint64_t number);

/* The encoding is FORM_UNKNOWN for a number that is not a form. */
static inline struct form form_find(uint64_t number)
{
	return number < FORMS_STANDARD ? forms_standard[number] : form_find_other(number);
}

#endif
