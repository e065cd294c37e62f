/* SPDX-License-Identifier: MIT */
/*
 * The section of a binary with call frame information, kept in memory, and its entries: those that
 * functions share (CIE) and the entries of functions (FDE).
 */
#ifndef DWARF_CFI_FRAMES_H
#define DWARF_CFI_FRAMES_H

#include "dwarf/cfi_program.h"

enum { CFI_FUNCTIONS_MAX = 1 << 22 };

/* Where the code of a function starts in the file, and where its FDE is in the section. */
struct cfi_place {
	uint32_t start, entry;
};

/* Code at [start, end) in the file, and the number of its rules. */
struct cfi_found {
	uint32_t start, end;
	int number;
};

struct cfi_frames {
	struct elf elf; /* class and segments of the binary; it has no source */
	uint8_t *bytes;
	uint64_t size;
	uint64_t vaddr;               /* of the section */
	bool is_eh;                   /* .eh_frame */
	struct cfi_cie cie;           /* the last one */
	VEC(struct cfi_place) places; /* sorted */
	VEC(struct cfi_found) found;  /* the rules that were made so far; sorted, disjoint */
	uint64_t run;                 /* bytes of instructions that were run to find rules */
	struct cfi_builder builder;
};

struct cfi_entry {
	struct cursor c; /* after its id */
	uint64_t cie;    /* offset of the CIE in the section */
	bool is_cie;
	uint8_t offset_size; /* 4, or 8 in the 64-bit format */
};

struct cfi_code {
	uint64_t vaddr, size, offset; /* offset: in the file */
	const struct cfi_cie *cie;    /* valid until the next call */
	struct cursor instructions;
};

/*
 * Reads a section. Returns 0; -ENODATA: it has no bytes, or cannot be decompressed; -ENOMEM. Free
 * the result with cfi_frames_free().
 */
int cfi_frames_read(const struct elf *elf, const struct elf_section *section, bool is_eh,
	struct cfi_frames **ret_frames);

/* Frees all after the first `size` bytes. Before an entry is used. */
void cfi_frames_shrink(struct cfi_frames *frames, uint64_t size);

/* Accepts NULL. */
void cfi_frames_free(struct cfi_frames *frames);

/* Bytes allocated. Accepts NULL. */
size_t cfi_frames_memory(const struct cfi_frames *frames);

/* Takes the next entry. False at the end of the section. */
bool cfi_frames_take(const struct cfi_frames *f, struct cursor *all, struct cfi_entry *ret_entry);

/* Takes what an FDE says of its function. Returns 0, or -EBADMSG if it is malformed. */
int cfi_frames_code(struct cfi_frames *f, struct cfi_entry *e, struct cfi_code *ret_code);

#endif
