/* SPDX-License-Identifier: MIT */
/* Compile expressions of users. */
#include <ctype.h>

#include "expr/user.h"

#include "attar/private/expr.h"
#include "base/check_arg.h"
#include "base/excerpt.h"
#include "base/option_struct.h"
#include "base/suggest.h"
#include "expr/address.h"

enum { DEPTH_MAX = 64, TEXT_MAX = 65536, WORD_MAX = 64 };

/* ---- errors ---- */

static void put_fields(struct buf *b, const struct attar_expr *e)
{
	const struct attar_format *f = e->format;

	buf_str(b, f ? ";" ATTAR_FIX "the fields are " : ";" ATTAR_FIX "the variables are ");
	for (size_t i = 0, n = 0; f && i < f->n_fields; i++)
		if (!f->fields[i].is_common)
			buf_printf(b, "%s%s", n++ ? ", " : "", f->fields[i].name);
	for (size_t i = 0; !f && i < e->variables.n; i++)
		buf_printf(b, "%s%s", i ? ", " : "", e->variables.at[i].name);
}

/* Fields that the kernel's filters have of every event. */
static bool is_of_kernel(const char *word)
{
	return !strcasecmp(word, "comm") || !strcasecmp(word, "cpu");
}

/* Whether the word is compared with what is before it: it may be meant as text. */
static bool is_compared(const struct expr_parser *p)
{
	const char *at = p->at;

	while (at > p->text && isspace((unsigned char)at[-1]))
		at--;
	return at - p->text > 2 && at[-1] == '=' && (at[-2] == '=' || at[-2] == '!');
}

/* A variable with this name and more, which no expression can have: "tick@./program". */
static const char *longer_name(const struct attar_expr *e, const char *word)
{
	size_t n = strlen(word);

	for (size_t i = 0; n && i < e->variables.n; i++)
		if (!strncmp(e->variables.at[i].name, word, n) &&
			lex_name(e->variables.at[i].name) == n)
			return e->variables.at[i].name;
	return NULL;
}

/* "no such field 'x': did you mean 'y'?" */
static void put_names(struct buf *b, const struct expr_parser *p)
{
	const struct attar_expr *e = p->user;
	char word[WORD_MAX];
	struct suggest s = {.word = word};
	size_t n = MIN(lex_word(p->at), sizeof(word) - 1);

	memcpy(word, p->at, n);
	word[n] = '\0';
	buf_printf(b, " '%s'", word);
	user_suggest(e, &s);
	if (e->format && is_of_kernel(word))
		buf_printf(b, ", which exists only in the kernel's filter language" ATTAR_FIX "%s",
			strcasecmp(word, "comm") ? "use --cpus" : "use _comm");
	else if (longer_name(e, word))
		buf_printf(b, ";" ATTAR_FIX "give the event '%s' a name with alias=%s",
			longer_name(e, word), word);
	else if (s.best && !strcmp(s.best, word))
		buf_printf(b, ATTAR_FIX "it is a function, as in %s(VALUE)", word);
	else if (s.best)
		buf_printf(b, ATTAR_FIX "did you mean '%s'?", s.best);
	else if (p->at[n + strspn(p->at + n, " ")] == '(')
		buf_str(b, ";" ATTAR_FIX "docs/expressions.md lists the functions");
	else if (e->format && !e->format->n_fields && !e->variables.n)
		buf_str(b, ", the event has no fields");
	else if (e->format && is_compared(p))
		buf_printf(b, ";" ATTAR_FIX "text is in double quotes%s",
			strcmp(e->opts.what, "filter")
				? ""
				: ", and FIELD.function == NAME compares with a kernel function");
	else if (e->format || e->variables.n)
		put_fields(b, e);
	else
		buf_str(b, ";" ATTAR_FIX "the variables are _cpu, _pid, _tid, _time, _period");
}

static int failure(const struct expr_parser *p)
{
	struct buf reason _cleanup_(buf_done) = {0};
	size_t column;
	int r;

	if (!p->reason)
		return base_oom();
	column = (size_t)(p->at - p->text) + 1;
	buf_printf(&reason, "%s: %s", p->user->opts.what, p->reason);
	if (p->is_field)
		put_names(&reason, p);
	if (buf_failed(&reason))
		return base_oom();
	r = base_fail_text(p->is_forbidden ? -EPERM : -EINVAL, buf_text(&reason));
	if (!p->user->opts.ret_column)
		return excerpt_append(p->user->text, column, r);
	*p->user->opts.ret_column = (unsigned)column;
	return r;
}

/* ---- the text ---- */

/* Skips a constant in quotes. */
static char *after_quotes(char *p)
{
	char quote = *p++;

	for (; *p && *p != quote; p++)
		p += *p == '\\' && p[1];
	return *p ? p + 1 : p;
}

/* Replaces comments by blanks, so that places in the text stay the same. */
static void blank_comments(char *p)
{
	while (*p) {
		if (*p == '"' || *p == '\'') {
			p = after_quotes(p);
			continue;
		}
		if (*p == '#' || (*p == '/' && p[1] == '/'))
			for (; *p && *p != '\n'; p++)
				*p = ' ';
		else
			p++;
	}
}

