/* SPDX-License-Identifier: MIT */
/*
 * Statements whose groups attar computes itself. "SELECT tid, count(*), sum(id) FROM sys_enter
 * WHERE id < 9 GROUP BY tid HAVING count(*) > 2 ORDER BY 2" becomes "SELECT tid, "measure 1",
 * "measure 2" FROM "groups 1" WHERE "measure 1" > 2 ORDER BY 2". SQLite then refuses a statement
 * that reads more than that, and it is run on the events. So are statements in which a name would
 * mean something else: SQLite looks up a column before the name of an item.
 */
#include <stdlib.h>
#include <string.h>

#include "sql/aggregate.h"
#include "sql/statement.h"

static const char *const functions[] = {[SQL_COUNT] = "count",
	[SQL_SUM] = "sum",
	[SQL_TOTAL] = "total",
	[SQL_AVG] = "avg",
	[SQL_MIN] = "min",
	[SQL_MAX] = "max"};

/* What may precede a parenthesis: words of SQL, and functions of the values of one row. */
static const char *const scalars[] = {"AND", "OR", "NOT", "IN", "WHEN", "THEN", "ELSE", "CASE",
	"BETWEEN", "LIKE", "GLOB", "BY", "CAST", "LIMIT", "abs", "char", "coalesce", "format",
	"hex", "ifnull", "iif", "instr", "length", "lower", "ltrim", "nullif", "printf", "quote",
	"replace", "round", "rtrim", "sign", "substr", "substring", "trim", "typeof", "unicode",
	"upper", "syscall_name", "syscall", "ksymbol", "comm_get", "error_name", "signal_name",
	"tcp_state", "ipv4_str", "symbolic", NULL};

struct rewrite {
	const struct sql_statement *s;
	struct sql_aggregate *a;
	sqlite3_str *text;
};

static bool is(const struct rewrite *w, size_t at, const char *word)
{
	return at < w->s->n && sql_token_is(&w->s->tokens[at], word);
}

static void copy(const struct rewrite *w, size_t at)
{
	const struct sql_token *t = &w->s->tokens[at];

	sqlite3_str_appendchar(w->text, 1, ' ');
	sqlite3_str_append(w->text, t->text, (int)t->n);
}

/* ---- functions of columns ---- */

static bool find_function(const struct sql_token *token, enum sql_measure_kind *ret_kind)
{
	for (size_t i = SQL_COUNT; i <= SQL_MAX; i++)
		if (sql_token_is(token, functions[i])) {
			*ret_kind = (enum sql_measure_kind)i;
			return true;
		}
	return false;
}

static void note_column(struct sql_aggregate *a, int column)
{
	a->reads_comm |= a->table->columns.at[column].source == SQL_COMM;
}

static bool is_text(const struct sql_table *table, int column)
{
	return !strcmp(table->columns.at[column].type, "TEXT");
}

/* The number of the column among those that are summed, where it is added; -1: too many. */
static int find_sum(struct sql_aggregate *a, int column)
{
	for (size_t i = 0; i < a->n_summed; i++)
		if (a->summed[i] == column)
			return (int)i;
	if (a->n_summed == SQL_MEASURES_MAX)
		return -1;
	note_column(a, column);
	a->summed[a->n_summed] = column;
	return (int)a->n_summed++;
}

/* Adds the function at `at`, with its argument; false: it cannot be computed here. */
static bool add_measure(const struct rewrite *w, size_t at, enum sql_measure_kind kind)
{
	struct sql_aggregate *a = w->a;
	int column, sum = 0;

	if (a->n_measures == SQL_MEASURES_MAX || !is(w, at + 3, ")"))
		return false;
	if (kind == SQL_COUNT && is(w, at + 2, "*")) {
		kind = SQL_COUNT_ROWS;
	} else {
		column = sql_statement_column(w->s, &w->s->tokens[at + 2]);
		if (column < 0 || !sql_column_has_value(&w->s->table->columns.at[column]) ||
			(kind != SQL_COUNT && is_text(w->s->table, column)))
			return false;
		sum = find_sum(a, column);
	}
	if (sum < 0)
		return false;
	a->measures[a->n_measures++] = (struct sql_measure){kind, (size_t)sum};
	/* as a function, an operand of '+' has no affinity, and is no name of an item */
	sqlite3_str_appendf(w->text, " (+\"measure %d\")", (int)a->n_measures);
	return true;
}

