/* SPDX-License-Identifier: MIT */
/*
 * The order of the rows of a SELECT. "SELECT comm, count(*) AS n FROM t GROUP BY comm ORDER BY n
 * DESC, max(prio) LIMIT 9" becomes "SELECT comm, count(*) AS n, (max(prio)) FROM t GROUP BY comm
 * ORDER BY n DESC, max(prio)": rows that are equal in the columns 1 and 2 may be in any order.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sql/db.h"
#include "sql/token.h"

/* The clauses of a statement, as numbers of tokens; `all.n`: there is none. */
struct clauses {
	struct sql_tokens all;
	size_t select, items_end, order, limit;
	bool is_compound, is_distinct;
};

static const char *const after_items[] = {
	"FROM", "WHERE", "GROUP", "HAVING", "WINDOW", "ORDER", "LIMIT", NULL};
static const char *const compounds[] = {"UNION", "INTERSECT", "EXCEPT", "VALUES", NULL};

static bool is(const struct clauses *c, size_t at, const char *word)
{
	return at < c->all.n && sql_token_is(&c->all.at[at], word);
}

static void find_clauses(struct clauses *c)
{
	size_t n = c->all.n;
	int depth = 0;

	c->select = c->items_end = c->order = c->limit = n;
	for (size_t i = 0; i < n; i++) {
		const struct sql_token *t = &c->all.at[i];

		depth += sql_token_is(t, "(") - sql_token_is(t, ")");
		if (depth != 0)
			continue;
		c->is_compound |= sql_token_is_any(t, compounds);
		if (c->select == n && sql_token_is(t, "SELECT"))
			c->select = i;
		else if (c->select < n && c->items_end == n && sql_token_is_any(t, after_items) &&
			 !is(c, i - 1, "DISTINCT")) /* IS DISTINCT FROM */
			c->items_end = i;
		if (sql_token_is(t, "ORDER") && is(c, i + 1, "BY"))
			c->order = i;
		if (sql_token_is(t, "LIMIT"))
			c->limit = i;
	}
	c->is_distinct = is(c, c->select + 1, "DISTINCT");
}

/* Where token i begins; the end of the last one if there is no such token. */
static const char *place(const struct clauses *c, size_t i)
{
	const struct sql_token *last = &c->all.at[c->all.n - 1];

	return i < c->all.n ? c->all.at[i].text : last->text + last->n;
}

/* The end of the term at token i: a comma outside of parentheses, or LIMIT. */
static size_t end_of_term(const struct clauses *c, size_t i)
{
	int depth = 0;

	for (; i < c->limit; i++) {
		depth += is(c, i, "(") - is(c, i, ")");
		if (depth == 0 && is(c, i, ","))
			break;
	}
	return i;
}

/* The column of the result with this name; -1: none, or more than one. */
static int column_named(sqlite3_stmt *named, const struct sql_token *token)
{
	int found = -1;

	for (int i = 0; i < sqlite3_column_count(named); i++)
		if (sql_token_is_name(token, sqlite3_column_name(named, i)))
			found = found == -1 ? i : -2;
	return found;
}

/* The column of the result that a term is; -1: another expression. */
static int column_of(const struct clauses *c, size_t from, size_t to, sqlite3_stmt *named)
{
	const struct sql_token *t = &c->all.at[from];
	char *end;
	long number;

	if (to - from != 1)
		return -1;
	if (t->kind != SQL_TOKEN_NUMBER)
		return column_named(named, t);
	number = strtol(t->text, &end, 10);
	return end == t->text + t->n ? (int)number - 1 : -1;
}

