/* SPDX-License-Identifier: MIT */
/*
 * The tokens of SQL.
 *
 *	while (sql_token_next(&at, end, &token))
 *		use(token.text, token.n);
 */
#ifndef PROFILERS_SQL_TOKEN_H
#define PROFILERS_SQL_TOKEN_H

#include <stdbool.h>
#include <stddef.h>

enum sql_token_kind {
	SQL_TOKEN_WORD,   /* also a keyword */
	SQL_TOKEN_NUMBER, /* without a sign */
	SQL_TOKEN_TEXT,   /* 'text' */
	SQL_TOKEN_BLOB,   /* x'00' */
	SQL_TOKEN_NAME,   /* "name", `name` or [name] */
	SQL_TOKEN_SYMBOL,
};

struct sql_token {
	const char *text; /* borrowed, with its quotes */
	size_t n;
	enum sql_token_kind kind;
};

/*
 * The token after blanks and comments, and moves *at behind it. false at the end, with *at == end,
 * and where no token begins or a text has no end; token->n is then 0.
 */
bool sql_token_next(const char **at, const char *end, struct sql_token *ret_token);

/* All tokens of a text. */
struct sql_tokens {
	struct sql_token *at; /* owned */
	size_t n;
};

/* Reads the tokens up to the first semicolon. false: there is no memory, or a text has no end. */
bool sql_tokens_read(const char *text, size_t len, struct sql_tokens *ret_tokens);
void sql_tokens_free(struct sql_tokens *tokens);

/* Whether the token is this word, in any case, or this symbol; or one of them up to NULL. */
bool sql_token_is(const struct sql_token *token, const char *word);
bool sql_token_is_any(const struct sql_token *token, const char *const *words);

/* Whether a word or a name in quotes, without quotes in it, is this name, in any case. */
bool sql_token_is_name(const struct sql_token *token, const char *name);

/* Whether both are words or names in quotes, and the same name in any case. */
bool sql_token_same_name(const struct sql_token *one, const struct sql_token *other);

#endif
