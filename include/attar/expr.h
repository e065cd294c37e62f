/* SPDX-License-Identifier: MIT */
/*
 * attar/expr.h - expressions on the fields of events, as users write them.
 *
 * An expression is compiled once for the format of an event, and evaluated for each record. The
 * language is C without statements; docs/expressions.md describes it.
 *
 *	struct attar_expr_opts opts = {.size = sizeof(opts), .flags = ATTAR_EXPR_KEY};
 *	struct attar_expr_record record = {.raw = sample->raw, .raw_size = sample->raw_size};
 *	struct attar_expr *key;
 *	char bytes[ATTAR_EXPR_KEY_MAX];
 *
 *	if (attar_expr_new("{dev,sector}", format, &opts, &key) < 0)
 *		return report(attar_error());
 *	n = attar_expr_key(key, &record, bytes, sizeof(bytes));
 *	...
 *	attar_expr_free(key);
 *
 * Evaluating an expression never fails, never allocates, reads nothing outside the record, and does
 * not change it: assignments change a private copy. What cannot be computed yields 0 or an empty
 * string and is counted, see attar_expr_get_faults(). Only printf() and system() have effects. An
 * expression is used by one thread at a time.
 */
#ifndef ATTAR_EXPR_H
#define ATTAR_EXPR_H

#include "attar/base.h"
#include "attar/format.h"