/* ---- columns ---- */

static const char *refusal(const struct attar_expr *e, const struct expr_type *type)
{
	if (type->kind == EXPR_CLASS_REAL)
		return "a floating-point number cannot be the value" ATTAR_FIX
		       "cast it, as in (long)";
	if (e->opts.flags & ATTAR_EXPR_CONDITION && type->kind != EXPR_CLASS_NUMBER)
		return type->is_text ? "the value must be a number, but this is text" ATTAR_FIX
				       "compare it with ==, != or ~"
				     : "the value must be a number, but this is an array" ATTAR_FIX
				       "use an element, as in a[0]";
	if (e->opts.flags & ATTAR_EXPR_KEY && type->kind != EXPR_CLASS_NUMBER && !type->is_text)
		return "an array or struct cannot be a key" ATTAR_FIX
		       "use an element, as in a[0], or its bytes as a number, as in *(int *)a";
	return NULL;
}

static bool is_address(const struct attar_expr *e, const char *name, size_t n)
{
	for (size_t i = 0; e->format && i < e->format->n_fields; i++) {
		const struct attar_field *f = &e->format->fields[i];

		if (strlen(f->name) == n && !memcmp(f->name, name, n))
			return f->is_pointer;
	}
	return false;
}

/* The bytes of the largest value in a key, see attar_expr_key(). */
static size_t value_size(const struct attar_expr *e, const struct user_column *c)
{
	const struct expr_node *node = expr_node(&e->expr, c->node);
	const struct attar_field *field;

	if (c->pub.kind == ATTAR_EXPR_NUMBER)
		return sizeof(uint64_t);
	if (node->op != EXPR_BYTES)
		return ATTAR_EXPR_TEXT_MAX;
	field = &e->expr.fields.at[node->field];
	return field->place == ATTAR_FIELD_FIXED ? MIN((size_t)field->size, ATTAR_EXPR_TEXT_MAX)
						 : ATTAR_EXPR_TEXT_MAX;
}

/* The value of an address is its offset in the data, unless it is text. */
static int32_t column_node(struct expr_parser *p, int32_t node)
{
	struct expr_type type = expr_node(p->expr, node)->type;

	return type.is_address && !type.is_text ? expr_add_offset(p, node) : node;
}

static bool add_column(struct expr_parser *p, const char *start, int32_t index)
{
	struct attar_expr *e = p->user;
	struct user_column *c = &e->columns[e->n_columns];
	int32_t node = column_node(p, index);
	const struct expr_type *type = node < 0 ? NULL : &expr_node(&e->expr, node)->type;
	const char *why = type ? refusal(e, type) : NULL, *end = p->p;
	char *name = e->names + (start - p->text);

	if (!type)
		return false;
	if (why) {
		p->p = start;
		expr_fail(p, why);
		return false;
	}
	while (end > start && end[-1] == ' ')
		end--;
	name[end - start] = '\0';
	c->node = node;
	c->pub = (struct attar_expr_column){.name = name,
		.kind = type->kind == EXPR_CLASS_NUMBER ? ATTAR_EXPR_NUMBER
			: type->is_text                 ? ATTAR_EXPR_TEXT
							: ATTAR_EXPR_BYTES,
		.is_address = is_address(e, name, (size_t)(end - start))};
	if (c->pub.kind == ATTAR_EXPR_NUMBER) {
		c->pub.bits = type->bits;
		c->pub.is_signed = type->is_signed;
	}
	e->n_columns++;
	return true;
}

/* "{a, b}", after its brace. */
static bool parse_list(struct expr_parser *p)
{
	do {
		int32_t node;

		lex_blanks(&p->p);

		const char *start = p->p;

		if (p->user->n_columns == ATTAR_EXPR_COLUMNS_MAX) {
			expr_fail(p, "a key has at most 8 values");
			return false;
		}
		node = expr_parse(p);
		if (node < 0 || !add_column(p, start, node))
			return false;
	} while (lex_take(&p->p, ","));
	return expr_expect(p, "}");
}

static bool parse_all(struct expr_parser *p)
{
	struct attar_expr *e = p->user;

	lex_blanks(&p->p);

	const char *start = p->p;
	int32_t node;

	if (*start == '{' && !(e->opts.flags & ATTAR_EXPR_KEY)) {
		expr_fail(p, "only a key can be a list in braces");
		return false;
	}
	if (lex_take(&p->p, "{")) {
		if (!parse_list(p))
			return false;
	} else {
		node = expr_parse_sequence(p);
		if (node < 0 || !add_column(p, start, node))
			return false;
	}
	lex_blanks(&p->p);
	if (*p->p)
		expr_fail(p, *p->p == ')' ? "this parenthesis is not closed, or not opened"
					  : "expected an operator");
	return !*p->p;
}

