/* SPDX-License-Identifier: MIT */
/*
 * Print formats of tracepoints: a C format string and C expressions over the fields, as the
 * kernel's macros left them. They are parsed once into a tree and evaluated for each record with
 * the rules of C, every access inside the bounds of the record. What the parser does not know
 * (statements, functions of one subsystem, names of constants) makes the whole format
 * unprintable: then fields are listed.
 */
#ifndef EXPR_PRINT_H
#define EXPR_PRINT_H

#include "tracefs/format.h"

enum print_op {
	/* a name that is not known: what depends on it is shown as "?", or as a page's number */
	PRINT_UNKNOWN, /* text: the name */
	PRINT_NUMBER,  /* number */
	PRINT_STRING,  /* text */
	PRINT_FIELD,   /* REC->field */
	PRINT_ADDRESS, /* &REC->field */
	PRINT_DYNAMIC, /* __get_dynamic_array(field), __get_str(field) */
	PRINT_LENGTH,  /* __get_dynamic_array_len(field) */
	PRINT_INDEX,   /* a[b] */
	PRINT_DEREF,   /* *a */
	PRINT_NEGATE,
	PRINT_NOT,
	PRINT_INVERT,
	PRINT_CAST,     /* to `bits`, is_signed; element: of what a pointer points to */
	PRINT_BINARY,   /* a `token` b */
	PRINT_CHOOSE,   /* a ? b : c */
	PRINT_SYMBOLIC, /* a; entries from b */
	PRINT_FLAGS,    /* a; text between; entries from b */
	PRINT_ENTRY,    /* number, text; next in a */
	PRINT_HEX,      /* a: bytes, b: how many; with blanks between */
	PRINT_HEX_STR,  /* without */
	PRINT_ARRAY,    /* a: bytes, b: how many elements, c: bytes of each */
	PRINT_BITMASK,  /* a: bytes */
	PRINT_SECONDS,  /* a / 10^9 */
	PRINT_REST_NS,  /* a % 10^9 */
};

/* Names the operators of more than one character. */
enum { TOKEN_SHL = 256, TOKEN_SHR, TOKEN_LE, TOKEN_GE, TOKEN_EQ, TOKEN_NE, TOKEN_AND, TOKEN_OR };

struct print_node {
	uint8_t op;   /* enum print_op */
	uint8_t bits; /* 32 or 64; of a cast also 8 and 16 */
	bool is_signed;
	bool is_pointer; /* of a cast */
	bool is_unknown; /* it or a node below it is PRINT_UNKNOWN */
	uint8_t element;
	uint16_t token;
	uint16_t depth;
	int32_t a, b, c; /* other nodes; -1: none */
	uint64_t number;
	const char *text; /* in the program's strings */
	const struct attar_field *field;
};

/* A conversion such as "%-16s", and the text before it. */
struct print_piece {
	const char *before;
	const char *suffix; /* of %p: "I4", "S" ...; "" for others */
	char flags[8];
	int width, precision; /* -1: none; node numbers when they are `*` */
	bool width_node, precision_node;
	uint8_t bits;    /* of a number: 8, 16, 32, 64 */
	char conversion; /* d u x X o c s p; 0: only the text */
	int32_t node;
};

struct print_program {
	VEC(struct print_node) nodes;
	VEC(struct print_piece) pieces;
	VEC(char *) strings; /* owned */
};

/*
 * The program of a format, NULL when its print format is beyond us. Names of constants are looked
 * up in tracefs and BTF unless tracefs is NULL. For print_free().
 */
struct print_program *print_parse(const struct attar_format *format, struct tracefs *tracefs);
void print_free(struct print_program *program);

/* What an expression is worth. */
struct print_value {
	uint64_t number; /* sign-extended when is_signed */
	uint8_t bits;
	bool is_signed;
	bool is_text;
	uint8_t element;      /* of bytes */
	const uint8_t *bytes; /* in the record or in the program; NULL: a number */
	size_t len;
};

/* One record being printed. */
struct print_run {
	const struct print_program *program;
	struct tracefs *tracefs; /* knows functions and strings of the kernel; NULL: none */
	const uint8_t *raw;
	size_t size;
	/* Output: at most max bytes; len counts also what did not fit. */
	char *at;
	size_t max, len;
	size_t passed; /* definitions of an EventHeader that were passed over */
};

void print_text(struct print_run *run, const char *text, size_t n);
void print_form(struct print_run *run, const char *fmt, ...) ATTAR_PRINTF(2, 3);

/* Writes a blank unless it is first, and "name=value". */
void print_field(struct print_run *run, const struct attar_field *field);

/* Writes the whole of a program. */
void print_program(struct print_run *run);

/* The value of a node as bytes or a number; nodes that only make text are worth 0. */
struct print_value print_eval(const struct print_run *run, int32_t node);

/* Whether a value is one that "?:" takes the first part for. */
bool print_is_true(const struct print_run *run, int32_t node);

/* Writes what "%s" makes of a node. */
void print_string(struct print_run *run, int32_t node);

/* Writes what "%p" with the suffix makes of a value; width: as in "%*ph", -1 none. */
void print_pointer(struct print_run *run, const char *suffix, int width, struct print_value value);

void print_bitmap(struct print_run *run, const uint8_t *bytes, size_t bits, bool as_list);

#endif
