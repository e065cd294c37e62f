/* SPDX-License-Identifier: MIT */
/*
 * A SELECT on one table, split into its clauses. SQLite has checked the statement; what is more
 * than such a SELECT, such as a join or a subquery, is left to it.
 */
#include <ctype.h>
#include <string.h>

#include "sql_statement.h"

/* ---- tokens ---- */

static bool is_word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (c & 0x80);
}

/* Blanks and comments; NULL: a comment without an end. */
static const char *skip_blanks(const char *at, const char *end)
{
	for (;;) {
		while (at < end && isspace((unsigned char)*at))
			at++;
		if (end - at >= 2 && !memcmp(at, "--", 2)) {
			while (at < end && *at != '\n')
				at++;
		} else if (end - at >= 2 && !memcmp(at, "/*", 2)) {
			at = memmem(at + 2, (size_t)(end - at) - 2, "*/", 2);
			if (!at)
				return NULL;
			at += 2;
		} else {
			return at;
		}
	}
}

/* The end of a text in quotes, in which two quotes are one. */
static const char *skip_text(const char *at, const char *end)
{
	for (at++; at < end; at++)
		if (*at == '\'' && (at + 1 == end || at[1] != '\''))
			return at + 1;
		else if (*at == '\'')
			at++;
	return NULL;
}

static size_t symbol_size(const char *at, const char *end)
{
	static const char *const symbols[] = {"==", "!=", "<>", "<=", ">=", "||", "<<", ">>"};

	for (size_t i = 0; end - at >= 2 && i < sizeof(symbols) / sizeof(*symbols); i++)
		if (!memcmp(at, symbols[i], 2))
			return 2;
	return 1;
}

/* The token at `at`; false: one that is not known here, such as a quoted name. */
static bool read_token(const char *at, const char *end, struct sql_token *ret)
{
	const char *stop = at;

	*ret = (struct sql_token){.text = at, .kind = SQL_TOKEN_SYMBOL};
	if (isdigit((unsigned char)*at)) {
		while (stop < end && (is_word_char(*stop) || *stop == '.'))
			stop++;
		ret->kind = SQL_TOKEN_NUMBER;
	} else if (is_word_char(*at)) {
		while (stop < end && is_word_char(*stop))
			stop++;
		ret->kind = SQL_TOKEN_WORD;
	} else if (*at == '\'') {
		stop = skip_text(at, end);
		ret->kind = SQL_TOKEN_TEXT;
	} else if (strchr("()*,+-/%=<>!|&~", *at)) {
		stop = at + symbol_size(at, end);
	} else {
		return false;
	}
	ret->n = stop ? (size_t)(stop - at) : 0;
	return stop != NULL;
}

bool sql_token_is(const struct sql_token *token, const char *word)
{
	return token->kind != SQL_TOKEN_TEXT && strlen(word) == token->n &&
	       !strncasecmp(token->text, word, token->n);
}

bool sql_token_is_any(const struct sql_token *token, const char *const *words)
{
	while (*words && !sql_token_is(token, *words))
		words++;
	return *words;
}

static bool read_tokens(const char *at, const char *end, struct sql_statement *s)
{
	while ((at = skip_blanks(at, end)) && at < end && *at != ';') {
		if (s->n == SQL_TOKENS_MAX || !read_token(at, end, &s->tokens[s->n]))
			return false;
		at += s->tokens[s->n++].n;
	}
	return at != NULL;
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
static size_t find(const struct sql_statement *s, size_t at, const char *const *words)
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
static struct sql_range take(
	const struct sql_statement *s, size_t *at, const char *word, const char *const *later)
{
	struct sql_range range = {*at, *at};

	if (!at_word(s, *at, word))
		return range;
	range.from = *at + 1;
	range.to = *at = find(s, *at + 1, later);
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
	at = find(s, 1, from);
	s->items = (struct sql_range){1, at};
	if (at + 1 >= s->n || !find_table(db, s, &s->tokens[at + 1]))
		return false;
	at += 2;
	s->where = take(s, &at, "WHERE", words + 1);
	s->group = take(s, &at, "GROUP", words + 2);
	s->having = take(s, &at, "HAVING", words + 3);
	s->tail = (struct sql_range){at, s->n};
	return at == s->n || at_word(s, at, "ORDER") || at_word(s, at, "LIMIT");
}

int sql_statement_column(const struct sql_statement *s, const struct sql_token *token)
{
	char name[SQL_NAME_BYTES];

	for (size_t i = 0; i < sql_table_columns(s->table); i++) {
		sql_table_column_name(s->table, i, name, sizeof(name));
		if (token->kind == SQL_TOKEN_WORD && sql_token_is(token, name))
			return (int)i;
	}
	return -1;
}