/* ---- clauses ---- */

/* Whether "*" at `at` stands for all columns. */
static bool is_star(const struct rewrite *w, size_t at, struct sql_range range)
{
	return is(w, at, "*") && (at == range.from || is(w, at - 1, ",") || is(w, at - 1, "(") ||
					 at + 1 == range.to || is(w, at + 1, ","));
}

static bool is_key(const struct sql_aggregate *a, int column)
{
	for (size_t i = 0; i < a->n_keys; i++)
		if (a->key_columns[i] == column)
			return true;
	return false;
}

/* Whether the word at `at` is the name that an item is given: "count(*) AS n", "count(*) n". */
static bool is_name_of_item(const struct rewrite *w, size_t at)
{
	static const char *const ends[] = {"AS", ")", "END", "NULL", NULL};
	const struct sql_token *before = &w->s->tokens[at - 1];

	if (at == w->s->items.from || at >= w->s->items.to ||
		(at + 1 < w->s->items.to && !is(w, at + 1, ",")))
		return false;
	return before->kind == SQL_TOKEN_NUMBER || before->kind == SQL_TOKEN_TEXT ||
	       sql_token_is_any(before, ends) || sql_statement_column(w->s, before) >= 0;
}

/* Whether the word at `at` is all of a term of ORDER BY: there, the names of items come first. */
static bool is_order_term(const struct rewrite *w, size_t at)
{
	static const char *const ends[] = {",", "ASC", "DESC", "NULLS", "LIMIT", NULL};
	int depth = 0;

	if (at <= w->s->tail.from || !(is(w, at - 1, "BY") || is(w, at - 1, ",")) ||
		(at + 1 < w->s->tail.to && !sql_token_is_any(&w->s->tokens[at + 1], ends)))
		return false;
	for (size_t i = w->s->tail.from; i < at; i++)
		depth += is(w, i, "(") - is(w, i, ")");
	return depth == 0;
}

/*
 * Whether the word at `at` means the same on the groups. A column that they lack does not, even if
 * SQLite finds an item with its name there.
 */
static bool means_the_same(const struct rewrite *w, size_t at)
{
	int column = sql_statement_column(w->s, &w->s->tokens[at]);

	return column < 0 || is_key(w->a, column) || is_name_of_item(w, at) || is_order_term(w, at);
}

/* Copies the clause, with columns of the groups in place of functions. */
static bool rewrite(const struct rewrite *w, struct sql_range range)
{
	enum sql_measure_kind kind;

	for (size_t at = range.from; at < range.to; at++) {
		const struct sql_token *t = &w->s->tokens[at];

		if (is_star(w, at, range))
			return false;
		if (t->kind != SQL_TOKEN_WORD || !is(w, at + 1, "(")) {
			if (!means_the_same(w, at))
				return false;
			copy(w, at);
		} else if (find_function(t, &kind)) {
			if (!add_measure(w, at, kind))
				return false;
			at += 3;
		} else if (sql_token_is_any(t, scalars)) {
			copy(w, at);
		} else {
			return false;
		}
	}
	return true;
}

/* The item with this number, from 1 on. */
static struct sql_range item(const struct sql_statement *s, long number)
{
	struct sql_range range = {s->items.from, s->items.from};
	int depth = 0;

	for (size_t at = s->items.from; at < s->items.to; at++) {
		const struct sql_token *t = &s->tokens[at];

		depth += sql_token_is(t, "(") - sql_token_is(t, ")");
		if (depth == 0 && sql_token_is(t, ",")) {
			if (--number == 0)
				break;
			range.from = at + 1;
		}
		range.to = at + 1;
	}
	return number <= 1 ? range : (struct sql_range){0};
}

