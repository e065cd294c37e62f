/* SPDX-License-Identifier: MIT */
/* The results of statements in two databases: rows with equal keys of ORDER BY are a set. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sql/db.h"

/* A statement in both: `one` is to have the rows of `other`. */
struct pair {
	struct sql_db *db, *other_db;
	const char *query;
	size_t len;
	sqlite3_stmt *one, *other;
	int n;        /* columns of one */
	int *columns; /* of other, for each of one */
};

static int differ(int64_t row)
{
	return attar_fail(-EBADMSG,
		"--verify: row %lld of the result differs from the result of ordinary tables",
		(long long)row);
}

/* 1: a row; 0: there is none left; or a negative errno. */
static int compare_step(struct sql_db *db, sqlite3_stmt *statement, const char *query)
{
	int code = sqlite3_step(statement);

	if (code == SQLITE_ROW || code == SQLITE_DONE)
		return code == SQLITE_ROW;
	return sql_db_refuse(db, query);
}

/* ---- columns ---- */

/*
 * If '*' has more columns in ordinary tables, the columns of other are found by the names of one's,
 * from the last one on: the columns that it has in addition are behind the others of its table.
 */
static int find_columns(struct pair *p, sqlite3_stmt *named, sqlite3_stmt *other)
{
	int n_other = sqlite3_column_count(other), at = n_other - 1;

	p->n = sqlite3_column_count(named);
	p->columns = calloc((size_t)p->n + 1, sizeof(*p->columns));
	if (!p->columns)
		return attar_fail(-ENOMEM, "out of memory");
	for (int i = p->n - 1; i >= 0; i--, at--) {
		while (p->n != n_other && at >= 0 &&
			strcmp(sqlite3_column_name(named, i), sqlite3_column_name(other, at)) != 0)
			at--;
		if (at < 0)
			return attar_fail(-EINVAL,
				"--verify: '*' includes hidden columns in ordinary "
				"tables" ATTAR_FIX "name the columns in place of '*'");
		p->columns[i] = at;
	}
	return 0;
}

static bool equal_cells(sqlite3_stmt *a, int i, sqlite3_stmt *b, int j)
{
	int type = sqlite3_column_type(a, i), bytes;

	if (type != sqlite3_column_type(b, j))
		return false;
	if (type == SQLITE_INTEGER)
		return sqlite3_column_int64(a, i) == sqlite3_column_int64(b, j);
	if (type == SQLITE_FLOAT)
		return sqlite3_column_double(a, i) == sqlite3_column_double(b, j);
	bytes = sqlite3_column_bytes(a, i);
	if (bytes != sqlite3_column_bytes(b, j))
		return false;
	/* the bytes of NULL and of an empty text are at a null pointer */
	return !bytes ||
	       !memcmp(sqlite3_column_blob(a, i), sqlite3_column_blob(b, j), (size_t)bytes);
}

/* ---- rows as bytes ---- */

struct row {
	char *bytes; /* sqlite3_free() */
	size_t n;
};

struct rows {
	struct row *at;
	size_t n, max;
};

static void add_cell(sqlite3_str *text, sqlite3_stmt *statement, int i)
{
	int type = sqlite3_column_type(statement, i), n;
	sqlite3_int64 integer = sqlite3_column_int64(statement, i);
	double real = sqlite3_column_double(statement, i);

	sqlite3_str_appendchar(text, 1, (char)type);
	if (type == SQLITE_INTEGER) {
		sqlite3_str_append(text, (const char *)&integer, sizeof(integer));
	} else if (type == SQLITE_FLOAT) {
		real = real == 0 ? 0 : real; /* -0 */
		sqlite3_str_append(text, (const char *)&real, sizeof(real));
	} else if (type != SQLITE_NULL) {
		n = sqlite3_column_bytes(statement, i);
		sqlite3_str_append(text, (const char *)&n, sizeof(n));
		if (n)
			sqlite3_str_append(text, sqlite3_column_blob(statement, i), n);
	}
}

