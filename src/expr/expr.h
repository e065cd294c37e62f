/* SPDX-License-Identifier: MIT */
/*
 * Expressions on the fields of a record. Text is parsed once (expr/parse.h) into a checked tree:
 * each node has a static type, and depth and size of the tree are limited. The tree is evaluated
 * for each record by the rules of C, without allocating. All accesses are checked: a field outside
 * the record counts as absent and yields 0 or an empty string, and so does an element outside an
 * array; a division by zero yields 0. Both are counted as faults of the run.
 *
 * The tree has no pointers: nodes, fields and strings are referred to by index, and a value is a
 * number or bytes of the record or of the expression, with their length.
 *
 *	struct expr_run run = {.expr = &expr, .raw = raw, .size = size};
 *	if (expr_is_true(&run, root)) ...
 */
#ifndef EXPR_EXPR_H
#define EXPR_EXPR_H

#include "attar/format.h"
#include "base/vec.h"

enum expr_op {
	EXPR_UNKNOWN, /* text: a name without a known value; evaluates to 0 */
	EXPR_NUMBER,  /* number */
	EXPR_REAL,    /* real */
	EXPR_STRING,  /* text */
	EXPR_FIELD,   /* the number in a field */
	EXPR_BYTES,   /* the bytes of a field; number: of text, their largest number; 0: unknown */
	EXPR_ADDRESS, /* the bytes at the offset of a field, also of a dynamic field */
	EXPR_LENGTH,  /* number of bytes of a field */
	EXPR_INDEX,   /* a[b] */
	EXPR_CAST,    /* a, as a value of the node's type */
	EXPR_NEGATE,
	EXPR_INVERT,
	EXPR_CHOOSE,  /* a ? b : c */
	EXPR_JIFFIES, /* the kernel's tick counter at the time of evaluation */
	/* of the expressions of users (expr/user.h) */
	EXPR_MEMBER,   /* the number of node.type at byte node.number of the attar_expr_record */
	EXPR_VARIABLE, /* variable node.number of the attar_expr_record */
	EXPR_TRUNCATE, /* a, a floating-point number, as an integer */
	EXPR_SEQUENCE, /* the value of b, after evaluating a */
	EXPR_MOVE,     /* the address b elements after a; is_inverted: before a (expr/address.h) */
	EXPR_DISTANCE, /* the number of elements between the addresses a and b */
	EXPR_OFFSET,   /* the address a as an offset in the data */
	EXPR_ASSIGN,   /* a = b */
	EXPR_STEP,     /* a += number; is_inverted: the value is that before */
	EXPR_CALL,     /* function node.number of a, b, c (expr/functions.h) */
	/* operators a op b */
	EXPR_MULTIPLY,
	EXPR_DIVIDE,
	EXPR_REMAINDER,
	EXPR_ADD,
	EXPR_SUBTRACT,
	EXPR_SHIFT_LEFT,
	EXPR_SHIFT_RIGHT,
	EXPR_BIT_AND,
	EXPR_BIT_XOR,
	EXPR_BIT_OR,
	/* conditions: 0 or 1 */
	EXPR_LESS,
	EXPR_LESS_EQUAL,
	EXPR_GREATER,
	EXPR_GREATER_EQUAL,
	EXPR_EQUAL, /* of two strings: their bytes are equal */
	EXPR_NOT_EQUAL,
	EXPR_GLOB, /* the text of a matches the pattern b */
	EXPR_NOT,
	EXPR_AND,
	EXPR_OR,
	/* a is compared with a constant; the result may be inverted: */
	EXPR_RANGE,      /* (a & mask) - number <= span */
	EXPR_REAL_RANGE, /* real <= a <= greatest; real is not a number: none */
	/* values that only print_string() can use; they evaluate to 0 */
	EXPR_SYMBOLIC, /* a; entries from b */
	EXPR_FLAGS,    /* a; text between; entries from b */
	EXPR_ENTRY,    /* number, text; next in a */
	EXPR_HEX,      /* a: bytes, b: count; separated by spaces */
	EXPR_HEX_STR,  /* without spaces */
	EXPR_ARRAY,    /* a: bytes, b: number of elements, c: bytes per element */
	EXPR_BITMASK,  /* a: bytes */
};

