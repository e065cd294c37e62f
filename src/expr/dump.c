/* SPDX-License-Identifier: MIT */
/* The nodes of a user's expression as text. */
#include <stdio.h>

#include "attar/private/expr.h"
#include "base/buf.h"
#include "base/check_arg.h"
#include "expr/functions.h"
#include "expr/user.h"

static const char *const names[] = {
	[EXPR_FIELD] = "field",
	[EXPR_BYTES] = "bytes of field",
	[EXPR_ADDRESS] = "bytes at field",
	[EXPR_LENGTH] = "length of field",
	[EXPR_CAST] = "cast",
	[EXPR_NEGATE] = "-",
	[EXPR_INVERT] = "~",
	[EXPR_TRUNCATE] = "truncate",
	[EXPR_NOT] = "!",
	[EXPR_SEQUENCE] = ",",
	[EXPR_DISTANCE] = "elements from",
	[EXPR_OFFSET] = "offset of",
	[EXPR_ASSIGN] = "=",
	[EXPR_MULTIPLY] = "*",
	[EXPR_DIVIDE] = "/",
	[EXPR_REMAINDER] = "%",
	[EXPR_ADD] = "+",
	[EXPR_SUBTRACT] = "-",
	[EXPR_SHIFT_LEFT] = "<<",
	[EXPR_SHIFT_RIGHT] = ">>",
	[EXPR_BIT_AND] = "&",
	[EXPR_BIT_XOR] = "^",
	[EXPR_BIT_OR] = "|",
	[EXPR_LESS] = "<",
	[EXPR_LESS_EQUAL] = "<=",
	[EXPR_GREATER] = ">",
	[EXPR_GREATER_EQUAL] = ">=",
	[EXPR_EQUAL] = "==",
	[EXPR_NOT_EQUAL] = "!=",
	[EXPR_GLOB] = "~",
	[EXPR_AND] = "&&",
	[EXPR_OR] = "||",
};

static void add_type(struct buf *b, const struct expr_type *type)
{
	if (type->kind == EXPR_CLASS_NUMBER)
		buf_printf(b, "%c%u", type->is_signed ? 's' : 'u', type->bits);
	else if (type->kind == EXPR_CLASS_REAL)
		buf_str(b, "real");
	else
		buf_str(b, type->is_text ? "text" : "bytes");
}

/* Fields are kept without their names. */
static const char *field_name(const struct attar_expr *e, const struct expr_node *node)
{
	const struct attar_field *field = &e->expr.fields.at[node->field];

	for (size_t i = 0; e->format && i < e->format->n_fields; i++)
		if (e->format->fields[i].offset == field->offset)
			return e->format->fields[i].name;
	return "";
}

static void add_constant(struct buf *b, const struct expr_node *node)
{
	if (node->type.is_signed)
		buf_printf(b, "%lld", (long long)node->number);
	else
		buf_printf(b, "%llu", (unsigned long long)node->number);
}

static void add_range(struct buf *b, const struct expr_node *node)
{
	long long low = (long long)node->number, high = (long long)(node->number + node->span);
	bool no = node->is_inverted;

	buf_printf(b, "%d ", (int)node->a);
	if (low == high)
		buf_printf(b, "%s %lld", no ? "!=" : "==", low);
	else if (low == INT64_MIN)
		buf_printf(b, "%s %lld", no ? ">" : "<=", high);
	else if (high == INT64_MAX)
		buf_printf(b, "%s %lld", no ? "<" : ">=", low);
	else
		buf_printf(b, "%sin %lld..%lld", no ? "not " : "", low, high);
	if (node->mask != UINT64_MAX)
		buf_printf(b, " of bits 0x%llx", (unsigned long long)node->mask);
}

static void add_operator(struct buf *b, const struct expr_node *node)
{
	const char *name = node->op < ARRAY_SIZE(names) ? names[node->op] : NULL;

	if (!name)
		name = "operation";
	if (node->b >= 0)
		buf_printf(b, "%d %s %d", (int)node->a, name, (int)node->b);
	else
		buf_printf(b, "%s %d", name, (int)node->a);
}

/* "3++", "--3" */
static void add_step(struct buf *b, const struct expr_node *node)
{
	const char *name = node->number == 1 ? "++" : "--";

	buf_printf(b, "%s%d%s", node->is_inverted ? "" : name, (int)node->a,
		node->is_inverted ? name : "");
}

static void add_call(struct buf *b, const struct expr_node *node)
{
	const int32_t arguments[] = {node->a, node->b, node->c};

	buf_printf(b, "%s(", functions[node->number].name);
	for (size_t i = 0; i < ARRAY_SIZE(arguments); i++)
		if (arguments[i] >= 0)
			buf_printf(b, "%s%d", i ? ", " : "", (int)arguments[i]);
	buf_char(b, ')');
}

static void add_node(struct buf *b, const struct attar_expr *e, const struct expr_node *node)
{
	switch (node->op) {
	case EXPR_NUMBER:
		add_constant(b, node);
		break;
	case EXPR_REAL:
		buf_printf(b, "%g", node->real);
		break;
	case EXPR_STRING:
		buf_printf(b, "\"%s\"", expr_text(&e->expr, node));
		break;
	case EXPR_FIELD:
	case EXPR_BYTES:
	case EXPR_ADDRESS:
	case EXPR_LENGTH:
		buf_printf(b, "%s %s", names[node->op], field_name(e, node));
		break;
	case EXPR_INDEX:
		buf_printf(b, "%d[%d]", (int)node->a, (int)node->b);
		break;
	case EXPR_MOVE:
		buf_printf(
			b, "&%d[%s%d]", (int)node->a, node->is_inverted ? "-" : "", (int)node->b);
		break;
	case EXPR_STEP:
		add_step(b, node);
		break;
	case EXPR_CHOOSE:
		buf_printf(b, "%d ? %d : %d", (int)node->a, (int)node->b, (int)node->c);
		break;
	case EXPR_MEMBER:
		buf_printf(b, "event byte %llu", (unsigned long long)node->number);
		break;
	case EXPR_VARIABLE:
		buf_printf(b, "variable %s", e->variables.at[node->number].name);
		break;
	case EXPR_CALL:
		add_call(b, node);
		break;
	case EXPR_RANGE:
		add_range(b, node);
		break;
	case EXPR_REAL_RANGE:
		buf_printf(b, "%d in %g..%g", (int)node->a, node->real, node->greatest);
		break;
	default:
		add_operator(b, node);
	}
}

size_t expr_part(const struct attar_expr *expr, size_t i, char *ret_text, size_t max)
{
	CHECK_ARG_OR(expr, "expr", 0);
	CHECK_ARG_OR(ret_text, "ret_text", 0);

	struct buf b _cleanup_(buf_done) = {0};
	const struct expr_node *node;

	if (i >= expr->expr.nodes.n)
		return 0;
	node = &expr->expr.nodes.at[i];
	buf_printf(&b, "%zu: ", i);
	add_type(&b, &node->type);
	buf_char(&b, ' ');
	add_node(&b, expr, node);
	return (size_t)snprintf(ret_text, max, "%s", buf_text(&b));
}
