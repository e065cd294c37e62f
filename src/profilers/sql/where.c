/* SPDX-License-Identifier: MIT */
/*
 * WHERE as a condition in the language of filters: comparisons of fields with constants, IN, LIKE,
 * GLOB and BETWEEN, combined by AND, OR and NOT. A part that the language does not have may be
 * true: the condition then has more events than the result, and SQLite chooses among them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sql/statement.h"

enum { TEXT_MAX = 255 };

/* What is known about a part: NULL: it may be true. */
struct part {
	char *text;
	bool is_exact, is_or;
};

struct parser {
	const struct sql_statement *s;
	size_t at, end;
};

static const struct sql_token *peek(const struct parser *p)
{
	static const struct sql_token none = {.text = "", .kind = SQL_TOKEN_SYMBOL};

	return p->at < p->end ? &p->s->tokens[p->at] : &none;
}

static bool where_take(struct parser *p, const char *word)
{
	bool is = p->at < p->end && sql_token_is(peek(p), word);

	p->at += is;
	return is;
}

static struct part nothing(void)
{
	return (struct part){0};
}

static struct part exact(char *text)
{
	return (struct part){.text = text, .is_exact = text != NULL};
}

/* ---- combinations ---- */

static struct part where_join(struct part a, struct part b, const char *format)
{
	struct part joined = {.text = sqlite3_mprintf(format, a.text, b.text)};

	joined.is_exact = joined.text && a.is_exact && b.is_exact;
	sqlite3_free(a.text);
	sqlite3_free(b.text);
	return joined;
}

static struct part both(struct part a, struct part b)
{
	static const char *const formats[2][2] = {
		{"%s && %s", "%s && (%s)"}, {"(%s) && %s", "(%s) && (%s)"}};
	struct part one = a.text ? a : b;

	if (a.text && b.text)
		return where_join(a, b, formats[a.is_or][b.is_or]);
	one.is_exact = false;
	return one;
}

static struct part either(struct part a, struct part b)
{
	struct part any;

	if (a.text && b.text) {
		any = where_join(a, b, "%s || %s");
		any.is_or = true;
		return any;
	}
	sqlite3_free(a.text);
	sqlite3_free(b.text);
	return nothing();
}

/* ---- comparisons ---- */

struct comparison {
	const char *sql;
	int op, inverse;
};

static const struct comparison comparisons[] = {
	{"=", SQLITE_INDEX_CONSTRAINT_EQ, SQLITE_INDEX_CONSTRAINT_NE},
	{"==", SQLITE_INDEX_CONSTRAINT_EQ, SQLITE_INDEX_CONSTRAINT_NE},
	{"!=", SQLITE_INDEX_CONSTRAINT_NE, SQLITE_INDEX_CONSTRAINT_EQ},
	{"<>", SQLITE_INDEX_CONSTRAINT_NE, SQLITE_INDEX_CONSTRAINT_EQ},
	{"<", SQLITE_INDEX_CONSTRAINT_LT, SQLITE_INDEX_CONSTRAINT_GE},
	{"<=", SQLITE_INDEX_CONSTRAINT_LE, SQLITE_INDEX_CONSTRAINT_GT},
	{">", SQLITE_INDEX_CONSTRAINT_GT, SQLITE_INDEX_CONSTRAINT_LE},
	{">=", SQLITE_INDEX_CONSTRAINT_GE, SQLITE_INDEX_CONSTRAINT_LT},
};

/*
 * An integer as SQLite reads it: hexadecimal ones are the bits of a signed number, larger decimal
 * ones are floating-point numbers, which are not known here.
 */
static bool take_number(struct parser *p, sqlite3_int64 *ret_number)
{
	bool is_negative = where_take(p, "-");
	const struct sql_token *t = peek(p);
	unsigned long long number;
	char digits[32], *end;
	bool is_hex;

	if (t->kind != SQL_TOKEN_NUMBER || t->n >= sizeof(digits))
		return false;
	memcpy(digits, t->text, t->n);
	digits[t->n] = '\0';
	is_hex = !strncasecmp(digits, "0x", 2);
	errno = 0;
	number = strtoull(digits, &end, is_hex ? 16 : 10);
	p->at++;
	*ret_number = (sqlite3_int64)(is_negative ? 0 - number : number);
	return !errno && !*end && (is_hex || number <= INT64_MAX);
}