#ifdef __cplusplus
extern "C" {
#endif

struct attar_expr;

/* Limits. */
enum {
	ATTAR_EXPR_TEXT_MAX = 256,    /* bytes of a string that a function returns, or in a key */
	ATTAR_EXPR_COLUMNS_MAX = 8,   /* values of a composite key */
	ATTAR_EXPR_OUTPUT_MAX = 1024, /* bytes that one printf() writes */
	/* Bytes of the largest key. */
	ATTAR_EXPR_KEY_MAX = ATTAR_EXPR_COLUMNS_MAX * (ATTAR_EXPR_TEXT_MAX + 2),
};

enum attar_expr_kind {
	ATTAR_EXPR_NUMBER, /* an integer */
	ATTAR_EXPR_TEXT,
	ATTAR_EXPR_BYTES, /* an array; cannot be a key */
};

/* The value of an expression, or of a variable. */
struct attar_expr_value {
	const char *bytes; /* of text and arrays, without NUL; of a number: NULL */
	size_t len;        /* their number */
	uint64_t number;   /* sign-extended to 64 bits if its type is signed; otherwise 0 */
};

/* What an expression is evaluated for. Members that are not known are 0. */
struct attar_expr_record {
	const void *raw; /* the fields; NULL: all are absent */
	size_t raw_size; /* bytes */
	uint64_t time;   /* ns, _time */
	uint64_t period; /* _period */
	int32_t cpu;     /* _cpu */
	int32_t pid;     /* _pid */
	int32_t tid;     /* _tid */
	/* The values of opts.variables, in their order; of numbers, bytes is ignored. */
	const struct attar_expr_value *variables;
};

/* A name that an expression can use in addition to the fields. It hides a field of its name. */
struct attar_expr_variable {
	const char *name; /* letters, digits and '_' */
	bool is_text;
	bool is_signed; /* of a number; all have 64 bits */
};

/*
 * Writes the text for a number to ret_text, at most max bytes without a NUL, and returns its
 * length; 0 if it is unknown. record is the one that the expression is evaluated for.
 */
typedef size_t attar_expr_text_fn(void *ctx, const struct attar_expr_record *record,
	uint64_t number, char *ret_text, size_t max);

/* What a thread is in. */
enum attar_expr_group {
	ATTAR_EXPR_CGROUP, /* the path of its control group */
	ATTAR_EXPR_UNIT,
	ATTAR_EXPR_CONTAINER,
	ATTAR_EXPR_POD,
};

/*
 * Writes the name of what the thread tid is in, as attar_expr_text_fn; 0: it is in none. record
 * NULL: an expression that will ask for it is being compiled, and nothing is to be written.
 */
typedef size_t attar_expr_group_fn(void *ctx, const struct attar_expr_record *record,
	enum attar_expr_group group, int32_t tid, char *ret_text, size_t max);

/* Called with the text that printf() writes, n bytes; borrowed until it returns. */
typedef void attar_expr_output_fn(void *ctx, const char *text, size_t n);

enum {
	/* A key: also a list in braces, "{dev,sector}". All values must be numbers or text. */
	ATTAR_EXPR_KEY = 1 << 0,
	/*
	 * A condition: its value must be a number. A comparison is false if one of its fields is
	 * absent.
	 */
	ATTAR_EXPR_CONDITION = 1 << 1,
	/* Allow system(), which runs a command. */
	ATTAR_EXPR_ALLOW_EXEC = 1 << 2,
	/* The events are of another architecture: syscall_name() gives "syscall_NUMBER". */
	ATTAR_EXPR_OTHER_ARCH = 1 << 3,
};

struct attar_expr_opts {
	size_t size;      /* sizeof(struct attar_expr_opts) */
	unsigned flags;   /* ATTAR_EXPR_KEY ... */
	const char *what; /* of which attribute, for errors: "key", "filter"; NULL: "expression" */
	size_t n_variables;
	const struct attar_expr_variable *variables; /* copied */
	void *ctx; /* for the callbacks; owned by the caller, must outlive the expression */
	/* NULL: expressions that use the function are refused. */
	attar_expr_text_fn *ksymbol;  /* the kernel function at an address */
	attar_expr_text_fn *usymbol;  /* the function at an address in the process record->pid */
	attar_expr_text_fn *comm_get; /* the name of the thread with this id */
	attar_expr_output_fn *output; /* for printf() */
	/*
	 * If not NULL, an error has only its reason as text, and the column (from 1) in the
	 * expression is stored here; 0: it has none.
	 */
	unsigned *ret_column;
	attar_expr_text_fn *ustring; /* the string at an address in the process of record->tid */
	attar_expr_text_fn *fd_name; /* the file of a descriptor of record->tid */
	attar_expr_group_fn *group_get; /* _cgroup, _unit, _container, _pod and their functions */
};

/*
 * Compiles an expression. format has its fields and must outlive it; NULL: it has none. opts may be
 * NULL. Returns 0; -EINVAL with an error message of three lines: the reason, the expression, and a
 * caret under the place; -EPERM for system() without ATTAR_EXPR_ALLOW_EXEC; -E2BIG for opts of an
 * incompatible version; -ENOMEM. Free with attar_expr_free().
 */
ATTAR_API int attar_expr_new(const char *text, const struct attar_format *format,
	const struct attar_expr_opts *opts, struct attar_expr **ret_expr);

/* Frees the expression. Returns NULL, to assign to the caller's variable. Accepts NULL. */
ATTAR_API struct attar_expr *attar_expr_free(struct attar_expr *expr);

/* ---- evaluating: these functions do not check their arguments ---- */

/*
 * Evaluates the expression; of a list in braces, the first column. The bytes of the value are
 * borrowed from the record, the expression or a variable, until the next evaluation.
 */
ATTAR_API void attar_expr_eval(struct attar_expr *expr, const struct attar_expr_record *record,
	struct attar_expr_value *ret_value);

/* The value as a number, as in struct attar_expr_value; 0 for text and arrays. */
ATTAR_API uint64_t attar_expr_number(
	struct attar_expr *expr, const struct attar_expr_record *record);

/* Whether the value is a number other than 0. */
ATTAR_API bool attar_expr_is_true(struct attar_expr *expr, const struct attar_expr_record *record);

/*
 * Writes the values of all columns to ret_key as bytes, and returns their number, at most
 * ATTAR_EXPR_KEY_MAX. Two keys of an expression are equal if and only if the bytes are. The key of
 * one number is the 8 bytes of a uint64_t; the key of one string is its bytes, none if it is empty.
 * Of text, the first ATTAR_EXPR_TEXT_MAX bytes count. max must be at least attar_expr_key_size();
 * otherwise nothing is written and 0 is returned.
 */
ATTAR_API size_t attar_expr_key(
	struct attar_expr *expr, const struct attar_expr_record *record, void *ret_key, size_t max);

/* ---- columns and keys ---- */

/* A value of an expression. Borrowed from it. */
struct attar_expr_column {
	const char *name; /* its part of the expression: "dev" */
	enum attar_expr_kind kind;
	uint8_t bits; /* of a number: 8, 16, 32, 64 */
	bool is_signed;
	bool is_address; /* a number that is best shown in hexadecimal */
};

/* The number of values: 1 unless it is a list in braces. */
ATTAR_API size_t attar_expr_columns(const struct attar_expr *expr);

/* The i-th column; NULL after the last. */
ATTAR_API const struct attar_expr_column *attar_expr_get_column(
	const struct attar_expr *expr, size_t i);

/* The number of bytes that a key of this expression has at most. */
ATTAR_API size_t attar_expr_key_size(const struct attar_expr *expr);

/*
 * The i-th value in a key from attar_expr_key(). Bytes are borrowed from the key. Returns false if
 * the key has no such value.
 */
ATTAR_API bool attar_expr_key_value(const struct attar_expr *expr, const void *key, size_t size,
	size_t i, struct attar_expr_value *ret_value);

/*
 * Formats a key for display: "8,123456". Writes at most max bytes including the NUL and returns the
 * length of the complete text, as snprintf() does. The text contains data written by processes:
 * escape it before output.
 */
ATTAR_API size_t attar_expr_key_format(
	const struct attar_expr *expr, const void *key, size_t size, char *ret_text, size_t max);

/* ---- faults ---- */

/* What could not be evaluated, since the expression was created. */
struct attar_expr_faults {
	uint64_t absent;  /* fields outside the record, and elements outside their array: 0 or "" */
	uint64_t by_zero; /* divisions by zero: 0 */
	uint64_t unresolved; /* addresses and threads without a name: their number as text */
	uint64_t cut;        /* strings in keys and output that were longer than their limit */
};

/* Stores how often this expression could not be evaluated. */
ATTAR_API void attar_expr_get_faults(
	const struct attar_expr *expr, struct attar_expr_faults *ret_faults);

#ifdef __cplusplus
}
#endif

#endif
