/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "sql/token.h"

static bool is_word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (c & 0x80);
}

/* Blanks and comments; the last comment needs no end. */
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
				return end;
			at += 2;
		} else {
			return at;
		}
	}
}

/* The end of a text in quotes, in which two quotes are one; NULL: it has none. */
static const char *skip_quoted(const char *at, const char *end)
{
	char quote = *at == '[' ? ']' : *at;

	for (at++; at < end; at++)
		if (*at == quote && (quote == ']' || at + 1 == end || at[1] != quote))
			return at + 1;
		else if (*at == quote)
			at++;
	return NULL;
}

/* The end of a number: 5, 0x5, 1.5e-5. Letters behind it belong to it, as SQLite complains. */
static const char *skip_number(const char *at, const char *end)
{
	bool is_hex = end - at > 1 && *at == '0' && (at[1] | 0x20) == 'x';

	while (at < end && (is_word_char(*at) || *at == '.')) {
		bool is_exponent = !is_hex && (*at | 0x20) == 'e';

		at++;
		if (is_exponent && end - at > 1 && strchr("+-", *at) &&
			isdigit((unsigned char)at[1]))
			at++;
	}
	return at;
}

static size_t symbol_size(const char *at, const char *end)
{
	static const char *const symbols[] = {"==", "!=", "<>", "<=", ">=", "||", "<<", ">>"};

	for (size_t i = 0; end - at >= 2 && i < sizeof(symbols) / sizeof(*symbols); i++)
		if (!memcmp(at, symbols[i], 2))
			return 2;
	return 1;
}

bool sql_token_next(const char **at, const char *end, struct sql_token *ret)
{
	const char *start = skip_blanks(*at, end), *stop = start;

	*ret = (struct sql_token){.text = start, .kind = SQL_TOKEN_SYMBOL};
	*at = start;
	if (start == end || !*start)
		return false;
	if (isdigit((unsigned char)*start) ||
		(*start == '.' && end - start > 1 && isdigit((unsigned char)start[1]))) {
		stop = skip_number(start, end);
		ret->kind = SQL_TOKEN_NUMBER;
	} else if ((*start | 0x20) == 'x' && end - start > 1 && start[1] == '\'') {
		stop = skip_quoted(start + 1, end);
		ret->kind = SQL_TOKEN_BLOB;
	} else if (is_word_char(*start)) {
		while (stop < end && is_word_char(*stop))
			stop++;
		ret->kind = SQL_TOKEN_WORD;
	} else if (strchr("'\"`[", *start)) {
		stop = skip_quoted(start, end);
		ret->kind = *start == '\'' ? SQL_TOKEN_TEXT : SQL_TOKEN_NAME;
	} else {
		stop = start + symbol_size(start, end);
	}
	if (!stop)
		return false;
	ret->n = (size_t)(stop - start);
	*at = stop;
	return true;
}

bool sql_tokens_read(const char *text, size_t len, struct sql_tokens *ret)
{
	struct sql_tokens tokens = {0};
	const char *end = text + len;
	struct sql_token t;
	size_t max = 0;

	while (sql_token_next(&text, end, &t) && !sql_token_is(&t, ";")) {
		if (tokens.n == max) {
			struct sql_token *at;

			max = max ? 2 * max : 64;
			at = reallocarray(tokens.at, max, sizeof(*at));
			if (!at) {
				free(tokens.at);
				return false;
			}
			tokens.at = at;
		}
		tokens.at[tokens.n++] = t;
	}
	*ret = tokens;
	if (t.n || text == end)
		return true;
	sql_tokens_free(ret);
	return false;
}

void sql_tokens_free(struct sql_tokens *tokens)
{
	free(tokens->at);
	*tokens = (struct sql_tokens){0};
}

bool sql_token_is(const struct sql_token *token, const char *word)
{
	return token->kind != SQL_TOKEN_TEXT && token->kind != SQL_TOKEN_NAME &&
	       token->kind != SQL_TOKEN_BLOB && strlen(word) == token->n &&
	       !strncasecmp(token->text, word, token->n);
}

bool sql_token_is_any(const struct sql_token *token, const char *const *words)
{
	while (*words && !sql_token_is(token, *words))
		words++;
	return *words;
}

/* The name without quotes; 0: it is none. */
static size_t name_of(const struct sql_token *token, const char **ret_name)
{
	bool is_quoted = token->kind == SQL_TOKEN_NAME;

	*ret_name = token->text + is_quoted;
	return is_quoted || token->kind == SQL_TOKEN_WORD ? token->n - 2 * is_quoted : 0;
}

bool sql_token_is_name(const struct sql_token *token, const char *name)
{
	const char *own;
	size_t n = name_of(token, &own);

	return n && strlen(name) == n && !strncasecmp(own, name, n);
}

bool sql_token_same_name(const struct sql_token *one, const struct sql_token *other)
{
	const char *a, *b;
	size_t n = name_of(one, &a);

	return n && n == name_of(other, &b) && !strncasecmp(a, b, n);
}