/* The terms of ORDER BY as keys; those that are no columns of the result are added to the text. */
static void add_keys(
	const struct clauses *c, sqlite3_stmt *named, struct sql_order *order, sqlite3_str *text)
{
	static const char *const directions[] = {"ASC", "DESC", "NULLS", "FIRST", "LAST", NULL};
	int n = sqlite3_column_count(named);

	for (size_t at = c->order + 2, next; at < c->limit; at = next + 1) {
		size_t to = next = end_of_term(c, at);
		int column;

		while (to > at + 1 && sql_token_is_any(&c->all.at[to - 1], directions))
			to--;
		column = column_of(c, at, to, named);
		if (order->n == SQL_KEYS_MAX || (to > at + 1 && is(c, to - 2, "COLLATE")) ||
			(column < 0 && (c->is_compound || c->is_distinct || column < -1))) {
			order->is_unknown = true;
			return;
		}
		if (column < 0) {
			sqlite3_str_appendf(text, ", (%.*s)",
				(int)(c->all.at[to - 1].text + c->all.at[to - 1].n - place(c, at)),
				place(c, at));
			column = n++;
		}
		order->keys[order->n++] = column;
	}
}

static void add_text(sqlite3_str *text, const char *from, const char *to)
{
	sqlite3_str_append(text, from, (int)(to - from));
}

static char *text_of(const struct clauses *c, const char *keys)
{
	sqlite3_str *text = sqlite3_str_new(NULL);

	add_text(text, place(c, 0), place(c, c->items_end));
	sqlite3_str_appendf(text, "%s ", keys ? keys : "");
	add_text(text, place(c, c->items_end), place(c, c->limit));
	return sqlite3_str_finish(text);
}

static bool can_prepare(struct sql_db *db, const char *query)
{
	sqlite3_stmt *statement = NULL;
	bool ok = query && sqlite3_prepare_v2(db->sqlite, query, -1, &statement, NULL) == SQLITE_OK;

	sqlite3_finalize(statement);
	return ok;
}

/* LIMIT n; LIMIT n OFFSET first; LIMIT first, n */
static int64_t read_offset(struct sql_db *db, const struct clauses *c)
{
	size_t from = c->limit + 1, to = c->all.n;
	struct clauses rest = {.all = c->all, .limit = c->all.n};
	sqlite3_stmt *statement = NULL;
	int64_t offset = 0;
	char *text;

	for (size_t i = from; i < to; i++)
		if (is(c, i, "OFFSET"))
			from = i + 1;
	if (from == c->limit + 1)
		to = end_of_term(&rest, from);
	if (from >= c->all.n || (from == c->limit + 1 && to == c->all.n))
		return 0;
	text = sqlite3_mprintf(
		"SELECT (%.*s)", (int)(place(c, to) - place(c, from)), place(c, from));
	if (text && sqlite3_prepare_v2(db->sqlite, text, -1, &statement, NULL) == SQLITE_OK &&
		sqlite3_step(statement) == SQLITE_ROW)
		offset = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	sqlite3_free(text);
	return offset > 0 ? offset : 0;
}

int sql_order_read(struct sql_db *db, const char *query, size_t len, sqlite3_stmt *named,
	struct sql_order *ret_order)
{
	struct sql_order order = {.is_unknown = true};
	struct clauses c = {0};
	char *keys = NULL;

	if (sql_tokens_read(query, len, &c.all) && c.all.n) {
		sqlite3_str *text = sqlite3_str_new(NULL);

		find_clauses(&c);
		order.is_unknown = false;
		add_keys(&c, named, &order, text);
		keys = sqlite3_str_finish(text);
		order.offset = read_offset(db, &c);
		order.query = text_of(&c, keys);
		if (order.query && !can_prepare(db, order.query)) {
			/* a term has the name of an item, which an item itself cannot have */
			sqlite3_free(order.query);
			order = (struct sql_order){.is_unknown = true, .offset = order.offset};
			order.query = text_of(&c, NULL);
		}
	} else {
		order.query = sqlite3_mprintf("%.*s", (int)len, query);
	}
	sqlite3_free(keys);
	sql_tokens_free(&c.all);
	if (!order.query)
		return attar_fail(-ENOMEM, "out of memory");
	*ret_order = order;
	return 0;
}

void sql_order_done(struct sql_order *order)
{
	sqlite3_free(order->query);
	*order = (struct sql_order){0};
}
