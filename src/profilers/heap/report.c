/* SPDX-License-Identifier: MIT */
#include "heap/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "attar/private/stats.h"

/* What is shown of a row. */
struct shown {
	const struct sums_row *row;
	uint32_t stack;
	struct sums_amount live, peak;
	double growth;
};

/* Sums of numbers that are not integers can end below 0 after all was subtracted. */
static uint64_t rounded(double value)
{
	return value <= 0 ? 0 : value < 0x1p63 ? (uint64_t)(value + 0.5) : UINT64_MAX;
}

/* At the end of the run, reports have what was live when processes ended, too. */
static struct sums_amount live_of(const struct sums_row *row, bool has_left)
{
	struct sums_amount amount = row->live;

	if (has_left) {
		amount.objects += row->left.objects;
		amount.bytes += row->left.bytes;
		amount.variance += row->left.variance;
	}
	return amount;
}

static double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

static bool is_sampled(const struct heap_state *state)
{
	return state->sample > 1;
}

/* The margin of an estimate, if there is a column for it. */
static void add_margin(const struct heap_state *state, struct attar_section *table,
	const struct sums_amount *amount)
{
	if (is_sampled(state))
		attar_cell_u64(table, rounded(sums_margin(amount)));
}

static void add_margin_column(const struct heap_state *state, struct attar_section *table)
{
	if (is_sampled(state))
		attar_section_column(table, "+/-", ATTAR_UNIT_BYTES);
}

/* ---- the sums ---- */

static void add_total(const struct heap_state *state, struct attar_section *table, const char *what,
	const struct sums_amount *amount)
{
	attar_section_row(table);
	attar_cell_text(table, what);
	attar_cell_u64(table, rounded(amount->objects));
	attar_cell_u64(table, rounded(amount->bytes));
	add_margin(state, table, amount);
}

static void add_totals(const struct heap_state *state, struct attar_report *report, bool has_left)
{
	struct attar_section *table = attar_report_table(report, "memory");
	const struct sums_row *all = &state->sums.all;
	const struct sums_amount live = live_of(all, has_left);
	struct sums_amount freed = all->allocated;

	freed.objects -= all->live.objects + all->left.objects;
	freed.bytes -= all->live.bytes + all->left.bytes;
	freed.variance -= all->live.variance + all->left.variance;
	attar_section_column(table, "state", ATTAR_UNIT_TEXT);
	attar_section_column(table, "objects", ATTAR_UNIT_COUNT);
	attar_section_column(table, "bytes", ATTAR_UNIT_BYTES);
	add_margin_column(state, table);
	add_total(state, table, "allocated", &all->allocated);
	add_total(state, table, "freed", &freed);
	add_total(state, table, "live", &live);
	add_total(state, table, "at peak", &all->at_peak);
}

/* ---- stacks ---- */

static int compare(const void *a, const void *b)
{
	const struct shown *x = a, *y = b;

	if (x->live.bytes != y->live.bytes)
		return x->live.bytes < y->live.bytes ? 1 : -1;
	if (x->row->allocated.bytes != y->row->allocated.bytes)
		return x->row->allocated.bytes < y->row->allocated.bytes ? 1 : -1;
	return x->stack < y->stack ? -1 : 1;
}

/* Free the result, whose rows are borrowed until the next row is added. */
static struct shown *sort_rows(const struct sums *sums, bool has_left, size_t *ret_n)
{
	struct shown *all = calloc(sums->n_rows + 1, sizeof(*all));
	size_t n = 0;

	for (size_t i = 0; all && i < sums->n_rows; i++) {
		const struct sums_row *row = &sums->rows[i];

		const struct sums_amount live = live_of(row, has_left);

		if (row->allocated.objects > 0)
			all[n++] = (struct shown){.row = row,
				.stack = (uint32_t)i,
				.live = live,
				.peak = sums_at_peak(sums, row),
				.growth = live.bytes - row->reported};
	}
	if (all)
		qsort(all, n, sizeof(*all), compare);
	*ret_n = n;
	return all;
}

