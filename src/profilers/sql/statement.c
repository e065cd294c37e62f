/* SPDX-License-Identifier: MIT */
/*
 * A SELECT on one table, split into its clauses. SQLite has checked the statement; what is more
 * than such a SELECT, such as a join or a subquery, is left to it.
 */
#include <string.h>

#include "sql/statement.h"

/* ---- tokens ---- */

/* Reads the tokens up to the end or a semicolon; false for what is not known here. */
static bool read_tokens(const char *at, const char *end, struct sql_statement *s)
{
	struct sql_token t;

	while (sql_token_next(&at, end, &t) && !sql_token_is(&t, ";")) {
		if (s->n == SQL_TOKENS_MAX || t.kind == SQL_TOKEN_NAME ||
			t.kind == SQL_TOKEN_BLOB ||
			(t.kind == SQL_TOKEN_SYMBOL && !strchr("()*,+-/%=<>!|&~", *t.text)))
			return false;
		s->tokens[s->n++] = t;
	}
	return t.n > 0 || at == end;
}

/* ---- clauses ---- */

/* Words of statements that are more than a SELECT on one table. */
static const char *const unknown[] = {"WITH", "UNION", "INTERSECT", "EXCEPT", "OVER", "FILTER",
	"DISTINCT", "COLLATE", "EXISTS", "VALUES", "WINDOW", "JOIN", "ROWID", "OID", "_ROWID_",
	"RAISE", "MATCH", "REGEXP", NULL};

static bool is_simple(const struct sql_statement *s)
{
	if (!s->n || !sql_token_is(&s->tokens[0], "SELECT"))
		return false;
	for (size_t i = 0; i < s->n; i++)
		if (sql_token_is_any(&s->tokens[i], unknown) ||
			(i && sql_token_is(&s->tokens[i], "SELECT")))
			return false;
	return true;
}

/* The next token from `at` on that is one of the words, outside parentheses; or the end. */
static size_t statement_find(const struct sql_statement *s, size_t at, const char *const *words)
{
	int depth = 0;

	for (; at < s->n; at++) {
		depth += sql_token_is(&s->tokens[at], "(") - sql_token_is(&s->tokens[at], ")");
		if (depth == 0 && sql_token_is_any(&s->tokens[at], words))
			break;
	}
	return at;
}

static bool at_word(const struct sql_statement *s, size_t at, const char *word)
{
	return at < s->n && sql_token_is(&s->tokens[at], word);
}

static bool find_table(const struct sql_db *db, struct sql_statement *s, const struct sql_token *t)
{
	for (size_t i = 0; i < db->opts.n_tables; i++)
		if (sql_token_is(t, db->opts.tables[i]->name))
			s->table = db->opts.tables[i];
	return s->table;
}

/* Takes the clause that begins with the word, if there is one, up to one of the later words. */
static struct sql_range statement_take(
	const struct sql_statement *s, size_t *at, const char *word, const char *const *later)
{
	struct sql_range range = {*at, *at};

	if (!at_word(s, *at, word))
		return range;
	range.from = *at + 1;
	range.to = *at = statement_find(s, *at + 1, later);
	return range;
}

bool sql_statement_read(
	const struct sql_db *db, const char *text, size_t len, struct sql_statement *ret)
{
	static const char *const words[] = {"WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", NULL};
	static const char *const from[] = {"FROM", NULL};
	struct sql_statement *s = ret;
	size_t at;

	*s = (struct sql_statement){0};
	if (!read_tokens(text, text + len, s) || !is_simple(s))
		return false;
	at = statement_find(s, 1, from);
	s->items = (struct sql_range){1, at};
	if (at + 1 >= s->n || !find_table(db, s, &s->tokens[at + 1]))
		return false;
	at += 2;
	s->where = statement_take(s, &at, "WHERE", words + 1);
	s->group = statement_take(s, &at, "GROUP", words + 2);
	s->having = statement_take(s, &at, "HAVING", words + 3);
	s->tail = (struct sql_range){at, s->n};
	return at == s->n || at_word(s, at, "ORDER") || at_word(s, at, "LIMIT");
}

int sql_statement_column(const struct sql_statement *s, const struct sql_token *token)
{
	return token->kind == SQL_TOKEN_WORD
		       ? sql_columns_find(&s->table->columns, token->text, token->n)
		       : -1;
}
