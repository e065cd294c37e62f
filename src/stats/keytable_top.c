/* SPDX-License-Identifier: MIT */
/* Tables by key: the rows with the largest sums. */
#include "base/check_arg.h"
#include "stats/keytable.h"

/* A heap of the best rows so far; the worst of them is at its top. */
struct top {
	const struct attar_keytable *table;
	enum attar_scope scope;
	size_t sum;
	struct attar_keyrow **rows;
	size_t n;
};

/* A sum as a number in its order: negative ones come first. */
static uint64_t order(const struct top *top, const struct attar_keyrow *row)
{
	return attar_keyrow_sums(row, top->scope)->sums[top->sum] ^
	       (uint64_t)keytable_is_signed(top->table, top->sum) << 63;
}

/* Whether a is listed before b. */
static bool is_before(
	const struct top *top, const struct attar_keyrow *a, const struct attar_keyrow *b)
{
	uint64_t x = order(top, a), y = order(top, b);

	return x != y ? x > y : keyed_compare(&top->table->keyed, a, b) < 0;
}

static bool is_empty(const struct attar_keytable *t, const struct attar_keysums *sums)
{
	for (size_t i = 0; i < t->opts.sums; i++)
		if (sums->sums[i])
			return false;
	for (size_t i = 0; i < t->opts.hists; i++)
		if (sums->hists[i].count)
			return false;
	return true;
}

static void swap(struct top *top, size_t a, size_t b)
{
	struct attar_keyrow *row = top->rows[a];

	top->rows[a] = top->rows[b];
	top->rows[b] = row;
}

static void sift_up(struct top *top, size_t i)
{
	for (; i && is_before(top, top->rows[(i - 1) / 2], top->rows[i]); i = (i - 1) / 2)
		swap(top, i, (i - 1) / 2);
}

static void sift_down(struct top *top, size_t i, size_t n)
{
	for (;;) {
		size_t worst = i, left = 2 * i + 1, right = left + 1;

		if (left < n && is_before(top, top->rows[worst], top->rows[left]))
			worst = left;
		if (right < n && is_before(top, top->rows[worst], top->rows[right]))
			worst = right;
		if (worst == i)
			return;
		swap(top, i, worst);
		i = worst;
	}
}

static void offer(struct top *top, struct attar_keyrow *row, size_t k)
{
	if (top->n < k) {
		top->rows[top->n] = row;
		sift_up(top, top->n++);
	} else if (k && is_before(top, row, top->rows[0])) {
		top->rows[0] = row;
		sift_down(top, 0, top->n);
	}
}

/* Takes the worst row off the heap and puts it last, until all are in order. */
static void sort(struct top *top)
{
	for (size_t n = top->n; n > 1; n--) {
		swap(top, 0, n - 1);
		sift_down(top, 0, n - 1);
	}
}

size_t attar_keytable_top(const struct attar_keytable *table, enum attar_scope scope, size_t sum,
	struct attar_keyrow **rows, size_t k)
{
	CHECK_ARG_OR(table, "table", 0);
	CHECK_ARG_OR(rows, "rows", 0);

	struct top top = {.table = table, .scope = scope, .sum = sum, .rows = rows};

	if (sum >= table->opts.sums) {
		check_range(__func__, "sum", sum, table->opts.sums);
		return 0;
	}
	keyed_each (&table->keyed, struct attar_keyrow, row)
		if (!is_empty(table, attar_keyrow_sums(row, scope)))
			offer(&top, row, k);
	sort(&top);
	return top.n;
}

int attar_keytable_rows(const struct attar_keytable *table, enum attar_scope scope, size_t sum,
	struct attar_keyrow ***ret_rows, size_t *ret_n)
{
	CHECK_ARG(table, "table");
	CHECK_ARG(ret_rows, "ret_rows");
	CHECK_ARG(ret_n, "ret_n");

	size_t n = attar_keytable_keys(table);
	struct attar_keyrow **rows;

	if (sum >= table->opts.sums)
		return check_range(__func__, "sum", sum, table->opts.sums);
	rows = malloc((n + 1) * sizeof(struct attar_keyrow *));
	if (!rows)
		return -ENOMEM;
	n = attar_keytable_top(table, scope, sum, rows, n);
	if (!is_empty(table, attar_keyrow_sums(table->others, scope)))
		rows[n++] = table->others;
	*ret_rows = rows;
	*ret_n = n;
	return 0;
}
