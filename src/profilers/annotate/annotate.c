/* SPDX-License-Identifier: MIT */
/* annotate: which source lines and instructions of a function take the time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "annotate/function.h"
#include "attar/builtin.h"
#include "attar/keytable.h"
#include "lib/sample_weight.h"

enum { LOCATIONS_MAX = 1 << 20, INLINED_MAX = 32 };

#define UNMAPPED_REMARKED 0.01 /* of the samples */

struct annotate {
	struct attar_texts symbols;
	bool instructions;
	uint64_t top;

	struct sample_weight weight;
	struct attar_keytable *samples; /* their weights by location */
};

/* A function with samples: those from first on. */
struct function {
	attar_location start;
	struct attar_symbol symbol;
	size_t first, n;
	uint64_t weight;
};

struct annotation {
	struct annotate *options;
	struct attar_symbols *symbols;
	struct weighted *samples; /* by location */
	size_t n;
	uint64_t weight;  /* of all samples, also of those without a name */
	uint64_t unnamed; /* of those */
	/* of the unnamed ones, in code of JIT compilers without perf map or jitdump */
	uint64_t unmapped;
	struct function *functions;
	size_t n_functions;
};

static int on_sample(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct annotate *a = self;
	attar_location location;
	struct attar_keyrow *row;

	(void)run;
	if (!attar_event_stack(ev, &location, 1))
		return 0;
	row = attar_keytable_at_u64(a->samples, location);
	if (!row)
		return -ENOMEM;
	row->interval.sums[0] += sample_weight_get(&a->weight, ev);
	return 0;
}

static int annotate_open(struct attar_run *run, void *self)
{
	const struct attar_keytable_opts opts = {
		.size = sizeof(opts), .sums = 1, .keys_max = LOCATIONS_MAX};
	struct annotate *a = self;
	int r;

	if (a->top && a->symbols.n)
		return attar_fail(-EINVAL,
			"--top shows the hottest functions, but '%s' names one" ATTAR_FIX
			"leave out --top, or the function",
			a->symbols.at[0]);
	r = attar_keytable_new(&opts, &a->samples);
	if (r == 0)
		r = attar_run_sampler(run, false, on_sample);
	if (r == 0)
		a->weight = sample_weight_of_run(run);
	return r;
}

/* ---- samples of functions ---- */

static int by_location(const void *a, const void *b)
{
	const struct weighted *x = a, *y = b;

	return x->location < y->location ? -1 : x->location > y->location;
}