static void measure_key(struct attar_expr *e)
{
	for (size_t i = 0; i < e->n_columns; i++) {
		const struct user_column *c = &e->columns[i];
		bool has_length = e->n_columns > 1 && c->pub.kind == ATTAR_EXPR_TEXT;

		e->key_size += value_size(e, c) + (has_length ? sizeof(uint16_t) : 0);
	}
}

static int compile(struct attar_expr *e, const char *text)
{
	static const struct expr_dialect dialect = {
		.operand = user_operand, .is_c = true, .is_strict = true, .depth_max = DEPTH_MAX};
	struct expr_parser p = {.text = text,
		.p = text,
		.dialect = &dialect,
		.format = e->format,
		.expr = &e->expr,
		.user = e,
		.needs_fields = e->opts.flags & ATTAR_EXPR_CONDITION};

	if (!parse_all(&p))
		return failure(&p);
	measure_key(e);
	e->texts = malloc(MAX(e->n_texts, 1UL) * ATTAR_EXPR_TEXT_MAX);
	e->copy = e->changes ? malloc(USER_COPY_MAX) : NULL;
	return e->texts && (e->copy || !e->changes) ? 0 : base_oom();
}

/* ---- life cycle ---- */

static int copy_options(struct attar_expr *e, const struct attar_expr_opts *opts)
{
	int r = option_struct_take(&e->opts, sizeof(e->opts), opts);

	if (r < 0)
		return r;
	if (e->opts.ret_column)
		*e->opts.ret_column = 0;
	CHECK_FLAGS(e->opts.flags, ATTAR_EXPR_KEY | ATTAR_EXPR_CONDITION | ATTAR_EXPR_ALLOW_EXEC |
					   ATTAR_EXPR_OTHER_ARCH);
	if (!e->opts.what)
		e->opts.what = "expression";
	for (size_t i = 0; i < e->opts.n_variables; i++) {
		struct attar_expr_variable v = e->opts.variables[i];

		v.name = strdup(v.name);
		if (!v.name || vec_push(&e->variables, v) < 0) {
			free((char *)(uintptr_t)v.name);
			return base_oom();
		}
	}
	return 0;
}

int attar_expr_new(const char *text, const struct attar_format *format,
	const struct attar_expr_opts *opts, struct attar_expr **ret_expr)
{
	CHECK_ARG(text, "text");
	CHECK_ARG(ret_expr, "ret_expr");

	struct attar_expr *e = calloc(1, sizeof(*e));
	char *plain _cleanup_free_ = NULL;
	int r;

	if (!e)
		return base_oom();
	e->format = format;
	r = copy_options(e, opts);
	if (r == 0 && strlen(text) > TEXT_MAX)
		r = attar_fail(-EINVAL, "%s '%s': longer than %d bytes", e->opts.what, CLIP(text),
			TEXT_MAX);
	if (r == 0) {
		plain = strdup(text);
		e->text = strdup(text);
		if (plain)
			blank_comments(plain);
		e->names = plain ? strdup(plain) : NULL;
		r = e->text && e->names ? compile(e, plain) : base_oom();
	}
	if (r < 0) {
		attar_expr_free(e);
		return r;
	}
	*ret_expr = e;
	return 0;
}

struct attar_expr *attar_expr_free(struct attar_expr *e)
{
	if (!e)
		return NULL;
	vec_each (&e->variables, v)
		free((char *)(uintptr_t)v->name);
	vec_done(&e->variables);
	vec_done(&e->pieces);
	expr_done(&e->expr);
	free(e->copy);
	free(e->texts);
	free(e->names);
	free(e->text);
	free(e);
	return NULL;
}

/* ---- what it consists of ---- */

size_t attar_expr_columns(const struct attar_expr *e)
{
	CHECK_ARG_OR(e, "expr", 0);
	return e->n_columns;
}

const struct attar_expr_column *attar_expr_get_column(const struct attar_expr *e, size_t i)
{
	CHECK_ARG_OR(e, "expr", NULL);
	return i < e->n_columns ? &e->columns[i].pub : NULL;
}

const struct attar_field *expr_get_field(const struct attar_expr *e)
{
	CHECK_ARG_OR(e, "expr", NULL);

	const struct expr_node *node = expr_node(&e->expr, e->columns[0].node);
	const struct attar_field *field;

	if (e->n_columns != 1 || node->op != EXPR_FIELD || node->type.kind != EXPR_CLASS_NUMBER)
		return NULL;
	field = &e->expr.fields.at[node->field];
	return field->place == ATTAR_FIELD_FIXED && field->kind == ATTAR_FIELD_NUMBER ? field
										      : NULL;
}

size_t attar_expr_key_size(const struct attar_expr *e)
{
	CHECK_ARG_OR(e, "expr", 0);
	return e->key_size;
}

void attar_expr_get_faults(const struct attar_expr *e, struct attar_expr_faults *ret_faults)
{
	CHECK_ARG_OR(e, "expr", );
	CHECK_ARG_OR(ret_faults, "ret_faults", );
	*ret_faults = e->faults;
}
