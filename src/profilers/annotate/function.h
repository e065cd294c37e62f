/* SPDX-License-Identifier: MIT */
/* The source lines and instructions of a function, with the weight of the samples in each. */
#ifndef PROFILERS_ANNOTATE_FUNCTION_H
#define PROFILERS_ANNOTATE_FUNCTION_H

#include <stdbool.h>

#include "attar/report.h"
#include "attar/symbol.h"

struct weighted {
	attar_location location;
	uint64_t weight;
};

struct annotated_function {
	struct attar_symbols *symbols;
	attar_location start; /* of the function */
	uint64_t vaddr, size; /* its address in its file or in the kernel; bytes, 0: unknown */
	const char *name, *dso;
	enum attar_dso_kind kind;
	const struct weighted *samples; /* in the function, by location */
	size_t n;
	uint64_t weight;  /* of all of them */
	const char *unit; /* the column of weights, such as "samples" */
	bool instructions;
};

/*
 * Adds a table of lines for each source file of the function, and, if wanted or without lines, one
 * of instructions. Returns 0 or -ENOMEM.
 */
int annotate_function_report(
	const struct annotated_function *function, struct attar_report *report);

#endif