/* The contents of a text in quotes; false if it has quotes itself. */
static bool take_text(struct parser *p, const char **ret_text, size_t *ret_n)
{
	const struct sql_token *t = peek(p);

	if (t->kind != SQL_TOKEN_TEXT || memchr(t->text + 1, '\'', t->n - 2))
		return false;
	*ret_text = t->text + 1;
	*ret_n = t->n - 2;
	p->at++;
	return true;
}

/* Whether the largest numbers of the field are negative in SQLite. */
static bool has_other_order(const struct attar_field *field)
{
	return field->kind == ATTAR_FIELD_NUMBER && !field->is_signed && field->size == 8;
}

/* "field op constant"; NULL if the language of filters does not have it. */
static char *constant(struct parser *p, const struct attar_field *field, int op)
{
	sqlite3_int64 number;
	const char *text;
	size_t n;

	if (has_other_order(field) && op != SQLITE_INDEX_CONSTRAINT_EQ &&
		op != SQLITE_INDEX_CONSTRAINT_NE)
		return NULL;
	if (field->kind == ATTAR_FIELD_NUMBER)
		return take_number(p, &number) ? sql_condition_number(field, op, number) : NULL;
	return take_text(p, &text, &n) ? sql_condition_text(field, op, text, n) : NULL;
}

/* "IN (1, 2)" is equal to one of them; "NOT IN (1, 2)" differs from each. */
static struct part in_list(struct parser *p, const struct attar_field *field, bool is_inverted)
{
	int op = is_inverted ? SQLITE_INDEX_CONSTRAINT_NE : SQLITE_INDEX_CONSTRAINT_EQ;
	struct part all;

	if (!where_take(p, "("))
		return nothing();
	all = exact(constant(p, field, op));
	while (all.text && where_take(p, ","))
		all = is_inverted ? both(all, exact(constant(p, field, op)))
				  : either(all, exact(constant(p, field, op)));
	if (all.is_exact && where_take(p, ")"))
		return all;
	sqlite3_free(all.text);
	return nothing();
}

static struct part between(struct parser *p, const struct attar_field *field, bool is_inverted)
{
	struct part low, high;

	low = exact(constant(
		p, field, is_inverted ? SQLITE_INDEX_CONSTRAINT_LT : SQLITE_INDEX_CONSTRAINT_GE));
	if (!low.text || !where_take(p, "AND")) {
		sqlite3_free(low.text);
		return nothing();
	}
	high = exact(constant(
		p, field, is_inverted ? SQLITE_INDEX_CONSTRAINT_GT : SQLITE_INDEX_CONSTRAINT_LE));
	low = is_inverted ? either(low, high) : both(low, high);
	if (low.is_exact)
		return low;
	sqlite3_free(low.text);
	return nothing();
}

/*
 * Converts a pattern of LIKE, which ignores the case of ASCII letters, or of GLOB to one of the
 * kernel. False for characters that are special in only one of the two languages, and for "_" and
 * "?", which match a character in SQLite and a byte in the kernel.
 */
static bool pattern_of(const char *text, size_t n, bool is_like, char ret_pattern[TEXT_MAX + 1])
{
	size_t at = 0;

	for (size_t i = 0; i < n; i++) {
		char c = text[i], lower = (char)(c | 0x20);

		if (at + 5 > TEXT_MAX || c < ' ' || c > '~' || strchr("\"'\\?[]", c) ||
			(is_like && strchr("_*", c)))
			return false;
		if (is_like && c == '%') {
			ret_pattern[at++] = '*';
		} else if (is_like && lower >= 'a' && lower <= 'z') {
			ret_pattern[at++] = '[';
			ret_pattern[at++] = lower;
			ret_pattern[at++] = (char)(lower - 0x20);
			ret_pattern[at++] = ']';
		} else {
			ret_pattern[at++] = c;
		}
	}
	ret_pattern[at] = '\0';
	return at > 0;
}

/* The language of filters refuses patterns of more characters than the field can have. */
static bool can_match(const struct attar_field *field, const char *text, size_t n)
{
	size_t least = 0;

	for (size_t i = 0; i < n; i++)
		least += text[i] != '%' && text[i] != '*';
	return field->place != ATTAR_FIELD_FIXED || least < field->size;
}