static int by_weight(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

static int take_samples(struct annotation *an, enum attar_scope scope)
{
	const struct attar_keytable *table = an->options->samples;
	struct attar_keyrow **rows;
	size_t n;
	int r = attar_keytable_rows(table, scope, 0, &rows, &n);

	if (r < 0)
		return r;
	an->samples = calloc(n ? n : 1, sizeof(*an->samples));
	for (size_t i = 0; an->samples && i < n; i++) {
		uint64_t weight = attar_keyrow_sums(rows[i], scope)->sums[0];

		an->weight += weight;
		if (rows[i]->key)
			an->samples[an->n++] = (struct weighted){rows[i]->number, weight};
	}
	free(rows);
	if (!an->samples)
		return -ENOMEM;
	qsort(an->samples, an->n, sizeof(*an->samples), by_location);
	return 0;
}

/* A function that is in two parts, such as one with a .cold part, is two functions. */
static int find_functions(struct annotation *an)
{
	struct function *last = NULL;

	an->functions = calloc(an->n ? an->n : 1, sizeof(*an->functions));
	if (!an->functions)
		return -ENOMEM;
	for (size_t i = 0; i < an->n; i++) {
		attar_location location = an->samples[i].location;
		struct attar_symbol symbol;

		if (attar_symbols_resolve(an->symbols, location, &symbol) < 0) {
			an->unnamed += an->samples[i].weight;
			if (symbol.kind == ATTAR_DSO_IS_JIT && symbol.dso[0] != '/')
				an->unmapped += an->samples[i].weight;
			continue;
		}
		if (!last || last->start != location - symbol.offset) {
			last = &an->functions[an->n_functions++];
			*last = (struct function){
				.start = location - symbol.offset, .symbol = symbol, .first = i};
		}
		last->n++;
		last->weight += an->samples[i].weight;
	}
	qsort(an->functions, an->n_functions, sizeof(*an->functions), by_weight);
	return 0;
}

/* ---- the report ---- */

static bool is_named(const struct function *f, const char *text)
{
	return !strcmp(f->symbol.name, text) || !strcmp(f->symbol.mangled, text);
}

/* The given functions, or the hottest ones. */
static bool is_wanted(const struct annotation *an, size_t i)
{
	const struct attar_texts *wanted = &an->options->symbols;

	if (!wanted->n)
		return i < (an->options->top ? an->options->top : 1);
	for (size_t j = 0; j < wanted->n; j++)
		if (is_named(&an->functions[i], wanted->at[j]))
			return true;
	return false;
}

/* The hottest function whose name contains text, such as a clone; NULL: none. */
static const char *similar_name(const struct annotation *an, const char *text)
{
	for (size_t i = 0; i < an->n_functions; i++)
		if (strstr(an->functions[i].symbol.name, text))
			return an->functions[i].symbol.name;
	return NULL;
}

/* Whether a function of this name was inlined into the code of a sample. */
static bool has_inlined(const struct annotation *an, attar_location location, const char *text)
{
	struct attar_frame frames[INLINED_MAX];
	int n = attar_symbols_frames(an->symbols, location, frames, INLINED_MAX);

	for (int i = 0; i < n && i < INLINED_MAX; i++)
		if (frames[i].inlined && frames[i].name &&
			(!strcmp(frames[i].name, text) || !strcmp(frames[i].mangled, text)))
			return true;
	return false;
}

static bool is_inlined_into(const struct annotation *an, const struct function *f, const char *text)
{
	for (size_t i = f->first; i < f->first + f->n; i++)
		if (has_inlined(an, an->samples[i].location, text))
			return true;
	return false;
}

/* Says which functions have the code of one that is inlined. False: there is none. */
static bool remark_inlined(
	const struct annotation *an, const char *text, struct attar_report *report)
{
	const struct function *hottest = NULL;
	size_t others = 0;

	for (size_t i = 0; i < an->n_functions; i++) {
		if (!is_inlined_into(an, &an->functions[i], text))
			continue;
		others += hottest != NULL;
		hottest = hottest ? hottest : &an->functions[i];
	}
	if (!hottest)
		return false;
	if (others)
		attar_report_remark(report,
			"no sample is in a function '%s': it was inlined, such as into '%s' and "
			"%zu more",
			text, hottest->symbol.name, others);
	else
		attar_report_remark(report,
			"no sample is in a function '%s': it was inlined into '%s'", text,
			hottest->symbol.name);
	return true;
}

static void remark_missing(const struct annotation *an, struct attar_report *report)
{
	const struct attar_texts *wanted = &an->options->symbols;

	for (size_t j = 0; j < wanted->n; j++) {
		const char *similar;
		bool found = false;

		for (size_t i = 0; !found && i < an->n_functions; i++)
			found = is_named(&an->functions[i], wanted->at[j]);
		if (found || remark_inlined(an, wanted->at[j], report))
			continue;
		similar = similar_name(an, wanted->at[j]);
		if (similar)
			attar_report_remark(report,
				"no sample is in a function '%s'; did you mean '%s'?",
				wanted->at[j], similar);
		else
			attar_report_remark(report,
				"no sample is in a function '%s': it did not run while samples "
				"were taken, or no function has this name ('attar profile' lists "
				"those with samples)",
				wanted->at[j]);
	}
}

static double share_of(const struct annotation *an, uint64_t weight)
{
	return an->weight ? (double)weight / (double)an->weight : 0;
}

/* The hottest function is not where the time is, if more of it is in code without a name. */
static void remark_unnamed(const struct annotation *an, struct attar_report *report)
{
	uint64_t hottest = an->n_functions ? an->functions[0].weight : 0;
	uint64_t others = an->unnamed - an->unmapped;

	if (share_of(an, an->unmapped) >= UNMAPPED_REMARKED)
		attar_report_remark(report,
			"%.1f%% of the %s are in code of a JIT compiler without names: no "
			"/tmp/perf-PID.map or jitdump has them; 'attar profile' says how to create "
			"one",
			100 * share_of(an, an->unmapped), an->options->weight.unit);
	if (!an->options->symbols.n && others > hottest)
		attar_report_remark(report,
			"%.1f%% of the %s are in code without a name, more than in the hottest "
			"function that has one; attar profile shows the files of this code",
			100 * share_of(an, others), an->options->weight.unit);
}

static void add_functions(const struct annotation *an, struct attar_report *report)
{
	struct attar_section *table = attar_report_table(report, "functions");

	attar_section_column(table, "share", ATTAR_UNIT_PERCENT);
	attar_section_column(table, an->options->weight.unit, ATTAR_UNIT_COUNT);
	attar_section_column(table, "dso", ATTAR_UNIT_TEXT);
	attar_section_column(table, "symbol", ATTAR_UNIT_TEXT);
	for (size_t i = 0; i < an->n_functions; i++) {
		const struct function *f = &an->functions[i];

		if (!is_wanted(an, i))
			continue;
		attar_section_row(table);
		attar_cell_double(table, 100 * share_of(an, f->weight));
		attar_cell_u64(table, f->weight);
		attar_cell_text(table, f->symbol.dso);
		attar_cell_text(table, f->symbol.name);
	}
}

static int add_function(
	const struct annotation *an, const struct function *f, struct attar_report *report)
{
	return annotate_function_report(&(struct annotated_function){.symbols = an->symbols,
						.start = f->start,
						.vaddr = f->symbol.start,
						.size = f->symbol.size,
						.name = f->symbol.name,
						.dso = f->symbol.dso,
						.kind = f->symbol.kind,
						.samples = &an->samples[f->first],
						.n = f->n,
						.weight = f->weight,
						.unit = an->options->weight.unit,
						.instructions = an->options->instructions},
		report);
}

static int annotate_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct annotate *a = self;
	struct annotation an = {.options = a, .symbols = attar_run_symbols(run)};
	int r = attar_keytable_end_interval(a->samples);

	if (r == 0)
		r = take_samples(&an, scope);
	if (r == 0)
		r = find_functions(&an);
	if (r == 0) {
		add_functions(&an, report);
		remark_missing(&an, report);
		remark_unnamed(&an, report);
		if (an.weight)
			run_unresolved(run, share_of(&an, an.unnamed));
	}
	for (size_t i = 0; r == 0 && i < an.n_functions; i++)
		if (is_wanted(&an, i))
			r = add_function(&an, &an.functions[i], report);
	free(an.samples);
	free(an.functions);
	return r;
}

