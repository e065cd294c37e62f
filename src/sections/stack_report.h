/* SPDX-License-Identifier: MIT */
/* Reports for profilers of weighted stacks: a table of functions and a call tree. */
#ifndef SECTIONS_STACK_REPORT_H
#define SECTIONS_STACK_REPORT_H

#include "attar/report.h"
#include "sections/calltree.h"
#include "sections/functions.h"
#include "sections/samples.h"

struct stack_report {
	struct stack_space *space;
	struct functions *functions;
	const struct samples *samples;
	const char *weight; /* what is counted: "samples" */
	enum attar_unit unit;
	bool no_table;
	double cpu_ns; /* of the tree, see struct attar_stacks_opts */
	const char *cpu_label;
	struct map *nodes;    /* out, of the tree: key of a weight -> node; NULL: not needed */
	double unresolved;    /* out: share of the weight whose innermost frame had no name */
	double unmapped;      /* out: share of it in code of JIT compilers that no file describes */
	uint64_t idle;        /* out: the weight of idle CPUs, which is in neither section */
	uint64_t others;      /* out: the weight of "other tasks" */
	struct calltree tree; /* of the stacks, for both sections */
};

/*
 * Computes unresolved, unmapped, idle and others. Without no_table adds the table "functions":
 * self, total, weight, comm, dso, symbol; by self, then total. An
 * address of a file without a name that at least 0.5% of the weight ran in or went through has a
 * separate row; the rest of a file without a name is its "[unknown]". 0 or -ENOMEM, as for the tree
 * below, which must be added after the table.
 */
int stack_report_table(struct stack_report *sr, struct attar_report *report);

/*
 * Tree "stacks": one root per task, with its stacks below, outermost frame first. 0 or -ENOMEM.
 */
int stack_report_tree(struct stack_report *sr, struct attar_report *report);

/* Frees the tree. */
void stack_report_done(struct stack_report *sr);

#endif
