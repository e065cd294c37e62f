/* SPDX-License-Identifier: MIT */
/* The public aggregate of weighted stacks: tables of an interval and of the whole run. */
#include "attar/sections.h"

#include "attar/private/report.h"
#include "attar/private/symbol.h"
#include "base/check_arg.h"
#include "base/option_struct.h"
#include "report/model/model.h"
#include "sections/functions.h"
#include "sections/samples.h"
#include "sections/stack_report.h"
#include "sections/weighted_stacks.h"

#define UNMAPPED_REMARKED 0.01 /* of the samples */

struct attar_stacks {
	struct stack_space space;
	struct functions functions;
	struct samples interval, whole;
	bool keeps_nodes; /* see stacks_keep_nodes() */
	struct map nodes; /* task and stack -> node of the tree of the last report */
};

int attar_stacks_new(struct attar_symbols *symbols, struct attar_stacks **ret_stacks)
{
	CHECK_ARG(symbols, "symbols");
	CHECK_ARG(ret_stacks, "ret_stacks");

	struct attar_stacks *stacks = calloc(1, sizeof(*stacks));

	if (!stacks)
		return base_oom();
	functions_init(&stacks->functions, symbols);
	if (stack_space_init(&stacks->space) < 0) {
		attar_stacks_free(stacks);
		return base_oom();
	}
	*ret_stacks = stacks;
	return 0;
}

struct attar_stacks *attar_stacks_free(struct attar_stacks *stacks)
{
	if (!stacks)
		return NULL;
	samples_done(&stacks->interval);
	samples_done(&stacks->whole);
	map_done(&stacks->nodes);
	functions_done(&stacks->functions);
	stack_space_done(&stacks->space);
	free(stacks);
	return NULL;
}

int attar_stacks_add(struct attar_stacks *stacks, const struct attar_thread *thread,
	const attar_location *locations, size_t n, uint64_t weight)
{
	return samples_add(&stacks->interval, stack_space_task(&stacks->space, thread),
		stacks_intern(&stacks->space.stacks, locations, n), weight);
}

int attar_stacks_add_span(struct attar_stacks *stacks, const struct attar_thread *thread,
	const attar_location *locations, size_t n, uint64_t weight, uint64_t *ret_stack)
{
	CHECK_ARG(stacks, "stacks");
	CHECK_ARG(thread, "thread");
	CHECK_ARG(locations || !n, "locations");
	CHECK_ARG(ret_stack, "ret_stack");

	uint32_t task = stack_space_task(&stacks->space, thread),
		 stack = stacks_intern(&stacks->space.stacks, locations, n);

	*ret_stack = ((uint64_t)task << 32 | stack) + 1;
	return samples_add(&stacks->interval, task, stack, weight);
}

void stacks_set_groups(struct attar_stacks *stacks, const struct stack_groups *groups)
{
	stacks->space.groups = *groups;
}

void stacks_keep_nodes(struct attar_stacks *stacks)
{
	stacks->keeps_nodes = true;
}

uint32_t stacks_node(const struct attar_stacks *stacks, uint64_t stack)
{
	const uint64_t *found = stack ? map_get(&stacks->nodes, stack - 1) : NULL;

	return found ? (uint32_t)*found : ATTAR_TREE_ROOT;
}

static void remark_idle(const struct stack_report *sr, struct attar_report *report)
{
	if (sr->idle)
		attar_report_remark(report, "excluded %llu of %llu %s that were taken on idle CPUs",
			(unsigned long long)sr->idle, (unsigned long long)sr->samples->total,
			sr->weight);
}

static void remark_unmapped(
	const struct stack_report *sr, struct attar_report *report, enum attar_scope scope)
{
	if (scope == ATTAR_SCOPE_WHOLE && sr->unit == ATTAR_UNIT_COUNT &&
		sr->unmapped >= UNMAPPED_REMARKED)
		attar_report_remark(report,
			"%.1f%% of the %s are in code of a JIT compiler without names: no "
			"/tmp/perf-PID.map or jitdump of the process was found; let the program "
			"write one, such as by node --perf-basic-prof or python3.12 -X perf, ask "
			"for one with --java-map, and store its names by attar record --portable",
			100 * sr->unmapped, sr->weight);
}

/* Adds remarks about what did not fit the tables. */
static void remark_bounds(const struct attar_stacks *stacks, const struct stack_report *sr,
	struct attar_report *report)
{
	uint64_t stackless = stacks->space.stacks.refused + stacks->whole.refused;
	struct attar_symbols_stats symbols;

	symbols_get_stats(stacks->functions.symbols, &symbols);
	if (symbols.dsos_refused)
		attar_report_remark(report,
			"the table of binaries is full: addresses in %llu mapping%s are shown "
			"without names",
			(unsigned long long)symbols.dsos_refused, PLURAL_S(symbols.dsos_refused));
	if (stackless)
		attar_report_remark(report,
			"the table of stacks is full: %llu %s are counted without a stack",
			(unsigned long long)stackless, sr->weight);
	if (stacks->space.tasks.n > TASKS_THREADS)
		attar_report_remark(report,
			"more than %d threads were sampled: further ones are shown by name, "
			"without their tids",
			TASKS_THREADS);
	if (sr->others)
		attar_report_remark(report,
			"the table of thread names is full: %llu %s are shown as other tasks",
			(unsigned long long)sr->others, sr->weight);
}

/* Marks the sections from this one on. */
static void mark_for_trees(struct attar_report *report, size_t first)
{
	for (size_t i = first; i < report->sections.n; i++)
		section_for_trees(report->sections.at[i]);
}

int attar_stacks_report(struct attar_stacks *stacks, struct attar_report *report,
	enum attar_scope scope, const struct attar_stacks_opts *opts, double *ret_unresolved)
{
	CHECK_ARG(stacks, "stacks");
	CHECK_ARG(report, "report");
	CHECK_ARG(ret_unresolved, "ret_unresolved");

	struct attar_stacks_opts o = {0};
	struct stack_report sr = {.space = &stacks->space,
		.functions = &stacks->functions,
		.samples = scope == ATTAR_SCOPE_WHOLE ? &stacks->whole : &stacks->interval};
	size_t first = report->sections.n;
	int r = option_struct_take(&o, sizeof(o), opts);

	if (r < 0)
		return r;
	sr.weight = o.weight ? o.weight : "samples";
	sr.no_table = o.no_table;
	sr.cpu_ns = o.cpu_ns;
	sr.cpu_label = o.cpu_label;
	sr.unit = o.unit ? o.unit : ATTAR_UNIT_COUNT;
	sr.nodes = stacks->keeps_nodes && scope == ATTAR_SCOPE_WHOLE ? &stacks->nodes : NULL;
	map_reset(&stacks->nodes);
	r = scope == ATTAR_SCOPE_WHOLE ? samples_move(&stacks->whole, &stacks->interval)
				       : samples_merge(&stacks->whole, &stacks->interval);
	if (r == 0)
		r = stack_report_table(&sr, report);
	if (r == 0 && o.tree)
		r = stack_report_tree(&sr, report);
	if (o.for_trees)
		mark_for_trees(report, first);
	stack_report_done(&sr);
	remark_idle(&sr, report);
	remark_unmapped(&sr, report, scope);
	remark_bounds(stacks, &sr, report);
	samples_reset(&stacks->interval);
	if (r == 0)
		*ret_unresolved = sr.unresolved;
	return r;
}