static void add_stack_columns(
	const struct heap_state *state, struct attar_section *table, enum attar_scope scope)
{
	attar_section_column(table, "live", ATTAR_UNIT_BYTES);
	add_margin_column(state, table);
	attar_section_column(table, "objects", ATTAR_UNIT_COUNT);
	if (scope == ATTAR_SCOPE_INTERVAL)
		attar_section_column(table, "growth", ATTAR_UNIT_BYTES);
	attar_section_column(table, "at peak", ATTAR_UNIT_BYTES);
	attar_section_column(table, "allocated", ATTAR_UNIT_BYTES);
	attar_section_column(table, "calls", ATTAR_UNIT_COUNT);
	attar_section_column(table, "temporary", ATTAR_UNIT_PERCENT);
}

static int64_t growth_of(const struct shown *shown)
{
	return shown->growth < 0 ? -(int64_t)(rounded(-shown->growth) & INT64_MAX)
				 : (int64_t)(rounded(shown->growth) & INT64_MAX);
}

static void add_stack(struct attar_run *run, const struct heap_state *state,
	struct attar_section *table, const struct shown *shown, enum attar_scope scope)
{
	const struct sums_row *row = shown->row;
	const attar_location *locations;
	size_t n;

	attar_section_row(table);
	attar_cell_u64(table, rounded(shown->live.bytes));
	add_margin(state, table, &shown->live);
	attar_cell_u64(table, rounded(shown->live.objects));
	if (scope == ATTAR_SCOPE_INTERVAL)
		attar_cell_i64(table, growth_of(shown));
	attar_cell_u64(table, rounded(shown->peak.bytes));
	attar_cell_u64(table, rounded(row->allocated.bytes));
	attar_cell_u64(table, rounded(row->allocated.objects));
	attar_cell_double(table, percent(row->temporary, row->allocated.objects));
	locations = attar_stack_table_get(state->stacks, shown->stack, &n);
	if (n)
		attar_row_stack(table, attar_run_symbols(run), locations, n);
}

/* The tree has the live bytes. */
static int weigh(
	const struct heap_state *state, struct attar_stacks *stacks, const struct shown *shown)
{
	struct attar_process process = {.pid = -1};
	struct attar_thread thread = {.tid = -1, .comm = shown->row->comm, .process = &process};
	const attar_location *locations;
	size_t n;

	thread.comm_hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
	for (const char *c = thread.comm; *c; c++)
		thread.comm_hash = (thread.comm_hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
	locations = attar_stack_table_get(state->stacks, shown->stack, &n);
	return attar_stacks_add(stacks, &thread, locations, n, rounded(shown->live.bytes));
}

static int add_tree(struct attar_run *run, const struct heap_state *state,
	struct attar_report *report, const struct shown *rows, size_t n_rows)
{
	static const struct attar_stacks_opts opts = {.size = sizeof(opts),
		.weight = "bytes",
		.unit = ATTAR_UNIT_BYTES,
		.tree = true,
		.for_trees = true};
	struct attar_stacks *stacks;
	int r = attar_stacks_new(attar_run_symbols(run), &stacks);

	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < n_rows; i++)
		if (rounded(rows[i].live.bytes))
			r = weigh(state, stacks, &rows[i]);
	if (r == 0)
		r = attar_run_stacks(run, report, stacks, ATTAR_SCOPE_WHOLE, &opts);
	attar_stacks_free(stacks);
	return r;
}

static int add_stacks(struct attar_run *run, const struct heap_state *state,
	struct attar_report *report, enum attar_scope scope, bool has_left)
{
	struct attar_section *table = attar_report_table(report, "stacks");
	struct shown *rows;
	size_t n;
	int r = 0;

	rows = sort_rows(&state->sums, has_left, &n);
	if (!rows)
		return -ENOMEM;
	add_stack_columns(state, table, scope);
	for (size_t i = 0; i < n; i++)
		add_stack(run, state, table, &rows[i], scope);
	if (attar_run_wants(run, ATTAR_WANT_TREE))
		r = add_tree(run, state, report, rows, n);
	free(rows);
	return r;
}

/* ---- sizes ---- */