enum expr_class {
	EXPR_CLASS_NUMBER, /* an integer */
	EXPR_CLASS_REAL,   /* a floating-point number; can only be compared */
	EXPR_CLASS_BYTES,  /* bytes; in arithmetic 0 */
	EXPR_CLASS_ANY,    /* bytes or an integer, see EXPR_CHOOSE */
};

struct expr_type {
	uint8_t kind; /* enum expr_class */
	uint8_t bits; /* of an integer: 8, 16, 32, 64; others: 64 */
	bool is_signed;
	bool is_text;     /* of bytes: a string, which ends at a NUL or at its length */
	bool is_address;  /* of bytes: elements before and after these can be read, too */
	uint16_t element; /* of bytes: size of an element in bytes; is_signed: the elements are */
};

struct expr_node {
	uint8_t op; /* enum expr_op */
	struct expr_type type;
	struct expr_type operand; /* of an operator: common type of a and b, after promotion */
	bool is_unknown;          /* this or a descendant node is EXPR_UNKNOWN */
	bool has_constant;        /* b is a number, and `number` is its value as type `operand` */
	bool needs_fields;        /* of a comparison: false if one of its fields is absent */
	bool is_inverted;         /* of a range or pattern, MOVE, STEP */
	uint16_t depth;
	int32_t a, b, c; /* operand nodes; -1: none */
	uint32_t field;  /* in fields */
	union {
		struct {
			uint32_t text; /* in strings, followed by a NUL */
			uint32_t text_len;
		};
		uint64_t span;
	};
	union {
		uint64_t number; /* of the node's type: sign-extended if it is signed */
		double real;
	};
	union {
		uint64_t mask;
		double greatest;
	};
};

struct expr {
	VEC(struct expr_node) nodes;
	VEC(struct attar_field) fields; /* without name and type */
	VEC(char) strings;
};

void expr_done(struct expr *expr);

struct attar_expr;
struct attar_expr_record;

/* The evaluation of expressions for one record. */
struct expr_run {
	const struct expr *expr;
	const uint8_t *raw; /* NULL: all fields are absent */
	uint8_t *copy;      /* raw, if the expression can change it; otherwise NULL */
	size_t size;
	struct attar_expr *user; /* of a user's expression; otherwise NULL, as record */
	const struct attar_expr_record *record;
	/* Faults so far. */
	uint32_t absent;   /* reads of fields outside the record, and of elements outside arrays */
	uint32_t by_zeros; /* divisions by zero */
};

struct expr_value {
	const uint8_t *bytes; /* in the record or in the expression; NULL: a number */
	size_t len;
	uint64_t number; /* sign-extended if the node's type is signed; of bytes: 0 */
};

/* The value of a node of any type. */
struct expr_value expr_eval(struct expr_run *run, int32_t node);

/* The value of a node as a number; 0 if it has bytes. */
uint64_t expr_number(struct expr_run *run, int32_t node);

/* Whether the value of a node is true, as in "?:": bytes are, and numbers other than 0. */
bool expr_is_true(struct expr_run *run, int32_t node);

/*
 * Whether the text matches the pattern by the rules of the kernel's glob_match(): "*", "?",
 * "[a-z]", "[!a-z]", and "\" before a character that stands for itself.
 */
bool expr_glob(const char *pattern, size_t pattern_len, const char *text, size_t len);

/* A number converted to an integer type: cut off, and sign-extended if the type is signed. */
static inline uint64_t expr_convert(uint64_t number, struct expr_type type)
{
	unsigned unused = 64U - type.bits;

	number <<= unused;
	return type.is_signed ? (uint64_t)((int64_t)number >> unused) : number >> unused;
}

static inline const struct expr_node *expr_node(const struct expr *expr, int32_t index)
{
	return &expr->nodes.at[index];
}

/* The text of an UNKNOWN, STRING, FLAGS or ENTRY node, NUL-terminated. */
static inline const char *expr_text(const struct expr *expr, const struct expr_node *node)
{
	return expr->strings.at + node->text;
}

#endif