/* The column that an item consists of, with or without a name: "tid AS t"; -1: none. */
static int column_of(const struct sql_statement *s, struct sql_range range)
{
	static const char *const operators[] = {"ISNULL", "NOTNULL", NULL};
	size_t n = range.to - range.from;

	if (n != 1 && n != 2 && !(n == 3 && sql_token_is(&s->tokens[range.from + 1], "AS")))
		return -1;
	if (n == 2 && sql_token_is_any(&s->tokens[range.from + 1], operators))
		return -1;
	return sql_statement_column(s, &s->tokens[range.from]);
}

/* A term of GROUP BY: a column, the name of an item, or the number of one. */
static int term(const struct sql_statement *s, const struct sql_token *token)
{
	int column = sql_statement_column(s, token);
	char *end;

	if (token->kind == SQL_TOKEN_NUMBER) {
		long number = strtol(token->text, &end, 10);

		return end == token->text + token->n ? column_of(s, item(s, number)) : -1;
	}
	for (long i = 1; column < 0 && item(s, i).to; i++) {
		struct sql_range range = item(s, i);

		if (range.to - range.from > 1 && token->n == s->tokens[range.to - 1].n &&
			!strncasecmp(token->text, s->tokens[range.to - 1].text, token->n))
			return column_of(s, range);
	}
	return column;
}

static bool add_keys(const struct sql_statement *s, struct sql_aggregate *a)
{
	size_t at = s->group.from;

	if (at == s->group.to)
		return true;
	if (!sql_token_is(&s->tokens[at++], "BY"))
		return false;
	for (; at < s->group.to; at += 2) {
		int column = term(s, &s->tokens[at]);

		if (column < 0 || a->n_keys == SQL_GROUP_MAX ||
			!sql_column_has_value(&s->table->columns.at[column]) ||
			(at + 1 < s->group.to && !sql_token_is(&s->tokens[at + 1], ",")))
			return false;
		note_column(a, column);
		a->key_columns[a->n_keys++] = column;
	}
	return a->n_keys > 0;
}

static bool set_condition(const struct sql_statement *s, struct sql_aggregate *a)
{
	bool is_exact;
	char *text = sql_where(s, &is_exact);

	a->condition = text ? strdup(text) : NULL;
	is_exact &= !text || a->condition;
	sqlite3_free(text);
	return is_exact;
}

static bool set_query(const struct sql_statement *s, struct sql_aggregate *a)
{
	struct rewrite w = {.s = s, .a = a, .text = sqlite3_str_new(NULL)};
	bool ok, has_having = s->having.from < s->having.to;
	char *text;

	sqlite3_str_appendall(w.text, "SELECT");
	ok = rewrite(&w, s->items);
	sqlite3_str_appendf(w.text, " FROM temp.\"groups %u\"", a->number);
	if (has_having)
		sqlite3_str_appendall(w.text, " WHERE");
	ok = ok && rewrite(&w, s->having) && rewrite(&w, s->tail);
	text = sqlite3_str_finish(w.text);
	a->query = ok && text ? strdup(text) : NULL;
	sqlite3_free(text);
	return a->query && (a->n_keys || (a->n_measures && !has_having));
}

struct sql_aggregate *sql_rewrite(
	const struct sql_db *db, unsigned number, const char *text, size_t len)
{
	struct sql_statement *s = malloc(sizeof(*s));
	struct sql_aggregate *a = calloc(1, sizeof(*a));

	if (a && s && sql_statement_read(db, text, len, s)) {
		a->table = s->table;
		a->number = number;
		if (add_keys(s, a) && set_condition(s, a) && set_query(s, a)) {
			free(s);
			return a;
		}
	}
	free(s);
	return sql_aggregate_free(a);
}
