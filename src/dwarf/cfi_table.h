/* SPDX-License-Identifier: MIT */
/*
 * The call frame information of a binary, compiled into a compact table: for each range of code the
 * rules that compute the registers of the caller (DWARF 5, section 6.4). Equal rules are stored
 * once, and do not move. The table is built by cfi_read() and is then constant; the table of
 * cfi_open() has the rules that were needed so far, and no ranges.
 *
 * Ranges are file offsets, so that a location (attar_location) is looked up as it is.
 */
#ifndef DWARF_CFI_TABLE_H
#define DWARF_CFI_TABLE_H

#include "base/slots.h"
#include "base/vec.h"
#include "elf/elf.h"

/* DWARF registers that rules are kept for: of x86-64 0 to 16 (the return address), of arm64 0 to
 * 31 (the stack pointer). Others, such as vector registers, are not needed to find callers. */
enum { CFI_REGISTERS = 32, CFI_RULES_MAX = 65534, CFI_CHUNK_WORDS = 1024 };

enum cfi_how {
	CFI_SAME,          /* unchanged: not stored */
	CFI_UNDEFINED,     /* not recoverable; of the return address: there is no caller */
	CFI_AT_CFA,        /* saved at CFA + value */
	CFI_IS_CFA,        /* CFA + value */
	CFI_REGISTER,      /* in the register `value` */
	CFI_AT_EXPRESSION, /* saved at the address that expression `value` computes */
	CFI_IS_EXPRESSION, /* the result of expression `value` */
};

struct cfi_rule {
	unsigned reg : 6;
	unsigned how : 3;
	int value : 23;
};

/* How to find the caller from code of one range. */
struct cfi_rules {
	uint8_t n;               /* rules that follow */
	uint8_t cfa_reg;         /* CFA = register + cfa_offset */
	uint8_t return_reg;      /* the register with the return address */
	bool cfa_expression : 1; /* CFA = the result of expression cfa_offset instead */
	bool is_signal : 1; /* called by the kernel: the caller was interrupted, it did not call */
	int32_t cfa_offset;
	struct cfi_rule rules[];
};

struct cfi_expression {
	uint32_t offset, size; /* in `bytes` */
};

struct cfi_frames;

struct cfi_table {
	uint16_t machine;       /* EM_* */
	uint32_t n;             /* ranges */
	uint32_t *starts;       /* sorted file offsets; a range extends to the next */
	uint16_t *rule_of;      /* number of its rules; 0: none */
	VEC(uint32_t *) chunks; /* CFI_CHUNK_WORDS each: struct cfi_rules, one after another */
	uint32_t words;         /* used of the chunks */
	VEC(uint32_t) at;       /* rules by number: index of the word; [0] is unused */
	VEC(struct cfi_expression) expressions;
	VEC(uint8_t) bytes;        /* of the expressions */
	uint32_t functions;        /* FDEs read */
	uint32_t skipped;          /* FDEs left out: malformed, overlapping, or too many rules */
	struct cfi_frames *frames; /* what the rules are made from; NULL: all were made */
};

void cfi_table_done(struct cfi_table *table);

/* Rules by number, at least 1. */
static inline const struct cfi_rules *cfi_table_rules(const struct cfi_table *table, size_t number)
{
	uint32_t at = table->at.at[number];

	return (const struct cfi_rules *)&table->chunks
		.at[at / CFI_CHUNK_WORDS][at % CFI_CHUNK_WORDS];
}

/* The rules for code at a file offset, or NULL. Borrowed from the table, which is complete. */
static inline const struct cfi_rules *cfi_table_find(
	const struct cfi_table *table, uint64_t file_offset)
{
	uint32_t low = 0, n = table->n;

	if (!n || file_offset > UINT32_MAX || file_offset < table->starts[0])
		return NULL;
	while (n > 1) { /* starts[low] <= file_offset */
		uint32_t half = n / 2;

		low = table->starts[low + half] <= file_offset ? low + half : low;
		n -= half;
	}
	return table->rule_of[low] ? cfi_table_rules(table, table->rule_of[low]) : NULL;
}

/* The bytes of an expression. */
static inline const uint8_t *cfi_table_expression(
	const struct cfi_table *table, uint32_t number, size_t *ret_size)
{
	*ret_size = table->expressions.at[number].size;
	return table->bytes.at + table->expressions.at[number].offset;
}

/* Bytes allocated. */
size_t cfi_table_memory(const struct cfi_table *table);

/* ---- building ---- */

struct cfi_function {
	uint32_t start, end; /* file offsets */
	uint32_t first, n;   /* its rows */
};

struct cfi_row {
	uint32_t start;
	uint16_t rules;
};

struct cfi_builder {
	struct cfi_table *table;
	VEC(struct cfi_function) functions;
	VEC(struct cfi_row) rows;
	struct slots slots; /* the numbers of rules */
};

/* The hash of rules is made of the sum of these, which is updated when one of them changes. */
static inline uint64_t cfi_rule_hash(struct cfi_rule rule)
{
	uint32_t word;

	memcpy(&word, &rule, sizeof(word));
	return base_hash64(word);
}

/*
 * The number of rules that were added before, given all but their array, the sum of
 * cfi_rule_hash(), and the rule of each register. Returns 0 if they are new.
 */
int cfi_builder_find(const struct cfi_builder *b, const struct cfi_rules *rules, uint64_t sum,
	const struct cfi_rule *of_register);

/*
 * The number of these rules, which are added if new. Returns it, at least 1; 0 if there are too
 * many; -ENOMEM.
 */
int cfi_builder_rules(struct cfi_builder *b, const struct cfi_rules *rules);

/* The number of an expression, which is copied. Returns it; -E2BIG; -ENOMEM. */
int cfi_builder_expression(struct cfi_builder *b, const uint8_t *bytes, size_t n);

/*
 * Makes the table of the functions and rows, and frees the builder's memory. Returns 0; -ENOMEM:
 * the table and the builder are as before.
 */
int cfi_builder_finish(struct cfi_builder *b);

void cfi_builder_done(struct cfi_builder *b);

#endif
