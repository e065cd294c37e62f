/* SPDX-License-Identifier: MIT */
/*
 * The kernel's filter language as a dialect of expressions: its operands are comparisons of a field
 * with a constant, which is compared as a 64-bit number of the field's sign.
 */
#include "expr/filter.h"

#include "expr/check.h"

enum { DEPTH_MAX = 32, TEXT_MAX = 256 };

struct filter {
	struct expr expr;
	int32_t root;
};

/* The left side and the operator of a comparison. */
struct comparison {
	struct attar_field field;
	bool is_text, is_real;
	enum expr_op op;
};

static bool fails(struct expr_parser *p, const char *reason)
{
	expr_fail(p, reason);
	return false;
}

static bool take_field(struct expr_parser *p, struct comparison *c)
{
	size_t n = lex_word(p->p);
	const struct attar_field *field;
	struct attar_number_type type = {0};
	char name[TEXT_MAX];

	if (!n || n >= sizeof(name))
		return fails(p, "expected a field name");
	memcpy(name, p->p, n);
	name[n] = '\0';
	field = attar_format_field(p->format, name);
	if (!field) {
		p->is_field = true;
		return fails(p, "no such field");
	}
	c->field = *field;
	c->is_text = field->kind == ATTAR_FIELD_STRING;
	if (perfume_type_of(field, &type) && type.is_array)
		return fails(p, "cannot compare an array");
	if (!c->is_text && !type.size && field->kind != ATTAR_FIELD_NUMBER)
		return fails(p, "only numbers and strings can be compared");
	if (!c->is_text)
		c->field.kind = ATTAR_FIELD_NUMBER;
	c->is_real = type.is_float;
	p->p += n;
	return true;
}

static bool take_operator(struct expr_parser *p, struct comparison *c)
{
	static const struct {
		const char *text;
		enum expr_op op;
	} operators[] = {{"==", EXPR_EQUAL}, {"!=", EXPR_NOT_EQUAL}, {"<=", EXPR_LESS_EQUAL},
		{"<", EXPR_LESS}, {">=", EXPR_GREATER_EQUAL}, {">", EXPR_GREATER},
		{"&", EXPR_BIT_AND}, {"~", EXPR_GLOB}};
	size_t i = 0;

	while (i < ARRAY_SIZE(operators) && !lex_take(&p->p, operators[i].text))
		i++;
	if (i == ARRAY_SIZE(operators))
		return fails(p, "expected one of == != < <= > >= & ~");
	c->op = operators[i].op;
	if (c->op == EXPR_EQUAL || c->op == EXPR_NOT_EQUAL)
		return true;
	if (c->is_text && c->op != EXPR_GLOB)
		return fails(p, "strings can only be compared with ==, != or ~");
	if (!c->is_text && c->op == EXPR_GLOB)
		return fails(p, "~ can only compare strings");
	if (c->is_real && c->op == EXPR_BIT_AND)
		return fails(p, "& can only test bits of integers");
	return true;
}

/* Quotes around a word are optional. */
static int32_t text(struct expr_parser *p)
{
	size_t n;
	const char *start = lex_text(&p->p, &n);

	if (!start)
		return expr_fail(p, "missing closing quote");
	if (n < TEXT_MAX)
		return expr_add_string(p, start, n);
	p->p = start;
	return expr_fail(p, "the string is too long");
}

/* The right side. */
static int32_t constant(struct expr_parser *p, const struct comparison *c)
{
	int64_t number;
	double real;

	if (c->is_text)
		return text(p);
	if (c->is_real)
		return lex_real(&p->p, &real) ? expr_add_real(p, real)
					      : expr_fail(p, "expected a number");
	lex_blanks(&p->p);
	if (*p->p == '-' && !c->field.is_signed)
		return expr_fail(p, "the field is unsigned: use a number that is not negative, "
				    "such as 0xffffffff");
	return lex_signed(&p->p, &number)
		       ? expr_add_integer(p, (uint64_t)number, 64, c->field.is_signed)
		       : expr_fail(p, "expected a number");
}

static int32_t comparison(struct expr_parser *p)
{
	struct comparison c;
	int32_t a, node;

	if (!take_field(p, &c) || !take_operator(p, &c))
		return -1;
	a = expr_add_field(p, c.is_text ? EXPR_BYTES : EXPR_FIELD, &c.field, c.is_real);
	node = expr_add_infix(p, c.op, a, constant(p, &c));
	if (c.op == EXPR_BIT_AND && node >= 0)
		node = expr_add_infix(
			p, EXPR_NOT_EQUAL, node, expr_add_integer(p, 0, 64, c.field.is_signed));
	if (node >= 0)
		p->expr->nodes.at[node].needs_fields = true;
	return node;
}

static bool operand(struct expr_parser *p, int32_t *ret_node)
{
	if (*p->p == '(')
		return false;
	*ret_node = comparison(p);
	return true;
}

static int no_field(const struct expr_parser *p)
{
	struct buf fields _cleanup_(buf_done) = {0};

	for (size_t i = 0; i < p->format->n_fields; i++)
		if (!p->format->fields[i].is_common)
			buf_printf(
				&fields, "%s%s", fields.len ? ", " : "", p->format->fields[i].name);
	return attar_fail(-EINVAL, "filter '%s': '%s:%s' has no field '%s'; its fields are %s",
		CLIP(p->text), CLIP(p->format->system), CLIP(p->format->name),
		CLIP_N(p->at, lex_word(p->at)), buf_text(&fields));
}

static int failure(const struct expr_parser *p)
{
	if (p->is_field)
		return no_field(p);
	if (!p->reason)
		return base_oom();
	return attar_fail(-EINVAL, "filter '%s' of '%s:%s', column %zu: %s", CLIP(p->text),
		CLIP(p->format->system), CLIP(p->format->name), (size_t)(p->at - p->text) + 1,
		p->reason);
}

int filter_parse(const char *text, const struct attar_format *format, struct filter **ret_filter)
{
	static const struct expr_dialect dialect = {.operand = operand, .depth_max = DEPTH_MAX};
	struct filter *filter = calloc(1, sizeof(*filter));
	struct expr_parser p = {.text = text, .p = text, .dialect = &dialect, .format = format};

	if (!filter)
		return base_oom();
	p.expr = &filter->expr;
	filter->root = expr_parse(&p);
	lex_blanks(&p.p);
	if (filter->root >= 0 && *p.p)
		filter->root = expr_fail(&p, "expected && or ||");
	if (filter->root < 0) {
		filter_free(filter);
		return failure(&p);
	}
	*ret_filter = filter;
	return 0;
}

struct filter *filter_free(struct filter *filter)
{
	if (filter)
		expr_done(&filter->expr);
	free(filter);
	return NULL;
}

bool filter_keeps(const struct filter *filter, const void *raw, size_t size)
{
	struct expr_run run = {.expr = &filter->expr, .raw = raw, .size = size};

	return expr_is_true(&run, filter->root);
}
