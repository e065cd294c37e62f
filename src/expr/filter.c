/* SPDX-License-Identifier: MIT */
#include "expr/filter.h"

#include <ctype.h>
#include <fnmatch.h>

#include "base/base.h"
#include "base/buf.h"
#include "base/vec.h"
#include "tracefs/format.h"

enum { DEPTH_MAX = 32, NODES_MAX = 512, TEXT_MAX = 256 };
enum op { OP_EQ, OP_NE, OP_LE, OP_LT, OP_GE, OP_GT, OP_BITS, OP_LIKE, OP_AND, OP_OR, OP_NOT };

static const struct {
	const char *text;
	enum op op;
} operators[] = {{"==", OP_EQ}, {"!=", OP_NE}, {"<=", OP_LE}, {"<", OP_LT}, {">=", OP_GE},
	{">", OP_GT}, {"&", OP_BITS}, {"~", OP_LIKE}};

struct node {
	enum op op;
	int a, b; /* of AND, OR, NOT */
	const struct attar_field *field;
	struct attar_number_type described; /* size 0: the type is given by the field's kind */
	bool is_text;
	double real;
	int64_t number;
	char text[TEXT_MAX];
};

struct filter {
	VEC(struct node) nodes;
	int root;
};

struct parse {
	struct filter *filter;
	const struct attar_format *format;
	const char *text, *p;
	int depth;
};

static int wrong(const struct parse *parse, const char *what)
{
	return attar_fail(-EINVAL, "filter '%s', column %zu: %s", CLIP(parse->text),
		(size_t)(parse->p - parse->text) + 1, what);
}

static void skip_blanks(struct parse *parse)
{
	while (isspace((unsigned char)*parse->p))
		parse->p++;
}

static bool take(struct parse *parse, const char *token)
{
	size_t n = strlen(token);

	skip_blanks(parse);
	if (strncmp(parse->p, token, n) != 0)
		return false;
	parse->p += n;
	return true;
}

/* Returns the index of a new node. */
static int add(struct parse *parse, const struct node *node)
{
	if (parse->filter->nodes.n >= NODES_MAX)
		return wrong(parse, "the expression is too long");
	if (vec_push(&parse->filter->nodes, *node) < 0)
		return base_oom();
	return (int)parse->filter->nodes.n - 1;
}

/* ---- comparisons ---- */

static int no_field(const struct parse *parse, const char *name, size_t n)
{
	struct buf fields _cleanup_(buf_done) = {0};

	for (size_t i = 0; i < parse->format->n_fields; i++)
		if (!parse->format->fields[i].is_common)
			buf_printf(&fields, "%s%s", fields.len ? ", " : "",
				parse->format->fields[i].name);
	return attar_fail(-EINVAL, "filter '%s': '%s:%s' has no field '%s'; its fields are %s",
		CLIP(parse->text), CLIP(parse->format->system), CLIP(parse->format->name),
		CLIP_N(name, n), buf_text(&fields));
}

static int take_field(struct parse *parse, struct node *node)
{
	const char *name = parse->p;
	char text[TEXT_MAX];
	size_t n = 0;

	while (isalnum((unsigned char)name[n]) || name[n] == '_')
		n++;
	if (!n || n >= sizeof(text))
		return wrong(parse, "expected a field name");
	memcpy(text, name, n);
	text[n] = '\0';
	node->field = attar_format_field(parse->format, text);
	if (!node->field)
		return no_field(parse, name, n);
	node->is_text = node->field->kind == ATTAR_FIELD_STRING;
	if (perfume_type_of(node->field, &node->described) && node->described.is_array)
		return wrong(parse, "cannot compare an array");
	if (!node->is_text && !node->described.size && node->field->kind != ATTAR_FIELD_NUMBER)
		return wrong(parse, "only numbers and strings can be compared");
	parse->p += n;
	return 0;
}

static int take_operator(struct parse *parse, struct node *node)
{
	for (size_t i = 0; i < ARRAY_SIZE(operators); i++) {
		if (!take(parse, operators[i].text))
			continue;
		node->op = operators[i].op;
		if (node->is_text != (node->op == OP_LIKE) && node->op != OP_EQ &&
			node->op != OP_NE)
			return wrong(parse,
				node->is_text ? "strings can only be compared with ==, != or ~"
					      : "~ can only compare strings");
		return 0;
	}
	return wrong(parse, "expected one of == != < <= > >= & ~");
}

/* Quotes around a word are optional. */
static int take_text(struct parse *parse, struct node *node)
{
	char quote = *parse->p == '"' || *parse->p == '\'' ? *parse->p : '\0';
	size_t n;

	parse->p += quote != '\0';
	n = quote ? strcspn(parse->p, quote == '"' ? "\"" : "'") : strcspn(parse->p, " \t)&|");
	if (quote && !parse->p[n])
		return wrong(parse, "missing closing quote");
	if (n >= TEXT_MAX)
		return wrong(parse, "the string is too long");
	memcpy(node->text, parse->p, n);
	node->text[n] = '\0';
	parse->p += n + (quote != '\0');
	return 0;
}

