/* SPDX-License-Identifier: MIT */
/*
 * Units of .debug_info (DWARF 5, sections 7.5.1 to 7.5.6): their headers, entries and the values of
 * attributes. Strings and addresses that are indexes of other sections are looked up on demand.
 */
#ifndef DWARF_UNIT_H
#define DWARF_UNIT_H

#include "dwarf/abbrev.h"
#include "dwarf/cursor.h"
#include "dwarf/form.h"

struct debug_value {
	uint64_t u;
	uint32_t class; /* enum debug_class */
};

struct debug_unit {
	struct debug_file *file;     /* borrowed */
	struct debug_unit *skeleton; /* of a unit of a .dwo file: that in the binary; borrowed */
	uint64_t offset, end;        /* in .debug_info */
	uint64_t root;               /* offset of the first entry */
	uint64_t abbrev;             /* offset in .debug_abbrev */
	uint64_t dwo_id;             /* of a skeleton and its unit; 0: none */
	uint8_t version, address_size, offset_size, type;
	/* of the root entry, once root_read */
	uint8_t parts; /* how often tables of a part of it were read */
	bool root_read;
	bool is_c, is_cpp; /* the language, of any version */
	uint16_t tag;
	uint64_t low_pc, str_offsets_base, addr_base, rnglists_base, gnu_ranges_base;
	struct debug_value high_pc, ranges, lines, name, directory, dwo_name;
};

/*
 * Reads the header of the unit at an offset of .debug_info. Returns 0; -ENODATA at the end of the
 * section; -EBADMSG; -EOPNOTSUPP for an unknown version, with ret_unit->end set.
 */
int debug_unit_header(struct debug_file *file, uint64_t offset, struct debug_unit *ret_unit);

/* Reads bytes of .debug_info: a cursor with the offset of its bytes. */
struct debug_reader {
	struct cursor c;
	const uint8_t *start;
	uint64_t offset; /* of start in its section */
};

static inline uint64_t debug_reader_offset(const struct debug_reader *reader)
{
	return reader->offset + (uint64_t)(reader->c.at - reader->start);
}

/* Takes the value of a form. False if the form is unknown or the bytes are too few. */
bool debug_value_take(const struct debug_unit *unit, struct debug_reader *reader,
	const struct form *form, int64_t implicit, struct debug_value *ret_value);

/* Reads the root entry, once. abbrevs belong to the unit. */
int debug_unit_root(struct debug_unit *unit, const struct abbrevs *abbrevs);

/* The address of a value of class DEBUG_ADDRESS or DEBUG_ADDRESS_INDEX. */
bool debug_unit_address(
	const struct debug_unit *unit, const struct debug_value *value, uint64_t *ret_address);

/* Appends a string. alt: the dwz file, or NULL. section: where strings of DEBUG_INLINE are. */
bool debug_unit_string(const struct debug_unit *unit, const struct debug_value *value,
	struct debug_file *alt, enum debug_section_id section, struct buf *text);

#endif
