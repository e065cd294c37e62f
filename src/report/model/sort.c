/* SPDX-License-Identifier: MIT */
/* Sorting the rows of a section, with their details and named values. */
#include <math.h>

#include "attar/private/report.h"
#include "base/check_arg.h"
#include "report/model/model.h"

struct order {
	const struct attar_section *section;
	size_t column;
	bool descending;
};

/* Numbers come before text, and rows without a value last in both directions. */
enum rank { RANK_NUMBER, RANK_TEXT, RANK_NONE };

static enum rank rank_of(struct cell cell)
{
	if (cell.kind == CELL_U64 || cell.kind == CELL_I64)
		return RANK_NUMBER;
	if (cell.kind == CELL_DOUBLE)
		return isnan(cell.real) ? RANK_NONE : RANK_NUMBER;
	return cell.kind == CELL_TEXT ? RANK_TEXT : RANK_NONE;
}

static long double number_of(struct cell cell)
{
	return cell.kind == CELL_U64   ? (long double)cell.u64
	       : cell.kind == CELL_I64 ? (long double)cell.i64
				       : (long double)cell.real;
}

static int compare_cells(const struct attar_section *s, struct cell a, struct cell b)
{
	if (rank_of(a) == RANK_TEXT)
		return strcmp(section_text(s, a.text), section_text(s, b.text));
	return (number_of(a) > number_of(b)) - (number_of(a) < number_of(b));
}

/* Equal rows keep their order. */
static int compare_rows(const void *a, const void *b, void *arg)
{
	const struct order *order = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	struct cell left = section_cell(order->section, x, order->column);
	struct cell right = section_cell(order->section, y, order->column);
	int r = (int)rank_of(left) - (int)rank_of(right);

	if (r == 0 && rank_of(left) != RANK_NONE) {
		r = compare_cells(order->section, left, right);
		r = order->descending ? -r : r;
	}
	return r ? r : (x > y) - (x < y);
}

/* The contents of a section in another order, which replace the old ones. */
struct sorted {
	VEC(uint8_t) kinds;
	VEC(uint64_t) values;
	VEC(struct detail) details;
	VEC(struct named) named;
};

static void sorted_done(struct sorted *to)
{
	vec_done(&to->kinds);
	vec_done(&to->values);
	vec_done(&to->details);
	vec_done(&to->named);
}

/* Room for all contents: adding them then never fails. */
static int reserve(struct sorted *to, const struct attar_section *s)
{
	if (vec_reserve(&to->kinds, s->kinds.n) < 0 || vec_reserve(&to->values, s->values.n) < 0 ||
		vec_reserve(&to->details, s->details.n) < 0 ||
		vec_reserve(&to->named, s->named.n) < 0)
		return -ENOMEM;
	return 0;
}

static void add_row(struct sorted *to, const struct attar_section *s, uint32_t row, uint32_t number)
{
	for (size_t i = 0; i < s->columns.n; i++) {
		struct cell cell = section_cell(s, row, i);

		to->kinds.at[to->kinds.n++] = (uint8_t)cell.kind;
		to->values.at[to->values.n++] = cell.bits;
	}
	for (size_t at = section_first_detail(s, row); section_has_detail(s, row, at); at++)
		to->details.at[to->details.n++] = (struct detail){number, s->details.at[at].text};
	for (size_t at = section_first_named(s, row); at < s->named.n && s->named.at[at].row == row;
		at++) {
		struct named value = s->named.at[at];

		value.row = number;
		to->named.at[to->named.n++] = value;
	}
}

#define SWAP(a, b)                                                                                 \
	do {                                                                                       \
		typeof(a) swap_ = (a);                                                             \
		(a) = (b);                                                                         \
		(b) = swap_;                                                                       \
	} while (0)

/* Exchanges contents of vectors of the same type. */
#define SWAP_VEC(a, b)                                                                             \
	do {                                                                                       \
		SWAP((a)->at, (b)->at);                                                            \
		SWAP((a)->n, (b)->n);                                                              \
		SWAP((a)->size, (b)->size);                                                        \
	} while (0)

static void replace(struct attar_section *s, struct sorted *to)
{
	SWAP_VEC(&s->kinds, &to->kinds);
	SWAP_VEC(&s->values, &to->values);
	SWAP_VEC(&s->details, &to->details);
	SWAP_VEC(&s->named, &to->named);
}

void section_sort(struct attar_section *section, size_t column, bool descending)
{
	CHECK_ARG_OR(section, "section", );

	struct attar_report *report = section->report;
	struct order order = {section, column, descending};
	struct sorted to _cleanup_(sorted_done) = {0};
	uint32_t *rows _cleanup_free_ = NULL;

	if (report->fault || !section->rows)
		return;
	if (column >= section->columns.n) {
		report_set_failed(report, "a section was sorted by a column that does not exist");
		return;
	}
	rows = calloc(section->rows, sizeof(*rows));
	if (!rows || reserve(&to, section) < 0) {
		report_set_out_of_memory(report);
		return;
	}
	for (uint32_t i = 0; i < section->rows; i++)
		rows[i] = i;
	qsort_r(rows, section->rows, sizeof(*rows), compare_rows, &order);
	for (uint32_t i = 0; i < section->rows; i++)
		add_row(&to, section, rows[i], i);
	replace(section, &to);
}
