/* SPDX-License-Identifier: MIT */
/*
 * Print formats of tracepoints: a C format string and C expressions on the fields, as expanded by
 * the kernel's macros. They are parsed once into a tree and evaluated for each record by the rules
 * of C, with bounds checks on all accesses. If the parser does not support a construct (statements,
 * functions of a subsystem, names of constants), the fields are listed instead.
 */
#ifndef EXPR_PRINT_H
#define EXPR_PRINT_H

#include "tracefs/format.h"

enum print_op {
	/* an unknown name: values that depend on it are shown as "?", or as a page frame number */
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
	PRINT_CAST,     /* cast to `bits`, is_signed; element: size of the pointed-to type */
	PRINT_BINARY,   /* a `token` b */
	PRINT_CHOOSE,   /* a ? b : c */
	PRINT_SYMBOLIC, /* a; entries from b */
	PRINT_FLAGS,    /* a; text between; entries from b */
	PRINT_ENTRY,    /* number, text; next in a */
	PRINT_HEX,      /* a: bytes, b: count; separated by spaces */
	PRINT_HEX_STR,  /* without spaces */
	PRINT_ARRAY,    /* a: bytes, b: number of elements, c: bytes per element */
	PRINT_BITMASK,  /* a: bytes */
	PRINT_SECONDS,  /* a / 10^9 */
	PRINT_REST_NS,  /* a % 10^9 */
	PRINT_JIFFIES,  /* the kernel's tick counter when the record is printed */
};

/* Tokens of operators with more than one character. */
enum { TOKEN_SHL = 256, TOKEN_SHR, TOKEN_LE, TOKEN_GE, TOKEN_EQ, TOKEN_NE, TOKEN_AND, TOKEN_OR };

struct print_node {
	uint8_t op;   /* enum print_op */
	uint8_t bits; /* 32 or 64; for casts also 8 and 16 */
	bool is_signed;
	bool is_pointer; /* of a cast */
	bool is_unknown; /* this or a descendant node is PRINT_UNKNOWN */
	uint8_t element;
	uint16_t token;
	uint16_t depth;
	int32_t a, b, c; /* operand nodes; -1: none */
	uint64_t number;
	const char *text; /* in the program's strings */
	const struct attar_field *field;
};

/* A conversion such as "%-16s", and the text before it. */
struct print_piece {
	const char *before;
	const char *suffix; /* for %p: "I4", "S" ...; "" for others */
	char flags[8];
	int width, precision; /* -1: none; node numbers if given as `*` */
	bool width_node, precision_node;
	uint8_t bits;    /* for numbers: 8, 16, 32, 64 */
	char conversion; /* d u x X o c s p; 0: text only */
	int32_t node;
};

struct print_program {
	VEC(struct print_node) nodes;
	VEC(struct print_piece) pieces;
	VEC(char *) strings; /* owned */
};

/*
 * Parses the print format of a format; returns NULL if it is not supported. Names of constants are
 * looked up in tracefs and BTF unless tracefs is NULL. Free the program with print_free().
 */
struct print_program *print_parse(const struct attar_format *format, struct tracefs *tracefs);
void print_free(struct print_program *program);

/* The value of an expression. */
struct print_value {
	uint64_t number; /* sign-extended if is_signed */
	uint8_t bits;
	bool is_signed;
	bool is_text;
	uint8_t element;      /* of bytes */
	const uint8_t *bytes; /* in the record or in the program; NULL: a number */
	size_t len;
};

/* State for printing a record. */
struct print_run {
	const struct print_program *program;
	struct tracefs *tracefs; /* resolves kernel functions and strings; NULL: none */
	const uint8_t *raw;
	size_t size;
	/* Output: at most max bytes; len also counts what did not fit. */
	char *at;
	size_t max, len;
	size_t passed; /* number of skipped EventHeader definitions */
};

void print_text(struct print_run *run, const char *text, size_t n);
void print_form(struct print_run *run, const char *fmt, ...) ATTAR_PRINTF(2, 3);

/* Writes a space unless it is first, and "name=value". */
void print_field(struct print_run *run, const struct attar_field *field);

/* Writes the output of a complete program. */
void print_program(struct print_run *run);

/* The value of a node as bytes or a number; nodes that only produce text evaluate to 0. */
struct print_value print_eval(const struct print_run *run, int32_t node);

/* Whether a value is true, as in "?:". */
bool print_is_true(const struct print_run *run, int32_t node);

/* Writes a node as "%s" does. */
void print_string(struct print_run *run, int32_t node);

/* Writes a value as "%p" with the suffix does; width: as in "%*ph", -1 none. */
void print_pointer(struct print_run *run, const char *suffix, int width, struct print_value value);

void print_bitmap(struct print_run *run, const uint8_t *bytes, size_t bits, bool as_list);

#endif