static void add_sizes(const struct heap_state *state, struct attar_report *report, bool has_left)
{
	struct attar_section *table = attar_report_table(report, "sizes");

	attar_section_column(table, "up to", ATTAR_UNIT_BYTES);
	attar_section_column(table, "calls", ATTAR_UNIT_COUNT);
	attar_section_column(table, "allocated", ATTAR_UNIT_BYTES);
	attar_section_column(table, "temporary", ATTAR_UNIT_PERCENT);
	attar_section_column(table, "objects", ATTAR_UNIT_COUNT);
	attar_section_column(table, "live", ATTAR_UNIT_BYTES);
	for (unsigned i = 0; i < SUMS_CLASSES; i++) {
		const struct sums_class *class = &state->sums.classes[i];
		const struct sums_row row = {.live = class->live, .left = class->left};
		const struct sums_amount live = live_of(&row, has_left);

		if (!(class->allocated.objects > 0) && !rounded(live.objects))
			continue;
		attar_section_row(table);
		attar_cell_u64(table, UINT64_C(1) << i);
		attar_cell_u64(table, rounded(class->allocated.objects));
		attar_cell_u64(table, rounded(class->allocated.bytes));
		attar_cell_double(table, percent(class->temporary, class->allocated.objects));
		attar_cell_u64(table, rounded(live.objects));
		attar_cell_u64(table, rounded(live.bytes));
	}
}

/* ---- remarks ---- */

static const char *ending(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static void add_estimate_remark(const struct heap_state *state, struct attar_report *report)
{
	if (!is_sampled(state))
		return;
	attar_report_remark(report,
		"all numbers are estimates from %" PRIu64 " sampled allocation%s, one for each "
		"%" PRIu64 " bytes on average; the true number of bytes is within +/- with a "
		"probability of 95 %%; --sample 1 watches each allocation",
		state->sums.samples, ending(state->sums.samples), state->sample);
}

static void add_process_remarks(
	const struct heap_state *state, struct attar_report *report, bool has_left)
{
	if (!state->processes && !state->is_running)
		attar_report_remark(report,
			"no process has loaded libperfume-heap.so: the program is statically "
			"linked, has set-user-ID rights, or its dynamic linker is not the one of "
			"glibc");
	if (state->is_running)
		attar_report_remark(
			report, "what was allocated before the start of attar is not known");
	if (state->bypassed)
		attar_report_remark(report,
			"%" PRIu64
			" process%s a malloc() of %s own in the program, whose calls are "
			"not seen: attar memleak probes it",
			state->bypassed, state->bypassed == 1 ? " has" : "es have",
			state->bypassed == 1 ? "its" : "their");
	if (state->ended > 1 || (state->ended && !has_left))
		attar_report_remark(report,
			"%" PRIu64 " process%s ended with live memory, %" PRIu64 " bytes in all, "
			"which %s among what is live here",
			state->ended, state->ended == 1 ? "" : "es",
			rounded(state->sums.all.left.bytes), has_left ? "is" : "is not");
}

static void add_loss_remarks(const struct heap_state *state, struct attar_report *report)
{
	if (state->has_lost)
		attar_report_remark(report,
			"events were lost: allocations are missing, and what was freed meanwhile "
			"appears as live");
	if (state->replaced)
		attar_report_remark(report, "%" PRIu64 " address%s allocated again without a free",
			state->replaced, state->replaced == 1 ? " was" : "es were");
	if (state->live.refused)
		attar_report_remark(report,
			"%" PRIu64 " allocation%s not followed, because %zu others were live: they "
			"count as freed; use a larger --sample",
			state->live.refused, state->live.refused == 1 ? " was" : "s were",
			state->live.max);
	if (stack_table_refused(state->stacks))
		attar_report_remark(report,
			"%" PRIu64
			" allocations have no stack, because the table of stacks is full",
			stack_table_refused(state->stacks));
}

int heap_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct heap_state *state = self;
	const bool has_left = scope == ATTAR_SCOPE_WHOLE || attar_run_ended(run);
	int r;

	add_totals(state, report, has_left);
	r = add_stacks(run, state, report, scope, has_left);
	add_sizes(state, report, has_left);
	add_process_remarks(state, report, has_left);
	add_loss_remarks(state, report);
	add_estimate_remark(state, report);
	sums_reported(&state->sums);
	return r;
}