/* Adds the row at which the statement is. columns[i] is column i; NULL: column i itself. */
static int add_row(struct rows *rows, sqlite3_stmt *statement, int n, const int *columns)
{
	sqlite3_str *text = sqlite3_str_new(NULL);
	struct row row;

	if (rows->n == rows->max) {
		size_t max = rows->max ? 2 * rows->max : 64;
		struct row *at = reallocarray(rows->at, max, sizeof(*at));

		if (at) {
			rows->at = at;
			rows->max = max;
		}
	}
	sqlite3_str_appendchar(text, 1, ' '); /* never empty */
	for (int i = 0; i < n; i++)
		add_cell(text, statement, columns ? columns[i] : i);
	row.n = (size_t)sqlite3_str_length(text);
	row.bytes = sqlite3_str_finish(text);
	if (!row.bytes || rows->n == rows->max) {
		sqlite3_free(row.bytes);
		return attar_fail(-ENOMEM, "out of memory");
	}
	rows->at[rows->n++] = row;
	return 0;
}

static void clear_rows(struct rows *rows)
{
	while (rows->n)
		sqlite3_free(rows->at[--rows->n].bytes);
}

static int order_of(const void *a, const void *b)
{
	const struct row *one = a, *other = b;
	int order = memcmp(one->bytes, other->bytes, one->n < other->n ? one->n : other->n);

	return order ? order : (one->n > other->n) - (one->n < other->n);
}

/* Whether all rows are among others, as often as there at most. */
static bool are_among(struct rows *rows, struct rows *others)
{
	size_t at = 0;

	if (!rows->n)
		return true;
	qsort(rows->at, rows->n, sizeof(*rows->at), order_of);
	qsort(others->at, others->n, sizeof(*others->at), order_of);
	for (size_t i = 0; i < rows->n; i++, at++) {
		while (at < others->n && order_of(&others->at[at], &rows->at[i]) < 0)
			at++;
		if (at == others->n || order_of(&others->at[at], &rows->at[i]) != 0)
			return false;
	}
	return true;
}

/* ---- sets ---- */

/* Both results up to their ends, or to the first difference: *ret_differs. */
static int compare_in_order(const struct pair *p, bool *ret_differs)
{
	for (;;) {
		int one = compare_step(p->db, p->one, p->query);
		int other = one < 0 ? one : compare_step(p->other_db, p->other, p->query);

		if (other < 0)
			return other;
		*ret_differs = one != other;
		for (int i = 0; one && other && i < p->n; i++)
			*ret_differs |= !equal_cells(p->one, i, p->other, p->columns[i]);
		if (*ret_differs || !one)
			return 0;
	}
}

static int64_t compare_count(struct sql_db *db, sqlite3_stmt *statement, const char *query)
{
	int64_t n = 0;
	int r;

	sqlite3_reset(statement);
	for (; (r = compare_step(db, statement, query)) > 0; n++)
		;
	sqlite3_reset(statement);
	return r < 0 ? r : n;
}

/* A run of rows with equal keys, which begins at `at` of the whole result. */
static int compare_set(
	const struct pair *p, int64_t at, int64_t first, int64_t end, struct rows *others)
{
	int64_t low = at > first ? at : first, high = at + (int64_t)others->n;
	struct rows rows = {0};
	int r = 0;

	high = high < end ? high : end;
	for (int64_t i = low; r >= 0 && i < high; i++) {
		r = compare_step(p->db, p->one, p->query);
		r = r < 0 ? r : add_row(&rows, p->one, p->n, NULL);
	}
	if (r >= 0 && !are_among(&rows, others))
		r = differ(low - first + 1);
	clear_rows(&rows);
	free(rows.at);
	return r;
}

