/* SPDX-License-Identifier: MIT */
#include "report/sinks/layout.h"

/* Widths of text columns without a limit; longer text exceeds them. */
enum { GROWING_MAX = 48, TABLE_MAX = 256 };

/* Minimum widths, in steps: shrink the last text column and then the others to each of them. */
static const struct {
	unsigned last, others;
} least[] = {{32, 16}, {20, 12}, {12, 12}};

enum { NAME_LEAST = 4 }; /* of a text column beside a key, or it is hidden */

/* By how much the columns exceed the limit. */
static unsigned excess(const struct layout_column *at, size_t n, unsigned columns)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++)
		if (!at[i].hidden)
			sum += at[i].width + (sum ? LAYOUT_GAP : 0);
	return sum > columns ? (unsigned)(sum - columns) : 0;
}

static void shrink(struct layout_column *column, unsigned minimum, unsigned over)
{
	if (column->width > minimum)
		column->width -= MIN(over, column->width - minimum);
}

/* Shrinks text columns only. True if that was enough. */
static bool shrink_text(struct layout_column *at, size_t n, size_t last, unsigned columns)
{
	for (size_t i = 0; i < n; i++)
		at[i].width = at[i].wish;
	for (size_t turn = 0; turn < ARRAY_SIZE(least); turn++) {
		if (last < n && at[last].text)
			shrink(&at[last], least[turn].last, excess(at, n, columns));
		for (size_t i = n; i-- > 0;)
			if (at[i].text && !at[i].number && !at[i].hidden && i != last)
				shrink(&at[i], least[turn].others, excess(at, n, columns));
	}
	return !excess(at, n, columns);
}

static size_t last_text(const struct layout_column *at, size_t n)
{
	size_t last = n;

	for (size_t i = n; i-- > 0;) {
		if (!at[i].text || at[i].number)
			continue;
		if (!at[i].describes)
			return i;
		if (last == n)
			last = i;
	}
	return last;
}

static size_t first_number(const struct layout_column *at, size_t n)
{
	size_t i = 0;

	while (i < n && !at[i].number)
		i++;
	return i;
}

static bool has_main(const struct layout_column *at, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (at[i].main)
			return true;
	return false;
}

/* When a column is hidden: the lowest first. */
static unsigned hide_turn(const struct layout_column *at, size_t i)
{
	return !i ? 2 : at[i].keep;
}

/* The next column to hide, or n. */
static size_t to_hide(const struct layout_column *at, size_t n, size_t last)
{
	size_t next = n, number = first_number(at, n);
	bool main = has_main(at, n);

	for (size_t i = n; i-- > 0;) {
		if (main ? at[i].main : !i || i == last || i == number)
			continue;
		if (!at[i].hidden && (next == n || hide_turn(at, i) < hide_turn(at, next)))
			next = i;
	}
	return next;
}

/* Shortens the name of the number, but not its values, and then the column `name`. */
static void squeeze(
	struct layout_column *at, size_t n, size_t name, unsigned minimum, unsigned columns)
{
	size_t number = first_number(at, n);

	if (number < n)
		shrink(&at[number], at[number].wish - at[number].head, excess(at, n, columns));
	if (name < n)
		shrink(&at[name], minimum, excess(at, n, columns));
}

static void squeeze_main(struct layout_column *at, size_t n, unsigned columns)
{
	for (size_t i = n; i-- > 0;)
		if (at[i].main && at[i].text)
			shrink(&at[i], NAME_LEAST, excess(at, n, columns));
}

static void no_limit(struct layout_column *at, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned most = at[i].grows ? GROWING_MAX : TABLE_MAX;

		at[i].width = at[i].text ? MIN(at[i].wish, most) : at[i].wish;
	}
}

size_t layout_fit(struct layout_column *at, size_t n, unsigned columns)
{
	size_t last = last_text(at, n), number = first_number(at, n), hide, hidden = 0;
	bool has_key = number && number < n && last && last < n; /* the first column */

	for (size_t i = 0; i < n; i++)
		at[i].hidden = false;
	if (!columns) {
		no_limit(at, n);
		return 0;
	}
	while (!shrink_text(at, n, last, columns) && (hide = to_hide(at, n, last)) < n) {
		at[hide].hidden = true;
		hidden++;
	}
	if (has_main(at, n)) {
		squeeze_main(at, n, columns);
		return hidden;
	}
	squeeze(at, n, last, has_key ? NAME_LEAST : 1, columns);
	if (has_key && excess(at, n, columns)) {
		at[last].hidden = true;
		hidden++;
		shrink_text(at, n, 0, columns);
		squeeze(at, n, at[0].text ? 0 : n, 1, columns);
	}
	return hidden;
}

void layout_fit_shown(struct layout_column *at, size_t n, unsigned columns)
{
	size_t last = last_text(at, n);

	shrink_text(at, n, last, columns);
	squeeze_main(at, n, columns);
	squeeze(at, n, last, 1, columns);
}