static void annotate_close(void *self)
{
	struct annotate *a = self;

	attar_keytable_free(a->samples);
}

#define T struct annotate

static const struct attar_option options[] = {
	ATTAR_LIST(T, symbols, 0, "symbol", "SYMBOL",
		"this function, by its name or linkage name; can be repeated"),
	ATTAR_FLAG(T, instructions, 0, "instructions",
		"also show instructions (requires libcapstone); implied without debug information"),
	ATTAR_COUNT(T, top, 0, "top", "N",
		"without SYMBOL: show the N hottest functions (default 1)", ATTAR_MIN(1)),
	{0}};

static const struct attar_example examples[] = {
	{"annotate heavy -- ./program",
		"the source lines of a function, with their share of its time"},
	{"annotate --top 3 -p 1234 -d 10s", "the three hottest functions of a process"},
	{"annotate heavy --instructions --input perf.data",
		"also the instructions, from a recording"},
	{"annotate heavy -o heavy.html -- ./program", "as an HTML page"}, {0}};

const struct attar_profiler profiler_annotate = {
	.name = "annotate",
	.group = "CPU",
	.summary = "source lines and instructions of a function that take the time, by sampling",
	.uses = ATTAR_USES_SAMPLING | ATTAR_USES_STACKS | ATTAR_USES_RINGS |
		ATTAR_READS_KERNEL_MEMORY | ATTAR_READS_SOURCES,
	.needs = "perf events, whole system, hardware counters, kernel names",
	.self_size = sizeof(struct annotate),
	.options = options,
	.examples = examples,
	.open = annotate_open,
	.report = annotate_report,
	.close = annotate_close,
	.operand = "symbol",
};
