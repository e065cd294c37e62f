/* SPDX-License-Identifier: MIT */
/* The functions in which processes spend time, or wait: overview_places(). */
#include <stdlib.h>
#include <string.h>

#include "overview/overview.h"

struct place {
	const char *name, *dso;
	uint64_t start, weight, samples, depth;
};

static int by_function(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	int dso = strcmp(x->dso, y->dso);

	if (dso)
		return dso;
	return x->start != y->start ? (x->start > y->start) - (x->start < y->start)
				    : strcmp(x->name ? x->name : "", y->name ? y->name : "");
}

static int by_weight(const void *a, const void *b)
{
	const struct overview_function *x = a, *y = b;

	return (x->weight < y->weight) - (x->weight > y->weight);
}

static void resolve(struct attar_symbols *symbols, attar_location location, struct place *ret_place)
{
	struct attar_symbol symbol = {.name = NULL};

	ret_place->dso = "";
	if (!location)
		return;
	if (attar_symbols_resolve(symbols, location, &symbol) == 0) {
		ret_place->name = symbol.name;
		ret_place->start = symbol.start;
	}
	if (symbol.kind == ATTAR_DSO_IS_LABEL) /* a function of /proc/PID/stack */
		ret_place->dso = "[kernel.kallsyms]";
	else if (symbol.dso)
		ret_place->dso = symbol.dso;
}

/* all: of the places. */
static size_t keep_largest(struct place *places, size_t n, const struct place *all,
	struct overview_function *ret, size_t max)
{
	struct overview_function *functions = malloc((n + 1) * sizeof(*functions));
	size_t found = 0;

	if (!functions)
		return 0;
	if (n)
		qsort(places, n, sizeof(*places), by_function);
	for (size_t i = 0; i < n; i++) {
		if (!i || by_function(&places[i - 1], &places[i]) != 0)
			functions[found++] = (struct overview_function){.name = places[i].name,
				.dso = places[i].dso,
				.all = all->weight,
				.all_samples = all->samples};
		functions[found - 1].weight += places[i].weight;
		functions[found - 1].samples += places[i].samples;
	}
	if (found)
		qsort(functions, found, sizeof(*functions), by_weight);
	found = found < max ? found : max;
	memcpy(ret, functions, found * sizeof(*functions));
	free(functions);
	return found;
}

/* Whether a place belongs to the process, or to those with its name; NULL: to any. */
static bool is_of(const struct overview_sums *sums, const struct overview_process *process,
	const struct overview_place *place)
{
	const struct overview_process *found;

	if (!process)
		return true;
	if (process->pid || !sums->n_by_pid)
		return place->pid == process->pid;
	found = overview_process_of(sums, place->pid);
	return found && !strcmp(found->comm, process->comm);
}

static size_t largest(const struct overview_sums *sums, const struct attar_keytable *table,
	enum overview_part part, const struct overview_process *process,
	struct overview_function *ret, size_t max)
{
	struct attar_symbols *symbols = attar_run_symbols(sums->run);
	struct attar_keyrow **rows;
	struct place *places, all = {0};
	size_t n, kept = 0;

	if (attar_keytable_rows(table, sums->scope, PLACE_TIME, &rows, &n) < 0)
		return 0;
	places = calloc(n + 1, sizeof(*places));
	for (size_t i = 0; places && i < n; i++) {
		const struct overview_place *place = rows[i]->key;
		const uint64_t *of = attar_keyrow_sums(rows[i], sums->scope)->sums;

		if (!place || place->part != part || !is_of(sums, process, place))
			continue;
		places[kept].weight = of[PLACE_TIME];
		places[kept].samples = of[PLACE_SAMPLES];
		resolve(symbols, place->location, &places[kept++]);
		all.weight += of[PLACE_TIME];
		all.samples += of[PLACE_SAMPLES];
	}
	n = places ? keep_largest(places, kept, &all, ret, max) : 0;
	free(places);
	free(rows);
	return n;
}

size_t overview_places(const struct overview_sums *sums, enum overview_part part,
	const struct overview_process *process, struct overview_function *ret_functions, size_t n)
{
	return largest(sums, sums->overview->places, part, process, ret_functions, n);
}

size_t overview_functions(
	const struct overview_sums *sums, struct overview_function *ret_functions, size_t n)
{
	return largest(sums, sums->overview->functions, 0, NULL, ret_functions, n);
}

/* ---- callers ---- */

enum { MOST = 60 /* percent of the samples */ };

/* Functions that all programs of a kind have, and those that interpret others. */
static bool says_nothing(const struct place *place)
{
	static const char *const starts[] = {"main", "main.main", "_start", "start_thread",
		"runtime.main", "runtime.goexit", "runtime.goexit.abi0", "runtime.mstart",
		"runtime.systemstack", "runtime.systemstack.abi0", "runtime.mcall"};

	if (!place->name || !strncmp(place->name, "__libc_start", 12) ||
		!strncmp(place->name, "clone", 5) ||
		(overview_is_node(place->dso) && strncmp(place->name, "v8::internal::", 14)) ||
		!strncmp(place->name, "__clone", 7) || strstr(place->dso, "/python") ||
		strstr(place->dso, "/libpython"))
		return true;
	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
		if (!strcmp(place->name, starts[i]))
			return true;
	return false;
}

static double depth_of(const struct place *place)
{
	return (double)place->depth / (double)place->samples;
}

/* Inside of the other one; a function of the engine of Node.js is better than none. */
static bool is_better(const struct place *place, const struct place *than)
{
	bool is_engine = overview_is_node(place->dso);

	if (!than || is_engine != overview_is_node(than->dso))
		return !than || !is_engine;
	return depth_of(place) < depth_of(than);
}

bool overview_caller(const struct overview_sums *sums, const struct overview_process *process,
	struct overview_function *ret_function)
{
	struct attar_symbols *symbols = attar_run_symbols(sums->run);
	struct attar_keytable *callers = sums->overview->callers;
	struct place *places = calloc(attar_keytable_keys(callers) + 1, sizeof(*places));
	const struct place *best = NULL;
	struct attar_keyrow *row = NULL;
	struct overview_function leaf;
	size_t n = 0, found = 0;

	if (!overview_places(sums, PART_USER, process, &leaf, 1)) {
		free(places);
		return false;
	}
	while (places && (row = attar_keytable_next(callers, row))) {
		const uint64_t *of = attar_keyrow_sums(row, sums->scope)->sums;
		const struct overview_place *place = row->key;

		if (!of[CALLER_SAMPLES] || !is_of(sums, process, place))
			continue;
		places[n].samples = of[CALLER_SAMPLES];
		places[n].depth = of[CALLER_DEPTH];
		resolve(symbols, place->location, &places[n++]);
	}
	if (n)
		qsort(places, n, sizeof(*places), by_function);
	for (size_t i = 0; i < n; i++) {
		if (!i || by_function(&places[found - 1], &places[i]) != 0) {
			places[found++] = places[i];
			continue;
		}
		places[found - 1].samples += places[i].samples;
		places[found - 1].depth += places[i].depth;
	}
	for (size_t i = 0; i < found; i++)
		if (100 * places[i].samples >= MOST * leaf.all_samples &&
			!says_nothing(&places[i]) && is_better(&places[i], best))
			best = &places[i];
	if (best)
		*ret_function = (struct overview_function){.name = best->name,
			.dso = best->dso,
			.weight =
				best->samples < leaf.all_samples ? best->samples : leaf.all_samples,
			.all = leaf.all_samples,
			.samples = best->samples,
			.all_samples = leaf.all_samples};
	free(places);
	return best != NULL;
}