/* Compares with the whole result, which has all rows and their keys. */
static int compare_sets(
	const struct pair *p, sqlite3_stmt *whole, const struct sql_order *order, int64_t n)
{
	struct rows others = {0}, keys = {0};
	int64_t at = 0, first = order->offset, end = first + n;
	int more, r = 0;

	while (r >= 0 && at < end) {
		more = compare_step(p->other_db, whole, p->query);
		r = more <= 0 ? more : add_row(&keys, whole, order->n, order->keys);
		if (r >= 0 && others.n &&
			(!more || order_of(&keys.at[0], &keys.at[keys.n - 1]) != 0)) {
			r = compare_set(p, at, first, end, &others);
			at += (int64_t)others.n;
			clear_rows(&others);
			if (keys.n > 1) {
				sqlite3_free(keys.at[0].bytes);
				keys.at[0] = keys.at[--keys.n];
			}
		}
		if (r < 0 || !more)
			break;
		while (keys.n > 1)
			sqlite3_free(keys.at[--keys.n].bytes);
		r = add_row(&others, whole, p->n, p->columns);
	}
	if (r >= 0 && at < end)
		r = differ(at - first + 1);
	clear_rows(&others);
	clear_rows(&keys);
	free(others.at);
	free(keys.at);
	return r < 0 ? r : 0;
}

/* Compares rows that differ: those with equal keys may be in another order. */
static int compare_ordered(const struct pair *p, sqlite3_stmt *named, bool *ret_is_unknown)
{
	int64_t n = compare_count(p->db, p->one, p->query), n_other = n;
	sqlite3_stmt *whole = NULL, *other = NULL;
	struct sql_order order = {0};
	const char *text;
	int r;

	if (n >= 0)
		n_other = compare_count(p->other_db, p->other, p->query);
	if (n_other < 0)
		return (int)n_other;
	if (n != n_other)
		return differ((n < n_other ? n : n_other) + 1);
	r = sql_order_read(p->other_db, p->query, p->len, named, &order);
	text = order.query;
	if (r == 0)
		r = sql_db_next(p->other_db, &text, &whole);
	if (r > 0)
		r = sql_db_prepare_other(p->other_db, 0, order.query, strlen(order.query), &other);
	if (r >= 0)
		r = compare_sets(p, other ? other : whole, &order, n);
	*ret_is_unknown = order.is_unknown;
	sqlite3_finalize(other);
	sqlite3_finalize(whole);
	sql_order_done(&order);
	return r;
}

/* a, b: the statement in both. */
static int compare_compare(
	struct pair *p, unsigned number, sqlite3_stmt *a, sqlite3_stmt *b, bool *ret_is_unknown)
{
	sqlite3_stmt *one = NULL, *other = NULL;
	bool differs = false;
	int r = sql_db_prepare_other(p->db, number, p->query, p->len, &one);

	*ret_is_unknown = false;
	if (r >= 0)
		r = sql_db_prepare_other(p->other_db, number, p->query, p->len, &other);
	p->one = one ? one : a;
	p->other = other ? other : b;
	if (r >= 0)
		r = find_columns(p, a, b);
	if (r >= 0)
		r = compare_in_order(p, &differs);
	if (r >= 0 && differs)
		r = compare_ordered(p, b, ret_is_unknown);
	free(p->columns);
	sqlite3_finalize(one);
	sqlite3_finalize(other);
	return r;
}

int sql_db_compare(
	struct sql_db *db, struct sql_db *other, const char *queries, unsigned *ret_unordered)
{
	const char *query = queries, *same = queries;
	sqlite3_stmt *a = NULL, *b = NULL;
	unsigned number = 1;
	int r = 0;

	*ret_unordered = 0;
	sql_db_set_deadline(db, 2 * db->opts.timeout);
	sql_db_set_deadline(other, 2 * db->opts.timeout);
	while (r == 0 && (r = sql_db_next(db, &queries, &a)) > 0) {
		struct pair p = {.db = db,
			.other_db = other,
			.query = query,
			.len = (size_t)(queries - query)};
		bool is_unknown = false;

		r = sql_db_next(other, &same, &b);
		if (r > 0)
			r = sqlite3_stmt_isexplain(a)
				    ? 0
				    : compare_compare(&p, number, a, b, &is_unknown);
		if (is_unknown && !*ret_unordered)
			*ret_unordered = number;
		number++;
		sqlite3_finalize(a);
		sqlite3_finalize(b);
		query = queries;
	}
	db->deadline = other->deadline = 0;
	return r;
}