static struct part matches(
	struct parser *p, const struct attar_field *field, bool is_like, bool is_inverted)
{
	char pattern[TEXT_MAX + 1];
	const char *text;
	size_t n;

	if (is_inverted || field->kind != ATTAR_FIELD_STRING || !take_text(p, &text, &n) ||
		!can_match(field, text, n) || !pattern_of(text, n, is_like, pattern))
		return nothing();
	return exact(sqlite3_mprintf("%s ~ \"%s\"", field->name, pattern));
}

static struct part compared(struct parser *p, const struct attar_field *field, bool is_inverted)
{
	is_inverted ^= where_take(p, "NOT");
	if (where_take(p, "IN"))
		return in_list(p, field, is_inverted);
	if (where_take(p, "BETWEEN"))
		return between(p, field, is_inverted);
	if (where_take(p, "LIKE"))
		return matches(p, field, true, is_inverted);
	if (where_take(p, "GLOB"))
		return matches(p, field, false, is_inverted);
	for (size_t i = 0; i < sizeof(comparisons) / sizeof(*comparisons); i++)
		if (where_take(p, comparisons[i].sql))
			return exact(constant(p, field,
				is_inverted ? comparisons[i].inverse : comparisons[i].op));
	return nothing();
}

/* ---- the grammar ---- */

static struct part any_of(struct parser *p, bool is_inverted);

static bool at_end_of_part(const struct parser *p)
{
	return p->at >= p->end || sql_token_is(peek(p), "AND") || sql_token_is(peek(p), "OR") ||
	       sql_token_is(peek(p), ")");
}

/* A part that is not known, up to AND or OR; one AND belongs to BETWEEN. */
static void skip_part(struct parser *p)
{
	int depth = 0, betweens = 0;

	for (; p->at < p->end; p->at++) {
		const struct sql_token *t = peek(p);

		if (depth == 0 && at_end_of_part(p) && !(betweens && sql_token_is(t, "AND")))
			return;
		betweens += depth == 0 ? sql_token_is(t, "BETWEEN") - sql_token_is(t, "AND") : 0;
		depth += sql_token_is(t, "(") + sql_token_is(t, "CASE");
		depth -= sql_token_is(t, ")") + sql_token_is(t, "END");
	}
}

static struct part in_parentheses(struct parser *p, bool is_inverted)
{
	struct part inside = any_of(p, is_inverted);

	if (where_take(p, ")"))
		return inside;
	sqlite3_free(inside.text);
	return nothing();
}

static struct part one(struct parser *p, bool is_inverted)
{
	size_t start = p->at;
	struct part part = nothing();
	const struct attar_field *field;
	int column;

	if (where_take(p, "NOT"))
		return one(p, !is_inverted);
	if (where_take(p, "(")) {
		part = in_parentheses(p, is_inverted);
	} else {
		column = sql_statement_column(p->s, peek(p));
		field = column >= 0 ? p->s->table->columns.at[column].field : NULL;
		p->at++;
		if (field &&
			(field->kind == ATTAR_FIELD_NUMBER || field->kind == ATTAR_FIELD_STRING))
			part = compared(p, field, is_inverted);
	}
	if (p->at <= p->end && at_end_of_part(p))
		return part;
	sqlite3_free(part.text);
	p->at = start;
	skip_part(p);
	return nothing();
}

/* NOT of AND is OR of NOT, and the other way round. */
static struct part all_of(struct parser *p, bool is_inverted)
{
	struct part part = one(p, is_inverted);

	while (where_take(p, "AND"))
		part = is_inverted ? either(part, one(p, true)) : both(part, one(p, false));
	return part;
}

static struct part any_of(struct parser *p, bool is_inverted)
{
	struct part part = all_of(p, is_inverted);

	while (where_take(p, "OR"))
		part = is_inverted ? both(part, all_of(p, true)) : either(part, all_of(p, false));
	return part;
}

char *sql_where(const struct sql_statement *s, bool *ret_is_exact)
{
	struct parser p = {.s = s, .at = s->where.from, .end = s->where.to};
	struct part part;

	*ret_is_exact = p.at == p.end;
	if (p.at == p.end)
		return NULL;
	part = any_of(&p, false);
	if (p.at != p.end) {
		sqlite3_free(part.text);
		return NULL;
	}
	*ret_is_exact = part.is_exact;
	return part.text;
}
