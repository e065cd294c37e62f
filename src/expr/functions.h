/* SPDX-License-Identifier: MIT */
/* The functions of users' expressions. A new function is one entry of the table in functions.c. */
#ifndef EXPR_FUNCTIONS_H
#define EXPR_FUNCTIONS_H

#include "expr/expr.h"

struct attar_expr_opts;

struct function {
	const char *name;
	/*
	 * One letter for each argument: 'n' a number, 't' text, 'a' text or an array, 'f' a format
	 * with its arguments, which is the last.
	 */
	const char *arguments;
	struct expr_type type; /* of the result */
	/* Computes the value of a call: the node's a, b and c are its arguments. */
	struct expr_value (*call)(struct expr_run *run, const struct expr_node *node);
	/* Why the function cannot be used with these options; NULL: it can. */
	const char *(*refusal)(const struct attar_expr_opts *opts);
	bool runs_commands;
	bool reads_memory; /* of an argument that the kernel may have copied into the record */
};

/* The functions, ended by one without a name. */
extern const struct function functions[];

struct expr_value function_call(struct expr_run *run, const struct expr_node *node);

/* The name of a system call of this architecture; NULL: unknown. */
const char *syscall_name(uint64_t number);

/* The name of a reason why a KVM guest exited; isa: 1 VMX, 2 SVM. NULL: unknown. */
const char *exit_reason_name(uint64_t isa, uint64_t reason);

#endif