static int take_number(struct parse *parse, struct node *node)
{
	char *end;

	errno = 0;
	if (node->described.is_float) {
		node->real = strtod(parse->p, &end);
	} else {
		node->number = *parse->p == '-' ? strtoll(parse->p, &end, 0)
						: (int64_t)strtoull(parse->p, &end, 0);
	}
	if (end == parse->p || errno || isalnum((unsigned char)*end) || *end == '.')
		return wrong(parse, "expected a number");
	parse->p = end;
	return 0;
}

static int comparison(struct parse *parse)
{
	struct node node = {0};
	int r = take_field(parse, &node);

	if (r == 0)
		r = take_operator(parse, &node);
	if (r < 0)
		return r;
	skip_blanks(parse);
	r = node.is_text ? take_text(parse, &node) : take_number(parse, &node);
	return r < 0 ? r : add(parse, &node);
}

/* ---- boolean operators ---- */

static int any(struct parse *parse);

static int one(struct parse *parse)
{
	int r;

	skip_blanks(parse);
	if (parse->depth >= DEPTH_MAX)
		return wrong(parse, "the expression is nested too deeply");
	parse->depth++;
	if (take(parse, "!")) {
		r = one(parse);
		if (r >= 0)
			r = add(parse, &(struct node){.op = OP_NOT, .a = r});
	} else if (take(parse, "(")) {
		r = any(parse);
		if (r >= 0 && !take(parse, ")"))
			r = wrong(parse, "expected ')'");
	} else {
		r = comparison(parse);
	}
	parse->depth--;
	return r;
}

static int all(struct parse *parse)
{
	int a = one(parse);

	while (a >= 0 && take(parse, "&&")) {
		int b = one(parse);

		a = b < 0 ? b : add(parse, &(struct node){.op = OP_AND, .a = a, .b = b});
	}
	return a;
}

static int any(struct parse *parse)
{
	int a = all(parse);

	while (a >= 0 && take(parse, "||")) {
		int b = all(parse);

		a = b < 0 ? b : add(parse, &(struct node){.op = OP_OR, .a = a, .b = b});
	}
	return a;
}

int filter_parse(const char *text, const struct attar_format *format, struct filter **ret_filter)
{
	struct filter *filter = calloc(1, sizeof(*filter));
	struct parse parse = {.filter = filter, .format = format, .text = text, .p = text};

	if (!filter)
		return base_oom();
	filter->root = any(&parse);
	skip_blanks(&parse);
	if (filter->root >= 0 && *parse.p)
		filter->root = wrong(&parse, "expected && or ||");
	if (filter->root < 0) {
		int r = filter->root;

		filter_free(filter);
		return r;
	}
	*ret_filter = filter;
	return 0;
}

struct filter *filter_free(struct filter *filter)
{
	if (filter)
		vec_done(&filter->nodes);
	free(filter);
	return NULL;
}

/* ---- records ---- */

#define COMPARE(op_, a_, b_)                                                                       \
	((op_) == OP_EQ          ? (a_) == (b_)                                                    \
		: (op_) == OP_NE ? (a_) != (b_)                                                    \
		: (op_) == OP_LE ? (a_) <= (b_)                                                    \
		: (op_) == OP_LT ? (a_) < (b_)                                                     \
		: (op_) == OP_GE ? (a_) >= (b_)                                                    \
				 : (a_) > (b_))

static bool keeps_number(const struct node *node, const void *at, size_t len)
{
	struct attar_field number = *node->field;
	uint64_t value;

	if (len < number.size) /* a dynamic field has its own length */
		return false;
	if (node->described.is_float && node->op != OP_BITS) {
		double real = attar_number_double(&node->described, at);

		return COMPARE(node->op, real, node->real);
	}
	number.offset = 0;
	number.kind = ATTAR_FIELD_NUMBER;
	value = attar_field_u64(&number, at, len);
	if (node->op == OP_BITS)
		return (value & (uint64_t)node->number) != 0;
	if (node->field->is_signed)
		return COMPARE(node->op, (int64_t)value, node->number);
	return COMPARE(node->op, value, (uint64_t)node->number);
}

static bool keeps_text(const struct node *node, const char *at, size_t len)
{
	char text[4096];
	size_t n = MIN(strnlen(at, len), sizeof(text) - 1);

	memcpy(text, at, n);
	text[n] = '\0';
	if (node->op == OP_LIKE)
		return fnmatch(node->text, text, 0) == 0;
	return (strcmp(node->text, text) == 0) == (node->op == OP_EQ);
}

static bool keeps(const struct filter *f, int i, const void *raw, size_t size)
{
	const struct node *node = &f->nodes.at[i];
	const void *at;
	size_t len;

	switch (node->op) {
	case OP_AND:
		return keeps(f, node->a, raw, size) && keeps(f, node->b, raw, size);
	case OP_OR:
		return keeps(f, node->a, raw, size) || keeps(f, node->b, raw, size);
	case OP_NOT:
		return !keeps(f, node->a, raw, size);
	default:
		at = attar_field_bytes(node->field, raw, size, &len);
		if (!at)
			return false;
		return node->is_text ? keeps_text(node, at, len) : keeps_number(node, at, len);
	}
}

bool filter_keeps(const struct filter *filter, const void *raw, size_t size)
{
	return keeps(filter, filter->root, raw, size);
}
